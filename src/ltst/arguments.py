"""What verbs take: kinds of values with their bounds and choices, said once, in the signatures of the handles.

A signature reads `confidence: Annotated[Score, "How sure it is, from 0 to 1."] = 1.0`. The core checks what it is given
(`support.validate`); the doors read signatures with `read`, to describe an argument and to take it in their own form.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import Annotated, Any, NamedTuple, TypedDict, Union, get_args, get_origin, get_type_hints

from ltst.records import KINDS, SEARCHED, STATEMENT_KINDS

LARGEST = 2**31 - 1
# Holds the beginning of a message under any counter of at most one token per byte: the speaker's name, a line break of
# three bytes with its indent, and the mark that the rest is left out.
FEWEST_TOKENS = 17
ROLES = ("user", "assistant", "human", "ai", "system", "tool")
ENTRY_TYPES = ("long_term", "episodic")
PREFERENCE_TYPES = ("general", "coding", "communication", "project")
CONTEXT_TYPES = ("conversation", "preference", "project", "user_info", "working")
MESSAGE_TYPES = ("message", "system", "context", "preference")
SESSION_STATES = ("active", "archived")
STRATEGIES = ("sliding_window", "sliding_window_summary")
DISTANCES = ("cosine", "inner_product", "l2")


class Bounds(NamedTuple):
    """The least and the most that a number may be."""

    least: float
    most: float


class Letters(NamedTuple):
    """How long a text may be, None for as long as a message; whether it may be blank; and what it looks like."""

    most: int | None = None
    blank: bool = False
    pattern: str = ""


class Choices(NamedTuple):
    """The words that a text may be."""

    words: tuple[str, ...]


Identifier = Annotated[str, Letters(255)]
Content = Annotated[str, Letters()]
Line = Annotated[str, Letters(500, blank=True)]
Word = Annotated[str, Letters(100)]
Uri = Annotated[str, Letters(4096, blank=True)]
Score = Annotated[float, Bounds(0, 1)]
Weight = Annotated[float, Bounds(-1e300, 1e300)]
Index = Annotated[int, Bounds(1, LARGEST)]
Few = Annotated[int, Bounds(1, 200), "How many at most."]
Passed = Annotated[int, Bounds(0, 1000), "How many of the best to pass over."]
Limit = Annotated[int, Bounds(1, 100_000), "How many at most."]
Offset = Annotated[int, Bounds(0, LARGEST), "How many to pass over."]
Budget = Annotated[int, Bounds(FEWEST_TOKENS, LARGEST), "How many tokens it may have."]
WindowSize = Annotated[int, Bounds(1, 100_000), "How many messages are shown word for word at most."]
Span = Annotated[timedelta | float, Bounds(1e-6, 31_536_000_000)]
Role = Annotated[str, Choices(ROLES), "Who says it: user, assistant, system or tool."]
Kind = Annotated[str, Choices(KINDS)]
StatementKind = Annotated[str, Choices(STATEMENT_KINDS)]
EntryType = Annotated[str, Choices(ENTRY_TYPES)]
PreferenceType = Annotated[str, Choices(PREFERENCE_TYPES)]
ContextType = Annotated[str, Choices(CONTEXT_TYPES), "What kind it is."]
MessageType = Annotated[str, Choices(MESSAGE_TYPES), "What kind of message it is."]
SessionState = Annotated[str, Choices(SESSION_STATES)]
Strategy = Annotated[
    str, Choices(STRATEGIES), "sliding_window_summary also summarises the older half of a long conversation."
]
SessionId = Annotated[Identifier, "The id of the conversation, such as monday."]
MessageId = Annotated[Identifier, "The id of the message."]
SaidAt = Annotated[datetime | None, "When it was said; now, if left out."]
Metadata = Annotated[Mapping[str, Any], "Anything else to keep with it: an object of JSON values."]
Namespace = Annotated[Iterable[Identifier], Bounds(1, 32), "Where it lies: a path of labels, such as users, ana."]
Prefix = Annotated[Iterable[Identifier], Bounds(0, 32), "Only what lies in this namespace and below it."]
ItemKey = Annotated[str, Letters(1024), "The name of the item in its namespace."]
Revision = Annotated[int, Bounds(0, 2**53)]
Number = Annotated[float, Bounds(-3.4028234e38, 3.4028234e38)]
VectorOfAny = Annotated[Iterable[Number], Bounds(1, 16_000)]
Distance = Annotated[str, Choices(DISTANCES), "How vectors are compared."]
Agent = Annotated[Identifier | None, "The agent that the user talks with, for a new conversation."]
SessionName = Annotated[Line | None, "What to call a new conversation."]
Where = Annotated[
    Mapping[str, Any] | None, 'Conditions on metadata: {"topic": "food"} or {"price": {"gte": 5, "lt": 10}}.'
]


class SearchFilters(TypedDict, total=False):
    """What a search can be narrowed to. A filter that is added here is one of every door."""

    kinds: Annotated[Iterable[Kind] | None, Bounds(1, 10), "Only these kinds; else all but statements and items."]
    entry_type: Annotated[EntryType | None, "Only entries of this type."]
    session_id: Annotated[Identifier | None, "Only in this conversation and those related to it."]
    since: Annotated[datetime | None, "Only what happened at this time or later."]
    until: Annotated[datetime | None, "Only what happened before this time."]
    where: Where
    floor: Annotated[Score | None, "The least relevance, from 0 to 1, of the best."]
    now: Annotated[datetime | None, "The time that “last week” counts from; now, if left out."]
    without: Annotated[Content | None, "Leave out messages that say exactly this."]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """The same, checked, as it is looked for."""

    kinds: Sequence[str] = SEARCHED
    entry_type: str | None = None  # of the entries; other kinds have none
    session_id: str | None = None
    related: bool = True  # whether sessions related to that one count as well
    since: datetime | None = None
    until: datetime | None = None
    equal: str = "{}"  # metadata that must be there, as JSON
    ranges: Sequence[tuple[str, str, str]] = ()  # a key of the metadata, gt, gte, lt or lte, and a bound as JSON
    without: str | None = None  # the hash of a content: messages that say exactly this are left out
    items: str | None = None  # the namespace of items and conditions on their values, as JSON


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a verb, as its signature tells it."""

    name: str
    kind: Any  # its type, without None and without what is said about it
    about: str
    needed: bool
    default: Any
    optional: bool  # whether None is accepted
    positional: bool
    bounds: Bounds | None = None
    letters: Letters | None = None
    choices: Choices | None = None


@cache
def read(verb: Callable[..., Any]) -> Mapping[str, Argument]:
    """Reads the arguments of a method or a function after its first, which is whose they are; by name, in order."""
    hints = get_type_hints(verb, include_extras=True)
    found: dict[str, Argument] = {}
    for each in [*inspect.signature(verb).parameters.values()][1:]:
        if each.kind is inspect.Parameter.VAR_KEYWORD:
            (filters,) = get_args(hints[each.name])
            for name, hint in get_type_hints(filters, include_extras=True).items():
                found[name] = argument(name, hint, None, positional=False)
        else:
            positional = each.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
            found[each.name] = argument(each.name, hints[each.name], each.default, positional=positional)
    return found


def argument(name: str, hint: Any, default: Any = inspect.Parameter.empty, *, positional: bool = True) -> Argument:
    """Reads one annotation; what is said last about it counts."""
    kind, optional, said = peeled(hint)
    told: dict[str, Any] = {
        field: next((each for each in reversed(said) if isinstance(each, type_)), None)
        for field, type_ in (("bounds", Bounds), ("letters", Letters), ("choices", Choices))
    }
    about = next((each for each in reversed(said) if isinstance(each, str)), "")
    needed = default is inspect.Parameter.empty
    return Argument(name, kind, about, needed, None if needed else default, optional, positional, **told)


def peeled(hint: Any) -> tuple[Any, bool, list[Any]]:
    """Takes None and what is said about it off a type: the type, whether None was there, and what was said."""
    optional = False
    said: list[Any] = []
    while True:
        if get_origin(hint) is Annotated:
            hint, *about = get_args(hint)
            said = [*about, *said]
        elif get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
            optional = True
            hint = Union[tuple(each for each in get_args(hint) if each is not type(None))]  # noqa: UP007 - computed
        else:
            return hint, optional, said
