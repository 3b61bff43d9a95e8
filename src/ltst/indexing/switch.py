"""Switching: gives everything a vector of another model, and then uses that model, while reads and writes go on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from datetime import UTC, datetime
from functools import partial

from ltst.db import space
from ltst.db.pool import KEEPER, Database
from ltst.db.vectors import FIRST, LONGEST_NEAR, NEAR, Switch, hnsw, indexes, switching
from ltst.errors import Conflict
from ltst.indexing.index import all_vectors, mean, written
from ltst.providers.embedding import Embedding
from ltst.rooms import models
from ltst.rooms.models import FIRST_UNIT, FORMER, NEXT, Filled, Model, Unfilled
from ltst.rooms.search import WORDS, Due
from ltst.support.logs import LOGGER
from ltst.support.validate import DIMENSIONS

# How many rows are embedded at once, and among how many units they are looked for.
BATCH, WINDOW = 64, 1_000
# How many units lose the vectors of a model that was given up at once.
REMOVED = 5_000
# Rows written while others were filled are filled in further rounds; searches soon do the few that then remain.
ROUNDS = 3
LATER = "somebody reads the vectors of the model before for long, such as a backup, so that they cannot be removed yet"

Progress = Callable[[int, int], None]


async def switch(database: Database, embedding: Embedding, source: str | None, parts: int, progress: Progress) -> int:
    """Changes the model of the database; returns how many rows got a vector. If stopped, it resumes where it was.

    At most `parts` parts of a long text get a vector.
    """
    keeper = database.keeper()
    if await models.get(keeper, FORMER) is None and await _uses(database, embedding.name):
        return 0
    dimensions = await embedding.dimensions()
    async with switching(database) as change:
        if not await _remove_former(database, change):
            raise Conflict(f"{LATER}: ask for the change again when nobody reads for long")
        if await _uses(database, embedding.name):
            return 0
        following = await _begin(database, change, Model(embedding.name, dimensions, source))
        total, done = await _left(database, following), 0
        for _ in range(ROUNDS):
            async for filled in _fill(database, following, embedding, parts):
                done += filled
                progress(done, max(total, done))
        beside = indexes(following.number, dimensions)
        await change.build({name: made for name, made in beside.items() if name != NEAR})
        mark_due, promote = (partial(act, number=following.number) for act in (models.mark_due, models.promote))
        await change.take_over(mark_due, promote)
        await _remove_former(database, change)
    return done


async def adopt(database: Database, model: Model) -> None:
    """Records the first model of a database. Nothing has a vector yet, so that indexes can be made for any length."""
    keeper = database.keeper()
    if model.dimensions == DIMENSIONS:
        await models.add(keeper, model)
        return
    async with switching(database) as change:
        if await models.get(keeper) is None:
            # What is missing if this is stopped is found by `health`; an index for another length would not be.
            await change.drop(NEAR, hnsw(FIRST))
            await models.add(keeper, model)
            await _build(database, change)


async def cancel(database: Database) -> bool:
    """Cancels a switch that has begun; returns whether there was one."""
    keeper = database.keeper()
    async with switching(database) as change:
        removed = await _remove_former(database, change)
        if await models.get(keeper, NEXT) is None:
            return False
        if not removed:
            raise Conflict(f"{LATER}: cancel again when nobody reads for long")
        await models.give_up(keeper)
        await _remove_former(database, change)
    return True


async def clear(database: Database) -> None:
    """Removes what a switch that was stopped at its end left of the model before; not while another one goes on."""
    if await models.get(database.keeper(), FORMER) is None:
        return
    try:
        async with switching(database) as change:
            await _remove_former(database, change)
    except Conflict as problem:
        LOGGER.info("the vectors of a former model are left for now", extra={"reason": str(problem)})


async def _uses(database: Database, name: str) -> bool:
    active = await models.get(database.keeper())
    return active is not None and active.name == name


async def _begin(database: Database, change: Switch, model: Model) -> Model:
    """Returns the next model, with the number of its vectors; Conflict if it is another one than this."""
    keeper = database.keeper()
    begun = await models.get(keeper, NEXT)
    if begun is None:
        await models.begin(keeper, model)
        begun = await models.get(keeper, NEXT)
    if begun is None or begun.name != model.name:
        name = "another model" if begun is None else repr(begun.name)
        raise Conflict(f"a switch to {name} has begun: finish it, or give it up with `ltst embedder cancel`")
    if begun.dimensions != model.dimensions:
        raise Conflict(
            f"the switch to {model.name!r} has begun with vectors of {begun.dimensions} numbers, and the model gives "
            f"{model.dimensions} now: give it up with `ltst embedder cancel`, and begin again"
        )
    if begun.dimensions > LONGEST_NEAR:
        await change.drop(NEAR)
    return begun


async def _left(database: Database, model: Model) -> int:
    """Returns how many rows lack a vector of the next model."""
    left = 0
    for place in database.places:
        async with place.transaction(KEEPER, hurry=False) as tx:
            left += await models.left(tx, model.number)
    return left


async def _fill(database: Database, model: Model, embedding: Embedding, parts: int) -> AsyncIterator[int]:
    """Gives all rows that have no vector of the next model one, some at a time; yields how many."""
    for place in database.places:
        keeper, after = place.keeper(), FIRST_UNIT
        while True:
            end = await models.last_of_window(keeper, after, WINDOW)
            if rows := await models.unfilled(keeper, model.number, after, amount=WINDOW, limit=BATCH):
                filled = await _fill_rows(rows, embedding, parts)
                async with place.transaction(KEEPER) as tx:
                    await models.fill(tx, model.number, filled)
                yield len(rows)
            if len(rows) == BATCH:
                after = rows[-1].user_id, rows[-1].unit_no
            elif end is not None:
                after = end
            else:
                break


async def _fill_rows(rows: Sequence[Unfilled], embedding: Embedding, parts: int) -> list[Filled]:
    vectors = await all_vectors([_as_due(row) for row in rows], embedding, parts)
    return [
        Filled(row, [written(mean(made)), *(map(written, made) if len(made) > 1 else ())])
        for row, made in zip(rows, vectors, strict=True)
        if made is not None
    ]


async def _remove_former(database: Database, change: Switch) -> bool:
    """Removes the vectors of a model that was given up, and its index; returns whether none is left."""
    keeper = database.keeper()
    former, active = await models.get(keeper, FORMER), await models.get(keeper)
    if former is None:
        return True
    if not await change.outlast_searches():
        LOGGER.warning("the vectors of a former model are left for now", extra={"reason": LATER})
        return False
    await change.drop(hnsw(former.number))  # first: it would be kept up to date while its rows go
    for place in database.places:
        if active is not None:
            async with place.transaction(KEEPER, hurry=False) as tx:
                await models.mark_due(tx, active.number)
        after: models.Unit | None = FIRST_UNIT
        while after is not None:
            async with place.transaction(KEEPER, hurry=False) as tx:
                after = await models.remove(tx, former.number, after, REMOVED)
    await _build(database, change)
    await models.forget_former(keeper, former.number)
    await space.vacuum(database, ("search_vectors",))
    return True


async def _build(database: Database, change: Switch) -> None:
    """Builds the indexes of vectors that the model in use lacks."""
    if active := await models.get(database.keeper()):
        await change.build(indexes(active.number, active.dimensions))


def _as_due(row: Unfilled) -> Due:
    told = (row.role, row.said_by, row.title, row.occurred_at, row.heading)
    return Due(row.kind, row.id, WORDS, datetime.now(UTC), row.content, *told, by_machine=False)
