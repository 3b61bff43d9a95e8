"""Search: the index over everything a user owns (vectors and terms), and candidates of all kinds in one round trip."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ltst.db.pool import Executor, SingleCall
from ltst.records import ConversationMessage
from ltst.support.terms import SLOTS

DIMENSIONS = 384  # of the columns of a new database
KINDS = ("message", "fact", "entry", "document")
INDEXERS = {
    "message": "search.index_messages",
    "fact": "search.index_facts",
    "entry": "search.index_entries",
    "document": "search.index_documents",
}


@dataclass(frozen=True, slots=True)
class Due:
    """A row that lacks its terms or its vector."""

    kind: str
    id: str
    content: str
    role: str | None
    said_by: str | None
    title: str | None
    occurred_at: datetime | None
    heading: str | None = None
    failed: bool = False  # whether it was tried before, in vain


@dataclass(frozen=True, slots=True)
class Indexed:
    """What search keeps of a row: its terms, one vector if there is a model, and those of its parts if it is long."""

    kind: str
    id: str
    terms: str
    vector: str | None = None
    parts: Sequence[str] = ()
    importance: float = 0.0


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model whose vectors the index holds."""

    name: str
    dimensions: int
    source: str | None


@dataclass(frozen=True, slots=True)
class Large:
    """How many vectors a user has, and whether the index of vectors is being filled with them, or holds them."""

    begun: bool
    ready: bool
    vectors: int


@dataclass(frozen=True, slots=True)
class State:
    """What a search needs to know before it begins; `cached` is what the same search found in this version."""

    model: str | None
    source: str | None
    dimensions: int | None
    large: bool
    version: int
    due: bool
    cached: list[dict[str, Any]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What a search is limited to."""

    kinds: Sequence[str] = KINDS
    entry_type: str | None = None  # of the entries; other kinds have none
    session_id: str | None = None
    related: bool = True  # whether sessions related to that one count as well
    since: datetime | None = None
    until: datetime | None = None
    equal: str = "{}"
    ranges: Sequence[tuple[str, str, str]] = ()
    without: str | None = None  # the hash of a content: messages that say exactly this are left out

    @property
    def narrow(self) -> bool:
        """Whether it leaves out messages, of which the nearest of all may then be none."""
        limits = (self.session_id, self.since, self.until)
        return any(each is not None for each in limits) or self.equal != "{}" or bool(self.ranges)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the database compares it: a vector of a model, if there is one, and the terms of the text."""

    model: str | None
    vector: str | None
    terms: Sequence[str]
    now: datetime | None  # else by the database's clock
    answer: str | None = None  # the term of what is asked for
    echo: str | None = None  # the hash of a question: a message that only asks the same does not answer it


async def due(
    tx: Executor, limit: int, *, skip: Iterable[str] = (), terms_only: bool = False, careful: bool = False
) -> list[Due]:
    """Rows of the user that are not indexed yet, the newest first; without a model, those that lack their terms.

    A row that ended whoever was at it is left out, unless one is `careful`.
    """
    return await tx.rows(
        "search.due",
        Due,
        user_id=tx.scope.user_id,
        limit=limit,
        skip=[*skip],
        terms_only=terms_only,
        careful=careful,
    )


async def index(tx: Executor, model: str | None, rows: Sequence[Indexed]) -> set[str]:
    """Write terms and vectors; vectors of a model that is not the index's own are left out. The rows still there."""
    there: set[str] = set()
    for kind, query in INDEXERS.items():
        mine = [row for row in rows if row.kind == kind]
        if mine:
            there |= {
                *await tx.values(
                    query,
                    user_id=tx.scope.user_id,
                    model=model,
                    ids=[row.id for row in mine],
                    embeddings=[row.vector for row in mine],
                    terms=[row.terms for row in mine],
                    importances=[row.importance for row in mine],
                )
            }
    # A row that is gone meanwhile leaves no parts behind.
    parts = [(row.id, number, part) for row in rows if row.id in there for number, part in enumerate(row.parts)]
    if parts:
        owners, numbers, vectors = zip(*parts, strict=True)
        await tx.run(
            "search.add_parts",
            user_id=tx.scope.user_id,
            model=model,
            owners=[*owners],
            parts=[*numbers],
            embeddings=[*vectors],
        )
    return there


async def model(tx: Executor) -> Model | None:
    """The model whose vectors the index holds."""
    return await tx.row("search.model", Model)


async def add_model(tx: Executor, given: Model) -> None:
    """Name the first model of an index; of two named at once the first stays."""
    await tx.run("search.add_model", name=given.name, dimensions=given.dimensions, source=given.source)


async def state(tx: Executor, cache_key: str) -> State:
    """What a search needs to know before it begins."""
    found = await tx.row("search.state", State, user_id=tx.scope.user_id, cache_key=cache_key)
    assert found is not None, "a query of scalars answers with one row"
    return found


async def candidates(
    calls: SingleCall, asked: Asked, filters: Filters, *, large: bool, depth: int
) -> tuple[bool, Mapping[str, Any]]:
    """Scores of all that passes the filters, packed; and whether someone was writing for this user at the time."""
    queries = [f"'{term}'" for term in asked.terms[:SLOTS]]
    parameters = {
        "user_id": calls.scope.user_id,
        "model": asked.model,
        "vector": asked.vector,
        "queries": queries + [None] * (SLOTS - len(queries)),
        "any_query": " | ".join(queries),
        "kinds": [*filters.kinds],
        "entry_type": filters.entry_type,
        "session_id": filters.session_id,
        "related": filters.related,
        "since": filters.since,
        "until": filters.until,
        "now": asked.now,
        "equal": filters.equal,
        "range_keys": [key for key, _, _ in filters.ranges],
        "range_signs": [sign for _, sign, _ in filters.ranges],
        "range_values": [value for _, _, value in filters.ranges],
        "without": filters.without,
        "answer": asked.answer and f"'{asked.answer}'",
        "echo": asked.echo,
        "large": large,
        "depth": depth,
    }
    return await calls.packed("cache.writers", "search.candidates", parameters)


@dataclass(frozen=True, slots=True)
class Nearby:
    """A message, how similar its vector is to a question's, and whether the model reads the message in one part."""

    message: ConversationMessage
    similarity: float
    whole: bool


async def nearest_messages(
    calls: SingleCall, model: str, vector: str, *, session_id: str | None, large: bool, limit: int
) -> list[Nearby]:
    """The messages whose vectors are nearest to a question's; none if the index holds another model's."""
    found = await calls.compared(
        "search.nearest_messages",
        user_id=calls.scope.user_id,
        model=model,
        vector=vector,
        session_id=session_id,
        large=large,
        limit=limit,
    )
    return [_nearby(**row) for row in found]


def _nearby(similarity: float, whole: bool, **columns: Any) -> Nearby:
    return Nearby(ConversationMessage(**columns), similarity, whole)


async def hits(tx: Executor, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The rows of the best candidates, by their key; those that are gone meanwhile are not in it."""
    found = await tx.dicts("search.hits", user_id=tx.scope.user_id, keys=[*keys])
    return {row["key"]: row for row in found}


async def large(tx: Executor) -> Large:
    """How much the user has, and whether the index holds it."""
    found = await tx.row("search.large", Large, user_id=tx.scope.user_id)
    assert found is not None, "a query of scalars answers with one row"
    return found


async def begin_large(tx: Executor) -> None:
    """From now on, what is indexed for this user goes into the index of vectors."""
    await tx.run("search.begin_large", user_id=tx.scope.user_id)


async def mark_messages(tx: Executor, after: str, limit: int) -> str | None:
    """Put the next messages into the index of vectors; the last of them, None if there are no more."""
    last: str | None = await tx.value("search.mark_messages", user_id=tx.scope.user_id, after=after, limit=limit)
    return last


async def mark_parts(tx: Executor, after: str, limit: int) -> str | None:
    """Put the parts of the next texts into the index of vectors; the last of them, None if there are no more."""
    last: str | None = await tx.value("search.mark_parts", user_id=tx.scope.user_id, after=after, limit=limit)
    return last


async def finish_large(tx: Executor) -> None:
    """From now on, this user's vectors are found by the index."""
    await tx.run("search.finish_large", user_id=tx.scope.user_id)


async def vectors(tx: Executor, message_ids: Sequence[str]) -> dict[str, list[float]]:
    """The vectors of messages that have one."""
    found = await tx.dicts("search.vectors", user_id=tx.scope.user_id, ids=[*message_ids])
    return {row["id"]: row["vector"] for row in found}
