"""Models: which embedding model the index is of, and while it is being changed, which one follows or is given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from ltst.db.pool import Executor
from ltst.errors import Conflict

# In use; coming next; given up, while some of its vectors are left.
ACTIVE, NEXT, FORMER = "active", "next", "former"
FIRST_UNIT = ("", -1)  # comes before every unit of every user

Unit = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Model:
    """An embedding model with vectors in the index, and the number that these bear."""

    name: str
    dimensions: int
    source: str | None
    number: int = field(default=1, compare=False)


class Unfilled(NamedTuple):
    """A row that still lacks a vector of the next model."""

    user_id: str
    unit_no: int
    kind: str
    id: str
    content: str
    role: str | None
    said_by: str | None
    title: str | None
    occurred_at: datetime | None
    heading: str | None


class Filled(NamedTuple):
    """The vectors of a row by the next model: one of the whole text, then one for each part of a long one."""

    row: Unfilled
    vectors: Sequence[str]


async def get(tx: Executor, state: str = ACTIVE) -> Model | None:
    """Returns the model whose vectors are searched, or the one in another state; None if there is none."""
    return await tx.row("models.get", Model, state=state)


async def add(tx: Executor, given: Model) -> None:
    """Records the first model of the index; if two are recorded at once, the first one stays."""
    await tx.run("models.add", name=given.name, dimensions=given.dimensions, source=given.source)


async def begin(tx: Executor, given: Model) -> None:
    """Records the next model."""
    number = await tx.value("models.free_number")
    await tx.run("models.begin", name=given.name, dimensions=given.dimensions, source=given.source, number=number)


async def promote(tx: Executor, number: int) -> None:
    """Puts the next model into use, and gives up the one before; Conflict if it is not the next one any more."""
    if await tx.value("models.following") != number:
        raise Conflict("another process has finished this change of the embedding model, or given it up")
    await tx.run("models.retire")
    await tx.run("models.promote", since=await tx.value("models.moment"))


async def give_up(tx: Executor) -> None:
    """Gives up the next model."""
    await tx.run("models.give_up")


async def forget_former(tx: Executor, number: int) -> None:
    """Forgets a model that was given up, once none of its vectors is left."""
    await tx.run("models.forget_former", number=number)


async def left(tx: Executor, number: int) -> int:
    """Returns how many rows lack a vector of a model."""
    return int(await tx.value("models.left", number=number))


async def last_of_window(tx: Executor, after: Unit, amount: int) -> Unit | None:
    """Returns the last of so many units after one; None if fewer are left."""
    found = await tx.dicts("models.last_of_window", after_user=after[0], after_unit=after[1], amount=amount)
    return (found[0]["user_id"], found[0]["unit_no"]) if found else None


async def unfilled(tx: Executor, number: int, after: Unit, *, amount: int, limit: int) -> list[Unfilled]:
    """Returns the first rows that lack a vector of a model, of so many units after one."""
    given = {"after_user": after[0], "after_unit": after[1], "amount": amount, "limit": limit}
    return await tx.rows("models.unfilled", Unfilled, number=number, **given)


async def fill(tx: Executor, number: int, rows: Sequence[Filled]) -> None:
    """Writes the vectors of rows into the index, while their model is the next one."""
    made = [
        (each.row.user_id, each.row.unit_no, each.row.id, part, vector)
        for each in rows
        for part, vector in enumerate(each.vectors)
    ]
    if made:
        users, units, ids, parts, vectors = map(list, zip(*made, strict=True))
        await tx.run("models.fill", number=number, users=users, units=units, ids=ids, parts=parts, vectors=vectors)


async def mark_due(tx: Executor, number: int) -> None:
    """Lets the rows that lack a vector of a model wait for it, as if they were new."""
    await tx.run("models.mark_due", number=number)


async def remove(tx: Executor, number: int, after: Unit, limit: int) -> Unit | None:
    """Removes the next vectors of a model; returns the last unit that lost some, None if none was left."""
    last = await tx.dicts("models.remove", number=number, after_user=after[0], after_unit=after[1], limit=limit)
    return (last[0]["user_id"], last[0]["unit_no"]) if last else None
