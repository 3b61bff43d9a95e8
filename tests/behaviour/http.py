"""HTTP as a way in: handles with the verbs of AsyncMemory, each of which is a request to the real application."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from urllib.parse import quote

import httpx

import ltst
from behaviour.plain import PLAIN, Plain
from behaviour.wired import (
    Chat,
    Documents,
    Door,
    Entries,
    Events,
    Paged,
    Sessions,
    User,
    given,
    record,
    records,
    sendable,
)
from ltst import Settings
from ltst.doors.http.app import Serving, create
from ltst.verbs.verb import Verb

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


@asynccontextmanager
async def served(settings: Settings) -> AsyncIterator[Door]:
    """The application without a socket, entered as a server enters it."""
    app = create(Serving(settings))
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=120) as client,
    ):
        yield Door(client, Line, HttpUser)


def segment(value: str) -> str:
    """One segment of a path; dots are encoded too, since clients take `.` and `..` for steps."""
    if value == "":
        raise ltst.Invalid("an empty name has no address")
    return quote(value, safe="").replace(".", "%2E")


def written(value: Any) -> bytes:
    """A body."""
    return json.dumps(sendable(value)).encode()


class Line(Paged):
    """Requests for one user."""

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

    async def once(self, verb: Verb, arguments: dict[str, Any]) -> Any:
        """The answer to one request, asked for as the catalog says."""
        method, _, path = verb.http.partition(" ")
        rest = dict(arguments)
        for name in re.findall(r"{(\w+)}", path):
            argument = verb.renamed.get(name, name)
            value = rest.pop(argument) if argument in rest else verb.arguments[argument].default
            path = path.replace(f"{{{name}}}", segment(value))
        body = {name: value for name, value in rest.items() if _placed(verb, name)}
        query = given(**{name: value for name, value in rest.items() if name not in body})
        try:
            answer = await self.ask(method, path, body if verb.body else None, query=query)
        except ltst.NotFound:
            if verb.returns is bool:
                return False
            raise
        return True if verb.shape is None else answer

    async def get(self, path: str, **query: Any) -> Any:
        return await self.ask("GET", path, query=given(**query))


def _placed(verb: Verb, name: str) -> bool:
    """Whether an argument stands in the body."""
    return bool(verb.body) and (verb.effect.reads or name not in ("agent", "name"))


def _in_query(value: object) -> object:
    if isinstance(value, Mapping):
        return written(value).decode()
    return value.isoformat() if isinstance(value, datetime) else value


class HttpSessions(Sessions):
    async def add_many(self, conversations: Iterable[ltst.ImportedConversation]) -> ltst.Imported:
        told = [asdict(each) for each in conversations]
        return record(ltst.Imported, await self._line.ask("POST", "/v1/sessions", {"conversations": told}))


class HttpEntries(Entries):
    async def add_many(self, entries: Iterable[ltst.MemoryEntry]) -> ltst.Imported:
        names = ("content", "memory_type", "importance_score", "source", "timestamp", "expires_at", "metadata")
        told = [{name: getattr(each, name) for name in names} for each in entries]
        return record(ltst.Imported, await self._line.ask("POST", "/v1/entries/many", {"entries": told}))


class HttpDocuments(Documents):
    async def add_text(self, text: str, **about: Any) -> ltst.Document:
        return record(ltst.Document, await self._line.ask("POST", "/v1/documents", {"text": text, **about}))

    async def add_file(self, data: bytes, kind: str, about: dict[str, Any]) -> ltst.Document:
        query = {name: written(value).decode() if name == "metadata" else value for name, value in about.items()}
        sent = await self._line.ask("POST", "/v1/documents/file", data, query=query, media_type=kind)
        return record(ltst.Document, sent)


class HttpEvents(Events):
    async def list(self, *, after: int | str = 0, limit: int = 100) -> list[ltst.Event]:
        return records(ltst.Event, await self._line.get("/v1/events", after=after, limit=limit, settled=False))

    async def feed(self, *, after: int | str = 0, limit: int = 100) -> Iterable[ltst.Event]:
        return records(ltst.Event, await self._line.get("/v1/events", after=after, limit=limit))


class HttpContexts(Plain):
    async def forget(self, type: str, key: str | None = None) -> int:
        if key is None:
            return int((await self._call(PLAIN["forget_contexts"], {"type": type}))["removed"])
        return int(await self._call(PLAIN["forget_context"], {"type": type, "key": key}))


class HttpChat(Chat):
    contexts_by = HttpContexts

    async def history(self, *, limit: int = 100, offset: int = 0) -> list[ltst.ConversationMessage]:
        verb = replace(PLAIN["list_messages"], http="GET /v1/sessions/{session_id}/messages")
        wanted = {"limit": limit, "offset": offset, "vectors": True}
        return records(ltst.ConversationMessage, await self._said(verb, wanted))

    async def fork(self, at: int | None = None, *, session_id: str | None = None) -> HttpChat:
        path = f"/v1/sessions/{segment(self.session_id)}/fork"
        made = await self._line.ask("POST", path, given(at=at, session_id=session_id))
        return HttpChat(self._line, made["session_id"])


class HttpUser(User):
    actor = "http"
    chat_by = HttpChat
    own = (HttpSessions, HttpEntries, HttpDocuments, HttpEvents)

    async def search(self, query: str | None = None, **wanted: Any) -> list[ltst.Hit]:
        return records(ltst.Hit, await self._line.ask("POST", "/v1/search", {"query": query, **wanted}))

    async def export(self) -> Any:
        return await self._line.get("/v1/export")

    async def restore(self, document: Mapping[str, Any]) -> Any:
        return await self._line.ask("POST", "/v1/import", dict(document))

    async def erase(self) -> ltst.Receipt:
        return record(ltst.Receipt, await self._line.ask("POST", "/v1/erase", {"user_id": self.user_id}))
