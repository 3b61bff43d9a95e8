"""Preferences of a user; encrypts and decrypts the sensitive ones."""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from dataclasses import replace
from typing import Annotated

from ltst.arguments import PREFERENCE_TYPES, Content, Identifier, PreferenceType, Score, Word
from ltst.db.pool import user_scope
from ltst.errors import Unavailable
from ltst.handles.desk import Handle
from ltst.protocols import Cipher
from ltst.records import UserPreference
from ltst.rooms import claims, preferences
from ltst.support import validate
from ltst.support.crypto import WrappedKey

Key = Annotated[Identifier, "The short name of the preference, such as units or tone."]


class AsyncPreferences(Handle):
    """How a user wants things."""

    async def set(
        self,
        key: Key,
        value: Annotated[Content, "What the user wants, such as metric."],
        *,
        type: Annotated[PreferenceType, "What it concerns."] = "general",
        sensitive: Annotated[bool, "Encrypt it with the user's own key."] = False,
        source: Annotated[Word, "explicit: the user said so; learned, inferred, or another word."] = "explicit",
        confidence: Annotated[Score, "How sure it is, from 0 to 1."] = 1.0,
    ) -> UserPreference:
        """Keep how the user wants things, in place of the value before; a sensitive one is encrypted with their key.

        `source` says where it comes from: explicit, learned, inferred, or a word of your own.
        """
        key, value = validate.identifier(key, "key"), self._desk.content(value, "value")
        validate.choice(type, "type", PREFERENCE_TYPES)
        validate.short(source, "source", preferences.LONGEST_SOURCE)
        sure, secret = validate.score(confidence, "confidence"), validate.flag(sensitive, "sensitive")
        async with self._desk.writing("preferences.set") as tx:
            row = await preferences.row_id(tx, key)
            kept = (await self._desk.own_cipher(tx)).seal(value, row) if secret else value
            stored = await preferences.set(
                tx, row, key, kept, type=type, sensitive=secret, source=source, confidence=sure
            )
            await self._desk.tell(tx, "set", "preference", row)
        return replace(stored, preference_value=value)

    async def get(self, key: Key) -> UserPreference | None:
        """Return the user's own preference, else the default, else None.

        A sensitive one whose key is lost raises Unavailable.
        """
        wanted = validate.identifier(key, "key")
        async with self._desk.reading("preferences.get") as calls:
            found = await preferences.get(calls, wanted)
            if found is None and (elsewhere := self._desk.defaults(calls)) is not calls:
                found = await preferences.get(elsewhere, wanted)
        if found is None or not found.sensitive:
            return found
        # Row and key must be of the same moment: an erasure between two reads could replace both.
        reads = await self._desk.core.reads(self._desk.user_id)
        async with reads.snapshot(user_scope(self._desk.user_id)) as tx:
            found = await preferences.get(tx, wanted)
            wrapped = await tx.row("preferences.get_key", WrappedKey)
        return _decrypted(found, await self._desk.reading_cipher(wrapped)) if found and found.sensitive else found

    async def list(
        self,
        type: Annotated[PreferenceType | None, "Only of a type."] = None,
        *,
        defaults: Annotated[bool, "Also those that apply because the user has set none of their own."] = False,
    ) -> builtins.list[UserPreference]:
        """Return the user's own preferences by key; with `defaults` also those that apply because none was set.

        A sensitive one whose key is lost comes without its value; its `note` says why.
        """
        validate.optional_choice(type, "type", PREFERENCE_TYPES)
        reads = await self._desk.core.reads(self._desk.user_id)
        async with (
            self._desk.core.measured("retrieval", "preferences.list", self._desk.user_id, None) as tally,
            reads.snapshot(user_scope(self._desk.user_id)) as tx,
        ):
            own = await tx.rows("preferences.list", UserPreference, type=type)
            key = await tx.row("preferences.get_key", WrappedKey) if any(each.sensitive for each in own) else None
            asked = {"type": type, "settings": [*preferences.OPERATOR_SETTINGS]}  # which are not preferences of users
            where = self._desk.defaults(tx)
            given = await where.rows("preferences.defaults", UserPreference, **asked) if defaults else []
            tally.rows = tx.seen
        taken = {each.preference_key for each in own}
        return await self._readable(own, key) + [each for each in given if each.preference_key not in taken]

    async def forget(self, key: Key) -> bool:
        """Remove a preference; return whether there was one."""
        wanted = validate.identifier(key, "key")
        async with self._desk.writing("preferences.forget") as tx:
            row = await preferences.row_id(tx, wanted)
            gone = await preferences.forget(tx, wanted)
            await claims.forget(tx, "preference", wanted)
            if gone:
                await self._desk.tell(tx, "forget", "preference", row)
        return gone

    async def _readable(
        self, found: builtins.list[UserPreference], key: WrappedKey | None
    ) -> builtins.list[UserPreference]:
        if not any(each.sensitive for each in found):
            return found
        try:
            cipher = await self._desk.reading_cipher(key)
        except Unavailable as problem:
            return [replace(each, preference_value="", note=str(problem)) if each.sensitive else each for each in found]
        return [_decrypted(each, cipher) if each.sensitive else each for each in found]


def left_out(found: Iterable[UserPreference]) -> builtins.list[str]:
    """Returns notes about preferences whose value cannot be decrypted."""
    return [f"the preference {each.key!r} is left out: {each.note}" for each in found if each.note]


def _decrypted(sealed: UserPreference, cipher: Cipher) -> UserPreference:
    return replace(sealed, preference_value=cipher.open(sealed.preference_value, sealed.preference_id))
