"""Places: where the rows of each user lie, when Citus has distributed the tables over several nodes.

All that belongs to a user lies in one shard of each table, and these on one node. A place is named by its shard of
`conversation_sessions`, and holds the users whose ids hash into its range.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ltst.db.connections import Connection
from ltst.db.queries import statements
from ltst.errors import Conflict

STATEMENTS = statements(__name__)
HAS_CITUS = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
A_WORKER = "this server is a worker of Citus: give the address of the coordinator"
# What is not there where tables are distributed, since none of them can be adopted.
FOR_ADOPTED = "forget_kept_words_trigger on conversation_messages"

WORD = 0xFFFFFFFF
SEED = 0x9E3779B9 + 3923095
BLOCK = 12


class Place(NamedTuple):
    """A part of the memory: its name, the lowest hash of a user in it, and the node that holds it, with its address."""

    shard: int
    low: int
    node: int
    host: str
    port: int

    @property
    def address(self) -> str:
        """The address of the node, for people."""
        return f"{self.host}:{self.port}"


async def is_distributed(connection: Connection) -> bool:
    """Returns whether Citus has distributed the tables of this database; Conflict on a worker, which has only parts."""
    if not await connection.value(HAS_CITUS) or not await connection.value(STATEMENTS["distributed"]):
        return False
    if not await connection.value(STATEMENTS["coordinator"]):
        raise Conflict(A_WORKER)
    return True


async def known(connection: Connection) -> list[Place]:
    """Returns all places, by the hashes of their users."""
    return [Place(*row) for row in await connection.rows(STATEMENTS["places"])]


async def refuse_distributed(connection: Connection, what: str) -> None:
    """Says so if a database is distributed, where something works on a single server alone."""
    if await is_distributed(connection):
        raise Conflict(f"this database is distributed over several nodes: {what}")


@lru_cache(maxsize=65_536)
def hashed(text: str) -> int:
    """Returns the hash by which Postgres distributes texts: Bob Jenkins' lookup3 over their bytes, with its sign."""
    data = text.encode()
    a = b = c = (SEED + len(data)) & WORD
    whole = len(data) - len(data) % BLOCK
    for start in range(0, whole, BLOCK):
        a, b, c = _mix(*_add_block(a, b, c, data[start : start + BLOCK], 0))
    c = _last(*_add_block(a, b, c, data[whole:], 8))
    return c - (1 << 32) if c >> 31 else c


def _add_block(a: int, b: int, c: int, block: bytes, shift: int) -> tuple[int, int, int]:
    """Adds the bytes of a block; the lowest byte of the last word of the last block is left out."""
    words = [int.from_bytes(block[at : at + 4], "little") for at in (0, 4, 8)]
    return (a + words[0]) & WORD, (b + words[1]) & WORD, (c + (words[2] << shift)) & WORD


def _mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    for steps in (4, 6, 8, 16, 19, 4):
        a = ((a - c) & WORD) ^ _rotate(c, steps)
        c = (c + b) & WORD
        a, b, c = b, c, a
    return a, b, c


def _last(a: int, b: int, c: int) -> int:
    for steps in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotate(b, steps)) & WORD
        a, b, c = b, c, a
    return b


def _rotate(word: int, steps: int) -> int:
    return ((word << steps) | (word >> (32 - steps))) & WORD
