"""Cryptography: AES-256-GCM values under one key per user, which is wrapped by a master key outside the database.

A stolen dump is unreadable without the master key; destroying a user's data key makes every copy of that user's
sensitive values unreadable for good.
"""

from __future__ import annotations

import base64
import binascii
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ltst.errors import Denied, Invalid, Unavailable
from ltst.support import durable

KEY_BYTES = 32
NONCE_BYTES = 12
SEALED_PREFIX = "sealed:1:"


def _identity(key: bytes) -> str:
    """Returns a name for a key that does not give it away."""
    return hashlib.sha256(b"ltst master key" + key).hexdigest()[:16]


def _bound(*parts: str | int) -> bytes:
    """Returns additional data that only these parts produce."""
    return json.dumps(parts).encode()


def _encrypt(key: bytes, plaintext: bytes, bound: bytes) -> bytes:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # late: it is large, and few values are sensitive

    nonce = secrets.token_bytes(NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, plaintext, bound)


def _decrypt(key: bytes, sealed: bytes, bound: bytes) -> bytes:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], bound)
    except (InvalidTag, ValueError):
        raise Denied("this sealed value was changed or does not belong here: refused") from None


@dataclass(frozen=True, slots=True)
class WrappedKey:
    """A user's data key as the database keeps it."""

    user_id: str
    key_version: int
    wrapped_key: bytes
    master_key_id: str


class UserCipher:
    """Seals and opens the values of one user, each bound to user, row and key version."""

    def __init__(self, user_id: str, key_version: int, key: bytes) -> None:
        self._user_id = user_id
        self._version = key_version
        self._key = key

    def seal(self, plaintext: str, row: str) -> str:
        """Returns the ciphertext of a value, as text."""
        sealed = _encrypt(self._key, plaintext.encode(), _bound(self._user_id, row, self._version))
        return SEALED_PREFIX + base64.b64encode(sealed).decode()

    def open(self, sealed: str, row: str) -> str:
        """Returns the value; anything tampered with or moved is refused."""
        try:
            if not sealed.startswith(SEALED_PREFIX):
                raise ValueError
            written = sealed.removeprefix(SEALED_PREFIX)
            raw = base64.b64decode(written, validate=True)
            if base64.b64encode(raw).decode() != written:  # the last character has bits that decode to nothing
                raise ValueError
        except (ValueError, binascii.Error):
            raise Denied("this sealed value was changed or does not belong here: refused") from None
        return _decrypt(self._key, raw, _bound(self._user_id, row, self._version)).decode()


class Rotation:
    """A change of the master key in progress: first every data key is wrapped anew, then the old keys are dropped."""

    def __init__(self, lock: IO[str] | None, drop_old: Callable[[], None]) -> None:
        self._lock = lock
        self._drop_old = drop_old

    def __enter__(self) -> None:
        """Enters the block; the rotation has already begun."""

    def __exit__(self, problem: type[BaseException] | None, *_: object) -> None:
        """Drops the old keys, unless something failed and may still need them, and lets the next rotation begin."""
        try:
            if problem is None:
                self._drop_old()
        finally:
            if self._lock is not None:
                self._lock.close()


class MasterKeys:
    """The master keys, newest first: from the environment, or from a key file created with the first sealed value."""

    def __init__(self, given: str | None, file: Path) -> None:
        """Uses the given keys, else those of the file."""
        self._given = given
        self._file = file
        self._keys: dict[str, bytes] | None = _parse(given, "LTST_MASTER_KEY") if given else None

    @property
    def where(self) -> str:
        """Where the keys come from."""
        return "LTST_MASTER_KEY" if self._given else str(self._file)

    def ids(self) -> list[str]:
        """Returns the names of the known keys, newest first; none before the first sealed value."""
        return [*self._loaded()]

    def new_user_key(self, user_id: str) -> WrappedKey:
        """Returns a new data key for a user, wrapped by the newest master key, whichever process made that."""
        if not self._given:
            self._make()
            self._keys = {**self._read(), **self._loaded()}
        return self._wrap(user_id, 1, secrets.token_bytes(KEY_BYTES))

    def cipher(self, wrapped: WrappedKey) -> UserCipher:
        """Returns the cipher that seals and opens the values of the key's user."""
        return UserCipher(wrapped.user_id, wrapped.key_version, self._unwrap(wrapped))

    def rewrap(self, wrapped: WrappedKey) -> WrappedKey:
        """Returns the same data key, wrapped by the newest master key."""
        return self._wrap(wrapped.user_id, wrapped.key_version, self._unwrap(wrapped))

    def newest_id(self) -> str:
        """Returns the name of the master key that wraps new data keys."""
        for newest in self._loaded():
            return newest
        raise Unavailable(f"there is no master key in {self.where} yet: the first sensitive value makes one")

    def begin_rotation(self) -> Rotation:
        """Adds a new key at the front of the file, and locks out other rotations until this one ends.

        It may wait: call it in a thread. Of keys from the environment, a new one has already been put first.
        """
        if self._given:
            return Rotation(None, lambda: None)
        self._make()
        lock = self._file.with_name(f"{self._file.name}.lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        fresh, old = secrets.token_bytes(KEY_BYTES), [*self._read().values()]
        self._write([fresh, *old])
        # The previous key stays, for a process that is just wrapping a user's key with it.
        return Rotation(lock, lambda: self._write([fresh, old[0]]))

    def _wrap(self, user_id: str, version: int, key: bytes) -> WrappedKey:
        master_id, master = next(iter(self._loaded().items()))
        return WrappedKey(user_id, version, _encrypt(master, key, _bound(user_id, version, master_id)), master_id)

    def _unwrap(self, wrapped: WrappedKey) -> bytes:
        master = self._find(wrapped.master_key_id)
        bound = _bound(wrapped.user_id, wrapped.key_version, wrapped.master_key_id)
        return _decrypt(master, wrapped.wrapped_key, bound)

    def _find(self, key_id: str) -> bytes:
        """Returns a key by its name; reads the file again for an unknown one, which another process may have added."""
        if key_id not in self._loaded() and not self._given and self._file.exists():
            self._keys = {**self._read(), **self._loaded()}
        try:
            return self._loaded()[key_id]
        except KeyError:
            raise Unavailable(
                f"the master key {key_id} is not in {self.where}: put it back to read what it wraps"
            ) from None

    def _loaded(self) -> dict[str, bytes]:
        """Returns the existing keys; reading creates none."""
        if self._keys is None and self._file.exists():
            self._keys = self._read()
        return self._keys or {}

    def _read(self) -> dict[str, bytes]:
        try:
            if self._file.stat().st_mode & 0o077:
                raise Denied(f"others can read the master key in {self._file}: run chmod 600 on it")
            return _parse(self._file.read_text(), str(self._file))
        except OSError as problem:
            raise Denied(f"the master key cannot be read: {problem}") from None

    def _make(self) -> None:
        """Creates the key file unless it exists, by linking a finished one: if two processes race, one of them wins."""
        if self._file.exists():
            return
        durable.make_folder(self._file.parent)
        draft = self._draft([secrets.token_bytes(KEY_BYTES)])
        try:
            durable.link(draft, self._file)
        except FileExistsError:
            durable.sync(self._file.parent)  # from here on the other process's file is used
        finally:
            draft.unlink()

    def _write(self, keys: list[bytes]) -> None:
        durable.replace(self._draft(keys), self._file)
        self._keys = {**{_identity(key): key for key in keys}, **(self._keys or {})}

    def _draft(self, keys: list[bytes]) -> Path:
        draft = self._file.with_name(f"{self._file.name}.{secrets.token_hex(8)}")
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(",".join(base64.b64encode(key).decode() for key in keys) + "\n")
            file.flush()
            if os.geteuid() == 0:  # so that the owner of the folder can read what root writes
                owner = self._file.parent.stat()
                os.fchown(file.fileno(), owner.st_uid, owner.st_gid)
            os.fsync(file.fileno())
        return draft


def _parse(written: str, where: str) -> dict[str, bytes]:
    keys = [_decode(part.strip(), where) for part in written.split(",") if part.strip()]
    if not keys:
        raise Invalid(f"{where} holds no key: it takes 32 bytes in base64 or hex")
    return {_identity(key): key for key in keys}


def _decode(written: str, where: str) -> bytes:
    for decode in (bytes.fromhex, lambda text: base64.b64decode(text.translate(URL_SAFE), validate=True)):
        try:
            key = decode(written)
        except ValueError:
            continue
        if len(key) == KEY_BYTES:
            return key
    raise Invalid(f"{where} must hold keys of 32 bytes in base64 or hex; make one with: openssl rand -base64 32")


URL_SAFE = str.maketrans("-_", "+/")
