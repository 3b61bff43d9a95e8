"""The database: `ltst db …`.

The commands here connect without first updating the schema. `ltst db adopt`, which has a module of its own, opens a
memory, which does update it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Force, Options, Yes, agreed, command
from ltst.doors.cli.verbs import Noun

if TYPE_CHECKING:
    from ltst.db.distribute import Distribution
    from ltst.db.pool import Database

R = TypeVar("R")

app = Noun("db", "The database: schema, backup, restore.", "backup memory.dump")

MOST_SHARDS = 4096
Shards = Annotated[
    int | None,
    typer.Option("--shards", min=1, max=MOST_SHARDS, help="Into how many places it is divided, at first: 32."),
]

STATUS = {"Version": "version", "Migration": "name", "State": "state"}


@command(app, "migrate")
def migrate(
    options: Options,
    distributed: Annotated[bool, typer.Option("--distributed", help="Over the nodes of Citus.")] = False,
    shards: Shards = None,
) -> None:
    """Bring the schema up to date.

    Safe to run twice, and from many places at once.

    Example: ltst db migrate
    """
    from ltst.db import distribute

    if distributed:  # before anything is written
        _run(options, distribute.check, "Looking")
    applied = _run(options, distribute.bring_up_to_date, "Migrating")
    sentence = f"Applied {', '.join(applied)}." if applied else "The schema is up to date."
    told: dict[str, object] = {"applied": applied}
    if distributed:
        done = _run(options, lambda database: distribute.distribute(database, shards), "Distributing")
        told["distribution"] = done
        sentence += f" {_placed(done)}"
    show.done(options.json, told, sentence)


@command(app, "distribute")
def distribute(
    options: Options,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Tell what would be done; change nothing.")] = False,
    shards: Shards = None,
) -> None:
    """Distribute the database over the nodes of Citus.

    By users: all that belongs to one lies on one node. What is there is moved: stop the programs that use it, and start
    them again afterwards. It can be repeated: what is distributed stays as it is. Adopted tables cannot be distributed.

    Example: ltst db distribute --dry-run
    """
    from ltst.db import distribute

    work = distribute.look if dry_run else distribute.distribute
    done = _run(options, lambda database: work(database, shards), "Looking" if dry_run else "Distributing")
    would = "Would distribute" if dry_run else "Distributed"
    tables = ", ".join((*done.distributed, *done.copied)) or "nothing more"
    show.done(options.json, done, f"{would} {tables}. {_placed(done)}")


def _placed(done: Distribution) -> str:
    return f"{done.places} places on {done.nodes} node{'s' if done.nodes > 1 else ''}."


@command(app, "status")
def status(options: Options) -> None:
    """Show which migrations the database has.

    Nothing is changed.

    Example: ltst db status
    """
    from ltst.db import migrate

    known = _run(options, migrate.status, "Looking")
    show.records(options.json, known, STATUS, title="Migrations")


@command(app, "schema")
def schema(options: Options) -> None:
    """Print the schema as one SQL script.

    Write it to a file (> schema.sql) and run that with psql -f. It is safe to run twice, and does the same as
    `ltst db migrate`. No database is needed.

    Example: ltst db schema
    """
    from ltst.db.script import script

    if options.json:
        show.document({"sql": script()})
    else:
        typer.echo(script(), nl=False)


@command(app, "repair")
def repair(options: Options) -> None:
    """Make anew what is missing in the schema.

    Indexes, triggers, views and functions that were dropped, replaced or switched off, and row-level security that is
    not forced: all of it or, when something fails, nothing. Writers wait while an index is built. The exit status is 1
    where a column is lost with its data.

    Example: ltst db repair
    """
    from ltst.db import repair

    done, lost = _run(options, repair.repair, "Repairing")
    sentence = f"Repaired {', '.join(map(str, done))}." if done else "The schema is whole."
    if lost:
        sentence = (
            f"Nothing was changed: restore a backup, since these went with their data: {', '.join(map(str, lost))}."
        )
    show.done(options.json, {"repaired": done, "lost": lost}, sentence)
    if lost:
        raise typer.Exit(1)


@command(app, "backup")
def backup(options: Options, file: Annotated[Path, typer.Argument(help="Where to.")], force: Force = False) -> None:
    """Write all users' memory into one file.

    Others go on working meanwhile. Only you can read the file.

    Example: ltst db backup memory.dump
    """
    from ltst.db import backup

    size = _run(options, lambda database: backup.backup(database, file, overwrite=force), "Backing up")
    show.done(options.json, {"file": str(file), "bytes": size}, f"Wrote {show.size(size)} to {file}.")
    show.hint("The master key is not in it. Keep a copy of that elsewhere: sensitive values cannot be read without.")


@command(app, "restore")
def restore(
    options: Options, file: Annotated[Path, typer.Argument(help="What `ltst db backup` wrote.")], force: Force = False
) -> None:
    """Put a backup into an empty database.

    All of it or, when something fails, nothing. With --force it replaces the memories that are there.

    Example: ltst db restore memory.dump
    """
    from ltst.adoption import upkeep

    known = _run(options, lambda database: upkeep.restore(database, file, replace=force), "Restoring")
    pending = [each.name for each in known if each.state != "applied"]
    sentence = f"Restored {file}."
    if pending:
        sentence += " It is from an older ltst: `ltst db migrate`, or the next use, brings it up to date."
    show.done(options.json, {"file": str(file), "migrations": known}, sentence)


@command(app, "reset")
def reset(options: Options, yes: Yes = False) -> None:
    """Drop all users' memory; build the schema anew.

    Example: ltst db reset
    """
    from ltst.adoption import upkeep
    from ltst.db import backup

    async def name(database: Database) -> str:
        return backup.place(database.conninfo)

    if not yes:
        place = _run(options, name, "Looking")
        agreed(f"Drop the memory of all users in {place}?")
    _run(options, upkeep.reset, "Rebuilding")
    show.done(options.json, {"reset": True}, "The database is empty and up to date.")


def _run(options: Options, work: Callable[[Database], Awaitable[R]], doing: str) -> R:
    import asyncio

    from ltst.db.opening import Connected

    async def run() -> R:
        async with Connected(options.settings) as database:
            return await work(database)

    with show.working(doing):
        return asyncio.run(run())
