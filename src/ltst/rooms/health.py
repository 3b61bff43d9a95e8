"""Health: looks at the schema, the extension, the indexes and the queries that take long."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ltst.db.pool import Executor
from ltst.db.repair import Difference
from ltst.errors import Denied
from ltst.records import Check
from ltst.support.crypto import MasterKeys

SLOW_SECONDS = 5
REPAIR = "run: ltst db repair"


async def check_extension(tx: Executor) -> Check:
    """The version of pgvector."""
    version = await tx.value("health.vector_version")
    return Check("extension", "ok" if version else "error", f"pgvector {version}" if version else "pgvector is missing")


def check_schema(migrated: Check, found: Sequence[Difference]) -> Check:
    """That the migrations are applied, and that columns, functions and views are as they made them."""
    lost = [each for each in found if each.kind == "column"]
    wrong = [each for each in found if each.kind in ("function", "view")]
    if migrated.status != "ok" or not (lost or wrong):
        return migrated
    remedy = "restore a backup, with: ltst db restore --force" if lost else REPAIR
    return Check("schema", "error", f"{', '.join(map(str, (*lost, *wrong)))}; {remedy}")


def check_parts(name: str, kind: str, found: Sequence[Difference]) -> Check:
    """That everything of a kind is there and at work."""
    wrong = [str(each) for each in found if each.kind == kind]
    return Check(name, "error", f"{', '.join(wrong)}; {REPAIR}") if wrong else Check(name, "ok", "all in place")


async def check_isolation(tx: Executor, tables: Collection[str]) -> Check:
    """That row-level security is forced on every table."""
    open_tables = await tx.values("health.unprotected_tables", tables=[*tables])
    if open_tables:
        return Check("isolation", "error", f"row-level security is not forced on {', '.join(open_tables)}; {REPAIR}")
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
    if missing := [f"{id} ({_users(users)})" for id, users in used.items() if id not in here]:
        return Check("master key", "error", _unfitting(missing, keys.where, others=len(missing) < len(used) or here))
    if len(used) > 1:
        return Check("master key", "warning", "some data keys are wrapped by an older key; run: ltst master-key rotate")
    return Check("master key", "ok", f"the key in {keys.where} opens the data keys of {_users(sum(used.values()))}")


def _users(count: int) -> str:
    return f"{count:,} user{'' if count == 1 else 's'}"


def _unfitting(missing: Collection[str], where: str, *, others: object) -> str:
    told = f"sensitive values under {', '.join(missing)} cannot be read here: that key is not in {where}"
    if others:
        return f"{told}, which holds another: give every host of this database the same keys"
    return f"{told}: put it back"
