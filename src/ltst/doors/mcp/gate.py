"""Identifies the caller of an MCP request over HTTP, and checks its origin."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import mcp_types as protocol
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from ltst.doors.mcp.server import Request, Whose
from ltst.errors import Denied, Invalid, LtstError, Unavailable
from ltst.handles.callers import Caller, CallerCheck, Unknown
from ltst.memory import AsyncMemory, AsyncUser
from ltst.support.network import LOOPBACK

STATUSES: Mapping[type[LtstError], int] = {Unknown: 401, Denied: 403, Invalid: 400, Unavailable: 503}
BEARER = "bearer "


class Gate:
    """Identifies callers before anything is read; a session of the protocol belongs to whoever began it."""

    def __init__(self, app: ASGIApp, caller_check: CallerCheck, memory: AsyncMemory, origins: Collection[str]) -> None:
        """Accepts callers that the check knows, without an origin or from one of `origins`."""
        self._app = app
        self._caller_check = caller_check
        self._memory = memory
        self._origins = frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] == "http":
            try:
                caller = await self._caller(Headers(scope=scope))
                scope.setdefault("state", {})["caller"] = caller
                scope["user"] = self._visitor(caller)
            except LtstError as problem:
                await _refusal(problem)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _caller(self, headers: Headers) -> Caller:
        """Return the caller."""
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins:
            raise Denied(f"pages of {origin[:200]!r} may not call this server; name them in LTST_ALLOWED_ORIGINS")
        return await self._caller_check.caller(_secret(headers), headers)

    def _visitor(self, caller: Caller) -> AuthenticatedUser:
        """Return the caller in the form by which the package tells session owners apart."""
        user = self._memory.user(caller.whose)
        return AuthenticatedUser(AccessToken(token="", client_id=caller.credential, scopes=[], subject=user.user_id))


def whose_by_key(memory: AsyncMemory) -> Whose:
    """Return a function that finds the user of a request: whoever passed the gate with it."""

    def whose(request: Request) -> AsyncUser:
        assert request.request is not None, "every request comes over HTTP here"
        visitor: AuthenticatedUser = request.request.user
        return memory.user(str(visitor.access_token.subject))

    return whose


def security(host: str, hosts: Collection[str], origins: Collection[str]) -> TransportSecuritySettings:
    """Returns the host names to accept, on any port; with `*` any name, because then only the gate decides."""
    names = {_in_url(each) for each in (*LOOPBACK, host, *hosts)}
    return TransportSecuritySettings(
        enable_dns_rebinding_protection="*" not in hosts,
        allowed_hosts=sorted({*names, *(f"{name}:*" for name in names)}),
        allowed_origins=sorted(origins),
    )


def own_origins(port: int) -> set[str]:
    """Return the origins of this server's own pages."""
    return {f"http://{_in_url(name)}:{port}" for name in LOOPBACK}


def _in_url(host: str) -> str:
    bare = host.strip("[]").lower()
    return f"[{bare}]" if ":" in bare else bare


def _secret(headers: Headers) -> str | None:
    given = headers.get("authorization", "")
    return given[len(BEARER) :].strip() if given.lower().startswith(BEARER) else headers.get("x-api-key")


def _refusal(problem: LtstError) -> JSONResponse:
    """Return an error in the protocol's form, for a request that was not read yet."""
    status = next((STATUSES[kind] for kind in type(problem).__mro__ if kind in STATUSES), 500)
    error = {"code": protocol.INVALID_REQUEST, "message": str(problem)}
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status, headers=headers)
