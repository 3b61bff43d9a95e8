"""Makes commands from verbs: the signature of a verb tells what it takes; a page tells its name and how to show it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from ltst.doors.cli import show
from ltst.doors.cli.options import AgentName, ChatId, ChatName, Options, informed, remembered, signed, typed
from ltst.doors.cli.parameters import WHERE, conditions, parameter, reads_text, taken
from ltst.errors import NotFound

if TYPE_CHECKING:
    from ltst.arguments import Argument
    from ltst.sync import User

Given = Mapping[str, Any]
Shown = Callable[[bool, Any, Given], None]

# Modules of handles that are not in a module of their own name.
HOMES = {"user": "ltst.memory", "chat": "ltst.memory", "working": "ltst.handles.contexts"}
READING = ("list", "get", "history", "end")  # the verbs that read what was learned
OPENING: Mapping[str, Any] = {"agent": AgentName, "name": ChatName}


@dataclass(frozen=True, kw_only=True)
class VerbCommand:
    """How a verb becomes a command."""

    does: str  # the path from the user to the method: facts.set, chat.contexts.set
    shown: Shown
    flags: Mapping[str, str] = field(default_factory=dict)  # options that differ from their arguments
    help: Mapping[str, str] = field(default_factory=dict)  # help texts that replace those of the signature
    own: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)  # options on how to show the result, with defaults
    missing: str = ""  # what is missing if nothing is found, for the error: fact {key!r}
    never_empty: bool = False  # whether an empty list counts as missing too
    learnt: bool = False  # whether to learn from new messages first
    chat: tuple[Any, ...] = (ChatId,)  # the option that names the conversation, and its default
    opens: tuple[str, ...] = ()  # options for a conversation that this verb may create
    asks: Callable[[Given], Given] | None = None  # changes the arguments before the call
    beside: Callable[[User, Any, Given], Any] | None = None  # reads further data into given["beside"] for `shown`

    @cached_property
    def arguments(self) -> Mapping[str, Argument]:
        """Return the arguments of the verb."""
        from ltst.arguments import read

        *owners, name = ("user", *self.does.split("."))
        owner = owners[-1]
        handle = getattr(import_module(HOMES.get(owner, f"ltst.handles.{owner}")), f"Async{owner.capitalize()}")
        return read(getattr(handle, name))

    def run(self, options: Options, **given: Any) -> None:
        """Calls the verb and shows the result."""
        for name, each in self.arguments.items():
            if reads_text(each) and given[name] is not None:
                given[name] = typed(given[name], ask=name.capitalize())
            elif name == WHERE:
                given[name] = conditions(given[name]) if given[name] else None
        if self.asks is not None:
            given |= self.asks(given)
        with (informed if self.learnt else remembered)(options) as user:
            done = self._done(user, given)
            if self.missing and (done is None or done is False or (done == [] and self.never_empty)):
                raise NotFound(f"there is no {self.missing.format(**given)}")
            if self.beside is not None:
                given["beside"] = self.beside(user, done, given)
        self.shown(options.json, done, given)

    def command(self) -> Callable[..., None]:
        """Returns the function with the signature that Typer reads: the arguments of the verb, then the options."""
        chat = [parameter("chat", *self.chat)] if self.does.startswith("chat.") else []
        # Arguments of a list are always options, even if the verb takes them by position.
        narrowing = self.arguments.items() if self.does.endswith(".list") else ()
        flags = {name: f"--{name}" for name, each in narrowing if each.positional} | {**self.flags}
        own = [taken(each, flags.get(name, ""), self.help.get(name, "")) for name, each in self.arguments.items()]
        opening = [parameter(name, OPENING[name], None) for name in self.opens]
        more = [parameter(name, *option) for name, option in self.own.items()]
        return signed(self.run, [*chat, *own, *opening, *more], user=True)

    def _done(self, user: User, given: Given) -> Any:
        handle: Any = user
        *owners, name = self.does.split(".")
        for owner in owners:
            opening = {name: given[name] for name in self.opens}
            handle = handle.chat(given["chat"], **opening) if owner == "chat" else getattr(handle, owner)
        # A flag whose argument defaults to True turns it off.
        asked = {
            name: not given[name] if each.kind is bool and each.default is True else given[name]
            for name, each in self.arguments.items()
        }
        return getattr(handle, name)(**asked)


class DeferredCommand(TyperCommand):
    """A command that is assembled when its options are needed, so that the group's help imports no handles."""

    def __init__(self, verb: VerbCommand, **given: Any) -> None:
        super().__init__(**given)
        self._verb = verb
        del self.params, self.callback

    @cached_property
    def _whole(self) -> Any:
        app = typer.Typer(add_completion=False)
        app.command()(self._verb.command())
        return typer.main.get_command(app)

    @cached_property
    def params(self) -> Any:  # type: ignore[override]
        """Return its arguments and options."""
        return self._whole.params

    @cached_property
    def callback(self) -> Any:  # type: ignore[override]
        """Returns the function to call."""
        return self._whole.callback


class Noun(typer.Typer):
    """The commands for a noun, made from its verbs."""

    def __init__(
        self,
        noun: str,
        about: str,
        example: str = "",
        *,
        path: str | None = None,
        missing: str = "",
        learns: bool = False,
    ) -> None:
        """Starts the page of a noun. `path` leads from the user to the handle and defaults to the noun.

        `missing` is what does not exist if a verb finds nothing, such as fact {key!r}. With `learns`, new messages are
        learned from before anything is read.
        """
        super().__init__(no_args_is_help=True, help=_helping(about, noun, example))
        self._noun, self._path = noun, noun if path is None else path
        self._missing, self._learns = missing, learns

    def verb(self, name: str, about: str, example: str, shown: Shown, *, does: str = "", **way: Any) -> None:
        """Adds a command for the verb of this name, or for the one it `does`. The example continues the command."""
        does = does or f"{self._path}.{name.replace('-', '_')}".removeprefix(".")
        learnt = self._learns and does.rpartition(".")[2] in READING
        settings = {"missing": self._missing, "learnt": learnt, **way}
        made: Any = partial(DeferredCommand, VerbCommand(does=does, shown=shown, **settings))
        self.command(name, cls=made, help=_helping(about, f"{self._noun} {name}", example))(lambda: None)


def _helping(about: str, command: str, example: str) -> str:
    return f"{about}\n\nExample: ltst {command.strip()} {example}".rstrip()


def listed(columns: show.Columns, title: str, empty: str = "") -> Shown:
    """Returns a function that shows records as a table; title and `empty` may refer to the arguments."""
    return lambda as_json, done, given: show.records(
        as_json, done, columns, title=title.format(**given), empty=empty.format(**given)
    )


def lined(columns: show.Columns) -> Shown:
    """Returns a function that shows one record, one line per field."""
    return lambda as_json, done, given: show.record(as_json, done, columns)


def said(sentence: str | Callable[[Any, Given], str], **told: str) -> Shown:
    """Returns a function that prints a sentence about `it`, the result, and the arguments; as JSON, `told` or `it`."""

    def shown(as_json: bool, done: Any, given: Given) -> None:
        words = sentence.format(it=done, **given) if isinstance(sentence, str) else sentence(done, given)
        show.done(as_json, {name: {"it": done, **given}[each] for name, each in told.items()} or done, words)

    return shown


def forgotten(name: str, sentence: str = "") -> Shown:
    """Returns a function that prints that the argument of this name is forgotten."""
    return said(sentence or f"{{{name}}} is forgotten.", forgotten=name)
