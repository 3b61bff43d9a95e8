"""Indexing: gives rows their words and vectors, so that search finds them. Words come first: they need no model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ltst.db import statistics
from ltst.db.pool import Database, user_scope
from ltst.errors import DatabaseUnavailable, ModelUnavailable, Unavailable
from ltst.learn.gate import telling
from ltst.providers.embedding import Embedding, TextRefused
from ltst.retelling.importance import importance
from ltst.rooms import models, search, work
from ltst.rooms.search import FURTHER_PARTS, OTHER_VECTOR, OWN_VECTOR, REGISTRY, WORDS, Due, Vectors, Worded
from ltst.rooms.work import Lease, WorkRules
from ltst.support import answers
from ltst.support.logs import LOGGER
from ltst.support.place import in_thread
from ltst.support.terms import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How many rows get their words at once, and how many characters of them while a search waits.
WORDED = 256
WORDED_SOON = 64_000
# How many rows get their vectors at once, and of how many characters: a second or two of work.
BATCH = 256
MOST_CHARACTERS = 32_000
# How many characters a search embeds first, counting each reading of a row: a short conversation, a few tenths of a
# second. Every row counts as at least LEAST_COST characters.
SOON_CHARACTERS = 4_000
LEAST_COST = 60
# How many characters are embedded before messages are compared by vectors alone, where a row without one is not found.
COMPARED_CHARACTERS = 64_000
# Tokens kept free before each part for its label; a label in a script where every character is a token may need more.
ROOM = 32
KEPT = 0.5  # how much any row but a message tells
EMBED = "embed"  # the work on a single row
REFUSED = "the embedding model refuses the text"
HARMLESS = "Hello."

Part = tuple[str, ...]  # the ways in which a part is read; its vector is their mean


async def index_words(database: Database, user_id: str) -> int:
    """Indexes the words of all rows of the user that are due; returns the number of rows."""
    calls, done, more = database.user(user_id), 0, True
    while more and (rows := await search.due(calls, WORDED, first=WORDS, last=WORDS)):
        await _add_words(database, user_id, rows)
        done, more = done + len(rows), len(rows) == WORDED
    return done


async def _add_words(database: Database, user_id: str, rows: Sequence[Due]) -> None:
    if lost := [row.id for row in rows if row.content is None]:
        await search.drop_due(database.user(user_id), lost)
    # In the order written, so that messages of one conversation get neighbouring numbers.
    if worded := await in_thread(_with_terms, [row for row in reversed(rows) if row.content is not None]):
        await search.add_words(database.user(user_id), worded)


def _with_terms(rows: Sequence[Due]) -> list[Worded]:
    return [Worded(row, _terms(row), _how_telling(row), _relevance(row)) for row in rows]


def _how_telling(row: Due) -> float:
    """Returns how much a row tells: how likely a message by a person states something; other kinds are in between."""
    if row.kind != "message":
        return KEPT
    return telling(row.text) if row.by_person else 0.0


def _relevance(row: Due) -> float | None:
    """Returns how relevant a message is by its words; None for other kinds, which have a score of their own or none."""
    return importance(row.text, row.role) if row.kind == "message" else None


def _terms(row: Due) -> list[str]:
    """Returns the terms that a row is found by; none if another row has the same words."""
    return [*answers.held(row.text), *terms(row.label + row.text)] if REGISTRY[row.kind].worded else []


async def index_due(
    database: Database,
    user_id: str,
    embedding: Embedding | None,
    *,
    parts: int,
    batches: int | None = None,
    words: bool = True,
) -> int:
    """Indexes what the user has due, in at most `batches` batches of vectors; returns the number of rows indexed.

    Pass `words=False` if no words are due. Without a model, rows get their words and wait for vectors. A row whose text
    the model keeps refusing is set aside, and is found by its words. It stops when the database has switched to another
    model, which then does the rest. At most `parts` parts of a long text get a vector.
    """
    done, skip = await index_words(database, user_id) if words else 0, set[str]()
    while embedding is not None and (batches is None or batches > 0):
        rows = [*_affordable(await search.due(database.user(user_id), BATCH, skip=skip), MOST_CHARACTERS)]
        if not rows:
            break
        there = await _add_vectors(database, user_id, embedding, rows, parts=parts, background=True)
        # Rows that the model refuses, or that another worker holds right now, are left for later.
        skip |= {row.id for row in rows} - there
        done += len(there)
        if len(there) >= statistics.FEW and not database.distributed:  # there, autovacuum on each node does it
            await statistics.gather(database, statistics.INDEX)
        batches = None if batches is None else batches - 1
        if not await _in_use(database, user_id, embedding):
            break
    return done


async def _in_use(database: Database, user_id: str, embedding: Embedding) -> bool:
    """Returns whether the index still uses this model; vectors of another are not written, and its rows stay due."""
    active = await models.get(database.user(user_id))
    return active is not None and active.name == embedding.name


async def index_under(
    database: Database,
    lease: Lease,
    embedding: Embedding,
    rules: WorkRules,
    *,
    parts: int,
    careful: bool,
    batches: int | None,
    words: bool,
) -> int:
    """Indexes what is due in batches; row by row if `careful`, or if a batch fails although the model answers."""
    if not careful:
        try:
            return await index_due(database, lease.user_id, embedding, parts=parts, batches=batches, words=words)
        except DatabaseUnavailable:
            raise
        except Exception as problem:
            if not await _answers(embedding):
                raise
            LOGGER.warning("a batch failed: its rows go one by one", extra={"reason": repr(problem)})
    return await _index_carefully(database, lease, embedding, rules, parts)


async def _index_carefully(database: Database, whole: Lease, embedding: Embedding, rules: WorkRules, parts: int) -> int:
    """Indexes row by row, each under a lease of its own, since one of them is too much for the model or its worker.

    Failures then count against the row, not against the lease of the `whole`.
    """
    done, alone, calls = await index_words(database, whole.user_id), 0, database.user(whole.user_id)
    for row in await search.due(calls, BATCH, careful=True):
        for lease in await work.claim(calls, rules, whole.user_id, EMBED, row.id):
            if not alone:
                await work.count_anew(calls, whole)
            await _index_alone(database, lease, embedding, row, parts)
            alone += 1
    return done + alone


async def _index_alone(database: Database, lease: Lease, embedding: Embedding, row: Due, parts: int) -> None:
    """Indexes one row. A failure must not block the others, unless the database or the model is unavailable."""
    calls = database.user(lease.user_id)
    try:
        await _add_vectors(database, lease.user_id, embedding, [row], lease, parts=parts, background=True)
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
    """Returns whether the model works at all, so that a failure is due to the text."""
    try:
        await embedding.parts([HARMLESS])
        await embedding.vectors([HARMLESS])
    except Unavailable:
        return False
    return True


async def index_soon(database: Database, user_id: str, embedding: Embedding | None, *, parts: int) -> bool:
    """Indexes what it can while a search waits: some words, a handful of vectors; returns whether that was all.

    Rows that are left over are found by their words until the background reaches them.
    """
    calls = database.user(user_id)
    if rows := await search.due(calls, WORDED, first=WORDS, last=WORDS):
        await _add_words(database, user_id, [*_affordable(rows, WORDED_SOON)])
    if embedding is None:
        return False
    # Rows refused before must not hold up the others.
    rows = sorted(await search.due(calls, BATCH, last=OTHER_VECTOR), key=lambda row: row.failed)
    if now := [*_affordable(rows, SOON_CHARACTERS, _readings)]:
        await _add_vectors(database, user_id, embedding, now, parts=parts)
    return not await search.is_due(calls)


async def index_compared(database: Database, user_id: str, embedding: Embedding, *, parts: int) -> None:
    """Indexes for a caller who finds by vectors alone: the newest rows first, further parts last, up to a bound."""
    await index_words(database, user_id)
    calls, left = database.user(user_id), COMPARED_CHARACTERS
    for first, last in ((OWN_VECTOR, OTHER_VECTOR), (FURTHER_PARTS, FURTHER_PARTS)):
        tried, skip = set[str](), set[str]()
        while left > 0 and (rows := await search.due(calls, BATCH, first=first, last=last, skip=skip)):
            now = [*_affordable(sorted(rows, key=lambda row: row.failed), left)]
            left -= sum(max(len(row.text), LEAST_COST) for row in now)
            there = await _add_vectors(database, user_id, embedding, now, parts=parts)
            # A row that the background holds right now is tried once more: by then it is indexed, or free.
            skip |= there | {row.id for row in now if row.id in tried}
            tried |= {row.id for row in now}


def _once(_row: Due) -> int:
    return 1


def _readings(row: Due) -> int:
    """Returns in how many ways a row is read for its vector."""
    return 2 if row.by_person else 1


def _affordable(rows: Sequence[Due], characters: int, readings: Callable[[Due], int] = _once) -> Iterator[Due]:
    """Yields the first row, and as many of the others as fit into the number of characters."""
    for number, row in enumerate(rows):
        cost = max(len(row.text), LEAST_COST) * readings(row) if number else 0
        if cost <= characters:
            characters -= cost
            yield row


async def _add_vectors(
    database: Database,
    user_id: str,
    embedding: Embedding,
    rows: Sequence[Due],
    lease: Lease | None = None,
    *,
    parts: int,
    background: bool = False,
) -> set[str]:
    """Gives the rows their vectors; returns the ids of those that got one, so without texts that the model refuses."""
    calls = database.user(user_id)
    known = await search.known_vectors(calls, rows)
    made = await _make_vectors(rows, known, embedding, parts, background=background)
    refused = [row for row in rows if row.content and row.id not in made]
    if refused and not await _answers(embedding):
        raise ModelUnavailable(f"the embedding by {embedding.name} refuses every text")
    if lost := [row.id for row in rows if row.content is None]:
        await search.drop_due(calls, lost)
    async with database.transaction(user_scope(user_id)) as tx:
        there = await search.add_vectors(tx, embedding.name, [*made.values()])
        if lease is not None:
            await work.finish(tx, lease)
        if failed := [row.id for row in rows if row.failed and row.id in there]:
            await work.succeed(tx, EMBED, failed)
        # Only rows that still exist with the same text are marked as failed.
        if against := await search.still_due(tx, refused):
            await work.fail(tx, EMBED, against, REFUSED)
    return there


async def _make_vectors(
    rows: Sequence[Due], known: Mapping[str, str], embedding: Embedding, most: int, *, background: bool
) -> dict[str, Vectors]:
    """Returns the vectors of each row by its id: of its first part, or in the last stage of all parts that get one."""
    parts = {row.id: await _parts(row, embedding) for row in rows if row.content}
    wanted = [row for row in rows if row.id in parts and (row.stage == FURTHER_PARTS or row.id not in known)]
    texts = [parts[row.id][: most if row.stage == FURTHER_PARTS else 1] for row in wanted]
    vectors = await known_vectors(wanted, texts, embedding, background=background)
    by_id = {row.id: each for row, each in zip(wanted, vectors, strict=True)}
    return {
        row.id: _vectors(row, by_id.get(row.id), known.get(row.id), more=min(most, len(parts[row.id])) > 1)
        for row in rows
        if row.id in parts and (by_id.get(row.id) is not None or (row.id in known and row.id not in by_id))
    }


def _vectors(row: Due, made: NDArray[np.float32] | None, known: str | None, *, more: bool) -> Vectors:
    """Returns the vectors to store for a row; a vector that the row already has is kept."""
    last = row.stage == FURTHER_PARTS or not more
    if made is None:
        assert known is not None, "a row without a vector is left out"
        return Vectors(row, [known], not last)
    several = [*map(written, made)] if len(made) > 1 else []
    return Vectors(row, [known or written(mean(made)), *several], not last)


def written(vector: NDArray[np.float32]) -> str:
    """Returns a vector in the text form that Postgres reads."""
    return "[" + ",".join([f"{number:.8g}" for number in vector.tolist()]) + "]"


async def _parts(row: Due, embedding: Embedding) -> list[Part]:
    """Returns the parts of a row as the model reads them: with its label, and a person's words also without it.

    Questions name dates and speakers in group chats, but seldom in a conversation with an assistant: a vector in the
    middle of both readings is found either way.
    """
    known = row.label
    room = ROOM if known.isascii() else max(ROOM, len(known))
    (parts,) = await embedding.parts([row.text], room=room)
    return [(known + part, part) if known and row.by_person else (known + part,) for part in parts]


async def known_vectors(
    rows: Sequence[Due], texts: Sequence[Sequence[Part]], embedding: Embedding, *, background: bool = True
) -> Sequence[NDArray[np.float32] | None]:
    """Returns the vectors of each row's parts; None for a row whose text the model refuses, which words still find."""
    try:
        return await _embed(texts, embedding, background=background)
    except TextRefused as problem:
        if len(rows) == 1:
            told = {"kind": rows[0].kind, "id": rows[0].id, "reason": str(problem)}
            LOGGER.warning("a text has no vector", extra=told)
            return [None]
        # One refused text must not leave the other rows without vectors.
        alone = zip(rows, texts, strict=True)
        return [(await known_vectors([row], [each], embedding, background=background))[0] for row, each in alone]


async def _embed(
    texts: Sequence[Sequence[Part]], embedding: Embedding, *, background: bool
) -> list[NDArray[np.float32]]:
    import numpy as np

    distinct = [*dict.fromkeys(reading for parts in texts for part in parts for reading in part)]
    vectors = await embedding.vectors(distinct, background=background)
    place = {text: number for number, text in enumerate(distinct)}
    return [np.stack([mean(vectors[[place[each] for each in part]]) for part in parts]) for parts in texts]


async def all_vectors(rows: Sequence[Due], embedding: Embedding, most: int) -> Sequence[NDArray[np.float32] | None]:
    """Returns the vectors of at most `most` first parts of each row."""
    texts = [(await _parts(row, embedding))[:most] for row in rows]
    return await known_vectors(rows, texts, embedding)


def mean(parts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns one vector of length one for all parts; if they cancel each other out, that of the first."""
    import numpy as np

    middle = parts.mean(axis=0)
    length = np.linalg.norm(middle)
    whole: NDArray[np.float32] = middle / length if len(parts) > 1 and length > 1e-6 else parts[0]
    return whole
