"""API keys for access over the network: creates, lists, revokes and checks them."""

from __future__ import annotations

import builtins
import secrets
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Annotated

from ltst.arguments import Identifier, Letters
from ltst.db.pool import KEEPER, Transaction
from ltst.errors import Conflict, Invalid
from ltst.handles.desk import Core, checked_user, now
from ltst.records import EVERYONE, ApiKey
from ltst.rooms import events
from ltst.support import validate
from ltst.support.ids import is_id, new_id
from ltst.support.text import sha256

PREFIX = "ltst_"
SECRET_BYTES = 32
# A key in constant use is not written for each use.
USE_NOTED_EVERY = timedelta(minutes=1)


class AsyncKeys:
    """The keys to this memory."""

    def __init__(self, core: Core) -> None:
        """Made by `memory.keys`."""
        self._core = core

    async def create(
        self,
        user_id: Annotated[Identifier | None, "Whose memory it opens."] = None,
        *,
        admin: Annotated[bool, "Whether it opens everyone's."] = False,
        name: Annotated[str, Letters(255, blank=True), "What to call it."] = "",
    ) -> ApiKey:
        """Make a key for one user's memory, or with `admin` for everyone's; its `secret` is shown only this once."""
        if validate.flag(admin, "admin") == (user_id is not None):
            raise Invalid("a key is for one user (user_id) or for everyone (admin=True), not for both and not for none")
        owner = EVERYONE if admin else checked_user(user_id)
        told = validate.optional_text(name, "name", 255) or ""
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        async with self._core.database.transaction(KEEPER) as tx:
            added = await tx.one("keys.add", ApiKey, user_id=owner, key_id=new_id(), name=told, key_hash=sha256(secret))
            await self._tell(tx, "create", "key", added.key_id, owner)
        return replace(added, secret=secret)

    async def list(self, user_id: str | None = None) -> builtins.list[ApiKey]:
        """Return the keys of a user or of all, oldest first, revoked ones too; none with its secret."""
        owner = validate.optional_identifier(user_id, "user_id")
        return await self._core.database.keeper().rows("keys.list", ApiKey, user_id=owner)

    async def revoke(self, key_id: Annotated[Identifier, "The id of the key."]) -> bool:
        """End a key for good; return whether there was one to end."""
        if not is_id(key_id):
            return False
        async with self._core.database.transaction(KEEPER) as tx:
            owner: str | None = await tx.value("keys.revoke", key_id=key_id)
            if owner is not None:
                await self._tell(tx, "revoke", "key", key_id, owner)
        return owner is not None

    async def required(self) -> bool:
        """Whether callers must show a key: from the first key on, whatever becomes of it, until `lift_requirement`."""
        return bool(await self._core.database.keeper().value("keys.required"))

    async def lift_requirement(self) -> None:
        """Ask nobody on this machine for a key any more, until the next one is made.

        Conflict while there are keys that can be used: revoke them first.
        """
        async with self._core.database.transaction(KEEPER) as tx:
            await tx.value("keys.hold")
            if usable := await tx.value("keys.usable"):
                raise Conflict(f"{usable} of the keys can still be used: revoke them first")
            await tx.run("keys.require_none")
            await self._tell(tx, "open", "server", "keys", EVERYONE)

    async def still_open(self, key_ids: Iterable[str]) -> set[str]:
        """Return those of the keys that were neither revoked nor erased."""
        return {*await self._core.database.keeper().values("keys.still_open", key_ids=[*key_ids])}

    async def check(self, secret: str) -> ApiKey | None:
        """Return the key with this secret, or None if there is none or it was revoked."""
        if not isinstance(secret, str) or not secret.startswith(PREFIX):
            return None
        calls = self._core.database.keeper()
        found = await calls.row("keys.find", ApiKey, key_hash=sha256(secret))
        if found is not None and (found.last_used is None or now() - found.last_used > USE_NOTED_EVERY):
            self._core.later(calls.run("keys.used", user_id=found.user_id, key_id=found.key_id))
        return found

    async def _tell(self, tx: Transaction, action: str, noun: str, row_id: str, owner: str) -> None:
        """Enter a change of keys into the ledger of their owner, whose rows may lie elsewhere than the keys."""
        async with self._core.database.beside(tx, owner) as told:
            await events.add(told, self._core.settings.actor, action, noun, row_id, user_id=owner)
