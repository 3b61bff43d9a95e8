"""Keys with which programs come in over the network; of each only its hash is kept."""

from __future__ import annotations

from collections.abc import Iterable

from ltst.db.pool import Executor
from ltst.records import ApiKey


async def add(tx: Executor, user_id: str, key_id: str, name: str, key_hash: str) -> ApiKey:
    """Keep a new key."""
    added = await tx.row("keys.add", ApiKey, user_id=user_id, key_id=key_id, name=name, key_hash=key_hash)
    assert added is not None, "an INSERT returns its row"
    return added


async def list_all(tx: Executor, user_id: str | None) -> list[ApiKey]:
    """The keys of one user or of all, oldest first, revoked ones included."""
    return await tx.rows("keys.list", ApiKey, user_id=user_id)


async def required(tx: Executor) -> bool:
    """Whether callers must show a key."""
    return bool(await tx.value("keys.required"))


async def require_none(tx: Executor) -> int:
    """Let callers in without a key, unless there are keys that can be used; how many there are."""
    await tx.value("keys.hold")
    usable = int(await tx.value("keys.usable"))
    if not usable:
        await tx.run("keys.require_none")
    return usable


async def find(tx: Executor, key_hash: str) -> ApiKey | None:
    """The key with this hash, unless it was revoked."""
    return await tx.row("keys.find", ApiKey, key_hash=key_hash)


async def still_open(tx: Executor, key_ids: Iterable[str]) -> set[str]:
    """Those of the keys that were neither revoked nor erased."""
    return {*await tx.values("keys.still_open", key_ids=[*key_ids])}


async def used(tx: Executor, key: ApiKey) -> None:
    """Note that a key was used just now."""
    await tx.run("keys.used", user_id=key.user_id, key_id=key.key_id)


async def revoke(tx: Executor, key_id: str) -> str | None:
    """End a key; whose it was, or None if there is none to end."""
    owner: str | None = await tx.value("keys.revoke", key_id=key_id)
    return owner
