"""HTTP as a way in: handles with the verbs of AsyncMemory, each of which is a request to the real application."""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

import httpx
from pydantic import TypeAdapter

import ltst
from behaviour.plain import Plain, furnish
from ltst import Settings
from ltst.doors.http.app import Serving, create
from ltst.handles.documents import AsyncDocuments
from ltst.handles.entries import AsyncEntries
from ltst.handles.facts import AsyncFacts
from ltst.handles.instructions import AsyncInstructions
from ltst.handles.learning import AsyncLearning
from ltst.handles.preferences import AsyncPreferences
from ltst.handles.retention import AsyncRetention
from ltst.handles.sessions import AsyncSessions
from ltst.handles.statements import AsyncStatements
from ltst.recall.context import Context
from ltst.records import (
    ConversationContext,
    ConversationMessage,
    ConversationSession,
    Document,
    Event,
    Fact,
    Hit,
    Imported,
    ImportedConversation,
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
from ltst.verbs.verb import Verb

R = TypeVar("R")

ERRORS: Mapping[int, type[ltst.LtstError]] = {
    401: ltst.Denied,
    403: ltst.Denied,
    404: ltst.NotFound,
    409: ltst.Conflict,
    413: ltst.Invalid,
    422: ltst.Invalid,
    502: ltst.ModelUnavailable,
    503: ltst.DatabaseUnavailable,
}
MOST_PER_PAGE = 1000


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[HttpDoor]:
    """The application without a socket, entered as a server enters it."""
    app = create(Serving(settings))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as client,
    ):
        yield HttpDoor(client)


def segment(value: str) -> str:
    """One segment of a path; dots are encoded too, since clients take `.` and `..` for steps."""
    if value == "":
        raise ltst.Invalid("an empty name has no address")
    return quote(value, safe="").replace(".", "%2E")


def record(kind: type[R], value: Any) -> R:
    """A record from its JSON."""
    return _reader(kind).validate_python(value)


@cache
def _reader(kind: type[R]) -> TypeAdapter[R]:
    return TypeAdapter(kind)


def records(kind: type[R], answer: Any) -> list[R]:
    return [record(kind, each) for each in answer["items"]]


def written(value: Any) -> bytes:
    """A body; what JSON has no word for cannot be sent at all."""
    try:
        return json.dumps(_named(value), default=_in_json, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as problem:
        raise ltst.Invalid(f"this cannot be sent as JSON: {problem}") from None


def _named(value: Any) -> Any:
    """Keys are texts in JSON; the encoder would make some of them texts without a word."""
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("a key that is not a text")
        return {key: _named(inner) for key, inner in value.items()}
    return [_named(each) for each in value] if isinstance(value, list | tuple) else value


def _in_json(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    raise TypeError(f"{type(value).__name__} has no JSON")


def given(**arguments: Any) -> dict[str, Any]:
    """The arguments that were given."""
    return {name: value for name, value in arguments.items() if value is not None}


class Line:
    """Requests for one user."""

    def __init__(self, client: httpx.AsyncClient, user_id: str) -> None:
        self.client = client
        self.user_id = user_id

    async def ask(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, Any] | None = None, **more: Any
    ) -> Any:
        """The answer; a problem raises the error that it tells of."""
        headers: dict[str, Any] = {"X-User-Id": self.user_id.encode()}
        if body is not None:
            more["content"] = body if isinstance(body, bytes) else written(body)
            headers["Content-Type"] = more.pop("media_type", "application/json")
        asked = {name: _in_query(value) for name, value in (query or {}).items()}
        response = await self.client.request(method, path, params=asked, headers=headers, **more)
        if response.is_success:
            return response.json() if response.content else None
        problem = response.json()
        assert response.headers["content-type"] == "application/problem+json"
        raise ERRORS[response.status_code](problem["detail"])

    async def verb(self, verb: Verb, arguments: dict[str, Any]) -> Any:
        """The answer to a verb, asked for as the catalog says."""
        method, _, path = verb.http.partition(" ")
        rest = dict(arguments)
        for name in re.findall(r"{(\w+)}", path):
            path = path.replace(f"{{{name}}}", segment(rest.pop(verb.renamed.get(name, name))))
        body = {name: value for name, value in rest.items() if _placed(verb, name)}
        query = given(**{name: value for name, value in rest.items() if name not in body})
        try:
            answer = await self.ask(method, path, body if verb.body else None, query=query)
        except ltst.NotFound:
            if verb.shape is None:
                return False
            raise
        return True if verb.shape is None else answer

    async def get(self, path: str, **query: Any) -> Any:
        return await self.ask("GET", path, query=given(**query))

    async def one(self, kind: type[R], path: str, **query: Any) -> R | None:
        """A record, or None."""
        try:
            return record(kind, await self.get(path, **query))
        except ltst.NotFound:
            return None

    async def gone(self, path: str, **query: Any) -> bool:
        """Whether there was something to remove."""
        try:
            await self.ask("DELETE", path, query=given(**query))
        except ltst.NotFound:
            return False
        return True

    async def pages(self, kind: type[R], path: str, *, limit: int, offset: int, **query: Any) -> list[R]:
        """So many records, in as many requests as it takes."""
        found: list[R] = []
        while True:
            most = limit if limit <= MOST_PER_PAGE else min(MOST_PER_PAGE, limit - len(found))
            answer = await self.get(path, limit=most, offset=offset, **query)
            found += records(kind, answer)
            if answer["next_offset"] is None or len(found) >= limit:
                return found
            offset = answer["next_offset"]


def _placed(verb: Verb, name: str) -> bool:
    """Whether an argument stands in the body."""
    return bool(verb.body) and (verb.effect.reads or name not in ("agent", "name"))


def _in_query(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


class HttpDoor:
    """The server as a way in."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    def user(self, user_id: str) -> HttpUser:
        if not isinstance(user_id, str):
            raise ltst.Invalid("user_id must be text: a header holds nothing else")
        return HttpUser(Line(self.client, user_id))


class HttpUser:
    actor = "http"

    def __init__(self, line: Line) -> None:
        furnish(self, line, globals(), "Http")

    def chat(self, session_id: str | None = None, *, agent: str | None = None, name: str | None = None) -> HttpChat:
        return HttpChat(self._line, session_id or uuid.uuid4().hex, agent, name)

    async def search(self, query: str, **wanted: Any) -> list[Hit]:
        return records(Hit, await self._line.ask("POST", "/v1/search", {"query": query, **wanted}))

    async def message(self, message_id: str) -> ConversationMessage | None:
        return await self._line.one(ConversationMessage, f"/v1/messages/{segment(message_id)}")

    async def profile(self) -> Any:
        return await self._line.get("/v1/profile")

    async def export(self) -> Any:
        return await self._line.get("/v1/export")

    async def restore(self, document: Mapping[str, Any]) -> Any:
        return await self._line.ask("POST", "/v1/import", dict(document))

    async def erase(self) -> Receipt:
        return record(Receipt, await self._line.ask("POST", "/v1/erase", {"user_id": self.user_id}))


class Noun(Plain):
    """A handle: what stands here says how a verb is asked for; every other one is asked for as the catalog says."""

    owner: type

    def __init__(self, line: Line) -> None:
        super().__init__(self.owner, line.verb, record)
        self._line = line


class HttpSessions(Noun):
    owner = AsyncSessions

    async def put(self, session: ConversationSession) -> ConversationSession:
        told = {
            each.name: getattr(session, each.name)
            for each in fields(session)
            if each.name not in ("session_id", "user_id", "session_length")
        }
        path = f"/v1/sessions/{segment(session.session_id)}"
        return record(ConversationSession, await self._line.ask("PUT", path, told))

    async def add_many(self, conversations: Iterable[ImportedConversation]) -> Imported:
        told = [asdict(each) for each in conversations]
        return record(Imported, await self._line.ask("POST", "/v1/sessions", {"conversations": told}))

    async def get(self, session_id: str) -> ConversationSession | None:
        return await self._line.one(ConversationSession, f"/v1/sessions/{segment(session_id)}")

    async def list(self, *, status: str | None = None, limit: int = 50, offset: int = 0) -> list[ConversationSession]:
        return await self._line.pages(ConversationSession, "/v1/sessions", limit=limit, offset=offset, status=status)

    async def delete(self, session_id: str) -> bool:
        return await self._line.gone(f"/v1/sessions/{segment(session_id)}")

    async def archive(self, session_id: str) -> ConversationSession:
        path = f"/v1/sessions/{segment(session_id)}/archive"
        return record(ConversationSession, await self._line.ask("POST", path))

    async def touch(self, session_id: str, *, at: datetime | None = None) -> bool:
        try:
            await self._line.ask("POST", f"/v1/sessions/{segment(session_id)}/touch", given(at=at))
        except ltst.NotFound:
            return False
        return True

    async def link(self, source: str, target: str, type: str = "related", **more: Any) -> SessionRelationship:
        path = f"/v1/sessions/{segment(source)}/links"
        return record(SessionRelationship, await self._line.ask("POST", path, {"target": target, "type": type, **more}))

    async def related(self, session_id: str) -> Iterable[SessionRelationship]:
        return records(SessionRelationship, await self._line.get(f"/v1/sessions/{segment(session_id)}/links"))

    async def summary(self, session_id: str) -> SessionSummary:
        return record(SessionSummary, await self._line.get(f"/v1/sessions/{segment(session_id)}/summary"))


class HttpChat:
    def __init__(self, line: Line, session_id: str, agent: str | None = None, name: str | None = None) -> None:
        self._line = line
        self.user_id, self.session_id, self.agent = line.user_id, session_id, agent
        self._path = f"/v1/sessions/{segment(session_id)}"
        self._opening = given(agent=agent, name=name)
        self.contexts = HttpContexts(line, self._path, self._opening)
        self.working = HttpWorking(line, self._path, self._opening)

    async def _write(self, path: str, body: Any) -> Any:
        return await self._line.ask("POST", f"{self._path}/{path}", body, query=self._opening)

    async def add(self, role: str, content: str, **more: Any) -> ConversationMessage:
        said = {"role": role, "content": content, **more}
        return record(ConversationMessage, await self._write("messages", said))

    async def add_many(self, messages: Iterable[Mapping[str, Any]]) -> list[ConversationMessage]:
        batch = {"messages": [dict(each) for each in messages]}
        return records(ConversationMessage, await self._write("messages/batch", batch))

    async def add_interaction(self, user_msg: str, ai_msg: str) -> list[ConversationMessage]:
        said = {"user_msg": user_msg, "ai_msg": ai_msg}
        return records(ConversationMessage, await self._write("interactions", said))

    async def store(self, message: ConversationMessage) -> ConversationMessage:
        told = {
            "role": message.role,
            "content": message.content,
            "message_type": message.message_type,
            "message_index": message.message_index,
            "parent": message.parent_message_id,
            "metadata": dict(message.metadata),
            "embedding": message.embedding,
            "relevance_score": message.relevance_score,
            "is_context_message": message.is_context_message,
            "at": message.timestamp,
        }
        return record(ConversationMessage, await self._write("messages/ready", told))

    async def replace(self, message_id: str, content: str, **more: Any) -> ConversationMessage:
        path = f"{self._path}/messages/{segment(message_id)}"
        return record(ConversationMessage, await self._line.ask("PUT", path, {"content": content, **more}))

    async def remove(self, message_id: str) -> None:
        await self._line.ask("DELETE", f"{self._path}/messages/{segment(message_id)}")

    async def window(self, limit: int = 50, *, max_tokens: int | None = None) -> list[ConversationMessage]:
        answer = await self._line.get(f"{self._path}/window", limit=limit, max_tokens=max_tokens)
        return records(ConversationMessage, answer)

    async def history(self, *, limit: int = 100, offset: int = 0) -> list[ConversationMessage]:
        path = f"{self._path}/messages"
        return await self._line.pages(ConversationMessage, path, limit=limit, offset=offset, vectors=True)

    async def fork(self, at: int | None = None, *, session_id: str | None = None) -> HttpChat:
        made = await self._line.ask("POST", f"{self._path}/fork", given(at=at, session_id=session_id))
        return HttpChat(self._line, made["session_id"])

    async def summary(self) -> SessionSummary:
        return record(SessionSummary, await self._line.get(f"{self._path}/summary"))

    async def snapshot(self) -> Any:
        return await self._line.get(f"{self._path}/snapshot")

    async def context(self, query: str | None = None, **more: Any) -> Context:
        wanted = {"query": query, "agent": self.agent, **more}
        return record(Context, await self._line.ask("POST", f"{self._path}/context", wanted))

    async def search(self, query: str, **more: Any) -> list[tuple[ConversationMessage, float]]:
        answer = await self._line.ask("POST", f"{self._path}/search", {"query": query, **more})
        return [(record(ConversationMessage, each["message"]), each["score"]) for each in answer["items"]]


class HttpContexts:
    def __init__(self, line: Line, path: str, opening: Mapping[str, str]) -> None:
        self._line, self._path, self._opening = line, f"{path}/contexts", opening

    async def set(self, type: str, key: str, value: str, **more: Any) -> ConversationContext:
        path, body = f"{self._path}/{segment(type)}/{segment(key)}", {"value": value, **more}
        return record(ConversationContext, await self._line.ask("PUT", path, body, query=self._opening))

    async def get(self, type: str, key: str) -> ConversationContext | None:
        return await self._line.one(ConversationContext, f"{self._path}/{segment(type)}/{segment(key)}")

    async def list(self, type: str | None = None) -> list[ConversationContext]:
        return records(ConversationContext, await self._line.get(self._path, type=type))

    async def forget(self, type: str, key: str | None = None) -> int:
        if key is None:
            return int((await self._line.ask("DELETE", f"{self._path}/{segment(type)}"))["removed"])
        return int(await self._line.gone(f"{self._path}/{segment(type)}/{segment(key)}"))


class HttpWorking:
    def __init__(self, line: Line, path: str, opening: Mapping[str, str]) -> None:
        self._line, self._path, self._opening = line, f"{path}/working", opening

    async def set(self, key: str, value: Any, *, ttl: timedelta | float | None = None) -> None:
        body = {"value": value, **given(ttl=ttl)}
        await self._line.ask("PUT", f"{self._path}/{segment(key)}", body, query=self._opening)

    async def get(self, key: str) -> Any:
        try:
            return (await self._line.get(f"{self._path}/{segment(key)}"))["value"]
        except ltst.NotFound:
            return None

    async def all(self) -> dict[str, Any]:
        return {each["key"]: each["value"] for each in (await self._line.get(self._path))["items"]}

    async def forget(self, key: str) -> bool:
        return await self._line.gone(f"{self._path}/{segment(key)}")

    async def clear(self) -> int:
        return int((await self._line.ask("DELETE", self._path))["removed"])


class HttpStatements(Noun):
    owner = AsyncStatements

    async def list(self, **wanted: Any) -> list[Statement]:
        return records(Statement, await self._line.get("/v1/statements", **wanted))

    async def get(self, statement_id: str) -> Statement | None:
        return await self._line.one(Statement, f"/v1/statements/{segment(statement_id)}")

    async def reject(self, statement_id: str) -> Statement:
        path = f"/v1/statements/{segment(statement_id)}/reject"
        return record(Statement, await self._line.ask("POST", path, {}))


class HttpFacts(Noun):
    owner = AsyncFacts

    async def set(self, key: str, value: str, **more: Any) -> Fact:
        return record(Fact, await self._line.ask("PUT", f"/v1/facts/{segment(key)}", {"value": value, **more}))

    async def get(self, key: str, *, as_of: datetime | None = None, about: str | None = None) -> Fact | None:
        return await self._line.one(Fact, f"/v1/facts/{segment(key)}", as_of=as_of, about=about)

    async def list(self, *, as_of: datetime | None = None, about: str | None = None) -> list[Fact]:
        return records(Fact, await self._line.get("/v1/facts", as_of=as_of, about=about))

    async def history(self, key: str, *, about: str | None = None) -> Iterable[Fact]:
        return records(Fact, await self._line.get(f"/v1/facts/{segment(key)}/history", about=about))

    async def end(
        self, key: str, value: str | None = None, *, at: datetime | None = None, about: str | None = None
    ) -> Iterable[Fact]:
        path = f"/v1/facts/{segment(key)}/end"
        return records(Fact, await self._line.ask("POST", path, given(value=value, at=at, about=about)))

    async def reject(self, key: str, value: str, *, about: str | None = None) -> Iterable[Fact]:
        path = f"/v1/facts/{segment(key)}/reject"
        return records(Fact, await self._line.ask("POST", path, {"value": value, **given(about=about)}))

    async def forget(self, key: str, *, about: str | None = None) -> bool:
        return await self._line.gone(f"/v1/facts/{segment(key)}", about=about)


class HttpPreferences(Noun):
    owner = AsyncPreferences

    async def set(self, key: str, value: str, **more: Any) -> UserPreference:
        path = f"/v1/preferences/{segment(key)}"
        return record(UserPreference, await self._line.ask("PUT", path, {"value": value, **more}))

    async def get(self, key: str) -> UserPreference | None:
        return await self._line.one(UserPreference, f"/v1/preferences/{segment(key)}")

    async def list(self, type: str | None = None, *, defaults: bool = False) -> list[UserPreference]:
        return records(UserPreference, await self._line.get("/v1/preferences", type=type, defaults=defaults))

    async def forget(self, key: str) -> bool:
        return await self._line.gone(f"/v1/preferences/{segment(key)}")


class HttpInstructions(Noun):
    owner = AsyncInstructions

    async def set(self, agent: str, content: str) -> Instruction:
        return record(
            Instruction, await self._line.ask("PUT", f"/v1/instructions/{segment(agent)}", {"content": content})
        )

    async def get(self, agent: str) -> Instruction | None:
        return await self._line.one(Instruction, f"/v1/instructions/{segment(agent)}")

    async def list(self) -> list[Instruction]:
        return records(Instruction, await self._line.get("/v1/instructions"))

    async def history(self, agent: str) -> Iterable[Instruction]:
        return records(Instruction, await self._line.get(f"/v1/instructions/{segment(agent)}/history"))

    async def forget(self, agent: str) -> bool:
        return await self._line.gone(f"/v1/instructions/{segment(agent)}")


class HttpEntries(Noun):
    owner = AsyncEntries

    async def add(self, content: str, **more: Any) -> MemoryEntry:
        return record(MemoryEntry, await self._line.ask("POST", "/v1/entries", {"content": content, **more}))

    async def add_many(self, entries: Iterable[MemoryEntry]) -> Imported:
        names = ("content", "memory_type", "importance_score", "source", "timestamp", "expires_at", "metadata")
        told = [{name: getattr(each, name) for name in names} for each in entries]
        return record(Imported, await self._line.ask("POST", "/v1/entries/many", {"entries": told}))

    async def get(self, entry_id: str) -> MemoryEntry | None:
        return await self._line.one(MemoryEntry, f"/v1/entries/{segment(entry_id)}")

    async def list(self, type: str | None = None, *, limit: int = 50, offset: int = 0) -> list[MemoryEntry]:
        return await self._line.pages(MemoryEntry, "/v1/entries", limit=limit, offset=offset, type=type)

    async def forget(self, entry_id: str) -> bool:
        return await self._line.gone(f"/v1/entries/{segment(entry_id)}")


class HttpDocuments(Noun):
    owner = AsyncDocuments

    async def add(self, text_or_path: str | Path, **more: Any) -> Document:
        if isinstance(text_or_path, Path):
            return await self._send(text_or_path, **more)
        return record(Document, await self._line.ask("POST", "/v1/documents", {"text": text_or_path, **more}))

    async def _send(
        self, file: Path, *, title: str | None = None, uri: str | None = None, metadata: Any = None
    ) -> Document:
        """The bytes of a file, which is here and not where the server is."""
        try:
            data = await asyncio.to_thread(file.read_bytes)
        except OSError as problem:
            raise ltst.Invalid(f"no readable file of UTF-8 text can be sent: {problem}") from None
        query = {"title": title or file.name, "uri": uri or file.as_uri()}
        if metadata is not None:
            query["metadata"] = written(metadata).decode()
        kind = SUFFIXES.get(file.suffix, TEXT)
        return record(Document, await self._line.ask("POST", "/v1/documents/file", data, query=query, media_type=kind))

    async def get(self, document_id: str) -> Document | None:
        return await self._line.one(Document, f"/v1/documents/{segment(document_id)}")

    async def list(self, *, limit: int = 50, offset: int = 0) -> list[Document]:
        return await self._line.pages(Document, "/v1/documents", limit=limit, offset=offset)

    async def forget(self, document_id: str) -> bool:
        return await self._line.gone(f"/v1/documents/{segment(document_id)}")


class HttpRetention(Noun):
    owner = AsyncRetention

    async def set(self, session_type: str = "*", **spans: Any) -> RetentionPolicy:
        path = f"/v1/retention/{segment(session_type)}"
        return record(RetentionPolicy, await self._line.ask("PUT", path, spans))

    async def list(self) -> list[RetentionPolicy]:
        return records(RetentionPolicy, await self._line.get("/v1/retention"))

    async def forget(self, session_type: str = "*") -> bool:
        return await self._line.gone(f"/v1/retention/{segment(session_type)}")


class HttpLearning(Noun):
    owner = AsyncLearning

    async def get(self) -> Any:
        return await self._line.get("/v1/learning")

    async def set(self, **switches: bool) -> Any:
        return await self._line.ask("PATCH", "/v1/learning", switches)

    async def catch_up(self, session_id: str | None = None) -> Any:
        asked = given(session_id=session_id)
        return (await self._line.ask("POST", "/v1/learning/catch-up", query=asked))["conversations"]

    async def restart(self) -> Any:
        return (await self._line.ask("POST", "/v1/learning/restart"))["conversations"]


class HttpEvents:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def list(self, *, after: int | str = 0, limit: int = 100) -> list[Event]:
        return records(Event, await self._line.get("/v1/events", after=after, limit=limit, settled=False))

    async def feed(self, *, after: int | str = 0, limit: int = 100) -> Iterable[Event]:
        return records(Event, await self._line.get("/v1/events", after=after, limit=limit))
