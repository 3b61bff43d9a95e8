"""Search: one index over all kinds of rows of a user, with their words, their vectors and what awaits indexing."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ltst.arguments import Filters
from ltst.db.connections import Reals
from ltst.db.pool import Database, Executor, SingleCall
from ltst.records import KINDS, ConversationMessage
from ltst.support.speech import label, speaker

# The default filters, as an object and as JSON.
USUAL = Filters()
USUAL_DOCUMENT = json.dumps({"kinds": [*USUAL.kinds]})

# What a row still lacks, in the order in which it is indexed.
WORDS, OWN_VECTOR, OTHER_VECTOR, FURTHER_PARTS = range(4)


@dataclass(frozen=True, slots=True)
class Kind:
    """How rows of one kind are indexed; the view `search_sources` says what is read from them."""

    dated: bool = True  # whether the date is part of the indexed text
    own: bool = True  # whether these rows are the user's own words unless a machine wrote them
    worded: bool = True  # whether it has words of its own, instead of those of a row that is indexed by itself


REGISTRY: Mapping[str, Kind] = {
    "message": Kind(),
    "fact": Kind(),
    "entry": Kind(),
    "document": Kind(dated=False, own=False),
    "context": Kind(),
    "statement": Kind(worded=False),
    "item": Kind(dated=False, own=False),
}


@dataclass(frozen=True, slots=True)
class Due:
    """A row that awaits indexing; without content it was deleted or must no longer be found."""

    kind: str
    id: str
    stage: int
    since: datetime
    content: str | None
    role: str | None
    said_by: str | None
    title: str | None
    occurred_at: datetime | None
    heading: str | None
    by_machine: bool
    vectored: bool = True  # whether it has a vector of its own
    failed: bool = False  # whether an earlier attempt failed

    @property
    def text(self) -> str:
        """Returns the content, which rows to be indexed always have."""
        return self.content or ""

    @property
    def vector_stage(self) -> int | None:
        """Returns the stage that makes its vector: early for the user's own words; None if it gets none of its own."""
        if not self.vectored:
            return None
        return OWN_VECTOR if REGISTRY[self.kind].own and not self.by_machine else OTHER_VECTOR

    @property
    def by_person(self) -> bool:
        """Whether a person said it: the user, or a named speaker."""
        return self.kind in ("message", "statement") and (self.role == "human" or self.said_by is not None)

    @property
    def label(self) -> str:
        """Returns what is put before the text when it is indexed: date, title, speaker and heading."""
        at = self.occurred_at if REGISTRY[self.kind].dated else None
        return label(at, self.title, speaker(self.role, self.said_by), self.heading)


@dataclass(frozen=True, slots=True)
class Worded:
    """A row with its index terms, how much it tells, and how relevant a message is by its words."""

    row: Due
    terms: Sequence[str]
    tells: float
    relevance: float | None


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a row: first the whole text, then the parts of a long one; `more` if further parts are missing."""

    row: Due
    made: Sequence[str]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Holders:
    """How many of a user's units contain each term, and how many units there are."""

    units: Mapping[str, int]
    total: int


@dataclass(frozen=True, slots=True)
class Large:
    """How many units a user has, and whether the HNSW index is being filled with their vectors or is ready."""

    begun: bool
    ready: bool
    units: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as the database compares it: its vector and that vector's model, if any, and its terms."""

    cache_key: str
    model: str | None
    vector: Reals | None
    terms: Sequence[str]
    now: datetime | None  # None: the database's clock


@dataclass(frozen=True, slots=True)
class Look:
    """What the database knows before anything is ranked.

    `cached` has the hits of the same search in this version of the memory. `looked` is false if the lookup was skipped:
    rows await indexing, the hits are cached, or the model differs. Totals are set only if not all units are returned;
    then `nearest` has the numbers of the nearest units, and `candidates` reads the `units` unless a filter was narrow.
    """

    model: str | None
    source: str | None
    dimensions: int | None
    version: int
    cached: list[dict[str, Any]] | None
    due: bool
    changing: bool | None
    looked: bool
    total: int | None
    total_words: int | None
    conversations: int | None
    units: bytes | None
    speakers: list[str] | None
    dense: bytes | None
    terms: list[str] | None
    blocks: list[int] | None
    sizes: list[int] | None
    postings: bytes | None
    nearest: list[int] | None


async def due(
    tx: Executor,
    limit: int,
    *,
    first: int = OWN_VECTOR,
    last: int = FURTHER_PARTS,
    skip: Iterable[str] = (),
    careful: bool = False,
) -> list[Due]:
    """Returns rows of the user that await indexing in these stages, by stage, the newest first.

    Leaves out rows at which an indexing worker died, unless `careful` is set.
    """
    return await tx.rows(
        "search.due",
        Due,
        user_id=tx.scope.user_id,
        limit=limit,
        first=first,
        last=last,
        skip=[*skip],
        careful=careful,
    )


async def lacks_vectors(tx: Executor, last: int = FURTHER_PARTS) -> bool:
    """Returns whether rows of the user lack vectors up to a stage and nobody is working on them."""
    return bool(await tx.value("search.lacks", user_id=tx.scope.user_id, last=last))


async def is_due(tx: Executor) -> bool:
    """Returns whether a search would find more by waiting: a row lacks its words or the vector of its whole text."""
    return bool(await tx.value("search.is_due", user_id=tx.scope.user_id))


async def still_due(tx: Executor, rows: Sequence[Due]) -> list[str]:
    """Locks the rows that have not changed since they were read, skipping those locked by others; returns their ids."""
    if not rows:
        return []
    ids, sinces = [row.id for row in rows], [row.since for row in rows]
    return await tx.values("search.still_due", user_id=tx.scope.user_id, ids=ids, sinces=sinces)


async def drop_due(tx: Executor, ids: Iterable[str]) -> None:
    """Removes rows that no longer exist from the queue of what awaits indexing."""
    await tx.run("search.drop_due", user_id=tx.scope.user_id, ids=[*ids])


async def add_words(tx: Executor, rows: Sequence[Worded]) -> int:
    """Adds rows with their terms to the index; returns how many of them were still awaiting it."""
    counted = [Counter(each.terms) for each in rows]
    postings = [(place, term, times) for place, each in enumerate(counted, 1) for term, times in each.items()]
    return int(
        await tx.value(
            "search.add_words",
            user_id=tx.scope.user_id,
            ids=[each.row.id for each in rows],
            sinces=[each.row.since for each in rows],
            stages=[each.row.vector_stage for each in rows],
            lengths=[len(each) for each in counted],
            tells=[each.tells for each in rows],
            relevances=[each.relevance for each in rows],
            # Sent as text because there are thousands of them and the driver is slow to encode arrays.
            held=_as_array(place for place, _, _ in postings),
            terms=_join_terms(term for _, term, _ in postings),
            counts=_as_array(times for _, _, times in postings),
        )
    )


async def known_vectors(tx: Executor, rows: Iterable[Due]) -> dict[str, str]:
    """Returns the vectors that were stored with these rows, by row id."""
    found = await tx.dicts("search.known_vectors", user_id=tx.scope.user_id, ids=[row.id for row in rows])
    return {row["id"]: row["vector"] for row in found}


async def add_vectors(tx: Executor, model: str, vectors: Sequence[Vectors]) -> set[str]:
    """Stores vectors unless they are from another model than the index's; returns the ids of the rows it could lock."""
    made = [(place, part, vector) for place, each in enumerate(vectors, 1) for part, vector in enumerate(each.made)]
    free = await tx.values(
        "search.add_vectors",
        user_id=tx.scope.user_id,
        model=model,
        ids=[each.row.id for each in vectors],
        sinces=[each.row.since for each in vectors],
        stages=[FURTHER_PARTS if each.more else None for each in vectors],
        held=[place for place, _, _ in made],
        parts=[part for _, part, _ in made],
        vectors=[vector for _, _, vector in made],
    )
    return {*free}


async def holders(tx: Executor, terms: Iterable[str]) -> Holders:
    """Returns how many units of the user hold each of some terms, and how many there are."""
    rows = await tx.dicts("search.holders", user_id=tx.scope.user_id, terms=[*terms])
    return Holders({row["term"]: row["units"] for row in rows}, rows[0]["total"] if rows else 0)


async def look(
    database: Database,
    user_id: str,
    asked: Asked,
    filters: Filters,
    *,
    anyway: bool,
    every: int,
    depth: int,
    most: int,
) -> Look:
    """Reads everything that ranking needs in one round trip.

    Skips the lookup while rows await indexing, unless `anyway` is set.
    Returns all units that pass the filters if there are at most `every`, else the numbers of the `depth` nearest. If a
    narrow filter leaves more than that, it returns the nearest and those found in at most `most` postings.
    """
    (found,) = await database.call_rows(
        "search.look",
        Look,
        binary=True,
        user_id=user_id,
        cache_key=asked.cache_key,
        anyway=anyway,
        model=asked.model,
        vector=asked.vector,
        terms=_join_terms(asked.terms),
        now=asked.now,
        filters=_document(filters),
        every=every,
        depth=depth,
        most=most,
    )
    return found


async def newest(tx: Executor, filters: Filters, *, now: datetime, limit: int) -> list[int]:
    """Returns the numbers of the newest units that pass the filters and are valid at that time, newest first."""
    asked = {"filters": _document(filters) or "{}", "now": now, "limit": limit}
    return await tx.values("search.newest", user_id=tx.scope.user_id, **asked)


async def candidates(
    database: Database, user_id: str, asked: Asked, filters: Filters, numbers: Sequence[int]
) -> tuple[bytes | None, bytes | None]:
    """Returns the units with these numbers and their similarities, in the format that `look` uses."""
    ((units, dense),) = await database.call_rows(
        "search.candidates",
        _pair,
        binary=True,
        user_id=user_id,
        numbers=_as_array(numbers),
        model=asked.model,
        vector=asked.vector,
        now=asked.now,
        filters=_document(filters),
    )
    return units, dense


def _pair(units: bytes | None, dense: bytes | None) -> tuple[bytes | None, bytes | None]:
    return units, dense


def _as_array(numbers: Iterable[int]) -> str:
    """Returns numbers in the text format of a Postgres array."""
    return f"{{{','.join(map(str, numbers))}}}"


def _join_terms(terms: Iterable[str]) -> str:
    """Returns terms as one text, joined by spaces, which no term contains."""
    return " ".join(terms)


def _document(filters: Filters) -> str | None:
    """Returns the filters as JSON, or None if they let everything pass."""
    return _as_json(filters) if filters != USUAL else USUAL_DOCUMENT


def _as_json(filters: Filters) -> str | None:
    ranges = [[key, sign, json.loads(value)] for key, sign, value in filters.ranges]
    wanted = {
        "kinds": None if {*filters.kinds} == {*KINDS} else [*filters.kinds],
        "entry_type": filters.entry_type,
        "session_id": filters.session_id,
        "related": filters.related if filters.session_id else None,
        "since": filters.since and filters.since.isoformat(),
        "until": filters.until and filters.until.isoformat(),
        "equal": None if filters.equal == "{}" else json.loads(filters.equal),
        "ranges": ranges or None,
        "without": None if filters.without is None else beginning(filters.without),
        "items": filters.items and json.loads(filters.items),
    }
    given = {name: value for name, value in wanted.items() if value is not None}
    return json.dumps(given) if given else None


def beginning(content_hash: str) -> int:
    """Returns the first 64 bits of a content hash as an integer; the index uses them to recognise equal texts."""
    return int.from_bytes(bytes.fromhex(content_hash[:16]), signed=True)


async def found(database: Database, user_id: str, numbers: Sequence[int]) -> dict[int, tuple[Any, ...]]:
    """Returns the columns of units by unit number, without units deleted since."""
    rows = await database.call_tuples("search.found", user_id=user_id, numbers=_as_array(numbers))
    return {row[0]: row[1:] for row in rows}


@dataclass(frozen=True, slots=True)
class Nearby:
    """A message, the similarity of its vector to the query's, and whether it fits into one part for the model."""

    message: ConversationMessage
    similarity: float
    whole: bool


async def nearest_messages(
    calls: SingleCall, model: str, vector: str, *, session_id: str | None, large: bool, limit: int
) -> list[Nearby]:
    """Returns the messages whose vectors are nearest to the query's; none if the index holds another model's."""
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


async def large(tx: Executor) -> Large:
    """Returns the size of the user's index and whether it uses HNSW."""
    found = await tx.row("search.large", Large, user_id=tx.scope.user_id)
    assert found is not None, "a query of scalars answers with one row"
    return found


async def vectored(tx: Executor) -> int:
    """Returns how many of the user's units have a vector of their own."""
    return int(await tx.value("search.vectored", user_id=tx.scope.user_id))


async def begin_large(tx: Executor) -> None:
    """Puts this user's vectors into the HNSW index from now on."""
    await tx.run("search.begin_large", user_id=tx.scope.user_id)


async def mark_large(tx: Executor, after: int, amount: int) -> bool:
    """Puts the vectors of the next `amount` units into the HNSW index; returns whether there are more."""
    left = await tx.value("search.mark_large", user_id=tx.scope.user_id, after=after, amount=amount)
    return left is not None


async def finish_large(tx: Executor) -> None:
    """Lets searches of this user use the HNSW index from now on."""
    await tx.run("search.finish_large", user_id=tx.scope.user_id)


async def vectors(tx: Executor, message_ids: Sequence[str]) -> dict[str, list[float]]:
    """Returns the vectors of those messages that have one, by message id."""
    found = await tx.dicts("search.vectors", user_id=tx.scope.user_id, ids=[*message_ids])
    return {row["id"]: row["vector"] for row in found}
