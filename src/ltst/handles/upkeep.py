"""Looks after a whole memory: expiry and retention, the measurements, the master key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import timedelta

from ltst.db import migrate
from ltst.db.pool import KEEPER, Transaction
from ltst.errors import Conflict, NotFound
from ltst.handles.desk import Core, now
from ltst.records import Stats, Usage
from ltst.rooms import metrics, preferences, sessions
from ltst.support.crypto import WrappedKey
from ltst.support.place import beside

CONTEXTS_PER_SESSION = 1000
KEYS_PER_BATCH = 100


async def maintain(core: Core) -> dict[str, int]:
    """Expire, delete, archive and prune once, for all users; return how many rows each step touched."""
    today = now()
    async with core.database.transaction(KEEPER, hurry=False) as tx:
        everybody = await _kept_for(core, tx)
        return {
            "contexts_expired": await tx.value("contexts.clean"),
            "contexts_pruned": await tx.run("contexts.prune", most=CONTEXTS_PER_SESSION),
            "entries_expired": await tx.run("entries.clean"),
            "entries_pruned": await tx.run("entries.prune", budget=core.settings.episode_budget),
            "cache_expired": await tx.value("cache.clean"),
            "sessions_deleted": await tx.run("sessions.delete_due", now=today, everybody=everybody),
            "sessions_archived": await tx.run("sessions.archive_due", now=today),
            "metrics_pruned": await tx.run("metrics.prune"),
            "failures_forgotten": await tx.run("work.clean"),
        }


async def _kept_for(core: Core, tx: Transaction) -> timedelta | None:
    """Return how long sessions are kept where their user has no policy; None means for good."""
    if not core.settings.retention:
        return None
    return timedelta(days=await preferences.operator_setting(tx, "memory_retention_days"))


async def stats(core: Core) -> Stats:
    """Return what was measured over the last day, and the sizes of the tables."""
    await core.flush()
    async with core.database.snapshot(KEEPER) as tx:
        seen = await metrics.stats(tx, migrate.names_of("TABLE"))
        models = tuple(await tx.rows("learning.usage", Usage))
        return replace(seen, models=models, sessions=await sessions.lifetimes(tx))


async def rotate_master_key(core: Core) -> int:
    """Wrap the data keys of all users with a new master key; return how many were wrapped anew."""
    done = 0
    with await beside(core.keys.begin_rotation):
        while batch := await _rewrap_batch(core):
            done += batch
    return done


async def _rewrap_batch(core: Core) -> int:
    older = [*core.keys.ids()[1:]]
    async with core.database.transaction(KEEPER) as tx:
        old = await tx.rows("preferences.keys_to_rewrap", WrappedKey, master_key_ids=older, limit=KEYS_PER_BATCH)
        for key in old:
            await tx.run("preferences.rewrap_key", **asdict(core.keys.rewrap(key)))
    return len(old)


async def owner_of(core: Core, session_id: str) -> str:
    """Return the one user who has a session of this id."""
    owners = await core.database.keeper().values("sessions.owners", session_id=session_id)
    return _sole(owners, f"session {session_id!r}", f"a session {session_id!r}: say whose is meant, by user_id")


async def sole_user(core: Core) -> str:
    """Return the one user who has sessions."""
    owners = await core.database.keeper().values("sessions.users")
    return _sole(owners, "sessions", "sessions: say whose are meant, by user_id")


def _sole(owners: Sequence[str], what: str, which: str) -> str:
    if not owners:
        raise NotFound(f"no {what}")
    if len(owners) > 1:
        raise Conflict(f"several users have {which}")
    return owners[0]
