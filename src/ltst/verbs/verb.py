"""Describes a verb: the method that does it, its HTTP route, its tool name, and what it answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from ltst.arguments import Agent, Argument, SessionId, SessionName, argument, peeled, read
from ltst.memory import AsyncUser
from ltst.verbs.outside import found
from ltst.verbs.shapes import SENT, ConversationCount, Page, RemovedCount, page

OF_A_CHAT = ("AsyncChat", "AsyncWorking", "AsyncContexts")
WHICH = argument("session_id", SessionId)
OPENING = {"agent": argument("agent", Agent, None), "name": argument("name", SessionName, None)}
COUNTED: Mapping[str, Any] = {"removed": RemovedCount, "conversations": ConversationCount}


class Effect(NamedTuple):
    """What a verb does to what is stored: whether it only reads, destroys, and changes nothing when it is repeated."""

    reads: bool = False
    destroys: bool = False
    repeats: bool = False


READS = Effect(reads=True, repeats=True)
ADDS = Effect()
ADDS_ONCE = Effect(repeats=True)
REPLACES = REMOVES = Effect(destroys=True, repeats=True)


@dataclass(frozen=True)
class Verb:
    """One verb.

    It is a method of a handle, or a function that is given the user. Its arguments, its answer and its description are
    read from it, so that they are said there and nowhere else.
    """

    does: Callable[..., Any]
    effect: Effect
    http: str = ""  # such as GET /v1/facts/{key}; `renamed` maps names in it that differ from the arguments
    name: str = ""  # name of the operation
    tool: str = ""  # name of the MCP tool; defaults to `name`, "-" means no tool
    body: str = ""  # name of the body's model; without one, arguments go into the address
    missing: str = ""  # what is missing, for the error: fact {key!r}
    opens: tuple[str, ...] = ()  # options for a conversation that this verb may create
    counts: str = ""  # what a returned number counts
    some: bool = False  # whether at least one argument is required
    keyed: bool = False  # whether a repeated idempotency key has no further effect
    status: int = 200
    answers: Any = None  # the model of the answer, if the method's return type does not tell it
    shaped: Callable[[Any, Mapping[str, Any]], Any] | None = None  # converts the result to that model
    renamed: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def arguments(self) -> Mapping[str, Argument]:
        """Return its arguments by name; a chat's verbs take the session id first."""
        own = read(self.does)
        if self._owner not in OF_A_CHAT:
            return own
        return {"session_id": WHICH, **own, **{name: OPENING[name] for name in self.opens}}

    @cached_property
    def about(self) -> str:
        """Return its description: a handle's first paragraph, or all that a function for outsiders says."""
        said = inspect.cleandoc(self.does.__doc__ or "")
        return said.partition("\n\n")[0] if self._owner else said

    @cached_property
    def returns(self) -> Any:
        """Return the declared return type."""
        return get_type_hints(self.does)["return"]

    @cached_property
    def shape(self) -> Any:
        """Return the model of its answer, or None if it only says that it is done."""
        if self.answers is not None or self.counts:
            return self.answers or COUNTED[self.counts]
        returned, _, _ = peeled(self.returns)
        if returned in (type(None), bool):
            return None
        listed = get_origin(returned) is list
        return Page[SENT[get_args(returned)[0]]] if listed else SENT.get(returned, returned)  # type: ignore[misc]

    async def answer(self, user: AsyncUser, given: Mapping[str, Any]) -> Any:
        """Do it, and return what its model is made from, or whether there was something to do it to."""
        paged = "offset" in self.arguments
        # Reads one more, to see whether there is more.
        done = await self._done(user, {**given, "limit": min(given["limit"] + 1, self._most)} if paged else given)
        if self.shaped is not None:
            done = self.shaped(done, given)
        if paged:
            return page(done, given["limit"], given["offset"], self._most)
        if isinstance(done, list):
            return {"items": done}
        if self.counts:
            return {self.counts: done}
        if done is None and self.shape is None:
            return True
        return found(done, self.missing.format(**given)) if done is None else done

    async def _done(self, user: AsyncUser, given: Mapping[str, Any]) -> Any:
        """Calls the method or function."""
        if not self._owner:
            return await self.does(user, **given)
        own = dict(given)
        handle: Any = user
        if self._owner in OF_A_CHAT:
            opening = {name: own.pop(name) for name in self.opens}
            handle = user.chat(own.pop("session_id"), **opening)
        noun = self._owner.removeprefix("Async").lower()
        handle = handle if noun in ("user", "chat") else getattr(handle, noun)
        return await getattr(handle, self.does.__name__)(**own)

    @property
    def _most(self) -> int:
        """Returns the maximum limit of a page."""
        bounds = self.arguments["limit"].bounds
        assert bounds is not None
        return int(bounds.most)

    @property
    def _owner(self) -> str:
        """Return the name of the handle's class."""
        return self.does.__qualname__.rpartition(".")[0]
