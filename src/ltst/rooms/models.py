"""Models: which embedding model the index is of, and while it is being changed, which one follows or is given up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ltst.db.pool import Executor

FIRST_ROW = ("", -1)  # before every user and number of a unit


@dataclass(frozen=True, slots=True)
class Model:
    """The embedding model whose vectors are in the index."""

    name: str
    dimensions: int
    source: str | None


@dataclass(frozen=True, slots=True)
class Numbered:
    """A model and the number that its vectors bear."""

    name: str
    dimensions: int
    number: int


class Unfilled(NamedTuple):
    """A row that still lacks a vector of the model that follows."""

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
    """The vectors of a row by the model that follows: one of the whole text, then one for each part of a long one."""

    row: Unfilled
    vectors: Sequence[str]


async def active(tx: Executor) -> Model | None:
    """Returns the model whose vectors are searched; None before the first one."""
    return await tx.row("models.active", Model)


async def add(tx: Executor, given: Model) -> None:
    """Records the first model of the index; if two are recorded at once, the first one stays."""
    await tx.run("models.add", name=given.name, dimensions=given.dimensions, source=given.source)


async def numbered(tx: Executor, state: str) -> Numbered | None:
    """Returns the model that is `active`, that comes `next`, or the `former` one while some of its vectors are left."""
    return await tx.row("models.numbered", Numbered, state=state)


async def begin(tx: Executor, given: Model) -> None:
    """Records the model that follows."""
    number = await tx.value("models.free_number")
    await tx.run("models.begin", name=given.name, dimensions=given.dimensions, source=given.source, number=number)


async def give_up(tx: Executor) -> None:
    """Gives up the model that follows."""
    await tx.run("models.give_up")


async def forget_former(tx: Executor) -> None:
    """Forgets the model that was given up, once none of its vectors is left."""
    await tx.run("models.forget_former")


async def left(tx: Executor, number: int) -> int:
    """Returns how many rows lack a vector of a model."""
    return int(await tx.value("models.left", number=number))


async def unfilled(tx: Executor, number: int, after: tuple[str, int], limit: int) -> list[Unfilled]:
    """Returns the next rows of one place, of any kind and user, that lack one."""
    user, unit = after
    return await tx.rows("models.unfilled", Unfilled, number=number, after_user=user, after_unit=unit, limit=limit)


async def fill(tx: Executor, number: int, rows: Sequence[Filled]) -> None:
    """Writes the vectors of rows of one place into the index."""
    made = [
        (each.row.user_id, each.row.unit_no, part, vector) for each in rows for part, vector in enumerate(each.vectors)
    ]
    if made:
        columns = dict(zip(("users", "units", "parts", "vectors"), map(list, zip(*made, strict=True)), strict=True))
        await tx.run("models.fill", number=number, **columns)


async def mark_due(tx: Executor, number: int) -> None:
    """Lets the rows of one place that lack a vector of a model wait for it, as if they were new."""
    await tx.run("models.mark_due", number=number)


async def remove(tx: Executor, number: int, after: tuple[str, int], limit: int) -> tuple[str, int] | None:
    """Removes the next vectors of a model in one place; returns the last row that had some, None if there was none."""
    user, unit = after
    last = await tx.dicts("models.remove", number=number, after_user=user, after_unit=unit, limit=limit)
    return (last[0]["user_id"], last[0]["unit_no"]) if last else None
