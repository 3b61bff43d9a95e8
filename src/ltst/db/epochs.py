"""Epochs of the ledger: which part was written on which server, so that its order survives a move."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from ltst.db.connections import Connection

TABLE = "ledger_epochs"
# How many event numbers a restored ledger skips: more than it is likely to have lost since its backup. A follower that
# kept a number instead of a cursor then still finds every new event after it.
GAP = 1_000_000

PRESENT = b"SELECT to_regclass('ledger_epochs') IS NOT NULL"
# By column order, because the fourth column may have another name in the older ledger that a restore replaces.
EPOCHS = b"SELECT * FROM ledger_epochs"
AT_HOME = b"""
SELECT (SELECT home FROM ledger_epochs WHERE NOT replaced ORDER BY epoch DESC LIMIT 1) = system_identifier
FROM pg_control_system()
"""
KEEP = "INSERT INTO ledger_epochs VALUES ({values}, true) ON CONFLICT DO NOTHING;"
BEGIN = f"SELECT ltst_begin_epoch({GAP});"


@dataclass(frozen=True, slots=True)
class Epoch:
    """An epoch: the server on which it began, and the event after which it began."""

    epoch: int
    home: int
    root_epoch: int
    root_position: int
    root_event: int


async def known(connection: Connection) -> list[Epoch]:
    """Returns the epochs of the ledger; none where there is no ledger, or one that is older than epochs."""
    if not await connection.value(PRESENT):
        return []
    return [Epoch(*map(int, row[:5])) for row in await connection.rows(EPOCHS)]


async def begin(connection: Connection) -> None:
    """Begins an epoch, where other tools brought the ledger from another server."""
    await connection.execute(BEGIN.encode())


async def at_home(connection: Connection) -> bool:
    """Returns whether the newest epoch began on this server."""
    return bool(await connection.value(AT_HOME))


def after_restore(replaced: list[Epoch]) -> str:
    """Returns the SQL that ends a restore: it keeps the epochs of the replaced ledger and begins a new one."""
    kept = [KEEP.format(values=", ".join(f"'{value}'" for value in astuple(each))) for each in replaced]
    return "\n".join([*kept, BEGIN])
