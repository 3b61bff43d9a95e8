"""Indexing: gives the rows that have none terms and a vector, so that search finds them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ltst.db.pool import Database, user_scope
from ltst.errors import DatabaseUnavailable, ModelUnavailable, Unavailable
from ltst.learn.importance import importance
from ltst.providers.embedding import Embedding, TextRefused
from ltst.rooms import search, work
from ltst.rooms.search import Due, Indexed
from ltst.rooms.work import Lease, Rules
from ltst.support import answers
from ltst.support.logs import LOGGER
from ltst.support.speech import label, speaker
from ltst.support.terms import as_tsvector, terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 64
# What a search embeds before it looks, in characters, of which a row counts some by itself.
MOST_CHARACTERS = 64_000
LEAST_COST = 100
# What is kept free before each part for its label, in tokens of a model; a label in a script whose every character
# is a token may need more.
ROOM = 32
EMBED = "embed"  # the work on a single row
REFUSED = "the embedding model refuses the text"
HARMLESS = "Hello."


async def index_due(
    database: Database, user_id: str, embedding: Embedding | None, *, batches: int | None = None
) -> int:
    """Index what the user has due, the newest first, in so many batches at most; the number of rows indexed.

    Without a model the rows get their terms, and wait for their vectors. A row whose text the model refuses again and
    again is set aside: it is found by its terms. When the database's model is another one by now it stops: what is
    left is for that one.
    """
    done, refused = 0, set[str]()
    while batches is None or batches > 0:
        rows = await search.due(database.user(user_id), BATCH, skip=refused, terms_only=embedding is None)
        if not rows:
            break
        left = await _index(database, user_id, embedding, rows, background=True)
        refused |= left
        done += len(rows) - len(left)
        batches = None if batches is None else batches - 1
        if embedding is not None and not await _in_use(database, user_id, embedding):
            break
    return done


async def _in_use(database: Database, user_id: str, embedding: Embedding) -> bool:
    """Whether the index still holds this model's vectors; those of another are not written, and the rows stay due."""
    active = await search.model(database.user(user_id))
    return active is not None and active.name == embedding.name


async def index_under(
    database: Database, lease: Lease, embedding: Embedding, rules: Rules, *, careful: bool, batches: int | None
) -> int:
    """Index what is due in batches; row by row if one is `careful`, or a batch fails although the model answers."""
    if not careful:
        try:
            return await index_due(database, lease.user_id, embedding, batches=batches)
        except DatabaseUnavailable:
            raise
        except Exception as problem:
            if not await _answers(embedding):
                raise
            LOGGER.warning("a batch failed: its rows go one by one", extra={"reason": repr(problem)})
    return await _index_carefully(database, lease, embedding, rules)


async def _index_carefully(database: Database, whole: Lease, embedding: Embedding, rules: Rules) -> int:
    """Index row by row, each under a lease of its own: one of them is too much for the model, or for its worker.

    What happens counts against the row, no more against the `whole`.
    """
    done, calls = 0, database.user(whole.user_id)
    for row in await search.due(calls, BATCH, careful=True):
        for lease in await work.claim(calls, rules, whole.user_id, EMBED, row.id):
            if not done:
                await work.count_anew(calls, whole)
            await _index_alone(database, lease, embedding, row)
            done += 1
    return done


async def _index_alone(database: Database, lease: Lease, embedding: Embedding, row: Due) -> None:
    """Index a row; a failure must not keep the others from their turn, unless something outside is missing."""
    calls = database.user(lease.user_id)
    try:
        await _index(database, lease.user_id, None, [row])  # its words are found, whatever comes
        await _index(database, lease.user_id, embedding, [row], lease, background=True)
    except Exception as problem:
        if isinstance(problem, DatabaseUnavailable) or not await _answers(embedding):
            await work.give_back(calls, [lease])
            raise
        LOGGER.warning("a row is not indexed", extra={"kind": row.kind, "id": row.id, "reason": repr(problem)})
        await work.put_off(calls, lease, repr(problem))
    except asyncio.CancelledError:
        await asyncio.shield(work.give_back(calls, [lease]))
        raise


async def _answers(embedding: Embedding) -> bool:
    """Whether the model is there, so that a failure is the text's."""
    try:
        await embedding.parts([HARMLESS])
        await embedding.vectors([HARMLESS])
    except Unavailable:
        return False
    return True


async def index_soon(database: Database, user_id: str, embedding: Embedding) -> bool:
    """Index what can be indexed while a search waits: terms of everything, vectors of the newest; whether that is all.

    What is left over is found by its words until the background has come to it.
    """
    characters, refused = MOST_CHARACTERS, set[str]()
    while rows := await search.due(database.user(user_id), BATCH, skip=refused):
        now = [*_affordable(rows, characters)]
        characters -= sum(map(_cost, now))
        refused |= await _index(database, user_id, embedding, now)
        if len(now) < len(rows) or not await _in_use(database, user_id, embedding):
            await index_due(database, user_id, None)
            return False
    return True


def _affordable(rows: Sequence[Due], characters: int) -> Iterator[Due]:
    for row in rows:
        characters -= _cost(row)
        if characters < 0:
            return
        yield row


def _cost(row: Due) -> int:
    return max(len(row.content), LEAST_COST)


async def _index(
    database: Database,
    user_id: str,
    embedding: Embedding | None,
    rows: Sequence[Due],
    lease: Lease | None = None,
    *,
    background: bool = False,
) -> set[str]:
    """Give the rows their terms and vectors; the ids of those whose text the model refuses."""
    indexed = await _indexed(rows, embedding, background=background)
    refused = set() if embedding is None else {row.id for row in indexed if row.vector is None}
    if refused and embedding is not None and not await _answers(embedding):
        raise ModelUnavailable(f"the embedding by {embedding.name} refuses every text")
    async with database.transaction(user_scope(user_id)) as tx:
        there = await search.index(tx, None if embedding is None else embedding.name, indexed)
        if lease is not None:
            await work.finish(tx, lease)
        if failed := [row.id for row in rows if row.failed and row.id not in refused and embedding is not None]:
            await work.succeed(tx, EMBED, failed)
        if refused & there:
            await work.fail(tx, EMBED, refused & there, REFUSED)
    return refused


def written(vector: NDArray[np.float32]) -> str:
    """A vector in the way that Postgres reads it."""
    return "[" + ",".join([f"{number:.8g}" for number in vector.tolist()]) + "]"


async def vectors_of(rows: Sequence[Due], embedding: Embedding, *, background: bool) -> list[NDArray[np.float32]]:
    """For each row the vectors of its parts, of which each carries the row's date and speaker."""
    texts = [await _parts(row, embedding) for row in rows]
    distinct = [*dict.fromkeys(part for parts in texts for part in parts)]
    vectors = await embedding.vectors(distinct, background=background)
    place = {text: number for number, text in enumerate(distinct)}
    return [vectors[[place[part] for part in parts]] for parts in texts]


async def _parts(row: Due, embedding: Embedding) -> list[str]:
    known = _label(row)
    room = ROOM if known.isascii() else max(ROOM, len(known))
    (parts,) = await embedding.parts([row.content], room=room)
    return [known + part for part in parts]


async def _indexed(rows: Sequence[Due], embedding: Embedding | None, *, background: bool) -> list[Indexed]:
    known = None if embedding is None else await known_vectors(rows, embedding, background=background)
    vectors = [None for _ in rows] if known is None else known
    return await asyncio.to_thread(lambda: [_row(*each) for each in zip(rows, vectors, strict=True)])


async def known_vectors(
    rows: Sequence[Due], embedding: Embedding, *, background: bool = True
) -> Sequence[NDArray[np.float32] | None]:
    """The vectors of each row's parts; of a row whose text the model refuses none: it is found by its terms."""
    try:
        return await vectors_of(rows, embedding, background=background)
    except TextRefused as problem:
        if len(rows) == 1:
            told = {"kind": rows[0].kind, "id": rows[0].id, "reason": str(problem)}
            LOGGER.warning("a text has no vector", extra=told)
            return [None]
        # One row's text must not keep the others from having theirs.
        return [(await known_vectors([row], embedding, background=background))[0] for row in rows]


def _row(row: Due, parts: NDArray[np.float32] | None) -> Indexed:
    found = as_tsvector([*answers.held(row.content), *terms(_label(row) + row.content)])
    weight = importance(row.content, row.role) if row.kind == "message" else 0.0
    if parts is None:
        return Indexed(row.kind, row.id, found, importance=weight)
    several = [*map(written, parts)] if len(parts) > 1 else []
    return Indexed(row.kind, row.id, found, written(mean(parts)), several, weight)


def mean(parts: NDArray[np.float32]) -> NDArray[np.float32]:
    """One vector for all parts, of length one; parts that cancel each other out are represented by the first."""
    import numpy as np

    middle = parts.mean(axis=0)
    length = np.linalg.norm(middle)
    whole: NDArray[np.float32] = middle / length if length > 1e-6 else parts[0]
    return whole


def _label(row: Due) -> str:
    return label(row.occurred_at, row.title, speaker(row.role, row.said_by), row.heading)
