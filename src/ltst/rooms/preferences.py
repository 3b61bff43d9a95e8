"""Preferences: how the user wants things; sensitive ones arrive here already encrypted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime

from ltst.db.pool import Executor
from ltst.records import UserPreference
from ltst.support.crypto import WrappedKey
from ltst.support.ids import new_id

LONGEST_SOURCE = 100
# Settings of the whole database and their defaults. Operators store them as preferences of the user `system`;
# the schema only accepts numbers for them.
OPERATOR_SETTINGS: Mapping[str, float] = {
    "memory_retention_days": 30,
    "max_context_length": 10_000,
    "relevance_threshold": 0.7,
    "cache_ttl_hours": 1,
}


async def lock(tx: Executor, key: str) -> None:
    """Locks a key until the transaction ends."""
    await tx.value("preferences.lock", key=key)


async def row_id(tx: Executor, key: str) -> str:
    """Locks a key and returns the id of its row, or a new id if it has none."""
    await lock(tx, key)
    found = await tx.value("preferences.row_id", key=key)
    return str(found) if found else new_id()


async def set(
    tx: Executor,
    row: str,
    key: str,
    value: str,
    *,
    type: str,
    source: str,
    confidence: float,
    sensitive: bool = False,
    learned: bool = False,
    metadata: str = "{}",
    at: datetime | None = None,
) -> UserPreference:
    """Stores a preference, replacing the previous value, dated now or `at`."""
    stated = {"preference_id": row, "key": key, "value": value, "type": type, "sensitive": sensitive}
    known = {"source": source, "confidence": confidence, "learned": learned, "metadata": metadata, "at": at}
    return await tx.one("preferences.set", UserPreference, **stated, **known)


async def get(tx: Executor, key: str) -> UserPreference | None:
    """Returns the user's own preference, else the system's default."""
    return await tx.row("preferences.get", UserPreference, key=key)


async def operator_setting(tx: Executor, key: str) -> float:
    """Returns an operator's setting for the whole database, or its default."""
    found = await tx.value("preferences.operator_setting", key=key)
    return OPERATOR_SETTINGS[key] if found is None else float(found)


async def forget(tx: Executor, key: str) -> bool:
    """Removes a preference and returns whether it existed."""
    return await tx.run("preferences.forget", key=key) > 0


async def add_key(tx: Executor, key: WrappedKey) -> WrappedKey:
    """Stores a data key for the user unless there is one, and returns the stored one."""
    await tx.run("preferences.add_key", **asdict(key))
    return await tx.one("preferences.hold_key", WrappedKey)
