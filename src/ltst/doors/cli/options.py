"""Options that every command takes, before its name or after it, and the memory that they lead to."""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from ltst.doors.cli import show
from ltst.errors import Invalid, LtstError, NotFound, Unavailable

if TYPE_CHECKING:
    from ltst.arguments import Argument
    from ltst.settings import Settings
    from ltst.sync import Memory, User

P = ParamSpec("P")

SPAN = re.compile(r"([0-9.]+) *([smhdw])")
METAVARS: dict[Any, str] = {str: "TEXT", int: "N", float: "N"}
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def moment(written: str) -> datetime:
    """A date or a time as people write it in ISO form; without a zone it is local."""
    try:
        return datetime.fromisoformat(written).astimezone()
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{written!r} is no date: write 2026-03-01 or 2026-03-01T09:30") from None


def span(written: str) -> timedelta:
    """A stretch of time as people write it: 90s, 15m, 12h, 30d, 2w; a bare number counts seconds."""
    found = SPAN.fullmatch(written.strip())
    try:
        return timedelta(seconds=float(found[1]) * UNITS[found[2]]) if found else timedelta(seconds=float(written))
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{written!r} is no stretch of time: write 90s, 15m, 12h, 30d or 2w") from None


def words(*known: str) -> Callable[[str], list[str]]:
    """What a shell offers where one of a few words is expected."""

    def complete(incomplete: str) -> list[str]:
        return [each for each in known if each.startswith(incomplete)]

    return complete


def named(flag: str, metavar: str, about: str, *known: str) -> Any:
    """An option that takes a value; a shell offers the words that are known."""
    return typer.Option(flag, metavar=metavar, help=about, autocompletion=words(*known) if known else None)


def one_of(flag: str, metavar: str, known: Sequence[str], about: str = "{}.") -> Any:
    """An option that takes one of a few words, which stand in its help where the braces are."""
    told = f"{', '.join(known[:-1])} or {known[-1]}"
    return named(flag, metavar, about.format(told), *known)


def timed(flag: str, about: str, metavar: str = "TIME") -> Any:
    """An option that takes a date or a time."""
    return typer.Option(flag, parser=moment, metavar=metavar, help=about)


def lasting(flag: str, about: str) -> Any:
    """An option that takes a stretch of time."""
    return typer.Option(flag, parser=span, metavar="TIME", help=about)


DatabaseUrl = Annotated[str | None, named("--database-url", "URL", "The Postgres to use. [DATABASE_URL; or embedded]")]
Home = Annotated[Path | None, named("--home", "FOLDER", "Where the embedded one and the key live. [LTST_HOME]")]
UserId = Annotated[str | None, named("--user", "ID", "Whose memory. [LTST_USER; or local]")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Limit = Annotated[int, named("--limit", "N", "How many at most.")]
Offset = Annotated[int, named("--offset", "N", "How many to pass over.")]
ChatId = Annotated[str, named("--chat", "ID", "Which conversation.")]
AgentName = Annotated[str | None, named("--agent", "NAME", "The agent of a new conversation.")]


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for on the command line, above the command's own arguments."""

    database_url: str | None = None
    user: str | None = None
    home: Path | None = None
    json: bool = False

    def over(self, before: Options) -> Options:
        """These options, and where they say nothing, the ones that stood before the command."""
        return Options(
            before.database_url if self.database_url is None else self.database_url,
            before.user if self.user is None else self.user,
            before.home if self.home is None else self.home,
            self.json,
        )

    @property
    def settings(self) -> Settings:
        """The settings of the environment, overridden by what was asked for."""
        from ltst.settings import Settings  # late, as all that --version and --help do not need

        home = self.home.expanduser() if self.home else None
        return Settings.from_environment(actor="cli", database_url=self.database_url, user=self.user, home=home)


def json_object(written: str) -> dict[str, Any]:
    """A JSON object, such as metadata."""
    try:
        found = json.loads(written, parse_constant=_refused)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise typer.BadParameter('this is no JSON object: write {"topic": "food"}, in quotes for your shell')
    return found


def json_or_text(written: str) -> Any:
    """What is JSON counts as the value that it is, everything else as text."""
    try:
        return json.loads(written, parse_constant=_refused)
    except (ValueError, RecursionError):
        return written


def _refused(constant: str) -> None:
    """Python's reader knows NaN and Infinity; JSON does not."""
    raise ValueError(constant)


MetadataOption = Annotated[
    dict[str, Any] | None,
    typer.Option("--metadata", parser=json_object, metavar="JSON", help="An object of your own."),
]


def command(
    app: typer.Typer,
    name: str,
    *,
    user: bool = False,
    json: bool = True,
    passes_on: bool = False,
    more: Sequence[Argument] = (),
) -> Callable[[Callable[Concatenate[Options, P], None]], Callable[Concatenate[Options, P], None]]:
    """Register a command whose function takes the options first; ltst's errors become one red line and status 1.

    One that `passes_on` what it is given takes any options for its last argument. The arguments of a verb in `more` are
    options too, which the function gets by their names.
    """
    chosen = [
        _parameter("user", UserId, None) if user else None,
        _parameter("json", Json, False) if json else None,
        _parameter("database_url", DatabaseUrl, None),
        _parameter("home", Home, None),
    ]
    shared = [each for each in chosen if each is not None]

    def register(function: Callable[Concatenate[Options, P], None]) -> Callable[Concatenate[Options, P], None]:
        call: Callable[..., None] = function

        @wraps(function)
        def run(context: typer.Context, **given: Any) -> None:
            options = Options(**{each.name: given.pop(each.name) for each in shared})
            with _reported(options.json):
                call(options.over(context.obj), **given)

        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        own = [each for each in own if each.kind is not inspect.Parameter.VAR_KEYWORD] + [*map(option_of, more)]
        _sign(run, [_parameter("context", typer.Context), *own, *shared])
        app.command(name, context_settings={"ignore_unknown_options": passes_on})(run)
        return function

    return register


@contextmanager
def opened(options: Options, **settings: Any) -> Iterator[Memory]:
    """The memory, open for the time of the block; settings of a command's own go before those that were asked for.

    No worker begins in the background of a command that is over in a moment, and no model is loaded that it may not
    need.
    """
    from ltst.sync import Memory  # late: the driver takes longer to import than --help may

    memory = Memory(settings=replace(options.settings, **{"worker": False, "warm": False, **settings}))
    with show.working("Opening memory"):
        memory.open()
    try:
        yield memory
    finally:
        memory.close()


@contextmanager
def remembered(options: Options) -> Iterator[User]:
    """The memory of the user who was asked for."""
    with opened(options) as memory:
        yield memory.user(memory.settings.user)


@contextmanager
def informed(options: Options) -> Iterator[User]:
    """The same, once what the user said has been learnt; a shell has no background that would have done it."""
    with remembered(options) as user:
        with show.working("Learning"):
            user.learning.catch_up()
        yield user


def typed(value: str | None, *, ask: str, secret: bool = False) -> str:
    """An argument; `-` or none at all means what is typed at a prompt, or piped in."""
    if value is not None and value != "-":
        return value
    if value is None and sys.stdin.isatty():
        return str(typer.prompt(ask, hide_input=secret, err=True))
    return piped(sys.stdin.buffer.read(), "standard input").removesuffix("\n").removesuffix("\r")


def piped(data: bytes, source: str) -> str:
    """Bytes as the text that they are, line breaks included."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Invalid(f"{source}: byte {problem.start + 1} is not UTF-8") from None


def found(record: Any, what: str) -> Any:
    """The record, or NotFound."""
    if not record:
        raise NotFound(f"there is no {what}")
    return record


@contextmanager
def _reported(as_json: bool) -> Iterator[None]:
    try:
        yield
        sys.stdout.flush()
    except LtstError as problem:
        show.problem(problem, as_json)
        raise typer.Exit(1) from None
    except BrokenPipeError:  # whoever reads has seen enough
        show.mute()
        raise typer.Exit from None
    except OSError as problem:
        told = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
        show.problem(Unavailable(told), as_json)
        raise typer.Exit(1) from None


def option_of(given: Argument) -> inspect.Parameter:
    """The option for an argument of a verb, as its signature tells it; a kind that a shell cannot write has none."""
    flag, kind = "--" + given.name.replace("_", "-"), given.kind
    if kind is datetime:
        told = timed(flag, given.about)
    elif given.choices is not None:
        told = named(flag, "WORD", f"{given.about} {', '.join(given.choices.words)}.", *given.choices.words)
    else:
        told = named(flag, METAVARS[kind], given.about) if kind in METAVARS else typer.Option(flag, help=given.about)
    annotation: Any = Annotated[kind | None if given.optional else kind, told]
    return _parameter(given.name, annotation, given.default)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _sign(function: Callable[..., None], parameters: Sequence[inspect.Parameter]) -> None:
    """Give a function the signature that Typer reads the options of a command from."""
    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    function.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
    function.__annotations__ = {each.name: each.annotation for each in named}
