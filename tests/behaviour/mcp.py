"""MCP as a way in: handles with the verbs of AsyncMemory, each of which is a tool that a real client calls."""

from __future__ import annotations

import asyncio
import base64
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST

import ltst
from behaviour.http import MOST_PER_PAGE, given, record, records
from behaviour.plain import PLAIN, Plain
from ltst import Settings
from ltst.doors.mcp.app import PATH, Serving, application
from ltst.doors.mcp.toolbox import ERROR
from ltst.handles.contexts import AsyncContexts, AsyncWorking
from ltst.handles.documents import AsyncDocuments
from ltst.handles.entries import AsyncEntries
from ltst.handles.facts import AsyncFacts
from ltst.handles.instructions import AsyncInstructions
from ltst.handles.learning import AsyncLearning
from ltst.handles.preferences import AsyncPreferences
from ltst.handles.retention import AsyncRetention
from ltst.handles.sessions import AsyncSessions
from ltst.handles.statements import AsyncStatements
from ltst.memory import AsyncChat, AsyncUser
from ltst.recall.context import Context
from ltst.records import (
    ConversationMessage,
    ConversationSession,
    Document,
    Event,
    Hit,
    Receipt,
    SessionSummary,
)
from ltst.support.reading.source import SUFFIXES, TEXT
from ltst.verbs.verb import Verb

R = TypeVar("R")
T = TypeVar("T")

PUT_SESSION = PLAIN["put_session"]
ABSENT = {
    "Sessions.add_many": "conversations from elsewhere come in files: `ltst import`",
    "Entries.add_many": "memories from elsewhere come in files: `ltst import`",
}

# Whose memory the next call is about; the client sends it from another task, which knows who asked.
ASKING: ContextVar[str] = ContextVar("asking")


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[McpDoor]:
    """The application without a socket, entered as a server enters it, and one client for all users."""
    async with in_a_task_of_its_own(_served(settings)) as client:
        yield McpDoor(client)


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


def sendable(value: Any) -> Any:
    """What JSON has a word for; the rest cannot be sent at all."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ltst.Invalid("this cannot be sent as JSON: a key that is not a text")
        return {sendable(key): sendable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(each) for each in value]
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ltst.Invalid("this cannot be sent as JSON: a lone surrogate") from None
    elif isinstance(value, float) and value not in (float("inf"), -float("inf")) and value == value:
        return value
    elif not isinstance(value, bool | int | None):
        raise ltst.Invalid(f"this cannot be sent as JSON: {value!r}")
    return value


class Line:
    """Calls for one user."""

    def __init__(self, client: Client, user_id: str) -> None:
        self.client = client
        self.user_id = user_id

    async def call(self, name: str, /, **arguments: Any) -> Any:
        """The structured answer of a tool; a result that is an error raises the error that it tells of."""
        try:
            sent = sendable(arguments)
        except RecursionError:
            raise ltst.Invalid("this cannot be sent as JSON: it never ends") from None
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

    async def verb(self, verb: Verb, given: dict[str, Any]) -> Any:
        """The answer of the tool of a verb; of one that only tells whether it was done, that."""
        name = verb.tool or verb.name
        if "offset" in verb.arguments:
            return {"items": await self.pages(name, **{"limit": 50, "offset": 0, **given})}
        answer = await self.call(name, **given)
        return answer["done"] if verb.shape is None else answer

    async def pages(self, name: str, /, *, limit: int, offset: int, **arguments: Any) -> list[Any]:
        """So many records, in as many calls as it takes."""
        found: list[Any] = []
        while True:
            most = limit
            if isinstance(limit, int) and limit > MOST_PER_PAGE:
                most = min(MOST_PER_PAGE, limit - len(found))
            answer = await self.call(name, limit=most, offset=offset, **arguments)
            found += answer["items"]
            if answer.get("next_offset") is None or len(found) >= limit:
                return found
            offset = answer["next_offset"]


def plain(owner: type, line: Line) -> Plain:
    """The verbs of a handle that are tools as they are."""
    return Plain(owner, line.verb, record)


def absent(verb: str) -> NoReturn:
    pytest.skip(f"no tool: {ABSENT[verb]}")


class McpDoor:
    """The server as a way in."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def user(self, user_id: str) -> McpUser:
        if not isinstance(user_id, str):
            raise ltst.Invalid("user_id must be text: a header holds nothing else")
        return McpUser(Line(self.client, user_id))


class McpUser(Plain):
    def __init__(self, line: Line) -> None:
        super().__init__(AsyncUser, line.verb, record)
        self._line = line
        self.user_id = line.user_id
        self.actor = "mcp"
        self.sessions = McpSessions(AsyncSessions, line.verb, record)
        self.facts = plain(AsyncFacts, line)
        self.statements = plain(AsyncStatements, line)
        self.preferences = plain(AsyncPreferences, line)
        self.instructions = plain(AsyncInstructions, line)
        self.entries = McpEntries(AsyncEntries, line.verb, record)
        self.documents = McpDocuments(line)
        self.retention = plain(AsyncRetention, line)
        self.learning = plain(AsyncLearning, line)
        self.events = McpEvents(line)

    def chat(self, session_id: str | None = None, *, agent: str | None = None, name: str | None = None) -> McpChat:
        return McpChat(self._line, uuid.uuid4().hex if session_id is None else session_id, agent, name)

    async def search(self, query: str, **wanted: Any) -> list[Hit]:
        return records(Hit, await self._line.call("search_memory", query=query, **wanted))

    async def erase(self) -> Receipt:
        return record(Receipt, await self._line.call("erase_memory", confirm=self.user_id))


class McpSessions(Plain):
    async def put(self, session: ConversationSession) -> ConversationSession:
        told = {
            each.name: getattr(session, each.name)
            for each in fields(session)
            if each.name not in ("user_id", "session_length")
        }
        return record(ConversationSession, await self._call(PUT_SESSION, told))

    async def add_many(self, conversations: Any) -> NoReturn:
        absent("Sessions.add_many")


class McpEntries(Plain):
    async def add_many(self, entries: Any) -> NoReturn:
        absent("Entries.add_many")


class McpChat(Plain):
    def __init__(self, line: Line, session_id: str, agent: str | None = None, name: str | None = None) -> None:
        super().__init__(AsyncChat, self._said, record)
        self._line = line
        self.user_id, self.session_id, self.agent = line.user_id, session_id, agent
        self._opening = given(agent=agent, name=name)
        self.contexts = Plain(AsyncContexts, self._said, record)
        self.working = McpWorking(AsyncWorking, self._said, record)

    async def _said(self, verb: Verb, arguments: dict[str, Any]) -> Any:
        opening = self._opening if verb.opens else {}
        return await self._line.verb(verb, {"session_id": self.session_id, **arguments, **opening})

    async def _tool(self, name: str, /, **arguments: Any) -> Any:
        return await self._line.call(name, session_id=self.session_id, **arguments)

    async def add_many(self, messages: Iterable[Mapping[str, Any]]) -> list[ConversationMessage]:
        batch = [dict(each) for each in messages]
        answer = await self._tool("add_messages", messages=batch, **self._opening)
        told = records(ConversationMessage, answer)
        if len(told) == len(batch):
            return told
        # An answer holds as many as clients take; the others are read.
        return [*told, *await self.history(limit=len(batch) - len(told), offset=told[-1].message_index)]

    async def add_interaction(self, user_msg: str, ai_msg: str) -> list[ConversationMessage]:
        said = {"user_msg": user_msg, "ai_msg": ai_msg, **self._opening}
        return records(ConversationMessage, await self._tool("add_interaction", **said))

    async def store(self, message: ConversationMessage) -> ConversationMessage:
        answer = await self._tool(
            "store_message",
            role=message.role,
            content=message.content,
            message_type=message.message_type,
            message_index=message.message_index,
            parent=message.parent_message_id,
            metadata=dict(message.metadata),
            embedding=message.embedding,
            relevance_score=message.relevance_score,
            is_context_message=message.is_context_message,
            at=message.timestamp,
        )
        return record(ConversationMessage, answer)

    async def history(self, *, limit: int = 100, offset: int = 0) -> list[ConversationMessage]:
        more = {"session_id": self.session_id, "vectors": True}
        found = await self._line.pages("list_messages", limit=limit, offset=offset, **more)
        return [record(ConversationMessage, each) for each in found]

    async def fork(self, at: int | None = None, *, session_id: str | None = None) -> McpChat:
        made = await self._tool("fork_session", at=at, new_session_id=session_id)
        return McpChat(self._line, made["session_id"])

    async def summary(self) -> SessionSummary:
        return record(SessionSummary, await self._tool("count_session"))

    async def context(self, query: str | None = None, **more: Any) -> Context:
        wanted = {"query": query, "agent": self.agent, **more}
        return record(Context, await self._tool("get_context", **wanted))

    async def search(self, query: str, **more: Any) -> list[tuple[ConversationMessage, float]]:
        answer = await self._tool("search_session", query=query, **more)
        return [(record(ConversationMessage, each["message"]), each["score"]) for each in answer["items"]]


class McpWorking(Plain):
    async def set(self, key: str, value: Any, *, ttl: timedelta | float | None = None) -> None:
        await self._call(PLAIN["AsyncWorking.set"], {"key": key, "value": value, "ttl": ttl})

    async def get(self, key: str) -> Any:
        try:
            return (await self._call(PLAIN["get_working"], {"key": key}))["value"]
        except ltst.NotFound:
            return None

    async def all(self) -> dict[str, Any]:
        found = await self._call(PLAIN["AsyncWorking.all"], {})
        return {each["key"]: each["value"] for each in found["items"]}


class McpDocuments(Plain):
    def __init__(self, line: Line) -> None:
        super().__init__(AsyncDocuments, line.verb, record)
        self._line = line

    async def add(self, text_or_path: str | Path, **more: Any) -> Document:
        if isinstance(text_or_path, Path):
            return await self._send(text_or_path, **more)
        return record(Document, await self._line.call("add_document", text=text_or_path, **more))

    async def _send(
        self, file: Path, *, title: str | None = None, uri: str | None = None, metadata: Any = None
    ) -> Document:
        """The bytes of a file, which is here and not where the server is."""
        try:
            data = base64.b64encode(await asyncio.to_thread(file.read_bytes)).decode()
        except OSError as problem:
            raise ltst.Invalid(f"no readable file of UTF-8 text can be sent: {problem}") from None
        told = {"title": title or file.name, "uri": uri or file.as_uri(), "metadata": metadata}
        kind = SUFFIXES.get(file.suffix, TEXT)
        return record(Document, await self._line.call("add_document", data=data, media_type=kind, **told))


class McpEvents:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def list(self, *, after: int | str = 0, limit: int = 100) -> list[Event]:
        return records(Event, await self._line.call("list_events", after=after, limit=limit))

    async def feed(self, *, after: int | str = 0, limit: int = 100) -> Iterable[Event]:
        return records(Event, await self._line.call("list_events", after=after, limit=limit, settled=True))
