"""Identifies the caller of a request before its body is read, and finds the memory that the caller may use."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Depends, Request, Response
from fastapi.routing import APIRoute
from fastapi.security import APIKeyHeader, HTTPBearer

from ltst.errors import Denied
from ltst.handles.callers import Caller, CallerCheck
from ltst.memory import AsyncMemory, AsyncUser

BEARER = HTTPBearer(auto_error=False, description="A key made by `ltst keys create`, or a JSON web token.")
API_KEY = APIKeyHeader(name="X-API-Key", auto_error=False, description="A key, for clients that cannot send a bearer.")


async def identified(request: Request) -> Caller:
    """Return the caller of a request, and remember it for the rest of the request."""
    if not hasattr(request.state, "caller"):
        bearer, key = await BEARER(request), await API_KEY(request)
        caller_check: CallerCheck = request.app.state.caller_check
        secret = bearer.credentials if bearer is not None else key
        request.state.caller = await caller_check.caller(secret, request.headers)
    caller: Caller = request.state.caller
    return caller


class GuardedRoute(APIRoute):
    """A route that identifies the caller before reading the body, because a stranger's body is not worth the work."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that identifies the caller first."""
        handle = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            await identified(request)
            return await handle(request)

        return guarded


async def calling(
    request: Request, _bearer: Annotated[Any, Depends(BEARER)], _key: Annotated[Any, Depends(API_KEY)]
) -> Caller:
    """Return the caller. The parameters document both ways to authenticate."""
    return await identified(request)


async def acting_user(request: Request, caller: Annotated[Caller, Depends(calling)]) -> AsyncUser:
    """Returns the memory of the user that the caller acts for; async so that FastAPI does not use a thread."""
    return memory_of(request, caller)


def memory_of(request: Request, caller: Caller) -> AsyncUser:
    """Return the memory of the user that the caller acts for."""
    memory: AsyncMemory = request.app.state.memory
    return memory.user(caller.whose)


async def administering(request: Request, caller: Annotated[Caller, Depends(calling)]) -> AsyncMemory:
    """Return the whole memory if the caller is an admin."""
    if not caller.admin:
        raise Denied("this needs an admin's key")
    memory: AsyncMemory = request.app.state.memory
    return memory


User = Annotated[AsyncUser, Depends(acting_user)]
Administered = Annotated[AsyncMemory, Depends(administering)]
Calling = Annotated[Caller, Depends(calling)]
