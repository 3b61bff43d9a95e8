"""Ingredients: everything that may go into a context, and how each item is written in it."""

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

# The speaker named for each role; None for the user, whose words need no name.
SPEAKERS = {"human": None, "user": None, "ai": "assistant", "assistant": "assistant"}
UNNAMED = "someone"  # for a name without a single character that can be shown
ASSISTANT_WEIGHT = 0.75  # for an assistant's words, against 1 for the user's own
KNOWN_OF_FACTS = ("date", "relation", "species")  # details of a fact that are shown besides its value


@dataclass(frozen=True, slots=True)
class Ingredients:
    """Everything that may go into a context, in the order in which it is merged."""

    instructions: str | None = None
    wishes: Sequence[str] = ()  # learned standing orders; quoted, since only instructions set by hand may instruct
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
    topic: str | None = None  # what the hits were searched for, if not the query
    turns: int | None = None  # most turns of the window to show word for word; None: as many as fit
    notes: Sequence[str] = ()  # says what cannot be read; returned beside the prompt, not in it
    today: datetime | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """What a line of a context stands for: its kind, its id (for working memory the key), and its source messages."""

    kind: str
    id: str | None = None
    messages: tuple[str, ...] = ()


@dataclass(slots=True)  # not frozen, which takes three times as long to create, with hundreds in each context
class Ingredient:
    """One item of a context, such as a fact, a message or a turn: its text, how it is shown, and its sort key."""

    content: str
    place: tuple[Any, ...]
    source: Source | None = None  # set for a line with a reference; turns and instructions have none
    details: tuple[str, ...] = ()  # shown inside the brackets, after the reference
    shown: Callable[[str], str] = str
    id: str | None = None  # the id of the message, so that it is not shown twice
    role: str | None = None  # set for a turn; everything else goes into the system message
    own: bool = True  # whether it is the user's own; other items are shortened more
    whole: bool = True
    memory: Hit | None = None
    group: tuple[Any, ...] | None = None  # neighbours with the same group share a line
    preference: str | None = None  # the id of the preference, if it is one
    order: int = 0  # its rank by `place` within its section

    @property
    def sources(self) -> tuple[str, ...]:
        """The ids of the messages that it rests on; its own id if it is a message."""
        if self.source is not None:
            return self.source.messages
        return () if self.id is None else (self.id,)


def known_items(ingredients: Ingredients) -> dict[str, list[Ingredient]]:
    """Returns the items of the sections that need no search, the most useful first."""
    known = {
        "instructions": _instructions(ingredients.instructions),
        "preferences": _wishes(ingredients.wishes) + _preferences(ingredients.preferences),
        "facts": _facts(ingredients.facts, ingredients.topic),
        "contexts": _contexts(ingredients.contexts),
        "working": _working_items(ingredients.working),
    }
    return _drop_empty(known)


def found_items(ingredients: Ingredients, told: str) -> dict[str, list[Ingredient]]:
    """Returns the items of the sections that search fills, and of the summary, the most useful first."""
    found = {
        "summary": _summaries([ingredients.summary, told]),
        "episodes": _recalled_items(ingredients.episodes),
        "documents": _recalled_items(ingredients.documents),
        "recalled": _recalled_items(ingredients.recalled),
    }
    return _drop_empty(found)


def _drop_empty(sections: Mapping[str, Sequence[Ingredient]]) -> dict[str, list[Ingredient]]:
    """Returns the sections without items that have no text."""
    return {name: [each for each in section if each.content] for name, section in sections.items()}


def turn(message: ConversationMessage, index: int) -> Ingredient:
    """Returns a message as a turn under its role. What a tool or a page said becomes quoted data in a user turn."""
    role = role_of(message)
    if role in ("user", "assistant", "system") and message.trusted:
        return Ingredient(message.content, (index,), id=message.message_id, role=role)
    return Ingredient(
        message.content, (index,), shown=partial(_show_untrusted, role), id=message.message_id, role="user"
    )


def newest(window: Sequence[ConversationMessage], query: str | None) -> Ingredient | None:
    """Returns the newest user message: the query, unless the window ends with it unanswered; else the window's last."""
    at = max((index for index, message in enumerate(window) if role_of(message) == "user"), default=None)
    if query and query.strip():
        waiting = at is not None and window[at].content == query and role_of(window[-1]) != "assistant"
        if not waiting:
            return Ingredient(query, (len(window),), role="user")
    return None if at is None else turn(window[at], at)


def role_of(message: ConversationMessage) -> str:
    """Returns the role of a message under the name that models use."""
    return MODEL_ROLES.get(message.role, message.role)


def utc(when: datetime) -> datetime:
    """Returns a time in UTC; a time without a zone is taken as UTC."""
    if when.tzinfo is UTC:
        return when
    return when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)


def _show_untrusted(role: str, content: str) -> str:
    return f"[{role if role in ('user', 'assistant') else 'tool'}, {UNTRUSTED}] {data(content)}"


def _key_and_value(key: str, value: str) -> str:
    return f"{key}: {value}"


def _instructions(text: str | None) -> list[Ingredient]:
    return [Ingredient(text, (), shown=instructed)] if text and text.strip() else []


def _wishes(wishes: Iterable[str]) -> list[Ingredient]:
    """Returns the learned wishes in the order in which they were made."""
    first = datetime.min.replace(tzinfo=UTC)
    return [Ingredient(flat(text), (first, f"{at:06}"), Source("instruction")) for at, text in enumerate(wishes)]


def _preferences(preferences: Iterable[UserPreference]) -> list[Ingredient]:
    """Returns preferences, the surest first. They are shown by age, so that a new one leaves the others in place."""
    return [
        Ingredient(
            flat(each.preference_value),
            (_sort_time(each.created_at), each.preference_key),
            Source("preference", each.preference_id),
            shown=partial(_key_and_value, flat(each.preference_key)),
            preference=each.preference_id,
        )
        for each in sorted(preferences, key=lambda each: (-each.confidence_score, each.preference_key))
    ]


def _facts(facts: Iterable[Fact], topic: str | None) -> list[Ingredient]:
    """Returns facts about whom the topic names, then about the user; the surest, then the latest. Shown by age."""
    asked = subjects(topic or "")
    return [
        Ingredient(
            flat(each.fact_value),
            (_sort_time(each.recorded_at), each.fact_key, each.fact_id),
            Source("fact", each.fact_id, _source_of(each)),
            _fact_details(each),
            partial(_key_and_value, flat(each.label)),
            memory=_fact_recalled(each),
        )
        for each in sorted(
            facts,
            key=lambda each: (_distance(each, asked), -each.confidence, -_seconds(each.recorded_at), each.fact_id),
        )
    ]


def _distance(fact: Fact, asked: frozenset[str]) -> int:
    """Returns how far a fact is from the question, judged by whom it is about: 0 is nearest."""
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
    # A plan has its own date; the day on which it was made is of no use.
    since = () if isinstance(known["date"], str) else (day(utc(fact.valid_from)),)
    until = () if fact.valid_to is None else (f"until {day(utc(fact.valid_to))}",)
    return (*since, *until, *told)


def _summaries(summaries: Iterable[str | None]) -> list[Ingredient]:
    return [Ingredient(flat(text), (at,), Source("summary")) for at, text in enumerate(summaries) if text]


def _contexts(contexts: Iterable[ConversationContext]) -> list[Ingredient]:
    """Returns the contexts in the given order, the most relevant first; they are shown by type and key."""
    return [
        Ingredient(
            flat(each.context_value),
            (each.context_type, each.context_key),
            Source("context", str(each.context_id)),
            (detail(each.context_type),),
            partial(_key_and_value, flat(each.context_key)),
            memory=_context_recalled(each),
        )
        for each in contexts
    ]


def _context_recalled(context: ConversationContext) -> Hit:
    told = f"{context.context_key}: {context.context_value}"
    return Hit("context", str(context.context_id), told, 0.0, {}, context.created_at, context.session_id, None, ())


def _recalled_items(recalled: Iterable[Hit]) -> list[Ingredient]:
    """Returns hits without duplicates, the best first, with an assistant's words weighed down; shown by time."""
    unique: dict[tuple[str, str, str], Hit] = {}
    for each in sorted(
        recalled, key=lambda each: (-_weigh_hit(each), -_seconds(each.occurred_at), each.id, each.content)
    ):
        unique.setdefault((each.kind, each.id, each.content), each)
    return [_recalled_item(each, _recalled_details(each)) for each in unique.values()]


def _recalled_item(recalled: Hit, details: tuple[str, ...]) -> Ingredient:
    of_message = (recalled.id,) if recalled.kind == "message" else ()
    return Ingredient(
        flat(recalled.content),
        (_sort_time(recalled.occurred_at), recalled.id, recalled.content),
        Source(recalled.kind, recalled.id, recalled.sources or of_message),
        details,
        id=recalled.id if recalled.kind == "message" else None,
        own=not _is_assistants(recalled),
        memory=recalled,
        group=_group_key(recalled, details),
    )


def _is_assistants(hit: Hit) -> bool:
    return hit.kind == "message" and SPEAKERS.get(hit.role or hit.speaker or "") == "assistant"


def _weigh_hit(hit: Hit) -> float:
    return hit.score * (ASSISTANT_WEIGHT if _is_assistants(hit) else 1.0)


def _recalled_details(recalled: Hit) -> tuple[str, ...]:
    when = () if recalled.occurred_at is None else (day(utc(recalled.occurred_at)),)
    who = _speaker(recalled)
    return (*when, *((who,) if who else ()), *(() if recalled.trusted else (UNTRUSTED,)))


def _speaker(recalled: Hit) -> str | None:
    """Returns the name of who said it; None for the user, and for what nobody said."""
    role, name = recalled.role or recalled.speaker or "", recalled.speaker
    if name in (None, role, speaker(role, None)) and role in SPEAKERS:
        return SPEAKERS[role]
    return name and (detail(name) or UNNAMED)


def _group_key(recalled: Hit, details: tuple[str, ...]) -> tuple[Any, ...] | None:
    """Returns the key by which neighbours share a line: same speaker, day and conversation, or same document."""
    if recalled.kind == "message" and recalled.session_id is not None:
        return (recalled.kind, recalled.session_id, *details)
    return (recalled.kind, recalled.id, *details) if recalled.kind == "document" else None


def _working_items(working: Mapping[str, Any]) -> list[Ingredient]:
    return [
        Ingredient(
            flat(_as_text(working[key])), (key,), Source("working", key), shown=partial(_key_and_value, flat(key))
        )
        for key in sorted(working)
    ]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def _sort_time(when: datetime | None) -> datetime:
    """Returns a time to sort by; items without one come last."""
    return datetime.max.replace(tzinfo=UTC) if when is None else utc(when)


def _seconds(when: datetime | None) -> float:
    return 0.0 if when is None else utc(when).timestamp()
