"""Ingredients: all that may go into a context, and how each of them is told in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ltst.recall.lines import UNTRUSTED, data, day, detail, flat, instructed
from ltst.recall.summary import MODEL_ROLES
from ltst.recall.worth import subjects
from ltst.records import ME, ConversationContext, ConversationMessage, Fact, Hit, UserPreference
from ltst.support.speech import speaker

# Who said what is recalled; what nobody is named for are the user's own words.
SPEAKERS = {"human": None, "user": None, "ai": "assistant", "assistant": "assistant"}
UNNAMED = "someone"  # whose name has no letter that can be shown
ASSISTANT_WEIGHT = 0.75  # of what an assistant said, beside the user's own words: these are what is remembered for
KNOWN_OF_FACTS = ("date", "relation", "species")  # what is known of a fact beside its value


@dataclass(frozen=True, slots=True)
class Ingredients:
    """All that may go into a context, in the order in which it is merged."""

    instructions: str | None = None
    wishes: Sequence[str] = ()  # standing orders that were learnt: quoted, since only what is set by hand may instruct
    preferences: Sequence[UserPreference] = ()
    facts: Sequence[Fact] = ()
    summary: str | None = None
    contexts: Sequence[ConversationContext] = ()  # the most relevant first
    episodes: Sequence[Hit] = ()
    documents: Sequence[Hit] = ()
    recalled: Sequence[Hit] = ()
    working: Mapping[str, Any] = field(default_factory=dict)
    window: Sequence[ConversationMessage] = ()
    query: str | None = None
    topic: str | None = None  # what is recalled for, where that is not the query
    turns: int | None = None  # the most of the window that is shown word for word; None: as many as fit
    notes: Sequence[str] = ()  # what cannot be read; it is told beside the prompt, not in it
    today: datetime | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What a line of a context is: its kind, its id (of working memory the key), and the messages that it rests on."""

    kind: str
    id: str | None = None
    messages: tuple[str, ...] = ()


@dataclass(slots=True)  # not frozen, which takes thrice as long to make: there are hundreds in each context
class Ingredient:
    """One fact, one message, one turn: what it says, how it is shown and where it stands in its section."""

    content: str
    place: tuple[Any, ...]
    source: Source | None = None  # of a line that has a reference; turns and instructions have none
    details: tuple[str, ...] = ()  # what stands between the brackets, beside the reference
    shown: Callable[[str], str] = str
    id: str | None = None  # of the message that this is, so that it is not shown twice
    role: str | None = None  # of a turn; all else stands in the system message
    own: bool = True  # whether it is the user's own; what others said is shortened more
    whole: bool = True
    memory: Hit | None = None
    group: tuple[Any, ...] | None = None  # neighbours of one group stand in one line
    preference: str | None = None  # the id of the preference that this is
    order: int = 0  # of its place among those of its section

    @property
    def sources(self) -> tuple[str, ...]:
        """The messages that it rests on: itself, where it is one."""
        if self.source is not None:
            return self.source.messages
        return () if self.id is None else (self.id,)


def known_items(ingredients: Ingredients) -> dict[str, list[Ingredient]]:
    """Return what may stand in the sections that need no search, the most useful first."""
    known = {
        "instructions": _instructions(ingredients.instructions),
        "preferences": _wishes(ingredients.wishes) + _preferences(ingredients.preferences),
        "facts": _facts(ingredients.facts, ingredients.topic),
        "contexts": _contexts(ingredients.contexts),
        "working": _working(ingredients.working),
    }
    return _telling(known)


def found_items(ingredients: Ingredients, told: str) -> dict[str, list[Ingredient]]:
    """Return what may stand in the sections of what was found, the most useful first; and in that of summaries."""
    found = {
        "summary": _summaries([ingredients.summary, told]),
        "episodes": _recalled(ingredients.episodes),
        "documents": _recalled(ingredients.documents),
        "recalled": _recalled(ingredients.recalled),
    }
    return _telling(found)


def _telling(sections: Mapping[str, Sequence[Ingredient]]) -> dict[str, list[Ingredient]]:
    """Return the sections without what says nothing."""
    return {name: [each for each in section if each.content] for name, section in sections.items()}


def turn(message: ConversationMessage, index: int) -> Ingredient:
    """Return a turn under its role. What a tool or a page said is data, in a turn that cannot speak as the system."""
    role = role_of(message)
    if role in ("user", "assistant", "system") and message.trusted:
        return Ingredient(message.content, (index,), id=message.message_id, role=role)
    return Ingredient(message.content, (index,), shown=partial(_unheard, role), id=message.message_id, role="user")


def newest(window: Sequence[ConversationMessage], query: str | None) -> Ingredient | None:
    """Return the newest user message: the query, unless the window has it waiting for an answer; else the last one."""
    at = max((index for index, message in enumerate(window) if role_of(message) == "user"), default=None)
    if query and query.strip():
        waiting = at is not None and window[at].content == query and role_of(window[-1]) != "assistant"
        if not waiting:
            return Ingredient(query, (len(window),), role="user")
    return None if at is None else turn(window[at], at)


def role_of(message: ConversationMessage) -> str:
    """Return the role of a message as models know it."""
    return MODEL_ROLES.get(message.role, message.role)


def utc(when: datetime) -> datetime:
    """Return a time in UTC, which it is in where it names no zone."""
    if when.tzinfo is UTC:
        return when
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def _unheard(role: str, content: str) -> str:
    return f"[{role if role in ('user', 'assistant') else 'tool'}, {UNTRUSTED}] {data(content)}"


def _keyed(key: str, value: str) -> str:
    return f"{key}: {value}"


def _instructions(text: str | None) -> list[Ingredient]:
    return [Ingredient(text, (), shown=instructed)] if text and text.strip() else []


def _wishes(wishes: Iterable[str]) -> list[Ingredient]:
    """In the order in which they were made."""
    first = datetime.min.replace(tzinfo=UTC)
    return [Ingredient(flat(text), (first, f"{at:06}"), Source("instruction")) for at, text in enumerate(wishes)]


def _preferences(preferences: Iterable[UserPreference]) -> list[Ingredient]:
    """Return the surest first; shown in the order they came, so that a new one leaves those before it in place."""
    return [
        Ingredient(
            flat(each.preference_value),
            (_moment(each.created_at), each.preference_key),
            Source("preference", each.preference_id),
            shown=partial(_keyed, flat(each.preference_key)),
            preference=each.preference_id,
        )
        for each in sorted(preferences, key=lambda each: (-each.confidence_score, each.preference_key))
    ]


def _facts(facts: Iterable[Fact], topic: str | None) -> list[Ingredient]:
    """First about whom the topic names, then about the user; the surest, then the latest. Shown as they were learnt."""
    asked = subjects(topic or "")
    return [
        Ingredient(
            flat(each.fact_value),
            (_moment(each.recorded_at), each.fact_key, each.fact_id),
            Source("fact", each.fact_id, _source_of(each)),
            _fact_details(each),
            partial(_keyed, flat(each.label)),
            memory=_fact_recalled(each),
        )
        for each in sorted(
            facts,
            key=lambda each: (_distance(each, asked), -each.confidence, -_seconds(each.recorded_at), each.fact_id),
        )
    ]


def _distance(fact: Fact, asked: frozenset[str]) -> int:
    """Return how far a fact is from what is asked, by whom it is about."""
    if fact.about == ME:
        return 1
    return 0 if asked & subjects(fact.about) else 2


def _source_of(fact: Fact) -> tuple[str, ...]:
    return () if fact.source_message_id is None else (fact.source_message_id,)


def _fact_recalled(fact: Fact) -> Hit:
    return Hit("fact", fact.fact_id, fact.line, 0.0, {}, fact.valid_from, None, None, _source_of(fact))


def _fact_details(fact: Fact) -> tuple[str, ...]:
    known = {name: fact.metadata.get(name) for name in KNOWN_OF_FACTS}
    told = tuple(f"{name} {detail(value)}" for name, value in known.items() if isinstance(value, str) and flat(value))
    # A plan is about its own date; since when it was made tells nobody anything.
    since = () if isinstance(known["date"], str) else (day(utc(fact.valid_from)),)
    until = () if fact.valid_to is None else (f"until {day(utc(fact.valid_to))}",)
    return (*since, *until, *told)


def _summaries(summaries: Iterable[str | None]) -> list[Ingredient]:
    return [Ingredient(flat(text), (at,), Source("summary")) for at, text in enumerate(summaries) if text]


def _contexts(contexts: Iterable[ConversationContext]) -> list[Ingredient]:
    """Return the most relevant first; shown by type and key."""
    return [
        Ingredient(
            flat(each.context_value),
            (each.context_type, each.context_key),
            Source("context", str(each.context_id)),
            (detail(each.context_type),),
            partial(_keyed, flat(each.context_key)),
            memory=_context_recalled(each),
        )
        for each in contexts
    ]


def _context_recalled(context: ConversationContext) -> Hit:
    told = f"{context.context_key}: {context.context_value}"
    return Hit("context", str(context.context_id), told, 0.0, {}, context.created_at, context.session_id, None, ())


def _recalled(recalled: Iterable[Hit]) -> list[Ingredient]:
    """Return the best first, the user's own words before what others said; shown in the order of time, each once."""
    unique: dict[tuple[str, str, str], Hit] = {}
    for each in sorted(recalled, key=lambda each: (-_worth(each), -_seconds(each.occurred_at), each.id, each.content)):
        unique.setdefault((each.kind, each.id, each.content), each)
    return [_recalled_item(each, _recalled_details(each)) for each in unique.values()]


def _recalled_item(recalled: Hit, details: tuple[str, ...]) -> Ingredient:
    of_message = (recalled.id,) if recalled.kind == "message" else ()
    return Ingredient(
        flat(recalled.content),
        (_moment(recalled.occurred_at), recalled.id, recalled.content),
        Source(recalled.kind, recalled.id, recalled.sources or of_message),
        details,
        id=recalled.id if recalled.kind == "message" else None,
        own=not _is_assistants(recalled),
        memory=recalled,
        group=_group(recalled, details),
    )


def _is_assistants(hit: Hit) -> bool:
    return hit.kind == "message" and SPEAKERS.get(hit.role or hit.speaker or "") == "assistant"


def _worth(hit: Hit) -> float:
    return hit.score * (ASSISTANT_WEIGHT if _is_assistants(hit) else 1.0)


def _recalled_details(recalled: Hit) -> tuple[str, ...]:
    when = () if recalled.occurred_at is None else (day(utc(recalled.occurred_at)),)
    who = _speaker(recalled)
    return (*when, *((who,) if who else ()), *(() if recalled.trusted else (UNTRUSTED,)))


def _speaker(recalled: Hit) -> str | None:
    """Return who said it, by name; None for the user, and for what nobody said."""
    role, name = recalled.role or recalled.speaker or "", recalled.speaker
    if name in (None, role, speaker(role, None)) and role in SPEAKERS:
        return SPEAKERS[role]
    return name and (detail(name) or UNNAMED)


def _group(recalled: Hit, details: tuple[str, ...]) -> tuple[Any, ...] | None:
    """What makes neighbours one line: the same speaker on the same day in one conversation, or the same document."""
    if recalled.kind == "message" and recalled.session_id is not None:
        return (recalled.kind, recalled.session_id, *details)
    return (recalled.kind, recalled.id, *details) if recalled.kind == "document" else None


def _working(working: Mapping[str, Any]) -> list[Ingredient]:
    return [
        Ingredient(flat(_value(working[key])), (key,), Source("working", key), shown=partial(_keyed, flat(key)))
        for key in sorted(working)
    ]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _moment(when: datetime | None) -> datetime:
    """Return a time to sort by; what has none comes last."""
    return datetime.max.replace(tzinfo=UTC) if when is None else utc(when)


def _seconds(when: datetime | None) -> float:
    return 0.0 if when is None else utc(when).timestamp()
