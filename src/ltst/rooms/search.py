"""Search: the index over everything a user owns, of all kinds alike: its words, its vectors, and what is due."""

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

DIMENSIONS = 384  # of the columns of a new database
# What most searches filter by, as objects and as JSON.
USUAL = Filters()
USUAL_DOCUMENT = json.dumps({"kinds": [*USUAL.kinds]})

# What a row of the index lacks, in the order in which it is made.
WORDS, OWN_VECTOR, OTHER_VECTOR, FURTHER_PARTS = range(4)


@dataclass(frozen=True, slots=True)
class Kind:
    """How rows of a kind are indexed; the view `search_sources` says what is read of them."""

    table: str | None = None  # where each keeps its vector; the others have theirs in the index alone
    key: str | None = None
    dated: bool = True  # whether its date is among its words
    own: bool = True  # whether it is the user's own, unless a machine said it
    worded: bool = True  # whether its words are its own, not those of another row that is found by them


REGISTRY: Mapping[str, Kind] = {
    "message": Kind("conversation_messages", "message_id"),
    "fact": Kind("user_facts", "fact_id"),
    "entry": Kind("memory_entries", "entry_id"),
    "document": Kind("document_chunks", "chunk_id", dated=False, own=False),
    "context": Kind(),
    "statement": Kind(worded=False),
    "item": Kind(dated=False, own=False),
}


@dataclass(frozen=True, slots=True)
class Due:
    """A row that lacks its words or vectors; one without content is gone, or is not to be found any more."""

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
    failed: bool = False  # whether it was tried before, in vain

    @property
    def text(self) -> str:
        """Its content, which is there where it is indexed."""
        return self.content or ""

    @property
    def vector_stage(self) -> int | None:
        """When its vector is made: what the user said, or had kept, comes first; what stands elsewhere gets none."""
        if not self.vectored:
            return None
        return OWN_VECTOR if REGISTRY[self.kind].own and not self.by_machine else OTHER_VECTOR

    @property
    def by_person(self) -> bool:
        """Whether somebody said it: the user, or whoever has a name."""
        return self.kind in ("message", "statement") and (self.role == "human" or self.said_by is not None)

    @property
    def label(self) -> str:
        """What is known about it, which stands before its text where it is indexed."""
        at = self.occurred_at if REGISTRY[self.kind].dated else None
        return label(at, self.title, speaker(self.role, self.said_by), self.heading)


@dataclass(frozen=True, slots=True)
class Worded:
    """A row with the terms that it is found by, and how much it tells."""

    row: Due
    terms: Sequence[str]
    tells: float


@dataclass(frozen=True, slots=True)
class Vectors:
    """The vectors of a row: of the whole, then of its parts if it is long; and whether it lacks further ones."""

    row: Due
    made: Sequence[str]
    more: bool = False
    importance: float = 0.0


@dataclass(frozen=True, slots=True)
class Holders:
    """How many units of a user hold each term, and how many units there are."""

    units: Mapping[str, int]
    total: int


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model whose vectors the index holds."""

    name: str
    dimensions: int
    source: str | None


@dataclass(frozen=True, slots=True)
class Large:
    """How much of a user is indexed, and whether the HNSW index is being filled with their vectors, or holds them."""

    begun: bool
    ready: bool
    units: int


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the database compares it: a vector of a model, if there is one, and the terms of the text."""

    cache_key: str
    model: str | None
    vector: Reals | None
    terms: Sequence[str]
    now: datetime | None  # else by the database's clock


@dataclass(frozen=True, slots=True)
class Look:
    """What the database knows before anything is ranked.

    `cached` is what the same search found in this version of the memory. If it was not `looked` for, something is due,
    is cached, or the model is another one. The totals are there where not all units are; then `nearest` has the numbers
    of the nearest, and `units` are to be read by `candidates`, unless a narrow filter chose them already.
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
    """Rows of the user that lack something, from one stage to another; the newest first within a stage.

    A row that ended whoever was at it is left out, unless one is `careful`.
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
    """Whether rows of the user lack vectors, up to a stage, and nobody is at them."""
    return bool(await tx.value("search.lacks", user_id=tx.scope.user_id, last=last))


async def is_due(tx: Executor) -> bool:
    """Whether a search would find more if it waited: something lacks its words, or the vector of the whole."""
    return bool(await tx.value("search.is_due", user_id=tx.scope.user_id))


async def still_due(tx: Executor, rows: Sequence[Due]) -> list[str]:
    """The ids of those that are due as they were read, held until the transaction ends; not one that somebody holds."""
    if not rows:
        return []
    ids, sinces = [row.id for row in rows], [row.since for row in rows]
    return await tx.values("search.still_due", user_id=tx.scope.user_id, ids=ids, sinces=sinces)


async def drop_due(tx: Executor, ids: Iterable[str]) -> None:
    """Forget that these were to be indexed: they are gone."""
    await tx.run("search.drop_due", user_id=tx.scope.user_id, ids=[*ids])


async def add_words(tx: Executor, rows: Sequence[Worded]) -> int:
    """Give rows their place in the index, with their terms; the number of those that were still due."""
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
            # Thousands of them, which the driver would take long to write as arrays.
            held=_listed(place for place, _, _ in postings),
            terms=_spaced(term for _, term, _ in postings),
            counts=_listed(times for _, _, times in postings),
        )
    )


async def known_vectors(tx: Executor, rows: Iterable[Due]) -> dict[str, str]:
    """The vectors that rows are stored with already, by their ids."""
    known: dict[str, str] = {}
    for kind, mine in _by_kind(rows).items():
        if REGISTRY[kind].table is not None:
            place = {"table": REGISTRY[kind].table, "key": REGISTRY[kind].key}
            ids = [row.id for row in mine]
            found = await tx.dicts("search.known_vectors", user_id=tx.scope.user_id, ids=ids, **place)
            known.update({row["id"]: row["vector"] for row in found})
    return known


async def add_vectors(tx: Executor, model: str, vectors: Sequence[Vectors]) -> set[str]:
    """Write vectors, those of a model that is not the index's own excepted; the ids of the rows that were free."""
    free: set[str] = set()
    by_id = {each.row.id: each for each in vectors}
    for kind, rows in _by_kind(each.row for each in vectors).items():
        mine = [by_id[row.id] for row in rows]
        made = [(place, part, vector) for place, each in enumerate(mine, 1) for part, vector in enumerate(each.made)]
        free |= {
            *await tx.values(
                "search.add_vectors",
                user_id=tx.scope.user_id,
                model=model,
                table=REGISTRY[kind].table,
                key=REGISTRY[kind].key,
                ids=[each.row.id for each in mine],
                sinces=[each.row.since for each in mine],
                stages=[FURTHER_PARTS if each.more else None for each in mine],
                importances=[each.importance for each in mine] if kind == "message" else None,
                held=[place for place, _, _ in made],
                parts=[part for _, part, _ in made],
                vectors=[vector for _, _, vector in made],
            )
        }
    return free


def _by_kind(rows: Iterable[Due]) -> dict[str, list[Due]]:
    found: dict[str, list[Due]] = {}
    for row in rows:
        found.setdefault(row.kind, []).append(row)
    return found


async def holders(tx: Executor, terms: Iterable[str]) -> Holders:
    """Return how many units of the user hold each of some terms, and how many there are."""
    rows = await tx.dicts("search.holders", user_id=tx.scope.user_id, terms=[*terms])
    return Holders({row["term"]: row["units"] for row in rows}, rows[0]["total"] if rows else 0)


async def model(tx: Executor) -> Model | None:
    """The model whose vectors the index holds."""
    return await tx.row("search.model", Model)


async def add_model(tx: Executor, given: Model) -> None:
    """Name the first model of an index; of two named at once the first stays."""
    await tx.run("search.add_model", name=given.name, dimensions=given.dimensions, source=given.source)


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
    """What there is to rank, in one round trip; nothing is looked for while something is due, unless `anyway`.

    All units of a memory, or of what passes the filters, up to `every`; of more, the numbers of the `depth` nearest. Of
    many that pass a narrow filter, the nearest and those that hold a term: at most so many postings are followed.
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
        terms=_spaced(asked.terms),
        now=asked.now,
        filters=_document(filters),
        every=every,
        depth=depth,
        most=most,
    )
    return found


async def newest(tx: Executor, filters: Filters, *, now: datetime, limit: int) -> list[int]:
    """Return the numbers of the newest units that pass filters and hold at that time, the newest first."""
    asked = {"filters": _document(filters) or "{}", "now": now, "limit": limit}
    return await tx.values("search.newest", user_id=tx.scope.user_id, **asked)


async def candidates(
    database: Database, user_id: str, asked: Asked, filters: Filters, numbers: Sequence[int]
) -> tuple[bytes | None, bytes | None]:
    """The units of these numbers and how near each is, as `look` has them."""
    ((units, dense),) = await database.call_rows(
        "search.candidates",
        _pair,
        binary=True,
        user_id=user_id,
        numbers=_listed(numbers),
        model=asked.model,
        vector=asked.vector,
        now=asked.now,
        filters=_document(filters),
    )
    return units, dense


def _pair(units: bytes | None, dense: bytes | None) -> tuple[bytes | None, bytes | None]:
    return units, dense


def _listed(numbers: Iterable[int]) -> str:
    """Numbers as Postgres reads an array."""
    return f"{{{','.join(map(str, numbers))}}}"


def _spaced(terms: Iterable[str]) -> str:
    """Terms as one text; no term has a space in it."""
    return " ".join(terms)


def _document(filters: Filters) -> str | None:
    """What is filtered by, as JSON; None where all pass."""
    return _written(filters) if filters != USUAL else USUAL_DOCUMENT


def _written(filters: Filters) -> str | None:
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
    """The beginning of a content's hash, as the index keeps it to tell texts that are the same."""
    return int.from_bytes(bytes.fromhex(content_hash[:16]), signed=True)


async def found(database: Database, user_id: str, numbers: Sequence[int]) -> dict[int, tuple[Any, ...]]:
    """The columns of units' rows, by their numbers; those that are gone meanwhile are not in it."""
    rows = await database.call_tuples("search.found", user_id=user_id, numbers=_listed(numbers))
    return {row[0]: row[1:] for row in rows}


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


async def large(tx: Executor) -> Large:
    """How much of the user is indexed, and how."""
    found = await tx.row("search.large", Large, user_id=tx.scope.user_id)
    assert found is not None, "a query of scalars answers with one row"
    return found


async def vectored(tx: Executor) -> int:
    """Return how many of the user's units have a vector of their own."""
    return int(await tx.value("search.vectored", user_id=tx.scope.user_id))


async def begin_large(tx: Executor) -> None:
    """From now on, new vectors of this user go into the HNSW index."""
    await tx.run("search.begin_large", user_id=tx.scope.user_id)


async def mark_large(tx: Executor, after: int, amount: int) -> bool:
    """Put the vectors of the next so many units into the HNSW index; whether there are more."""
    left = await tx.value("search.mark_large", user_id=tx.scope.user_id, after=after, amount=amount)
    return left is not None


async def finish_large(tx: Executor) -> None:
    """From now on, this user's vectors are found by the HNSW index."""
    await tx.run("search.finish_large", user_id=tx.scope.user_id)


async def vectors(tx: Executor, message_ids: Sequence[str]) -> dict[str, list[float]]:
    """The vectors of messages that have one."""
    found = await tx.dicts("search.vectors", user_id=tx.scope.user_id, ids=[*message_ids])
    return {row["id"]: row["vector"] for row in found}
