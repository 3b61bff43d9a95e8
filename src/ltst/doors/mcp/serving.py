"""Serving: the protocol over standard input and output, or behind a socket, until it is told to stop."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace

import uvicorn

from ltst.doors.mcp import stdio
from ltst.doors.mcp.app import PATH, SSE_PATH, Serving, application
from ltst.doors.mcp.tools import SETS
from ltst.handles.callers import has_tokens
from ltst.settings import Settings
from ltst.support.connections import limited
from ltst.support.network import bound, ending_well

__all__ = ["PATH", "SETS", "SSE_PATH", "Serving", "bound", "has_tokens", "serve", "serve_stdio"]

GRACE_SECONDS = 5  # for calls under way; listeners are sent away at once


def serve_stdio(settings: Settings, tools: str, *, structured: bool = False) -> None:
    """Answer one client over standard input and output."""
    asyncio.run(stdio.serve(replace(settings, actor="mcp"), tools, structured=structured))


def serve(serving: Serving, taken: socket.socket) -> None:
    """Answer until told to stop."""
    config = uvicorn.Config(
        application(serving),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
        **limited(serving.settings),
    )
    with ending_well():
        uvicorn.Server(config).run(sockets=[taken])
