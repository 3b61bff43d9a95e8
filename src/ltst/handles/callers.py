"""Identifies callers over the network: by an API key, a signed token, or a header on this machine only."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltst.errors import Denied, Invalid, LtstError, Unavailable
from ltst.handles.keys import AsyncKeys
from ltst.settings import Settings
from ltst.support.network import header_text

if TYPE_CHECKING:
    from jwt import PyJWK, PyJWKSet

USER_HEADER = "X-User-Id"
MISTAKEN = re.compile(r"(?:x[-_]?)?(?:ltst[-_]?)?user(?:[-_]?(?:id|name))?", re.IGNORECASE)
KEYS_LOOKED_FOR_EVERY = 1.0  # seconds; how soon a server without keys notices its first one
JWKS_KEPT = 300.0
LEEWAY = 30
SIGNED = "token"
NO_KEYS = ("", SIGNED)


class Unknown(LtstError):
    """The caller showed no key or an invalid one."""


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller: one user, or an admin who may act for any user.

    `credential` is the id of the key, "token", or "" if no key was required; `expires` is the expiry of a token in
    seconds since 1970.
    """

    user_id: str | None
    admin: bool = False
    credential: str = ""
    expires: float | None = None

    @property
    def whose(self) -> str:
        """Returns the user that the caller acts for; raises Invalid if an admin names none."""
        if self.user_id is None:
            raise Invalid(f"an admin's key opens every memory: name the user in the header {USER_HEADER}")
        return self.user_id

    def acting_for(self, named: str | None, where: str = f"the header {USER_HEADER}") -> Caller:
        """Returns the same caller acting for the user that the request names; raises Denied if that is not allowed."""
        if named is None or named == self.user_id:
            return self
        if not self.admin:
            raise Denied(f"this key is for one user, and {where} names another")
        return replace(self, user_id=named)


class CallerCheck:
    """Identifies callers."""

    def __init__(self, keys: AsyncKeys, settings: Settings, *, loopback: bool) -> None:
        """Until the first key is created, a server reachable only from this machine lets everybody in."""
        self._keys = keys
        self._settings = settings
        self._loopback = loopback
        self._tokens = Tokens(settings) if has_tokens(settings) else None
        self._open: tuple[float, bool] = (0.0, False)

    async def caller(self, secret: str | None, headers: Mapping[str, str] | None = None) -> Caller:
        """Returns the caller with this key or token, acting for the user that the headers name."""
        named = header_text((headers or {}).get(USER_HEADER), USER_HEADER)
        if await self.open():
            # With a misspelt header the request would silently act for the default user.
            if named is None and (wrong := next(filter(MISTAKEN.fullmatch, headers or {}), None)):
                raise Invalid(f"the header {wrong} is not read: name the user in {USER_HEADER}")
            return Caller(self._settings.user if named is None else named, admin=True)
        if secret is None:
            raise Unknown('a key is needed: send "Authorization: Bearer KEY"; `ltst keys create` makes one')
        if self._tokens is not None and secret.count(".") == 2:
            return (await self._tokens.caller(secret)).acting_for(named)
        key = await self._keys.check(secret)
        if key is None:
            raise Unknown("this key opens nothing here, or was revoked")
        return Caller(None if key.admin else key.user_id, key.admin, key.key_id).acting_for(named)

    async def still_welcome(self, callers: Iterable[Caller]) -> set[Caller]:
        """Returns those callers whose access is still valid; a token is valid until it expires."""
        asked = {*callers}
        keys = {each.credential for each in asked if each.credential not in NO_KEYS}
        good = {*(await self._keys.still_open(keys) if keys else ()), SIGNED}
        if any(not each.credential for each in asked) and await self.open():
            good.add("")
        return {each for each in asked if each.credential in good}

    async def open(self) -> bool:
        """Returns whether no key is required: on loopback, until the first one is created."""
        if not self._loopback or self._tokens is not None:
            return False
        looked, free = self._open
        if time.monotonic() - looked > KEYS_LOOKED_FOR_EVERY:
            free = not await self._keys.required()
            self._open = (time.monotonic(), free)
        return free


def has_tokens(settings: Settings) -> bool:
    """Returns whether signed tokens are accepted."""
    return settings.jwt_secret is not None or settings.jwt_keys is not None


class Tokens:
    """Verifies JSON web tokens, signed with a shared secret (HS256) or with a private key (RS256)."""

    def __init__(self, settings: Settings) -> None:
        """Takes the user from the claim that the settings name."""
        self._settings = settings
        self._known: tuple[float, PyJWKSet] | None = None

    async def caller(self, token: str) -> Caller:
        """Returns the caller a token stands for; an invalid token is refused without details."""
        import jwt

        settings = self._settings
        try:
            key, algorithm = await self._key(jwt.get_unverified_header(token))
            claims = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=settings.jwt_audience,
                issuer=settings.jwt_issuer,
                leeway=LEEWAY,
                options={"require": ["exp"], "verify_aud": settings.jwt_audience is not None},
            )
        except (jwt.PyJWTError, ValueError) as problem:
            raise Unknown("this token cannot be trusted: it is malformed, expired or not signed for here") from problem
        user_id = claims.get(settings.jwt_claim)
        if not isinstance(user_id, str):
            raise Unknown(f"this token names nobody: its claim {settings.jwt_claim!r} is to be a text")
        return Caller(user_id, credential=SIGNED, expires=float(claims["exp"]) + LEEWAY)

    async def _key(self, header: dict[str, Any]) -> tuple[Any, str]:
        """Returns the key and the only algorithm it may be used with, so that a public key never serves as a secret."""
        if header.get("alg") == "HS256" and self._settings.jwt_secret is not None:
            return self._settings.jwt_secret, "HS256"
        if header.get("alg") == "RS256" and self._settings.jwt_keys is not None:
            return (await self._public(header.get("kid"))).key, "RS256"
        raise Unknown("this token is signed in a way that is not accepted here")

    async def _public(self, kid: object) -> PyJWK:
        for fresh in (False, True):
            keys = [each for each in (await self._keys(fresh)).keys if kid is None or each.key_id == kid]
            if keys:
                return keys[0]
        raise Unknown("this token is signed with a key that is not known here")

    async def _keys(self, fresh: bool) -> PyJWKSet:
        """Returns the public keys, reloading them when they are old or (`fresh`) when a key is missing."""
        import jwt

        age = JWKS_KEPT if self._known is None else time.monotonic() - self._known[0]
        if self._known is None or age > JWKS_KEPT or (fresh and age > KEYS_LOOKED_FOR_EVERY):
            where = str(self._settings.jwt_keys)
            try:
                written = await _fetched(where) if "://" in where else await asyncio.to_thread(Path(where).read_text)
                self._known = (time.monotonic(), jwt.PyJWKSet.from_dict(json.loads(written)))
            except (OSError, ValueError, jwt.PyJWTError) as problem:
                raise Unavailable("the public keys for tokens (LTST_JWT_KEYS) cannot be read") from problem
        return self._known[1]


async def _fetched(url: str) -> str:
    import httpx

    async with httpx.AsyncClient(timeout=5.0) as client:
        try:
            return (await client.get(url)).raise_for_status().text
        except httpx.HTTPError as problem:
            raise OSError(str(problem)) from problem
