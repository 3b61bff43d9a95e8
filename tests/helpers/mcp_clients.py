"""Clients of the MCP server: the package's own, over every transport and in both generations of the protocol."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from helpers.serving import running
from ltst import Settings
from ltst.doors.mcp.app import PATH, SSE_PATH, Serving, application

MODERN = "2026-07-28"
# The newest generation has no sessions; the ones before begin with a handshake, the oldest over a transport of its own.
WAYS = {
    "stdio": ("stdio", MODERN),
    "stdio with a handshake": ("stdio", "legacy"),
    "HTTP": ("http", MODERN),
    "HTTP with a handshake": ("http", "legacy"),
    "HTTP, as the server likes": ("http", "auto"),
    "SSE": ("sse", "legacy"),
}
COMMAND = ["-m", "ltst.doors.cli.main", "mcp"]


@contextmanager
def listening(settings: Settings, tools: str = "all") -> Iterator[str]:
    """The server on a free port of this machine; where it is."""
    with running(application(Serving(settings, tools=tools, structured=True))) as url:
        yield url


@asynccontextmanager
async def connected(way: str, url: str, environment: Mapping[str, str], user: str) -> AsyncIterator[Client]:
    """A client of one user, over one of the ways."""
    transport, mode = WAYS[way]
    headers = {"X-User-Id": user}
    if transport == "stdio":
        asked = StdioServerParameters(
            command=sys.executable,
            args=[*COMMAND, "--user", user, "--tools", "all", "--structured"],
            env={**os.environ, **environment},
        )
        async with Client(asked, mode=mode) as client:
            yield client
    elif transport == "sse":
        async with Client(sse_client(url + SSE_PATH, headers=headers), mode=mode) as client:
            yield client
    else:
        async with over_http(url, headers, mode) as client:
            yield client


@asynccontextmanager
async def over_http(url: str, headers: Mapping[str, str], mode: str = MODERN) -> AsyncIterator[Client]:
    """A client that sends these headers."""
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=60) as http,
        Client(streamable_http_client(url + PATH, http_client=http), mode=mode) as client,
    ):
        yield client


async def called(client: Client, name: str, **arguments: Any) -> Any:
    """The structured answer of a tool that is to succeed."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def said(client: Client, name: str, **arguments: Any) -> str:
    """The text of a tool's answer, whatever it is."""
    (content,) = (await client.call_tool(name, arguments)).content
    assert content.type == "text"
    return content.text
