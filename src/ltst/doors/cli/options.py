"""The options that every command takes, before or after its name, and the memory that they select."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec

import typer

from ltst.doors.cli import show
from ltst.doors.cli.parameters import completing, json_object, moment, parameter
from ltst.errors import Invalid, LtstError, NotFound, Unavailable

if TYPE_CHECKING:
    from ltst.settings import Settings
    from ltst.sync import Memory, User

P = ParamSpec("P")


def named(flag: str, metavar: str, about: str, *known: str) -> Any:
    """Return an option that takes a value. Shells complete the known words."""
    return typer.Option(flag, metavar=metavar, help=about, autocompletion=completing(*known) if known else None)


def one_of(flag: str, metavar: str, known: Sequence[str], about: str = "{}.") -> Any:
    """Return an option that takes one of a few words. Its help lists them in place of the braces."""
    choices = f"{', '.join(known[:-1])} or {known[-1]}"
    return named(flag, metavar, about.format(choices), *known)


def timed(flag: str, about: str) -> Any:
    """Return an option that takes a date or a time."""
    return typer.Option(flag, parser=moment, metavar="TIME", help=about)


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
ChatName = Annotated[str | None, named("--name", "TEXT", "The name of a new conversation.")]


@dataclass(frozen=True, slots=True)
class Options:
    """The options given on the command line, besides the command's own arguments."""

    database_url: str | None = None
    user: str | None = None
    home: Path | None = None
    json: bool = False

    def over(self, before: Options) -> Options:
        """Return these options, completed by those given before the command."""
        return replace(before, **{name: given for name, given in asdict(self).items() if given is not None})

    @property
    def settings(self) -> Settings:
        """Return the settings of the environment, overridden by the options given."""
        from ltst.settings import Settings  # imported late because --version and --help do not need it

        home = self.home.expanduser() if self.home else None
        return Settings.from_environment(actor="cli", database_url=self.database_url, user=self.user, home=home)


MetadataOption = Annotated[
    dict[str, Any] | None, typer.Option("--metadata", parser=json_object, metavar="JSON", help="An object of your own.")
]


def command(
    app: typer.Typer, name: str, *, user: bool = False, json: bool = True, passes_on: bool = False
) -> Callable[[Callable[Concatenate[Options, P], None]], Callable[Concatenate[Options, P], None]]:
    """Register a command whose function takes the options first.

    One that `passes_on` what it is given takes any options for its last argument.
    """

    def register(function: Callable[Concatenate[Options, P], None]) -> Callable[Concatenate[Options, P], None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
        settings = {"ignore_unknown_options": passes_on}
        app.command(name, context_settings=settings)(signed(function, own, user=user, json=json))
        return function

    return register


def signed(
    function: Callable[..., None], own: Sequence[inspect.Parameter], *, user: bool = False, json: bool = True
) -> Callable[..., None]:
    """Returns a function that Typer can read: its own parameters, then the options that every command takes.

    It is called with the options first; ltst's errors become one red line and exit status 1.
    """
    shared = [parameter("database_url", DatabaseUrl, None), parameter("home", Home, None)]
    if json:
        shared.insert(0, parameter("json", Json, False))
    if user:
        shared.insert(0, parameter("user", UserId, None))

    @wraps(function)
    def run(context: typer.Context, **given: Any) -> None:
        options = Options(**{each.name: given.pop(each.name) for each in shared})
        with _reported(options.json):
            function(options.over(context.obj), **given)

    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    run.__signature__ = signature = inspect.Signature([parameter("context", typer.Context), *named, *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {name: each.annotation for name, each in signature.parameters.items()}
    return run


@contextmanager
def opened(options: Options, **settings: Any) -> Iterator[Memory]:
    """Opens the memory for the block. The command's own settings override those asked for.

    Runs no background worker, because commands are short, and loads no model in advance, because they may not need it.
    """
    from ltst.sync import Memory  # imported late because the driver is slow to import, which --help should not wait for

    memory = Memory(settings=replace(options.settings, **{"worker": False, "warm": False, **settings}))
    with show.working("Opening memory"):
        memory.open()
    try:
        yield memory
    finally:
        memory.close()


@contextmanager
def remembered(options: Options) -> Iterator[User]:
    """Opens the memory of the selected user."""
    with opened(options) as memory:
        yield memory.user(memory.settings.user)


@contextmanager
def informed(options: Options) -> Iterator[User]:
    """Opens the memory of the selected user after learning from new messages, as commands have no background worker."""
    with remembered(options) as user:
        with show.working("Learning"):
            user.learning.catch_up()
        yield user


def agreed(question: str, yes: bool = False) -> None:
    """Asks for confirmation unless --yes was given; a no ends the command."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def typed(value: str | None, *, ask: str, secret: bool = False) -> str:
    """Return an argument. For `-` or none, read it from a prompt or from standard input."""
    if value is not None and value != "-":
        return value
    if value is None and sys.stdin.isatty():
        return str(typer.prompt(ask, hide_input=secret, err=True))
    return piped(sys.stdin.buffer.read(), "standard input").removesuffix("\n").removesuffix("\r")


def piped(data: bytes, source: str) -> str:
    """Decode bytes as UTF-8 and keep their line breaks."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Invalid(f"{source}: byte {problem.start + 1} is not UTF-8") from None


def found(record: Any, what: str) -> Any:
    """Return the record, or raise NotFound."""
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
    except BrokenPipeError:  # the reader closed the pipe
        show.mute()
        raise typer.Exit from None
    except OSError as problem:
        reason = f"{problem.filename}: {problem.strerror}" if problem.filename else str(problem)
        show.problem(Unavailable(reason), as_json)
        raise typer.Exit(1) from None
