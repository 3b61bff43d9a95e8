"""Switching: gives everything a vector of another model, and then uses that model, while reads and writes go on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from ltst.db import space
from ltst.db.pool import KEEPER, Database
from ltst.db.vectors import FIRST, LONGEST_NEAR, NEAR, Switch, hnsw, indexes, switching
from ltst.errors import Conflict
from ltst.indexing.index import all_vectors, mean, written
from ltst.providers.embedding import Embedding
from ltst.rooms import models
from ltst.rooms.models import FIRST_ROW, Filled, Model, Numbered, Unfilled
from ltst.rooms.search import WORDS, Due
from ltst.support.logs import LOGGER
from ltst.support.validate import DIMENSIONS

BATCH = 64
# How many rows lose the vectors of a model that was given up at once.
REMOVED = 5_000
# Rows written while others were filled are filled in further rounds; searches soon do the few that then remain.
ROUNDS = 3

Progress = Callable[[int, int], None]


async def switch(database: Database, embedding: Embedding, source: str | None, parts: int, progress: Progress) -> int:
    """Changes the model of the database; returns how many rows got a vector. If stopped, it resumes where it was.

    At most `parts` parts of a long text get a vector.
    """
    dimensions = await embedding.dimensions()
    async with switching(database) as change:
        await _remove_former(database, change)
        active = await models.active(database.keeper())
        if active is not None and active.name == embedding.name:
            return 0
        following = await _begin(database, change, Model(embedding.name, dimensions, source))
        done = sum([await _fill(database, following, embedding, parts, progress) for _ in range(ROUNDS)])
        beside = indexes(following.number, dimensions)
        await change.build({name: made for name, made in beside.items() if name != NEAR})
        await change.take_over(lambda tx: models.mark_due(tx, following.number))
        await _remove_former(database, change)
    return done


async def adopt(database: Database, model: Model) -> None:
    """Records the first model of a database. Nothing has a vector yet, so that indexes can be made for any length."""
    if model.dimensions == DIMENSIONS:
        await models.add(database.keeper(), model)
        return
    async with switching(database) as change:
        if await models.active(database.keeper()) is None:
            await change.drop(NEAR, hnsw(FIRST))
            await models.add(database.keeper(), model)
            await change.build(indexes(FIRST, model.dimensions))


async def cancel(database: Database) -> bool:
    """Cancels a switch that has begun; returns whether there was one."""
    async with switching(database) as change:
        await _remove_former(database, change)
        begun = await models.numbered(database.keeper(), "next") is not None
        if begun:
            await models.give_up(database.keeper())
            await _remove_former(database, change)
    return begun


async def clear(database: Database) -> None:
    """Removes what a switch that was stopped at its end left of the model before; not while another one goes on."""
    if await models.numbered(database.keeper(), "former") is None:
        return
    try:
        async with switching(database) as change:
            await _remove_former(database, change)
    except Conflict as problem:
        LOGGER.info("the vectors of a former model are left for now", extra={"reason": str(problem)})


async def _begin(database: Database, change: Switch, model: Model) -> Numbered:
    """Returns the model that follows, with the number of its vectors; Conflict if another one does."""
    keeper = database.keeper()
    begun = await models.numbered(keeper, "next")
    if begun is not None and begun.name != model.name:
        raise Conflict(f"a switch to {begun.name!r} has begun: finish it, or give it up with `ltst embedder cancel`")
    if begun is None:
        await models.begin(keeper, model)
        begun = await models.numbered(keeper, "next")
    assert begun is not None, "one process at a time begins a change or gives it up"
    if begun.dimensions > LONGEST_NEAR:
        await change.drop(NEAR)
    return begun


async def _fill(database: Database, model: Numbered, embedding: Embedding, parts: int, progress: Progress) -> int:
    """Runs one round over all rows that have no vector of the next model."""
    total, done = 0, 0
    for place in database.places:
        async with place.transaction(KEEPER, hurry=False) as tx:
            total += await models.left(tx, model.number)
    for place in database.places:
        after = FIRST_ROW
        while rows := await models.unfilled(place.keeper(), model.number, after, BATCH):
            filled = await _fill_rows(rows, embedding, parts)
            async with place.transaction(KEEPER) as tx:
                await models.fill(tx, model.number, filled)
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


async def _remove_former(database: Database, change: Switch) -> None:
    """Removes the vectors of a model that was given up, and its index; nothing if there is none."""
    keeper = database.keeper()
    former, active = await models.numbered(keeper, "former"), await models.numbered(keeper, "active")
    if former is None:
        return
    await change.outlast_searches()
    for place in database.places:
        if active is not None:
            async with place.transaction(KEEPER, hurry=False) as tx:
                await models.mark_due(tx, active.number)
        after: tuple[str, int] | None = FIRST_ROW
        while after is not None:
            async with place.transaction(KEEPER, hurry=False) as tx:
                after = await models.remove(tx, former.number, after, REMOVED)
    await change.drop(hnsw(former.number))
    if active is not None:
        await change.build(indexes(active.number, active.dimensions))
    await models.forget_former(keeper)
    await space.vacuum(database, ("search_vectors",))


def _as_due(row: Unfilled) -> Due:
    told = (row.role, row.said_by, row.title, row.occurred_at, row.heading)
    return Due(row.kind, row.id, WORDS, datetime.now(UTC), row.content, *told, by_machine=False)
