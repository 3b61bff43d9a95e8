"""Indexing: gives rows their words and vectors, so that search finds them. Words come first: they need no model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ltst.db.pool import Database, user_scope
from ltst.errors import DatabaseUnavailable, ModelUnavailable, Unavailable
from ltst.learn.gate import telling
from ltst.providers.embedding import Embedding, TextRefused
from ltst.retelling.importance import importance
from ltst.rooms import search, work
from ltst.rooms.search import FURTHER_PARTS, OTHER_VECTOR, OWN_VECTOR, REGISTRY, WORDS, Due, Vectors, Worded
from ltst.rooms.work import Lease, WorkRules
from ltst.support import answers
from ltst.support.logs import LOGGER
from ltst.support.place import beside
from ltst.support.terms import terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# How many rows get their words at once; and of how many characters while a search waits.
WORDED = 256
WORDED_SOON = 64_000
# How many rows get their vectors at once, and of how many characters: a second or two of work.
BATCH = 256
MOST_CHARACTERS = 32_000
# What a search embeds before it looks, in every way that it is read: a short conversation, some tenths of a second of
# the processors. A row counts some characters by itself.
SOON_CHARACTERS = 4_000
LEAST_COST = 100
# What is embedded before messages are compared by their vectors alone: what has none is not found.
COMPARED_CHARACTERS = 64_000
# What is kept free before each part for its label, in tokens of a model; a label in a script whose every character
# is a token may need more.
ROOM = 32
KEPT = 0.5  # how much a row tells that is no message
EMBED = "embed"  # the work on a single row
REFUSED = "the embedding model refuses the text"
HARMLESS = "Hello."

Part = tuple[str, ...]  # the ways in which a part of a text is read; its vector lies in their middle


async def index_words(database: Database, user_id: str) -> int:
    """Index the words of all that the user has due; return the number of rows."""
    calls, done, more = database.user(user_id), 0, True
    while more and (rows := await search.due(calls, WORDED, first=WORDS, last=WORDS)):
        await _add_words(database, user_id, rows)
        done, more = done + len(rows), len(rows) == WORDED
    return done


async def _add_words(database: Database, user_id: str, rows: Sequence[Due]) -> None:
    if lost := [row.id for row in rows if row.content is None]:
        await search.drop_due(database.user(user_id), lost)
    # In the order of writing, so that what was said together is numbered together.
    if worded := await beside(_worded, [row for row in reversed(rows) if row.content is not None]):
        await search.add_words(database.user(user_id), worded)


def _worded(rows: Sequence[Due]) -> list[Worded]:
    return [Worded(row, _terms(row), _tells(row)) for row in rows]


def _tells(row: Due) -> float:
    """How much a row tells: of what a person said, how likely it states something; what was kept is in between."""
    if row.kind != "message":
        return KEPT
    return telling(row.text) if row.by_person else 0.0


def _terms(row: Due) -> list[str]:
    """Return what a row is found by; nothing where another row has the same words."""
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
    """Index what the user has due, in so many batches of vectors at most; the number of rows indexed.

    Whoever knows that no words are due need not have them looked for.

    Without a model the rows get their words, and wait for their vectors. A row whose text the model refuses again and
    again is set aside: it is found by its words. When the database's model is another one by now it stops: what is
    left is for that one. Of a long text, so many `parts` get a vector.
    """
    done, skip = await index_words(database, user_id) if words else 0, set[str]()
    while embedding is not None and (batches is None or batches > 0):
        rows = [*_affordable(await search.due(database.user(user_id), BATCH, skip=skip), MOST_CHARACTERS)]
        if not rows:
            break
        there = await _index(database, user_id, embedding, rows, parts=parts, background=True)
        # What the model refuses, and what somebody else holds right now, is left for another time.
        skip |= {row.id for row in rows} - there
        done += len(there)
        batches = None if batches is None else batches - 1
        if not await _in_use(database, user_id, embedding):
            break
    return done


async def _in_use(database: Database, user_id: str, embedding: Embedding) -> bool:
    """Whether the index still holds this model's vectors; those of another are not written, and the rows stay due."""
    active = await search.model(database.user(user_id))
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
    """Index what is due in batches; row by row if one is `careful`, or a batch fails although the model answers."""
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
    """Index row by row, each under a lease of its own: one of them is too much for the model, or for its worker.

    What happens counts against the row, no more against the `whole`.
    """
    done, calls = await index_words(database, whole.user_id), database.user(whole.user_id)
    for row in await search.due(calls, BATCH, careful=True):
        for lease in await work.claim(calls, rules, whole.user_id, EMBED, row.id):
            if not done:
                await work.count_anew(calls, whole)
            await _index_alone(database, lease, embedding, row, parts)
            done += 1
    return done


async def _index_alone(database: Database, lease: Lease, embedding: Embedding, row: Due, parts: int) -> None:
    """Index a row; a failure must not keep the others from their turn, unless something outside is missing."""
    calls = database.user(lease.user_id)
    try:
        await _index(database, lease.user_id, embedding, [row], lease, parts=parts, background=True)
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
    """Return whether the model is there, so that a failure is the text's."""
    try:
        await embedding.parts([HARMLESS])
        await embedding.vectors([HARMLESS])
    except Unavailable:
        return False
    return True


async def index_soon(database: Database, user_id: str, embedding: Embedding | None, *, parts: int) -> bool:
    """Index what can be indexed while a search waits: some words, a handful of vectors; whether that is all.

    What is left over is found by its words until the background has come to it.
    """
    calls = database.user(user_id)
    if rows := await search.due(calls, WORDED, first=WORDS, last=WORDS):
        await _add_words(database, user_id, [*_affordable(rows, WORDED_SOON)])
    if embedding is None:
        return False
    # What was refused before must not stand in the way of the others.
    rows = sorted(await search.due(calls, BATCH, last=OTHER_VECTOR), key=lambda row: row.failed)
    if now := [*_affordable(rows, SOON_CHARACTERS, _readings)]:
        await _index(database, user_id, embedding, now, parts=parts)
    return not await search.is_due(calls)


async def index_compared(database: Database, user_id: str, embedding: Embedding, *, parts: int) -> None:
    """Index while somebody waits who finds by vectors alone: the newest first, further parts last, up to a bound."""
    await index_words(database, user_id)
    calls, left = database.user(user_id), COMPARED_CHARACTERS
    for first, last in ((OWN_VECTOR, OTHER_VECTOR), (FURTHER_PARTS, FURTHER_PARTS)):
        tried, skip = set[str](), set[str]()
        while left > 0 and (rows := await search.due(calls, BATCH, first=first, last=last, skip=skip)):
            now = [*_affordable(sorted(rows, key=lambda row: row.failed), left)]
            left -= sum(max(len(row.text), LEAST_COST) for row in now)
            there = await _index(database, user_id, embedding, now, parts=parts)
            # One that the background holds right now is tried once more: by then it is there, or free.
            skip |= there | {row.id for row in now if row.id in tried}
            tried |= {row.id for row in now}


def _once(_row: Due) -> int:
    return 1


def _readings(row: Due) -> int:
    """In how many ways a row is read for its vector."""
    return 2 if row.by_person else 1


def _affordable(rows: Sequence[Due], characters: int, readings: Callable[[Due], int] = _once) -> Iterator[Due]:
    """Yield the first row, and those of the others whose texts are not too long together."""
    for number, row in enumerate(rows):
        cost = max(len(row.text), LEAST_COST) * readings(row) if number else 0
        if cost <= characters:
            characters -= cost
            yield row


async def _index(
    database: Database,
    user_id: str,
    embedding: Embedding,
    rows: Sequence[Due],
    lease: Lease | None = None,
    *,
    parts: int,
    background: bool = False,
) -> set[str]:
    """Give the rows their vectors; the ids of those that got them, which a text that the model refuses does not."""
    calls = database.user(user_id)
    known = await search.known_vectors(calls, rows)
    made = await _made(rows, known, embedding, parts, background=background)
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
        # Not against one that is gone, or says something else by now.
        if against := await search.still_due(tx, refused):
            await work.fail(tx, EMBED, against, REFUSED)
    return there


async def _made(
    rows: Sequence[Due], known: Mapping[str, str], embedding: Embedding, most: int, *, background: bool
) -> dict[str, Vectors]:
    """Return the vectors of each row, by its id: of its first part, or in the last stage of all parts that get one."""
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
    """Return what is kept of a row: a vector that it is stored with stays."""
    weight = importance(row.text, row.role) if row.kind == "message" else 0.0
    last = row.stage == FURTHER_PARTS or not more
    if made is None:
        assert known is not None, "a row without a vector is left out"
        return Vectors(row, [known], not last, weight)
    several = [*map(written, made)] if len(made) > 1 else []
    return Vectors(row, [known or written(mean(made)), *several], not last, weight)


def written(vector: NDArray[np.float32]) -> str:
    """Return a vector in the way that Postgres reads it."""
    return "[" + ",".join([f"{number:.8g}" for number in vector.tolist()]) + "]"


async def _parts(row: Due, embedding: Embedding) -> list[Part]:
    """Return what the model reads of a row at a time: with the row's date and speaker, a person's words also without.

    Questions name dates and speakers in chats of several people, and seldom in a conversation with an assistant: a
    vector in the middle is found by both.
    """
    known = row.label
    room = ROOM if known.isascii() else max(ROOM, len(known))
    (parts,) = await embedding.parts([row.text], room=room)
    return [(known + part, part) if known and row.by_person else (known + part,) for part in parts]


async def known_vectors(
    rows: Sequence[Due], texts: Sequence[Sequence[Part]], embedding: Embedding, *, background: bool = True
) -> Sequence[NDArray[np.float32] | None]:
    """Return the vectors of each row's parts; of a row whose text the model refuses none: it is found by its words."""
    try:
        return await _embedded(texts, embedding, background=background)
    except TextRefused as problem:
        if len(rows) == 1:
            told = {"kind": rows[0].kind, "id": rows[0].id, "reason": str(problem)}
            LOGGER.warning("a text has no vector", extra=told)
            return [None]
        # One row's text must not keep the others from having theirs.
        alone = zip(rows, texts, strict=True)
        return [(await known_vectors([row], [each], embedding, background=background))[0] for row, each in alone]


async def _embedded(
    texts: Sequence[Sequence[Part]], embedding: Embedding, *, background: bool
) -> list[NDArray[np.float32]]:
    import numpy as np

    distinct = [*dict.fromkeys(reading for parts in texts for part in parts for reading in part)]
    vectors = await embedding.vectors(distinct, background=background)
    place = {text: number for number, text in enumerate(distinct)}
    return [np.stack([mean(vectors[[place[each] for each in part]]) for part in parts]) for parts in texts]


async def all_vectors(rows: Sequence[Due], embedding: Embedding, most: int) -> Sequence[NDArray[np.float32] | None]:
    """Return the vectors of the first parts of each row, `most` at most."""
    texts = [(await _parts(row, embedding))[:most] for row in rows]
    return await known_vectors(rows, texts, embedding)


def mean(parts: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return one vector for all parts, of length one; parts that cancel each other out are represented by the first."""
    import numpy as np

    middle = parts.mean(axis=0)
    length = np.linalg.norm(middle)
    whole: NDArray[np.float32] = middle / length if len(parts) > 1 and length > 1e-6 else parts[0]
    return whole
