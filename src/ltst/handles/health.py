"""Checks the health of a database: schema, extension, indexes, isolation, queries, work, keys, servers and disk."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Sequence

from ltst.db import migrate, repair
from ltst.db.pool import KEEPER, Database, Executor
from ltst.db.repair import Difference
from ltst.errors import Conflict, DatabaseUnavailable, Denied
from ltst.handles.desk import SLOW_MILLISECONDS, Core
from ltst.records import Check, Health
from ltst.support.crypto import MasterKeys

LOW_DISK_BYTES = 1024**3
REPAIR = "run: ltst db repair"


async def check_all(core: Core) -> Health:
    """Runs all checks and returns their results."""
    tables, found, keeper = migrate.names_of("TABLE"), await repair.compare(core.database), core.database.keeper()
    lost = await core.database.lost_servers()
    done = (_unseen("derived work"), _unseen("master key")) if lost else await _seen_everywhere(keeper, core.keys)
    in_places = _unseen("isolation") if lost else await _isolation_in_places(keeper, tables)
    servers = await _servers(core, lost)
    async with core.database.snapshot(KEEPER) as tx:
        version = await tx.value("health.vector_version")
        checks = (
            Check("extension", "ok" if version else "error", f"pgvector {version or 'is missing'}"),
            _parts("indexes", "index", found),
            _parts("triggers", "trigger", found),
            await _isolation(tx, tables) or in_places,
            await _index_usage(tx, tables),
            await _slow_queries(tx),
            *done,
            servers,
        )
    return Health((_schema(await migrations(core.database), found), *checks, _disk(core.database)))


async def _seen_everywhere(keeper: Executor, keys: MasterKeys) -> tuple[Check, ...]:
    """Runs the checks that ask every server."""
    return await _derived_work(keeper), await _master_key(keeper, keys)


def _unseen(name: str) -> Check:
    return Check(name, "warning", "not seen while a server cannot be reached")


async def _servers(core: Core, lost: Sequence[str]) -> Check:
    """Checks that every server with users' rows can be reached, and the standby that reads go to."""
    if lost:
        return Check("servers", "error", f"{', '.join(lost)} cannot be reached: calls of the users there wait or fail")
    if told := await core.database.barred():
        return Check("servers", "error", told)
    if core.standby is None:
        return Check("servers", "ok", "all can be reached")
    try:
        behind = await core.standby.bytes_behind()
    except Conflict as problem:
        return Check("servers", "error", str(problem))
    except DatabaseUnavailable as problem:
        return Check("servers", "warning", f"the primary answers reads, since the standby cannot: {problem}")
    return Check("servers", "ok", f"all can be reached; the standby has {behind:,} bytes of the log to replay")


async def migrations(database: Database) -> Check:
    """Checks that the schema is up to date."""
    found = await migrate.status(database)
    wrong = [f"{each.name} is {each.state}" for each in found if each.state != "applied"]
    if wrong:
        return Check("schema", "error", f"{', '.join(wrong)}; run: ltst db migrate")
    return Check("schema", "ok", f"{len(found)} migrations applied")


def _disk(database: Database) -> Check:
    folder = database.data_dir
    if folder is None:
        return Check("disk", "ok", "on the server: not seen from here")
    free = shutil.disk_usage(folder).free
    told = f"{free / 1024**3:.1f} GiB free at {folder}"
    return Check("disk", "ok" if free > LOW_DISK_BYTES else "warning", told)


async def _derived_work(tx: Executor) -> Check:
    aside = await tx.dicts("work.aside")
    if not aside:
        return Check("derived work", "ok", "nothing was set aside")
    told = "; ".join(f"{row['items']} × {row['task']} ({row['reason']})" for row in aside)
    return Check("derived work", "warning", f"set aside: {told}; run: ltst worker --retry")


def _schema(migrated: Check, found: Sequence[Difference]) -> Check:
    """Checks that columns, functions and views are as the migrations made them."""
    lost = [each for each in found if each.kind == "column"]
    wrong = [each for each in found if each.kind in ("function", "view")]
    if migrated.status != "ok" or not (lost or wrong):
        return migrated
    remedy = "restore a backup, with: ltst db restore --force" if lost else REPAIR
    return Check("schema", "error", f"{', '.join(map(str, (*lost, *wrong)))}; {remedy}")


def _parts(name: str, kind: str, found: Sequence[Difference]) -> Check:
    """Checks that everything of one kind exists and is enabled."""
    wrong = [str(each) for each in found if each.kind == kind]
    return Check(name, "error", f"{', '.join(wrong)}; {REPAIR}") if wrong else Check(name, "ok", "all in place")


async def _isolation(tx: Executor, tables: Collection[str]) -> Check | None:
    """Returns which tables do not force row-level security, or None if all do."""
    if open_tables := await tx.values("health.unprotected_tables", tables=[*tables]):
        return Check("isolation", "error", f"row-level security is not forced on {', '.join(open_tables)}; {REPAIR}")
    return None


async def _isolation_in_places(keeper: Executor, tables: Collection[str]) -> Check:
    """Checks that row-level security is on in all places of a distributed database; on one server there are none."""
    if open_tables := await keeper.values("health.unprotected_shards", tables=[*tables]):
        remedy = "; ".join(f"ALTER TABLE {each} ENABLE ROW LEVEL SECURITY" for each in open_tables)
        told = f"row-level security is off in some places for {', '.join(open_tables)}"
        return Check("isolation", "error", f"{told}; run on the coordinator: {remedy}")
    return Check("isolation", "ok", f"row-level security is forced on {len(tables)} tables")


async def _index_usage(tx: Executor, tables: Collection[str]) -> Check:
    scanned = await tx.dicts("health.scanned_tables", tables=[*tables])
    if scanned:
        told = ", ".join(f"{row['name']} ({row['scans']} times)" for row in scanned)
        return Check("index usage", "warning", f"read whole more often than by index: {told}; run ANALYZE")
    return Check("index usage", "ok", "large tables are read by index")


async def _slow_queries(tx: Executor) -> Check:
    slow = int(await tx.value("metrics.slow", threshold_ms=SLOW_MILLISECONDS))
    running = int(await tx.value("health.running_long"))
    seconds = SLOW_MILLISECONDS / 1000
    told = f"{running} running now and {slow} finished in the last day took over {seconds:g} seconds"
    return Check("slow queries", "warning" if running or slow else "ok", told)


async def _master_key(tx: Executor, keys: MasterKeys) -> Check:
    """Checks that the master keys of this host can decrypt all data keys; each data key names the one it needs."""
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
