"""Maintains a whole memory: expiry and retention, measurements, the master key."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from ltst.db import migrate
from ltst.db.pool import KEEPER, Database, Transaction
from ltst.errors import Conflict, NotFound
from ltst.handles.desk import Core, now
from ltst.handles.events import checked_places
from ltst.measurements import Activity, Lifetimes, OperationStats, Stats, TableStats
from ltst.records import EVERYONE, Event, Usage
from ltst.rooms import events, preferences
from ltst.settings import Settings
from ltst.support import validate
from ltst.support.crypto import WrappedKey
from ltst.support.place import in_thread

CONTEXTS_PER_SESSION = 1000
KEYS_PER_BATCH = 100
LIFETIMES = (60.0, 600.0, 3600.0, 86_400.0, 604_800.0, float("inf"))  # seconds: upper bounds of the histogram


async def maintain(core: Core) -> dict[str, int]:
    """Expires, deletes, archives and prunes once for all users; returns how many rows each step touched."""
    from ltst.indexing.switch import clear

    days = await preferences.operator_setting(core.database.at(EVERYONE).keeper(), "memory_retention_days")
    # Where their user has no policy, sessions are kept for good unless the settings say otherwise.
    everybody = timedelta(days=days) if core.settings.retention else None
    touched: Counter[str] = Counter()
    for place in core.database.places:
        async with place.transaction(KEEPER, hurry=False) as tx:
            touched.update(await _maintain_place(tx, core.settings, everybody))
    await clear(core.database)
    kept = timedelta(days=core.settings.metrics_days)
    return {**touched, "metrics_pruned": await core.database.keeper().run("metrics.prune", age=kept)}


async def _maintain_place(tx: Transaction, settings: Settings, everybody: timedelta | None) -> dict[str, int]:
    today, ledger = now(), settings.ledger_days
    return {
        "contexts_expired": await tx.value("contexts.clean"),
        "contexts_pruned": await tx.run("contexts.prune", most=CONTEXTS_PER_SESSION),
        "entries_expired": await tx.run("entries.clean"),
        "entries_pruned": await tx.run("entries.prune", budget=settings.episode_budget),
        "items_expired": await tx.run("items.clean"),
        "cache_expired": await tx.value("cache.clean"),
        "sessions_deleted": await tx.run("sessions.delete_due", now=today, everybody=everybody),
        "sessions_archived": await tx.run("sessions.archive_due", now=today),
        "events_pruned": 0 if ledger is None else await tx.run("events.prune", age=timedelta(days=ledger)),
        "failures_forgotten": await tx.run("work.clean"),
    }


async def stats(core: Core) -> Stats:
    """Returns the measurements of the last day and the sizes of the tables."""
    await core.flush()
    keeper = core.database.keeper()
    added = {row["name"]: int(row["added"]) for row in await keeper.dicts("metrics.growth")}
    sizes = await keeper.dicts("metrics.tables", tables=[*migrate.names_of("TABLE")])
    lasted = await keeper.dicts("sessions.lifetimes", bounds=[*LIFETIMES])
    return Stats(
        operations=tuple(await keeper.rows("metrics.operations", OperationStats)),
        tables=tuple(TableStats(**row, added_last_day=added.get(row["name"])) for row in sizes),
        database_bytes=int(await keeper.value("metrics.database_bytes")),
        models=tuple(await keeper.rows("learning.usage", Usage)),
        sessions=Lifetimes({row["bound"]: row["sessions"] for row in lasted}, lasted[0]["seconds"]),
    )


async def activity(core: Core, span: timedelta, step: timedelta) -> list[Activity]:
    """Returns the measurements of the last `span`, grouped by `step`."""
    await core.flush()
    return await core.database.keeper().rows("metrics.activity", Activity, span=span, step=step)


async def ledger(core: Core, *, before: str | None, whose: str | None, limit: int) -> list[Event]:
    """Returns the latest events of all users or one, the newest first; `before` is the cursor of the last one seen."""
    about = validate.optional_identifier(whose, "user")
    place = None if before is None else checked_places(before)
    return await events.latest(core.database, place, whose=about, limit=validate.limit(limit))


async def work(core: Core) -> tuple[int, list[dict[str, Any]]]:
    """Returns how much background work waits, and what was set aside after failures, counted by task."""
    keeper = core.database.keeper()
    return int(await keeper.value("work.left", user_id=None)), await keeper.dicts("work.aside")


async def rotate_master_key(core: Core) -> int:
    """Wraps the data keys of all users with a new master key; returns how many were wrapped again."""
    done = 0
    with await in_thread(core.keys.begin_rotation):
        for place in core.database.places:
            while batch := await _rewrap_batch(core, place):
                done += batch
    return done


async def _rewrap_batch(core: Core, place: Database) -> int:
    older = [*core.keys.ids()[1:]]
    async with place.transaction(KEEPER) as tx:
        old = await tx.rows("preferences.keys_to_rewrap", WrappedKey, master_key_ids=older, limit=KEYS_PER_BATCH)
        for key in old:
            await tx.run("preferences.rewrap_key", **asdict(core.keys.rewrap(key)))
    return len(old)


async def owner_of(core: Core, session_id: str) -> str:
    """Returns the only user who has a session with this id."""
    owners = await core.database.keeper().values("sessions.owners", session_id=session_id)
    return _sole(owners, f"session {session_id!r}", f"a session {session_id!r}: say whose is meant, by user_id")


async def sole_user(core: Core) -> str:
    """Returns the only user who has sessions."""
    owners = await core.database.keeper().values("sessions.users")
    return _sole(owners, "sessions", "sessions: say whose are meant, by user_id")


def _sole(owners: Sequence[str], what: str, which: str) -> str:
    if not owners:
        raise NotFound(f"no {what}")
    if len(owners) > 1:
        raise Conflict(f"several users have {which}")
    return owners[0]
