"""Switching: gives everything a vector of another model, and then uses that model, while reads and writes go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from ltst.db.pool import Database
from ltst.db.vectors import BEFORE_ALL, Filled, Switch, Unfilled, switching
from ltst.errors import Conflict
from ltst.indexing.index import all_vectors, mean, written
from ltst.providers.embedding import Embedding
from ltst.rooms import search
from ltst.rooms.search import WORDS, Due

BATCH = 64
# Rows written while others were filled are filled in further rounds; searches soon do the few that then remain.
ROUNDS = 3

Progress = Callable[[int, int], None]


async def switch(database: Database, embedding: Embedding, source: str | None, parts: int, progress: Progress) -> int:
    """Changes the model of the database; returns how many rows got a vector. If stopped, it resumes where it was.

    At most `parts` parts of a long text get a vector.
    """
    active = await search.model(database.keeper())
    if active is not None and active.name == embedding.name:
        return 0
    dimensions = await embedding.dimensions()
    async with switching(database) as change:
        await _begin(change, embedding.name, dimensions, source)
        done = sum([await _fill(change, embedding, parts, progress) for _ in range(ROUNDS)])
        await change.index(dimensions)
        await change.swap()
    return done


async def adopt(database: Database, model: search.Model) -> None:
    """Records the first model of a database. Nothing has a vector yet, so columns of another length are swapped in."""
    if model.dimensions == search.DIMENSIONS:
        await search.add_model(database.keeper(), model)
        return
    async with switching(database) as change:
        if await search.model(database.keeper()) is None:
            await _begin(change, model.name, model.dimensions, model.source)
            await change.index(model.dimensions)
            await change.swap()


async def cancel(database: Database) -> bool:
    """Cancels a switch that has begun; returns whether there was one."""
    async with switching(database) as change:
        begun = await change.next_model() is not None
        if begun:
            await change.cancel()
    return begun


async def _begin(change: Switch, name: str, dimensions: int, source: str | None) -> None:
    begun = await change.next_model()
    if begun is None:
        await change.begin(name, dimensions, source)
    elif begun != name:
        raise Conflict(f"a switch to {begun!r} has begun: finish it, or give it up with `ltst embedder cancel`")


async def _fill(change: Switch, embedding: Embedding, parts: int, progress: Progress) -> int:
    """Runs one round over all rows that have no vector of the next model."""
    total, done, after = await change.left(), 0, BEFORE_ALL
    while rows := await change.unfilled(after, BATCH):
        await change.fill(await _fill_rows(rows, embedding, parts))
        after = rows[-1].user_id, rows[-1].unit_no
        done += len(rows)
        progress(done, max(total, done))
    return done


async def _fill_rows(rows: Sequence[Unfilled], embedding: Embedding, parts: int) -> list[Filled]:
    vectors = await all_vectors([_as_due(row) for row in rows], embedding, parts)
    return [
        Filled(row, [written(mean(made)), *(map(written, made) if len(made) > 1 else ())])
        for row, made in zip(rows, vectors, strict=True)
        if made is not None
    ]


def _as_due(row: Unfilled) -> Due:
    told = (row.role, row.said_by, row.title, row.occurred_at, row.heading)
    return Due(row.kind, row.id, WORDS, datetime.now(UTC), row.content, *told, by_machine=False)
