"""MCP as a way in: handles with the verbs of AsyncMemory, each of which is a tool that a real client calls."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

import ltst
from behaviour.plain import PLAIN
from behaviour.wired import Chat, Documents, Door, Entries, Events, Paged, Sessions, User, record, records, sendable
from ltst import Settings
from ltst.doors.mcp.app import PATH, Serving, application
from ltst.doors.mcp.toolbox import ERROR
from ltst.recall.context import Context
from ltst.verbs.verb import Verb

T = TypeVar("T")

ABSENT = {
    "Sessions.add_many": "conversations from elsewhere come in files: `ltst import`",
    "Entries.add_many": "memories from elsewhere come in files: `ltst import`",
}

# Whose memory the next call is about; the client sends it from another task, which knows who asked.
ASKING: ContextVar[str] = ContextVar("asking")


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[Door]:
    """The application without a socket, entered as a server enters it, and one client for all users."""
    async with in_a_task_of_its_own(_served(settings)) as client:
        yield Door(client, Line, McpUser)


@asynccontextmanager
async def _served(settings: Settings) -> AsyncIterator[Client]:
    app = application(Serving(settings, tools="all", structured=True))
    hooks = {"request": [_signed]}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), event_hooks=hooks, timeout=120) as http,
        Client(streamable_http_client(f"http://localhost{PATH}", http_client=http), mode="2026-07-28") as client,
    ):
        yield client


async def _signed(request: httpx2.Request) -> None:
    request.headers["X-User-Id"] = ASKING.get("nobody")


@asynccontextmanager
async def in_a_task_of_its_own(entered: AbstractAsyncContextManager[T]) -> AsyncIterator[T]:
    """A context that one task enters and leaves, as the package wants it; the set-up of tests is not one task."""
    ready: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    done = asyncio.Event()

    async def hold() -> None:
        async with entered as value:
            ready.set_result(value)
            await done.wait()

    task = asyncio.create_task(hold())
    await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
    try:
        yield ready.result()
    finally:
        done.set()
        await task


class Line(Paged):
    """Calls for one user."""

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """The structured answer of a tool; a result that is an error raises the error that it tells of."""
        sent = sendable(arguments)
        before = ASKING.set(self.user_id)
        try:
            result = await self.client.call_tool(name, sent)
        except MCPError as problem:
            if problem.error.code != INVALID_REQUEST:
                raise
            raise ltst.Invalid(problem.error.message) from None  # the gate let nobody of that name in
        finally:
            ASKING.reset(before)
        said = result.content[0]
        assert said.type == "text" and said.text
        if result.is_error:
            raise getattr(ltst, (result.meta or {})[ERROR])(said.text)
        return result.structured_content

    async def once(self, verb: Verb, arguments: dict[str, Any]) -> Any:
        """The answer of the tool of a verb; of one that only tells whether it was done, that."""
        answer = await self.call(verb.tool or verb.name, **arguments)
        return answer["done"] if verb.shape is None else answer


def absent(verb: str) -> NoReturn:
    pytest.skip(f"no tool: {ABSENT[verb]}")


class McpSessions(Sessions):
    async def add_many(self, conversations: Any) -> NoReturn:
        absent("Sessions.add_many")


class McpEntries(Entries):
    async def add_many(self, entries: Any) -> NoReturn:
        absent("Entries.add_many")


class McpDocuments(Documents):
    async def add_text(self, text: str, **about: Any) -> ltst.Document:
        return record(ltst.Document, await self._line.call("add_document", text=text, **about))

    async def add_file(self, data: bytes, kind: str, about: dict[str, Any]) -> ltst.Document:
        told = {"data": base64.b64encode(data).decode(), "media_type": kind, **about}
        return record(ltst.Document, await self._line.call("add_document", **told))


class McpEvents(Events):
    async def list(self, *, after: int | str = 0, limit: int = 100) -> list[ltst.Event]:
        return records(ltst.Event, await self._line.call("list_events", after=after, limit=limit))

    async def feed(self, *, after: int | str = 0, limit: int = 100) -> Iterable[ltst.Event]:
        return records(ltst.Event, await self._line.call("list_events", after=after, limit=limit, settled=True))


class McpChat(Chat):
    async def history(self, *, limit: int = 100, offset: int = 0) -> list[ltst.ConversationMessage]:
        wanted = {"limit": limit, "offset": offset, "vectors": True}
        return records(ltst.ConversationMessage, await self._said(PLAIN["list_messages"], wanted))

    async def fork(self, at: int | None = None, *, session_id: str | None = None) -> McpChat:
        wanted = {"at": at, "new_session_id": session_id}
        return McpChat(self._line, (await self._said(PLAIN["fork_session"], wanted))["session_id"])

    async def context(self, query: str | None = None, **more: Any) -> Context:
        wanted = {"session_id": self.session_id, "query": query, "agent": self.agent, **more}
        return record(Context, await self._line.call("get_context", **wanted))


class McpUser(User):
    actor = "mcp"
    chat_by = McpChat
    own = (McpSessions, McpEntries, McpDocuments, McpEvents)

    async def search(self, query: str | None = None, **wanted: Any) -> list[ltst.Hit]:
        return records(ltst.Hit, await self._line.call("search_memory", query=query, **wanted))

    async def erase(self) -> ltst.Receipt:
        return record(ltst.Receipt, await self._line.call("erase_memory", confirm=self.user_id))
