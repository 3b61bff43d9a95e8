"""Preferences: how the user wants things; sensitive ones are sealed before they get here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime

from ltst.db.pool import Executor
from ltst.records import UserPreference
from ltst.support.crypto import WrappedKey
from ltst.support.ids import new_id

LONGEST_SOURCE = 100
# What an operator sets for the whole database, and what holds where the row was removed. They stand among the
# preferences of `system`; the schema takes no other than numbers for them.
OPERATOR_SETTINGS: Mapping[str, float] = {
    "memory_retention_days": 30,
    "max_context_length": 10_000,
    "relevance_threshold": 0.7,
    "cache_ttl_hours": 1,
}


async def lock(tx: Executor, key: str) -> None:
    """One change of a key at a time."""
    await tx.value("preferences.lock", key=key)


async def row_id(tx: Executor, key: str) -> str:
    """Return the id of the row that a key has or will have; the key is locked, so that it stays so."""
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
    """Write a preference in place of the one before, as of now or of another moment."""
    stated = {"preference_id": row, "key": key, "value": value, "type": type, "sensitive": sensitive}
    known = {"source": source, "confidence": confidence, "learned": learned, "metadata": metadata, "at": at}
    return await tx.one("preferences.set", UserPreference, **stated, **known)


async def get(tx: Executor, key: str) -> UserPreference | None:
    """Return the user's own preference, else the default of the system."""
    return await tx.row("preferences.get", UserPreference, key=key)


async def operator_setting(tx: Executor, key: str) -> float:
    """Return the number that an operator has set for the whole database."""
    found = await tx.value("preferences.operator_setting", key=key)
    return OPERATOR_SETTINGS[key] if found is None else float(found)


async def forget(tx: Executor, key: str) -> bool:
    """Remove a preference; tells whether there was one."""
    return await tx.run("preferences.forget", key=key) > 0


async def hold_key(tx: Executor) -> WrappedKey | None:
    """The same, to write with: erasing waits until this transaction ends, so that nothing is sealed by a lost key."""
    return await tx.row("preferences.hold_key", WrappedKey)


async def add_key(tx: Executor, key: WrappedKey) -> WrappedKey:
    """Give the user a data key; of two given at once the first stays."""
    await tx.run("preferences.add_key", **asdict(key))
    return await tx.one("preferences.hold_key", WrappedKey)
