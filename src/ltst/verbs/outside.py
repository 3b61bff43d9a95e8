"""Verbs for other programs only, where a handle takes or returns Python objects that JSON cannot express."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Literal, Union

from pydantic import Field, RootModel, create_model

from ltst.arguments import (
    Agent,
    Bounds,
    Choices,
    Content,
    ContextType,
    Identifier,
    Index,
    ItemKey,
    Letters,
    Limit,
    Line,
    MessageType,
    Metadata,
    Namespace,
    Offset,
    Role,
    SaidAt,
    SessionId,
    SessionName,
    Span,
    VectorOfAny,
    Weight,
    Word,
    read,
)
from ltst.errors import Conflict, Invalid, NotFound
from ltst.handles.contexts import Key
from ltst.handles.documents import From, MediaType, Title
from ltst.handles.events import After
from ltst.handles.items import AsyncItems, Expected, Fields
from ltst.memory import AsyncChat, AsyncUser
from ltst.records import ConversationMessage, ConversationSession, Document, Event, Item, Receipt
from ltst.support import lossless
from ltst.support.reading.source import HTML, MARKDOWN, TEXT
from ltst.support.text import sha256
from ltst.support.validate import DIMENSIONS, LARGEST_REAL
from ltst.verbs.shapes import BatchResults, ForkedSession, ItemNamespace, WorkingMemoryValue
from ltst.verbs.wire import model

Vector = Annotated[list[Annotated[float, Bounds(-LARGEST_REAL, LARGEST_REAL)]], Bounds(DIMENSIONS, DIMENSIONS)]
TextType = Annotated[str | None, Choices((TEXT, MARKDOWN, HTML)), "How it is written; plain text, if left out."]
NewMessage: Any = model("NewMessage", read(AsyncChat.add).values(), about="One turn to store.")
# Arguments not allowed in a batch: what was just put cannot be found by meaning yet.
NOT_IN_BATCH = ("query", "floor")


def _operation(verb: Callable[..., Any]) -> Any:
    """Returns the model of a batch operation: its name and the arguments of that verb."""
    do = verb.__name__
    arguments = [each for name, each in read(verb).items() if name not in NOT_IN_BATCH]
    named = "".join(word.capitalize() for word in do.split("_"))
    do_field: Any = {"do": (Literal[do], ...)}
    return create_model(f"Do{named}", __base__=model(f"{named}Arguments", arguments), **do_field)


_DONE: tuple[Any, ...] = (
    AsyncItems.put,
    AsyncItems.get,
    AsyncItems.delete,
    AsyncItems.list,
    AsyncItems.search,
    AsyncItems.list_namespaces,
)
_ANY: Any = Union[tuple(map(_operation, _DONE))]  # noqa: UP007 - computed


class ItemOperation(RootModel[Any]):
    """One operation of a batch."""

    root: Annotated[_ANY, Field(discriminator="do")]


Messages = Annotated[list[NewMessage], Bounds(0, 10_000), "The messages, in their order."]


async def add_messages(
    user: AsyncUser,
    session_id: SessionId,
    messages: Messages,
    idempotency_key: str | None = None,
    agent: Agent = None,
    name: SessionName = None,
) -> list[ConversationMessage]:
    """Store many messages at once, all or none."""
    said = [_keyed(each, idempotency_key, number) for number, each in enumerate(messages, start=1)]
    return await user.chat(session_id, agent=agent, name=name).add_many(said)


async def add_interaction(
    user: AsyncUser,
    session_id: SessionId,
    user_msg: Annotated[Content, "What the user said."],
    ai_msg: Annotated[Content, "What the assistant answered."],
    idempotency_key: str | None = None,
    agent: Agent = None,
    name: SessionName = None,
) -> list[ConversationMessage]:
    """Store what the user said and what the assistant answered, both or neither."""
    turns = [{"role": "user", "content": user_msg}, {"role": "assistant", "content": ai_msg}]
    return await add_messages(user, session_id, turns, idempotency_key, agent, name)


async def store_message(
    user: AsyncUser,
    session_id: SessionId,
    role: Role,
    content: Annotated[Content, "What is said, word for word."],
    message_type: MessageType = "message",
    message_index: Annotated[Index | None, "Its index, which must be the next one."] = None,
    at: SaidAt = None,
    metadata: Metadata | None = None,
    parent: Annotated[Identifier | None, "The id of the message that it answers."] = None,
    embedding: Annotated[Vector | None, "Its vector, of the model whose vectors are stored here."] = None,
    relevance_score: Annotated[Weight, "A score of your own."] = 0.0,
    is_context_message: Annotated[bool, "Whether it is context rather than speech."] = False,
    agent: Agent = None,
    name: SessionName = None,
) -> ConversationMessage:
    """Store a message that comes from elsewhere, with all that it says of itself."""
    message = ConversationMessage(
        session_id,
        role,
        content,
        message_type=message_type,
        message_index=message_index,
        parent_message_id=parent,
        metadata=metadata or {},
        embedding=embedding,
        relevance_score=relevance_score,
        is_context_message=is_context_message,
        timestamp=at,
    )
    return await user.chat(session_id, agent=agent, name=name).store(message)


async def list_messages(
    user: AsyncUser,
    session_id: SessionId,
    limit: Limit = 100,
    offset: Offset = 0,
    vectors: Annotated[bool, "With the vectors of those that have one."] = False,
) -> list[ConversationMessage]:
    """Return the messages from the beginning."""
    found = await user.chat(session_id).history(limit=limit, offset=offset)
    return found if vectors else [replace(each, embedding=None) for each in found]


async def put_session(
    user: AsyncUser,
    session_id: SessionId,
    session_name: Annotated[Line | None, "What to call it."] = None,
    session_type: Annotated[Word, "A word of your own for its type."] = "conversation",
    status: Annotated[str, Letters(50), "active, archived or a word of your own."] = "active",
    metadata: Metadata | None = None,
    context_summary: Annotated[str | None, Letters(blank=True), "A summary of it."] = None,
    relevance_score: Annotated[Weight, "A score of your own."] = 0.0,
    agent_name: Annotated[Identifier | None, "The agent that the user talks with."] = None,
    created_at: Annotated[datetime | None, "When it began."] = None,
    last_activity: Annotated[datetime | None, "When it was last active."] = None,
) -> ConversationSession:
    """Create a conversation; of one that is there, change what is given, its status and activity."""
    session = ConversationSession(
        session_id,
        user.user_id,
        session_name=session_name,
        session_type=session_type,
        status=status,
        metadata=metadata or {},
        context_summary=context_summary,
        relevance_score=relevance_score,
        agent_name=agent_name,
        created_at=created_at,
        last_activity=last_activity,
    )
    return await user.sessions.put(session)


async def fork_session(
    user: AsyncUser,
    session_id: SessionId,
    at: Annotated[Index | None, "The index of the last message to copy; else all."] = None,
    new_session_id: Annotated[Identifier | None, "The id of the copy; else a new one."] = None,
    idempotency_key: str | None = None,
) -> ForkedSession:
    """Begin a new conversation with a copy of this one; with an idempotency key it is made once."""
    named = new_session_id
    if named is None and idempotency_key is not None:
        named = "fork-" + sha256(f"{session_id}\n{idempotency_key}")
    try:
        return ForkedSession(session_id=(await user.chat(session_id).fork(at, session_id=named)).session_id)
    except Conflict:
        if new_session_id is not None or named is None:
            raise
        return ForkedSession(session_id=named)


async def get_working(user: AsyncUser, session_id: SessionId, key: Key) -> WorkingMemoryValue | None:
    """Return one value of working memory."""
    values = await user.chat(session_id).working.all()  # what is kept may be null
    return WorkingMemoryValue(key=key, value=values[key]) if key in values else None


async def forget_context(user: AsyncUser, session_id: SessionId, type: ContextType, key: Key) -> bool:
    """Remove one context."""
    return await user.chat(session_id).contexts.forget(type, key) > 0


async def forget_contexts(user: AsyncUser, session_id: SessionId, type: ContextType) -> int:
    """Remove all contexts of a type."""
    return await user.chat(session_id).contexts.forget(type)


async def add_text(
    user: AsyncUser,
    text: Annotated[Content, "What it says."],
    title: Title = None,
    uri: From = None,
    metadata: Metadata | None = None,
    media_type: TextType = None,
) -> Document:
    """Keep a text; the same text is kept once for each uri, and another text of the same uri changes it."""
    return await user.documents.add(text, title=title, uri=uri, metadata=metadata, media_type=media_type)


async def add_document(
    user: AsyncUser,
    text: Annotated[Content | None, "What it says. Give this or data."] = None,
    data: Annotated[Content | None, "The bytes of a file, in base64. Give this or text."] = None,
    title: Title = None,
    uri: From = None,
    metadata: Metadata | None = None,
    media_type: MediaType = None,
    progress: Callable[[int, int], None] | None = None,
) -> Document:
    """Keep a text or a file (text, Markdown, HTML, PDF), so that searches find it; the same text once for each uri."""
    about: dict[str, Any] = {"title": title, "uri": uri, "metadata": metadata, "media_type": media_type}
    return await user.documents.add(_given(text, data), **about, progress=progress)


async def put_item(
    user: AsyncUser,
    namespace: Namespace,
    key: ItemKey,
    value: Annotated[Any, 'Any JSON value; {"$bytes": "aGk="} stands for bytes, in base64.'],
    ttl: Annotated[Span | None, "How many seconds it lives; for good, if left out."] = None,
    fields: Fields = None,
    vectors: Annotated[list[VectorOfAny] | None, Bounds(0, 100), "Vectors of a model of yours."] = None,
    revision: Expected = None,
) -> Item:
    """Keep a value under its namespace and key, in place of the one before; its revision tells how often it was put."""
    kept = lossless.received(value)
    return await user.items.put(namespace, key, kept, ttl=ttl, fields=fields, vectors=vectors, revision=revision)


async def batch_items(
    user: AsyncUser, operations: Annotated[list[ItemOperation], Bounds(1, 10_000), "What to do, in order."]
) -> BatchResults:
    """Do several things to items one after another, all or none; each result stands at the place of its operation."""
    sent: Any = operations  # already converted to mappings
    kept = lossless.with_received([each["root"] for each in sent])
    return BatchResults(results=[_result(each) for each in await user.items.batch(kept)])


async def list_events(
    user: AsyncUser,
    after: After = 0,
    limit: Limit = 100,
    settled: Annotated[bool, "Only those after which nothing can appear before them: to follow along."] = False,
) -> list[Event]:
    """Return every change of the user's memory in order, without contents."""
    return await (user.events.feed if settled else user.events.list)(after=after, limit=limit)


async def erase_memory(
    user: AsyncUser, confirm: Annotated[Identifier, "The user's id, as get_profile tells it, so that it is meant."]
) -> Receipt:
    """Remove everything the user owns, for good, and give a receipt. Only when the user asks for exactly this."""
    if confirm != user.user_id:
        raise Invalid("confirm must be the id of the user whose memory is to be erased")
    return await user.erase()


def found(record: Any, what: str) -> Any:
    """Return the record, or raise NotFound."""
    if record is None or record is False:
        raise NotFound(f"there is no {what}")
    return record


def _result(done: Any) -> Any:
    """Returns the result of an operation, with namespaces as objects."""
    if isinstance(done, list):
        return [ItemNamespace(namespace=[*each]) if isinstance(each, tuple) else each for each in done]
    return done


def _keyed(said: Any, key: str | None, number: int) -> dict[str, Any]:
    """Returns a message with a key derived from the request's, unless it has its own."""
    return said if key is None or said.get("key") else {**said, "key": f"{key}:{number}"}


def _given(text: str | None, data: str | None) -> str | bytes:
    if (text is None) == (data is None):
        raise Invalid("give text, or data in base64, and not both")
    if text is not None:
        return text
    try:
        return base64.b64decode(str(data), validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("data must be base64") from None
