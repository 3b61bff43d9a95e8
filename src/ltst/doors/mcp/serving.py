"""Runs the MCP server over standard input and output for one user, or behind a socket for many."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import anyio
import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCError, JSONRPCRequest, JSONRPCResponse

from ltst.doors.mcp.app import PATH, SSE_PATH, Serving, application
from ltst.doors.mcp.server import create
from ltst.doors.mcp.tools import SETS
from ltst.memory import AsyncMemory
from ltst.settings import Settings
from ltst.support.connections import limited
from ltst.support.network import SIGNALS, ending_well

__all__ = ["PATH", "SETS", "SSE_PATH", "Serving", "serve", "serve_stdio"]

GRACE_SECONDS = 5  # for running calls; listeners are disconnected at once
PATIENCE_SECONDS = 30.0  # for running answers when the input ends


def serve(serving: Serving, taken: socket.socket) -> None:
    """Serves until told to stop."""
    config = uvicorn.Config(application(serving), timeout_graceful_shutdown=GRACE_SECONDS, **limited(serving.settings))
    with ending_well():
        uvicorn.Server(config).run(sockets=[taken])


def serve_stdio(settings: Settings, tools: str, *, structured: bool = False) -> None:
    """Serves one client over standard input and output, until the input ends or a signal arrives."""
    asyncio.run(_serve(replace(settings, actor="mcp"), tools, structured=structured))


async def _serve(settings: Settings, tools: str, *, structured: bool) -> None:
    """Serves one client for one user; requests that came before the end of the input are still answered."""
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, stopped.set)
    async with AsyncMemory(settings=settings) as memory:
        user = memory.user(settings.user)
        served = asyncio.create_task(_answer(create(lambda _: user, SETS[tools], structured=structured)))
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait({served, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        if served.done():
            served.result()
        else:
            served.cancel()
    if stopped.is_set():
        # Everything is closed; only a thread still waits for input, and nothing else can end it.
        os._exit(0)


async def _answer(server: Server[Any]) -> None:
    async with stdio_server() as (heard, said), _patient(heard, said) as (read, write):
        await server.run(read, write, server.create_initialization_options())


@asynccontextmanager
async def _patient(heard: Any, said: Any) -> AsyncIterator[tuple[Any, Any]]:
    """Yields the same streams, but ends the input only when every request is answered.

    A program that pipes its requests in closes its end before they are read, and the package would drop them.
    """
    into, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    write, out_of = anyio.create_memory_object_stream[SessionMessage](0)
    waiting: set[Any] = set()
    answered = anyio.Event()
    ended = False

    async def listen() -> None:
        nonlocal ended
        async with into:
            async for message in heard:
                if isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCRequest):
                    waiting.add(message.message.id)
                await into.send(message)
            ended = True
            if waiting:
                with anyio.move_on_after(PATIENCE_SECONDS):
                    await answered.wait()

    async def speak() -> None:
        async with out_of, said:
            async for message in out_of:
                await said.send(message)
                if isinstance(message.message, JSONRPCResponse | JSONRPCError):
                    waiting.discard(message.message.id)
                    if ended and not waiting:
                        answered.set()

    async with anyio.create_task_group() as speaking, anyio.create_task_group() as listening:
        speaking.start_soon(speak)
        listening.start_soon(listen)
        yield read, write
        listening.cancel_scope.cancel()
