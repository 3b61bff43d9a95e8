"""Callers: who calls, by a key, by a token of somebody else's making, or, on this machine alone, by a header."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer

from ltst.doors.http.problems import Unknown
from ltst.errors import Denied, Invalid, Unavailable
from ltst.memory import AsyncMemory, AsyncUser
from ltst.settings import Settings

if TYPE_CHECKING:
    from jwt import PyJWK, PyJWKSet

USER_HEADER = "X-User-Id"
KEYS_LOOKED_FOR_EVERY = 1.0  # seconds; so soon does a server without keys notice its first one
JWKS_KEPT = 300.0
LEEWAY = 30


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever calls: one user, or somebody who may act for any."""

    user_id: str | None
    admin: bool = False

    def acting_for(self, named: str | None) -> Caller:
        """The same caller, acting for the user that a header names."""
        if named is None or named == self.user_id:
            return self
        if not self.admin:
            raise Denied(f"this key is for one user, and {USER_HEADER} names another")
        return Caller(named, admin=True)


class Reception:
    """Finds out who calls."""

    def __init__(self, memory: AsyncMemory, *, loopback: bool) -> None:
        """Without keys, only a server that nobody else can reach lets anyone in."""
        self._memory = memory
        self._loopback = loopback
        self._tokens = Tokens(memory.settings) if has_tokens(memory.settings) else None
        self._open: tuple[float, bool] = (0.0, False)

    async def caller(self, secret: str | None, named: str | None) -> Caller:
        """Who calls with this key or token, for the user of the header."""
        if await self.open():
            return Caller(self._memory.settings.user if named is None else named, admin=True)
        if secret is None:
            raise Unknown('a key is needed: send "Authorization: Bearer KEY"; `ltst keys create` makes one')
        if self._tokens is not None and secret.count(".") == 2:
            return Caller(await self._tokens.user(secret)).acting_for(named)
        key = await self._memory.keys.check(secret)
        if key is None:
            raise Unknown("this key opens nothing here, or was revoked")
        return Caller(None if key.admin else key.user_id, key.admin).acting_for(named)

    async def open(self) -> bool:
        """Whether nobody is asked for a key: on loopback, as long as there are none."""
        if not self._loopback or self._tokens is not None:
            return False
        looked, free = self._open
        if time.monotonic() - looked > KEYS_LOOKED_FOR_EVERY:
            free = not await self._memory.keys.exist()
            self._open = (time.monotonic(), free)
        return free


def has_tokens(settings: Settings) -> bool:
    """Whether tokens that others sign are accepted."""
    return settings.jwt_secret is not None or settings.jwt_keys is not None


class Tokens:
    """Reads JSON web tokens: signed with a shared secret (HS256), or with a private key whose public one is known."""

    def __init__(self, settings: Settings) -> None:
        """Take the user from the claim that the settings name."""
        self._settings = settings
        self._known: tuple[float, PyJWKSet] | None = None

    async def user(self, token: str) -> str:
        """The user that a token speaks for; a token that cannot be trusted is refused without saying why."""
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
        return user_id

    async def _key(self, header: dict[str, Any]) -> tuple[Any, str]:
        """The key for a token and the one way of signing that it is for: a public key is never used as a secret."""
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
        """The public keys; asked for again now and then, and once more for a key that is not among them."""
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


BEARER = HTTPBearer(auto_error=False, description="A key made by `ltst keys create`, or a JSON web token.")
API_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, description="A key, for clients that cannot send a bearer.")


async def identified(request: Request) -> Caller:
    """Who sends a request; found out once."""
    if not hasattr(request.state, "caller"):
        bearer, key = await BEARER(request), await API_KEY(request)
        reception: Reception = request.app.state.reception
        secret = bearer.credentials if bearer is not None else key
        request.state.caller = await reception.caller(secret, _header(request, USER_HEADER))
    caller: Caller = request.state.caller
    return caller


class Guarded(APIRoute):
    """A route that looks who calls before it reads what they send: a stranger's body is not worth the work."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, after a look at the caller."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            await identified(request)
            return await handle(request)

        return guarded


async def calling(
    request: Request, _bearer: Annotated[Any, Depends(BEARER)], _key: Annotated[Any, Depends(API_KEY)]
) -> Caller:
    """Who calls; both ways to say so stand in the docs."""
    return await identified(request)


def _header(request: Request, name: str) -> str | None:
    """A header whose value may be any text."""
    value = request.headers.get(name)
    try:
        return None if value is None else value.encode("latin-1").decode()
    except UnicodeDecodeError:
        raise Invalid(f"the header {name} must be UTF-8") from None


async def acting_user(request: Request, caller: Annotated[Caller, Depends(calling)]) -> AsyncUser:
    """The memory of the user that the caller acts for."""
    if caller.user_id is None:
        raise Invalid(f"an admin's key opens every memory: name the user in the header {USER_HEADER}")
    memory: AsyncMemory = request.app.state.memory
    return memory.user(caller.user_id)


async def administering(request: Request, caller: Annotated[Caller, Depends(calling)]) -> AsyncMemory:
    """The whole memory, for those who may look after it."""
    if not caller.admin:
        raise Denied("this needs an admin's key")
    memory: AsyncMemory = request.app.state.memory
    return memory


User = Annotated[AsyncUser, Depends(acting_user)]
Administered = Annotated[AsyncMemory, Depends(administering)]
Calling = Annotated[Caller, Depends(calling)]
