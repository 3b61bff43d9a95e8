"""The MCP application over HTTP, with the current transport and the older SSE transport."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from mcp.server.lowlevel import Server
from mcp.server.sse import SseServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ltst.doors.mcp.gate import Gate, own_origins, security, whose_by_key
from ltst.doors.mcp.server import create
from ltst.doors.mcp.tools import SETS
from ltst.handles.callers import CallerCheck
from ltst.handles.visits import OpenStreams, StreamGuard
from ltst.memory import AsyncMemory
from ltst.support import network

PATH = "/mcp"
SSE_PATH = "/sse"
MESSAGES_PATH = "/messages/"
# Headers that a page must be allowed to read.
EXPOSED = ["Mcp-Session-Id", "Mcp-Protocol-Version"]


@dataclass(frozen=True, slots=True)
class Serving(network.ServerOptions):
    """How a server is run, with which tools, and whether they also answer in JSON."""

    command: ClassVar[str] = "ltst mcp --http"

    port: int = 8001
    tools: str = "everyday"
    structured: bool = False


def application(serving: Serving, memory: AsyncMemory | None = None) -> Starlette:
    """Return the application. It opens its own memory unless one is given."""
    own = memory or AsyncMemory(settings=replace(serving.settings, actor="mcp"))
    return around(
        create(whose_by_key(own), SETS[serving.tools], structured=serving.structured),
        serving,
        own,
        opens=memory is None,
    )


def around(server: Server[object], serving: Serving, memory: AsyncMemory, *, opens: bool) -> Starlette:
    """Return an application that puts a protocol server behind the transports and the gate."""
    settings = serving.settings
    origins = {*settings.allowed_origins, *own_origins(serving.port)}
    guarded = security(serving.host, settings.allowed_hosts, origins)
    manager = StreamableHTTPSessionManager(
        server, security_settings=guarded, max_request_body_size=settings.max_body_bytes
    )
    sse = SseServerTransport(MESSAGES_PATH, guarded, settings.max_body_bytes)
    caller_check = CallerCheck(memory.keys, memory.settings, loopback=serving.loopback)
    middleware = [
        Middleware(_Ending),
        Middleware(StreamGuard, visits=OpenStreams(caller_check)),
        Middleware(Gate, caller_check=caller_check, memory=memory, origins=origins),
    ]
    if settings.allowed_origins:
        middleware.insert(0, _cors(settings.allowed_origins))
    return Starlette(
        routes=[
            Route(PATH, StreamableHTTPASGIApp(manager)),
            Route(SSE_PATH, _Listening(server, sse, guarded), methods=["GET"]),
            Mount(MESSAGES_PATH, sse.handle_post_message),
        ],
        middleware=middleware,
        lifespan=_lifespan(manager, memory, opens=opens),
    )


def _cors(origins: Collection[str]) -> Middleware:
    """Returns middleware that lets pages of these origins read the answers, and answers their preflight requests."""
    return Middleware(
        CORSMiddleware, allow_origins=[*origins], allow_methods=["*"], allow_headers=["*"], expose_headers=EXPOSED
    )


class _Ending:
    """Ends streams cleanly that the package breaks off when the server stops, so that listeners see no error."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        await self._app(scope, receive, noted)
        if begun:
            await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Listening:
    """The stream of the SSE transport; its client posts messages to another address."""

    def __init__(self, server: Server[object], sse: SseServerTransport, guarded: TransportSecuritySettings) -> None:
        self._server = server
        self._sse = sse
        self._security = TransportSecurityMiddleware(guarded)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # Checked here first, because the transport itself would refuse and also raise.
        refusal = await self._security.validate_request(Request(scope))
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        async with self._sse.connect_sse(scope, receive, send) as (heard, said):
            await self._server.run(heard, said, self._server.create_initialization_options())


def _lifespan(
    manager: StreamableHTTPSessionManager, memory: AsyncMemory, *, opens: bool
) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        if opens:
            await memory.open()
            if memory.settings.warm:
                await memory.warm()  # nobody is answered before that
        try:
            async with manager.run():
                yield
        finally:
            if opens:
                await memory.close()

    return lifespan
