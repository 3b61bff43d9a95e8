"""Health: looks at the schema, the extension, the indexes and the queries that take long."""

from __future__ import annotations

from collections.abc import Collection

from ltst.db.pool import Executor
from ltst.errors import Denied
from ltst.records import Check
from ltst.support.crypto import MasterKeys

SLOW_SECONDS = 5


async def check_extension(tx: Executor) -> Check:
    """The version of pgvector."""
    version = await tx.value("health.vector_version")
    return Check("extension", "ok" if version else "error", f"pgvector {version}" if version else "pgvector is missing")


async def check_indexes(tx: Executor, wanted: Collection[str]) -> Check:
    """That every index is there and valid."""
    valid = {row["name"] for row in await tx.dicts("health.indexes") if row["valid"]}
    return _all_there("indexes", wanted, valid, "run: ltst db migrate, or REINDEX the ones that are invalid")


async def check_triggers(tx: Executor, wanted: Collection[str]) -> Check:
    """That every trigger is there and switched on."""
    enabled = {row["name"] for row in await tx.dicts("health.triggers") if row["enabled"]}
    return _all_there("triggers", wanted, enabled, "restore them with ENABLE TRIGGER, or from a backup")


async def check_isolation(tx: Executor, tables: Collection[str]) -> Check:
    """That row-level security is forced on every table."""
    open_tables = await tx.values("health.unprotected_tables", tables=[*tables])
    if open_tables:
        return Check("isolation", "error", f"row-level security is not forced on {', '.join(open_tables)}")
    return Check("isolation", "ok", f"row-level security is forced on {len(tables)} tables")


async def check_index_usage(tx: Executor, tables: Collection[str]) -> Check:
    """That large tables are not read from end to end again and again."""
    scanned = await tx.dicts("health.scanned_tables", tables=[*tables])
    if scanned:
        told = ", ".join(f"{row['name']} ({row['scans']} times)" for row in scanned)
        return Check("index usage", "warning", f"read whole more often than by index: {told}; run ANALYZE")
    return Check("index usage", "ok", "large tables are read by index")


async def check_slow_queries(tx: Executor, slow_yesterday: int) -> Check:
    """That nothing takes longer than five seconds."""
    running = int(await tx.value("health.running_long"))
    told = f"{running} running now and {slow_yesterday} finished in the last day took over {SLOW_SECONDS} seconds"
    return Check("slow queries", "warning" if running or slow_yesterday else "ok", told)


async def check_master_key(tx: Executor, keys: MasterKeys) -> Check:
    """That the master keys of this host open the data keys of all users; each data key names the one that wraps it."""
    used = {row["id"]: row["users"] for row in await tx.dicts("health.master_keys")}
    try:
        here = keys.ids()
    except Denied as problem:
        return Check("master key", "error", str(problem))
    if not used:
        return Check("master key", "ok", "no sensitive value is kept yet")
    if missing := [f"{id} ({users} users)" for id, users in used.items() if id not in here]:
        return Check("master key", "error", _unfitting(missing, keys.where, others=len(missing) < len(used) or here))
    if len(used) > 1:
        return Check("master key", "warning", "some data keys are wrapped by an older key; run: ltst master-key rotate")
    return Check("master key", "ok", f"the key in {keys.where} opens the data keys of {sum(used.values())} users")


def _unfitting(missing: Collection[str], where: str, *, others: object) -> str:
    told = f"sensitive values under {', '.join(missing)} cannot be read here: that key is not in {where}"
    if others:
        return f"{told}, which holds another: give every host of this database the same keys"
    return f"{told}: put it back"


def _all_there(name: str, wanted: Collection[str], found: Collection[str], remedy: str) -> Check:
    missing = sorted(set(wanted) - set(found))
    if missing:
        return Check(name, "error", f"missing or unusable: {', '.join(missing)}; {remedy}")
    return Check(name, "ok", f"all {len(wanted)} in place")
