"""The memory behind a server: handles whose verbs are those of the catalog, over a line that a door brings."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import TypeAdapter

import ltst
from behaviour.plain import PLAIN, Plain, sent_operations, told_item, told_result
from ltst.handles.contexts import AsyncContexts, AsyncWorking
from ltst.handles.documents import AsyncDocuments
from ltst.handles.entries import AsyncEntries
from ltst.handles.events import AsyncEvents
from ltst.handles.facts import AsyncFacts
from ltst.handles.instructions import AsyncInstructions
from ltst.handles.items import AsyncItems
from ltst.handles.learning import AsyncLearning
from ltst.handles.preferences import AsyncPreferences
from ltst.handles.retention import AsyncRetention
from ltst.handles.sessions import AsyncSessions
from ltst.handles.statements import AsyncStatements
from ltst.memory import AsyncChat, AsyncUser
from ltst.support import lossless
from ltst.support.reading.source import SUFFIXES, TEXT
from ltst.verbs.verb import Verb

R = TypeVar("R")

MOST_PER_PAGE = 1000


def record(kind: type[R], value: Any) -> R:
    """A record from its JSON."""
    return _reader(kind).validate_python(value)


@cache
def _reader(kind: type[R]) -> TypeAdapter[R]:
    return TypeAdapter(kind)


def records(kind: type[R], answer: Any) -> list[R]:
    return [record(kind, each) for each in answer["items"]]


def given(**arguments: Any) -> dict[str, Any]:
    """The arguments that were given."""
    return {name: value for name, value in arguments.items() if value is not None}


def sendable(value: Any) -> Any:
    """What JSON has a word for; the rest cannot be sent at all."""
    try:
        return _sendable(value)
    except RecursionError:
        raise ltst.Invalid("this cannot be sent as JSON: it never ends") from None


def _sendable(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise ltst.Invalid("this cannot be sent as JSON: a key that is not a text")
        return {_sendable(key): _sendable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_sendable(each) for each in value]
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


class Paged:
    """A line of one user, whose lists are as long as is wished, in as many requests as it takes."""

    def __init__(self, client: Any, user_id: str) -> None:
        self.client, self.user_id = client, user_id

    async def once(self, verb: Verb, arguments: dict[str, Any]) -> Any:
        """The answer to one request."""
        raise NotImplementedError

    async def verb(self, verb: Verb, arguments: dict[str, Any]) -> Any:
        """The answer to a verb; of a list all that was wished for."""
        limit = arguments.get("limit") if "offset" in verb.arguments else None
        if not isinstance(limit, int) or limit <= MOST_PER_PAGE:
            return await self.once(verb, arguments)
        found: list[Any] = []
        offset: Any = arguments.get("offset", 0)
        while offset is not None and len(found) < limit:
            most = min(MOST_PER_PAGE, limit - len(found))
            answer = await self.once(verb, {**arguments, "limit": most, "offset": offset})
            found += answer["items"]
            offset = answer.get("next_offset")
        return {"items": found}


class Noun(Plain):
    """A handle of a user: what a derived class defines says how a verb is asked for; the catalog says the rest."""

    noun: ClassVar[str]

    def __init__(self, owner: type, line: Any) -> None:
        super().__init__(owner, line.verb, record)
        self._line = line

    async def verb(self, name: str, /, **arguments: Any) -> Any:
        """The answer to a verb that is no method of the handle."""
        return await self._call(PLAIN[name], arguments)


class Sessions(Noun):
    noun = "sessions"

    async def put(self, session: ltst.ConversationSession) -> ltst.ConversationSession:
        names = {each.name for each in fields(session)} - {"user_id", "session_length"}
        told = {name: getattr(session, name) for name in names}
        return record(ltst.ConversationSession, await self.verb("put_session", **told))


class Items(Noun):
    def __init__(self, owner: type, line: Any) -> None:
        super().__init__(owner, line)
        self._record = told_item

    async def put(self, namespace: Any, key: str, value: Any, **more: Any) -> ltst.Item:
        told = await self.verb("put_item", namespace=namespace, key=key, value=lossless.sent(value), **more)
        return told_item(ltst.Item, told)

    async def batch(self, operations: Any) -> list[Any]:
        answer = await self.verb("batch_items", operations=sent_operations(operations))
        return [told_result(each) for each in answer["results"]]


class Documents(Noun):
    noun = "documents"

    async def add(self, text_or_path: str | Path, **more: Any) -> ltst.Document:
        if isinstance(text_or_path, Path):
            return await self._send(text_or_path, **more)
        return await self.add_text(text_or_path, **more)

    async def _send(
        self, file: Path, *, title: str | None = None, uri: str | None = None, metadata: Any = None
    ) -> ltst.Document:
        """The bytes of a file, which is here and not where the server is."""
        try:
            data = await asyncio.to_thread(file.read_bytes)
        except OSError as problem:
            raise ltst.Invalid(f"no readable file of UTF-8 text can be sent: {problem}") from None
        about = given(title=title or file.name, uri=uri or file.as_uri(), metadata=metadata)
        return await self.add_file(data, SUFFIXES.get(file.suffix, TEXT), about)

    async def add_text(self, text: str, **about: Any) -> ltst.Document:
        raise NotImplementedError

    async def add_file(self, data: bytes, kind: str, about: dict[str, Any]) -> ltst.Document:
        raise NotImplementedError


class Entries(Noun):
    noun = "entries"


class Events(Noun):
    noun = "events"


class Working(Plain):
    async def set(self, key: str, value: Any, *, ttl: timedelta | float | None = None) -> None:
        await self._call(PLAIN["AsyncWorking.set"], {"key": key, "value": value, **given(ttl=ttl)})

    async def get(self, key: str) -> Any:
        try:
            return (await self._call(PLAIN["get_working"], {"key": key}))["value"]
        except ltst.NotFound:
            return None

    async def all(self) -> dict[str, Any]:
        found = await self._call(PLAIN["AsyncWorking.all"], {})
        return {each["key"]: each["value"] for each in found["items"]}


class Chat(Plain):
    """One conversation; each door says how it is read from its beginning, forked and made a prompt of."""

    contexts_by: ClassVar[type[Plain]] = Plain

    def __init__(self, line: Any, session_id: str, agent: str | None = None, name: str | None = None) -> None:
        super().__init__(AsyncChat, self._said, record)
        self._line = line
        self.user_id, self.session_id, self.agent = line.user_id, session_id, agent
        self._opening = given(agent=agent, name=name)
        self.contexts = self.contexts_by(AsyncContexts, self._said, record)
        self.working = Working(AsyncWorking, self._said, record)

    async def _said(self, verb: Verb, arguments: dict[str, Any]) -> Any:
        taken = (*verb.opens, *verb.arguments)
        opening = {name: value for name, value in self._opening.items() if name in taken}
        return await self._line.verb(verb, {"session_id": self.session_id, **arguments, **opening})

    async def add_many(self, messages: Iterable[Mapping[str, Any]]) -> list[ltst.ConversationMessage]:
        batch = [dict(each) for each in messages]
        told = records(ltst.ConversationMessage, await self._said(PLAIN["add_messages"], {"messages": batch}))
        if len(told) == len(batch):
            return told
        # An answer holds as many as clients take; the others are read.
        return [*told, *await self.history(limit=len(batch) - len(told), offset=told[-1].message_index)]

    async def add_interaction(self, user_msg: str, ai_msg: str) -> list[ltst.ConversationMessage]:
        said = {"user_msg": user_msg, "ai_msg": ai_msg}
        return records(ltst.ConversationMessage, await self._said(PLAIN["add_interaction"], said))

    async def store(self, message: ltst.ConversationMessage) -> ltst.ConversationMessage:
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
        return record(ltst.ConversationMessage, await self._said(PLAIN["store_message"], told))

    async def summary(self) -> ltst.SessionSummary:
        return record(ltst.SessionSummary, await self._said(PLAIN["AsyncSessions.summary"], {}))

    async def search(self, query: str, **more: Any) -> list[tuple[ltst.ConversationMessage, float]]:
        answer = await self._said(PLAIN["AsyncChat.search"], {"query": query, **more})
        return [(record(ltst.ConversationMessage, each["message"]), each["score"]) for each in answer["items"]]

    async def history(self, *, limit: int = 100, offset: int = 0) -> list[ltst.ConversationMessage]:
        raise NotImplementedError


class User(Plain):
    """A user; a door names the handles and the chat that are its own."""

    actor: ClassVar[str]
    chat_by: ClassVar[type[Chat]]
    own: ClassVar[tuple[type[Noun], ...]] = ()
    nouns: ClassVar[Mapping[str, tuple[type, type[Noun]]]] = {
        "sessions": (AsyncSessions, Sessions),
        "facts": (AsyncFacts, Noun),
        "statements": (AsyncStatements, Noun),
        "preferences": (AsyncPreferences, Noun),
        "instructions": (AsyncInstructions, Noun),
        "entries": (AsyncEntries, Noun),
        "documents": (AsyncDocuments, Documents),
        "items": (AsyncItems, Items),
        "retention": (AsyncRetention, Noun),
        "learning": (AsyncLearning, Noun),
        "events": (AsyncEvents, Noun),
    }

    def __init__(self, line: Any) -> None:
        super().__init__(AsyncUser, line.verb, record)
        self._line, self.user_id = line, line.user_id
        own = {each.noun: each for each in self.own}
        for noun, (owner, usual) in self.nouns.items():
            setattr(self, noun, own.get(noun, usual)(owner, line))

    def chat(self, session_id: str | None = None, *, agent: str | None = None, name: str | None = None) -> Chat:
        return self.chat_by(self._line, uuid.uuid4().hex if session_id is None else session_id, agent, name)


@dataclass
class Door:
    """A server as a way in."""

    client: Any
    line: type[Paged]
    users: type[User]

    def user(self, user_id: str) -> User:
        if not isinstance(user_id, str):
            raise ltst.Invalid("user_id must be text: a header holds nothing else")
        return self.users(self.line(self.client, user_id))
