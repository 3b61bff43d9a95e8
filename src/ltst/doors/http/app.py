"""The FastAPI application: assembles routes, middleware and memory."""

from __future__ import annotations

import asyncio
import multiprocessing
import signal
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware

from ltst.agents.relay import Relay
from ltst.agents.turns import Turns
from ltst.doors.http import problems
from ltst.doors.http.guard import Guard
from ltst.doors.http.meters import Metered, Meters
from ltst.doors.http.reference import add_reference, document
from ltst.doors.http.routes import admin, chat, feed, imports, proxy, verbs
from ltst.doors.http.routes.common import PROBLEMS
from ltst.doors.web.app import PAGES, add_pages
from ltst.handles.callers import CallerCheck
from ltst.handles.visits import OpenStreams, StreamGuard
from ltst.memory import AsyncMemory
from ltst.support import network
from ltst.support.children import READING
from ltst.support.network import SIGNALS, STOPPING

ROUTERS = (chat.router, proxy.router, imports.router, verbs.router, feed.router, admin.router, admin.open_router)
DESCRIPTION = """Long-term and short-term memory for AI agents, in one Postgres.

On the machine it runs on, a server without keys asks for none: the header `X-User-Id` says whose memory it is about,
`local` if it is left out. Else send `Authorization: Bearer KEY`; `ltst keys create` makes keys.

Ids and keys in a path may hold any character, percent-encoded. Errors come as `application/problem+json`.
"""


@dataclass(frozen=True, slots=True)
class Serving(network.ServerOptions):
    """How a server is run, and where its processes keep the meters that they share."""

    shared_meters: Path | None = None


def create(serving: Serving, memory: AsyncMemory | None = None) -> FastAPI:
    """Return the application. It opens its own memory unless one is given."""
    own = memory or AsyncMemory(settings=replace(serving.settings, actor="http"))
    turns, relay = Turns(own), Relay(own)
    app = FastAPI(
        title="ltst",
        version=version("ltst"),
        description=DESCRIPTION,
        redirect_slashes=False,
        lifespan=_lifespan(own, (turns, relay), opens=memory is None),
        responses=PROBLEMS,
        generate_unique_id_function=_operation,
        separate_input_output_schemas=False,
        docs_url=None,
        redoc_url=None,
    )
    app.state.memory, app.state.turns, app.state.relay = own, turns, relay
    app.state.meters = Meters(turns.stats, serving.shared_meters)
    own.watch(app.state.meters.note)
    app.state.caller_check = CallerCheck(own.keys, own.settings, loopback=serving.loopback)
    app.state.visits = OpenStreams(app.state.caller_check)
    app.state.stopping = asyncio.Event()
    app.state.changes = feed.Listeners(own, app.state.stopping)
    problems.register(app, [route for router in (*ROUTERS, *PAGES) for route in router.routes])
    for router in ROUTERS:
        app.include_router(router)
    add_pages(app, problems.status_of)
    _gate(app, serving)
    app.openapi = partial(document, app)  # type: ignore[method-assign]
    add_reference(app)
    return app


def _lifespan(memory: AsyncMemory, busy: Sequence[Turns | Relay], *, opens: bool) -> Any:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[dict[str, Any]]:
        if opens:
            await memory.open()
            if memory.settings.warm:
                await memory.warm()  # nobody is answered, or told that the server is ready, before that
        try:
            with _heeding(app.state.stopping), _orphanage():
                yield {STOPPING: app.state.stopping}
        finally:
            app.state.stopping.set()
            await asyncio.gather(*(each.close() for each in busy))
            if opens:
                await memory.close()

    return lifespan


@contextmanager
def _heeding(stopping: asyncio.Event) -> Iterator[None]:
    """Tells streams when the server stops; otherwise it would wait for listeners who never leave."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        before = {number: handler for number in SIGNALS if callable(handler := signal.getsignal(number))}
    loop = asyncio.get_running_loop()

    def heed(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stopping.set)
        loop.call_soon_threadsafe(READING.stop)  # nor wait for a document that takes minutes to read
        before[number](number, frame)

    for number in before:
        signal.signal(number, heed)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _orphanage() -> Iterator[None]:
    """Stop when the parent process is gone; otherwise this one would keep the port occupied."""
    parent = multiprocessing.parent_process()
    if parent is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    sentinel = int(parent.sentinel)

    def orphaned() -> None:
        loop.remove_reader(sentinel)
        signal.raise_signal(signal.SIGTERM)

    loop.add_reader(sentinel, orphaned)
    try:
        yield
    finally:
        loop.remove_reader(sentinel)


def _gate(app: FastAPI, serving: Serving) -> None:
    """Add the middleware. A request passes the last one added first."""
    settings = serving.settings
    app.add_middleware(StreamGuard, visits=app.state.visits)
    app.add_middleware(Metered, meters=app.state.meters)
    if settings.allowed_origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=[*settings.allowed_origins], allow_methods=["*"], allow_headers=["*"]
        )
    app.add_middleware(
        Guard,
        hosts={*settings.allowed_hosts, serving.host.strip("[]").lower()},
        origins=settings.allowed_origins,
        max_body_bytes=settings.max_body_bytes,
    )


def _operation(route: APIRoute) -> str:
    return route.name
