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
from behaviour import http
from behaviour.http import MOST_PER_PAGE, given
from ltst import Settings
from ltst.doors.mcp.app import PATH, Serving, application
from ltst.doors.mcp.toolbox import ERROR
from ltst.recall.context import Context
from ltst.records import (
    ConversationContext,
    ConversationMessage,
    ConversationSession,
    Document,
    Event,
    Fact,
    Hit,
    Instruction,
    MemoryEntry,
    Receipt,
    RetentionPolicy,
    SessionRelationship,
    SessionSummary,
    Statement,
    UserPreference,
)
from ltst.support.reading.source import SUFFIXES, TEXT

R = TypeVar("R")
T = TypeVar("T")

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
    app = application(Serving(settings, tools="all"))
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


def record(kind: type[R], value: Mapping[str, Any]) -> R:
    """A record from its JSON, in which what is None is left out."""
    return http.record(kind, {**{each.name: None for each in fields(kind) if "None" in str(each.type)}, **value})


def records(kind: type[R], answer: Any) -> list[R]:
    return [record(kind, each) for each in answer["items"]]


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

    async def one(self, kind: type[R], name: str, /, **arguments: Any) -> R | None:
        """A record, or None."""
        try:
            return record(kind, await self.call(name, **arguments))
        except ltst.NotFound:
            return None

    async def gone(self, name: str, /, **arguments: Any) -> bool:
        """Whether there was something to remove."""
        return (await self.call(name, **arguments))["removed"] > 0

    async def pages(self, kind: type[R], name: str, /, *, limit: int, offset: int, **arguments: Any) -> list[R]:
        """So many records, in as many calls as it takes."""
        found: list[R] = []
        while True:
            most = limit
            if isinstance(limit, int) and limit > MOST_PER_PAGE:
                most = min(MOST_PER_PAGE, limit - len(found))
            answer = await self.call(name, limit=most, offset=offset, **arguments)
            found += records(kind, answer)
            if answer.get("next_offset") is None or len(found) >= limit:
                return found
            offset = answer["next_offset"]


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


class McpUser:
    def __init__(self, line: Line) -> None:
        self._line = line
        self.user_id = line.user_id
        self.actor = "mcp"
        self.sessions = McpSessions(line)
        self.facts = McpFacts(line)
        self.statements = McpStatements(line)
        self.preferences = McpPreferences(line)
        self.instructions = McpInstructions(line)
        self.entries = McpEntries(line)
        self.documents = McpDocuments(line)
        self.retention = McpRetention(line)
        self.learning = McpLearning(line)
        self.events = McpEvents(line)

    def chat(self, session_id: str | None = None, *, agent: str | None = None, name: str | None = None) -> McpChat:
        return McpChat(self._line, uuid.uuid4().hex if session_id is None else session_id, agent, name)

    async def search(self, query: str, **wanted: Any) -> list[Hit]:
        return records(Hit, await self._line.call("search_memory", query=query, **wanted))

    async def message(self, message_id: str) -> ConversationMessage | None:
        return await self._line.one(ConversationMessage, "get_message", message_id=message_id)

    async def profile(self) -> Any:
        found = await self._line.call("get_profile")
        for fact in found["facts"]:
            fact.setdefault("source_message_id", None)
        return found

    async def export(self) -> Any:
        return (await self._line.call("export_memory"))["document"]

    async def restore(self, document: Mapping[str, Any]) -> Any:
        return (await self._line.call("import_memory", document=dict(document)))["added"]

    async def erase(self) -> Receipt:
        return record(Receipt, await self._line.call("erase_memory", confirm=self.user_id))


class McpSessions:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def put(self, session: ConversationSession) -> ConversationSession:
        told = {
            each.name: getattr(session, each.name)
            for each in fields(session)
            if each.name not in ("user_id", "session_length")
        }
        return record(ConversationSession, await self._line.call("put_session", **told))

    async def add_many(self, conversations: Any) -> NoReturn:
        absent("Sessions.add_many")

    async def get(self, session_id: str) -> ConversationSession | None:
        return await self._line.one(ConversationSession, "get_session", session_id=session_id)

    async def list(self, *, status: str | None = None, limit: int = 50, offset: int = 0) -> list[ConversationSession]:
        return await self._line.pages(ConversationSession, "list_sessions", limit=limit, offset=offset, status=status)

    async def delete(self, session_id: str) -> bool:
        return await self._line.gone("delete_session", session_id=session_id)

    async def archive(self, session_id: str) -> ConversationSession:
        return record(ConversationSession, await self._line.call("archive_session", session_id=session_id))

    async def touch(self, session_id: str, *, at: datetime | None = None) -> bool:
        return bool((await self._line.call("touch_session", session_id=session_id, at=at))["done"])

    async def link(self, source: str, target: str, type: str = "related", **more: Any) -> SessionRelationship:
        answer = await self._line.call("link_sessions", source=source, target=target, type=type, **more)
        return record(SessionRelationship, answer)

    async def related(self, session_id: str) -> Iterable[SessionRelationship]:
        return records(SessionRelationship, await self._line.call("related_sessions", session_id=session_id))

    async def summary(self, session_id: str) -> SessionSummary:
        return record(SessionSummary, await self._line.call("count_session", session_id=session_id))


class McpChat:
    def __init__(self, line: Line, session_id: str, agent: str | None = None, name: str | None = None) -> None:
        self._line = line
        self.user_id, self.session_id, self.agent = line.user_id, session_id, agent
        self._opening = given(agent=agent, name=name)
        self.contexts = McpContexts(line, session_id, self._opening)
        self.working = McpWorking(line, session_id, self._opening)

    async def _call(self, name: str, /, **arguments: Any) -> Any:
        return await self._line.call(name, session_id=self.session_id, **arguments)

    async def add(self, role: str, content: str, **more: Any) -> ConversationMessage:
        said = {"role": role, "content": content, **more, **self._opening}
        return record(ConversationMessage, await self._call("add_message", **said))

    async def add_many(self, messages: Iterable[Mapping[str, Any]]) -> list[ConversationMessage]:
        batch = [dict(each) for each in messages]
        answer = await self._call("add_messages", messages=batch, **self._opening)
        told = records(ConversationMessage, answer)
        if len(told) == len(batch):
            return told
        # An answer holds as many as clients take; the others are read.
        return [*told, *await self.history(limit=len(batch) - len(told), offset=told[-1].message_index)]

    async def add_interaction(self, user_msg: str, ai_msg: str) -> list[ConversationMessage]:
        said = {"user_msg": user_msg, "ai_msg": ai_msg, **self._opening}
        return records(ConversationMessage, await self._call("add_interaction", **said))

    async def store(self, message: ConversationMessage) -> ConversationMessage:
        answer = await self._call(
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

    async def replace(self, message_id: str, content: str, **more: Any) -> ConversationMessage:
        answer = await self._call("replace_message", message_id=message_id, content=content, **more)
        return record(ConversationMessage, answer)

    async def remove(self, message_id: str) -> None:
        await self._call("remove_message", message_id=message_id)

    async def window(self, limit: int = 50, *, max_tokens: int | None = None) -> list[ConversationMessage]:
        return records(ConversationMessage, await self._call("read_session", limit=limit, max_tokens=max_tokens))

    async def history(self, *, limit: int = 100, offset: int = 0) -> list[ConversationMessage]:
        more = {"session_id": self.session_id, "vectors": True}
        return await self._line.pages(ConversationMessage, "list_messages", limit=limit, offset=offset, **more)

    async def fork(self, at: int | None = None, *, session_id: str | None = None) -> McpChat:
        made = await self._call("fork_session", at=at, new_session_id=session_id)
        return McpChat(self._line, made["session_id"])

    async def summary(self) -> SessionSummary:
        return record(SessionSummary, await self._call("count_session"))

    async def snapshot(self) -> Any:
        return await self._call("get_snapshot")

    async def context(self, query: str | None = None, **more: Any) -> Context:
        wanted = {"query": query, "agent": self.agent, "parts": True, **more}
        return record(Context, await self._call("get_context", **wanted))

    async def search(self, query: str, **more: Any) -> list[tuple[ConversationMessage, float]]:
        answer = await self._call("search_session", query=query, **more)
        return [(record(ConversationMessage, each["message"]), each["score"]) for each in answer["items"]]


class McpContexts:
    def __init__(self, line: Line, session_id: str, opening: Mapping[str, str]) -> None:
        self._line, self._session_id, self._opening = line, session_id, opening

    async def set(self, type: str, key: str, value: str, **more: Any) -> ConversationContext:
        told = {"session_id": self._session_id, "type": type, "key": key, "value": value, **more, **self._opening}
        return record(ConversationContext, await self._line.call("set_session_context", **told))

    async def get(self, type: str, key: str) -> ConversationContext | None:
        wanted = {"session_id": self._session_id, "type": type, "key": key}
        return await self._line.one(ConversationContext, "get_session_context", **wanted)

    async def list(self, type: str | None = None) -> list[ConversationContext]:
        answer = await self._line.call("list_session_contexts", session_id=self._session_id, type=type)
        return records(ConversationContext, answer)

    async def forget(self, type: str, key: str | None = None) -> int:
        wanted = {"session_id": self._session_id, "type": type, "key": key}
        return int((await self._line.call("forget_session_context", **wanted))["removed"])


class McpWorking:
    def __init__(self, line: Line, session_id: str, opening: Mapping[str, str]) -> None:
        self._line, self._session_id, self._opening = line, session_id, opening

    async def set(self, key: str, value: Any, *, ttl: timedelta | float | None = None) -> None:
        told = {"session_id": self._session_id, "key": key, "value": value, "ttl": ttl, **self._opening}
        await self._line.call("set_working_memory", **told)

    async def get(self, key: str) -> Any:
        answer = await self._line.call("get_working_memory", session_id=self._session_id, key=key)
        return answer["values"].get(key)

    async def all(self) -> dict[str, Any]:
        return dict((await self._line.call("get_working_memory", session_id=self._session_id))["values"])

    async def forget(self, key: str) -> bool:
        return await self._line.gone("clear_working_memory", session_id=self._session_id, key=key)

    async def clear(self) -> int:
        return int((await self._line.call("clear_working_memory", session_id=self._session_id))["removed"])


class McpStatements:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def list(self, **wanted: Any) -> list[Statement]:
        return records(Statement, await self._line.call("list_statements", **wanted))

    async def get(self, statement_id: str) -> Statement | None:
        return await self._line.one(Statement, "get_statement", statement_id=statement_id)

    async def reject(self, statement_id: str) -> Statement:
        return record(Statement, await self._line.call("reject_statement", statement_id=statement_id))


class McpFacts:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def set(self, key: str, value: str, **more: Any) -> Fact:
        return record(Fact, await self._line.call("set_fact", key=key, value=value, **more))

    async def get(self, key: str, *, as_of: datetime | None = None) -> Fact | None:
        return await self._line.one(Fact, "get_fact", key=key, as_of=as_of)

    async def list(self, *, as_of: datetime | None = None) -> list[Fact]:
        return records(Fact, await self._line.call("list_facts", as_of=as_of))

    async def history(self, key: str) -> Iterable[Fact]:
        return records(Fact, await self._line.call("fact_history", key=key))

    async def end(self, key: str, value: str | None = None, *, at: datetime | None = None) -> Iterable[Fact]:
        return records(Fact, await self._line.call("end_fact", key=key, value=value, at=at))

    async def reject(self, key: str, value: str) -> Iterable[Fact]:
        return records(Fact, await self._line.call("reject_fact", key=key, value=value))

    async def forget(self, key: str) -> bool:
        return await self._line.gone("forget_fact", key=key)


class McpPreferences:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def set(self, key: str, value: str, **more: Any) -> UserPreference:
        return record(UserPreference, await self._line.call("set_preference", key=key, value=value, **more))

    async def get(self, key: str) -> UserPreference | None:
        return await self._line.one(UserPreference, "get_preference", key=key)

    async def list(self, type: str | None = None, *, defaults: bool = False) -> list[UserPreference]:
        return records(UserPreference, await self._line.call("list_preferences", type=type, defaults=defaults))

    async def forget(self, key: str) -> bool:
        return await self._line.gone("forget_preference", key=key)


class McpInstructions:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def set(self, agent: str, content: str) -> Instruction:
        return record(Instruction, await self._line.call("set_instructions", agent=agent, content=content))

    async def get(self, agent: str) -> Instruction | None:
        return await self._line.one(Instruction, "get_instructions", agent=agent)

    async def list(self) -> list[Instruction]:
        return records(Instruction, await self._line.call("list_instructions"))

    async def history(self, agent: str) -> Iterable[Instruction]:
        return records(Instruction, await self._line.call("instruction_history", agent=agent))

    async def forget(self, agent: str) -> bool:
        return await self._line.gone("forget_instructions", agent=agent)


class McpEntries:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def add(self, content: str, **more: Any) -> MemoryEntry:
        return record(MemoryEntry, await self._line.call("add_entry", content=content, **more))

    async def add_many(self, entries: Any) -> NoReturn:
        absent("Entries.add_many")

    async def get(self, entry_id: str) -> MemoryEntry | None:
        return await self._line.one(MemoryEntry, "get_entry", entry_id=entry_id)

    async def list(self, type: str | None = None, *, limit: int = 50, offset: int = 0) -> list[MemoryEntry]:
        return await self._line.pages(MemoryEntry, "list_entries", limit=limit, offset=offset, type=type)

    async def forget(self, entry_id: str) -> bool:
        return await self._line.gone("forget_entry", entry_id=entry_id)


class McpDocuments:
    def __init__(self, line: Line) -> None:
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

    async def get(self, document_id: str) -> Document | None:
        return await self._line.one(Document, "get_document", document_id=document_id)

    async def list(self, *, limit: int = 50, offset: int = 0) -> list[Document]:
        return await self._line.pages(Document, "list_documents", limit=limit, offset=offset)

    async def forget(self, document_id: str) -> bool:
        return await self._line.gone("forget_document", document_id=document_id)


class McpRetention:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def set(self, session_type: str = "*", **spans: Any) -> RetentionPolicy:
        return record(RetentionPolicy, await self._line.call("set_retention", session_type=session_type, **spans))

    async def list(self) -> list[RetentionPolicy]:
        return records(RetentionPolicy, await self._line.call("list_retention"))

    async def forget(self, session_type: str = "*") -> bool:
        return await self._line.gone("forget_retention", session_type=session_type)


class McpLearning:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def get(self) -> Any:
        return await self._line.call("get_learning")

    async def set(self, **switches: bool) -> Any:
        return await self._line.call("set_learning", **switches)

    async def catch_up(self, session_id: str | None = None) -> Any:
        return (await self._line.call("catch_up_learning", session_id=session_id))["conversations"]

    async def restart(self) -> Any:
        return (await self._line.call("restart_learning"))["conversations"]


class McpEvents:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def list(self, *, after: int | str = 0, limit: int = 100) -> list[Event]:
        return records(Event, await self._line.call("list_events", after=after, limit=limit))

    async def feed(self, *, after: int | str = 0, limit: int = 100) -> Iterable[Event]:
        return records(Event, await self._line.call("list_events", after=after, limit=limit, settled=True))
