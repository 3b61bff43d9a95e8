"""Passes a client's requests on to its model with memory in them, and stores both sides."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ltst.agents.asking import ModelAnswer
from ltst.agents.feed import Feed
from ltst.agents.history import NewMessage, fresh, keyed, parts, turn
from ltst.agents.memories import kept, plain
from ltst.agents.tasks import Tasks
from ltst.errors import Invalid, LtstError, ModelUnavailable
from ltst.memory import AsyncChat, AsyncMemory, AsyncUser
from ltst.providers.endpoint import (
    COMPLETIONS,
    ChunkReader,
    Endpoint,
    EndpointAnswer,
    as_chunk,
    choices,
    json_object,
    proxy_endpoint,
)
from ltst.recall.context import Context
from ltst.records import ConversationMessage
from ltst.support import tokens
from ltst.support.logs import LOGGER

GRACE = 30.0
WINDOW = 50
LONGEST_COMPARED = 200
MOST_TOKENS = 4000
LEADING = ("system", "developer")
REFUSED = "content_filter"
# Chats of clients that name none are named after their beginning: clients send it with every request.
CONVERSATIONS = uuid.UUID("0d9a3f3e-3c0f-5d7b-8a57-5b1f0d7e9c42")

Message = Mapping[str, Any]


def checked(body: object) -> Mapping[str, Any]:
    """Returns a request for a completion, as far as the relay must understand it."""
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(messages, list) or not messages:
        raise Invalid("the request must be a JSON object with messages, a list of at least one")
    if not all(isinstance(each, Mapping) and isinstance(each.get("role"), str) for each in messages):
        raise Invalid("each of messages must be an object with a role and its content")
    return body


def is_newest_alone(messages: Sequence[Message]) -> bool:
    """Returns whether a request has only the user's newest message, and leaves the history to the memory."""
    spoken = messages[_lead(messages) :]
    return len(spoken) == 1 and spoken[0]["role"] == "user"


def merged(body: Mapping[str, Any], memory: str | None, before: Sequence[Message] = ()) -> dict[str, Any]:
    """Returns the request with memory in its system message and earlier turns in front; the rest is unchanged."""
    messages = [*body["messages"]]
    lead = _lead(messages)
    messages[lead:lead] = before
    if memory and lead:
        messages[0] = {**messages[0], "content": _appended(messages[0].get("content"), memory)}
    elif memory:
        messages.insert(0, {"role": "system", "content": memory})
    return {**body, "messages": messages}


def _lead(messages: Sequence[Message]) -> int:
    """Returns how many messages stand before the conversation."""
    return next((at for at, each in enumerate(messages) if each["role"] not in LEADING), len(messages))


def _appended(content: object, memory: str) -> object:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": memory}]
    return f"{content}\n\n{memory}" if content else memory


def conversation_id(messages: Sequence[Message]) -> str:
    """Returns a chat id for a client that names none, made from its first words; equal beginnings share a chat."""
    first = next((each for each in messages if each["role"] == "user"), messages[0])
    beginning = [parts(each.get("content"))[0] for each in (*messages[: _lead(messages)], first)]
    return str(uuid.uuid5(CONVERSATIONS, json.dumps(beginning)))


async def remember(chat: AsyncChat, messages: Sequence[Message]) -> list[ConversationMessage]:
    """Store the messages of a request that the chat lacks; return its newest messages."""
    stored = await chat.window(WINDOW)
    if len(stored) == WINDOW and len(fresh(messages, stored, whole=False)) > 1:
        stored = await chat.window(LONGEST_COMPARED)  # more than the newest message seems new: look further back
    new = fresh(messages, stored, whole=len(stored) not in (WINDOW, LONGEST_COMPARED))
    return stored + await chat.add_many(keyed(new, stored))


class ReplyReader:
    """Reads an answer on its way to the client, and knows its text once it is complete."""

    def __init__(self, passage: EndpointAnswer) -> None:
        """What was refused has no text to keep."""
        self._ok, self._host = passage.ok, passage.host
        self._chunks = ChunkReader(passage.host) if passage.streamed else None
        self._body: list[bytes] = []
        self._heard = ModelAnswer()
        self.model: str | None = None

    def take(self, received: bytes) -> None:
        """Read the next bytes; what cannot be parsed is not stored, but still goes to the client."""
        if self._chunks is None:
            self._body.append(received)
            return
        try:
            self._hear(self._chunks.feed(received))
        except ModelUnavailable:
            self._ok = False

    @property
    def over(self) -> bool:
        """Whether the text of a stream is complete; its client may then say the next thing at once."""
        return self._chunks is not None and self._chunks.over

    def answer(self) -> NewMessage | None:
        """Returns the whole answer as a turn; None where it was refused, broke off, or says and wants nothing."""
        try:
            self._hear(self._rest())
        except ModelUnavailable:
            return None
        return turn(self._heard.message(most=len(self._heard.calls))) if self._ok else None

    def _rest(self) -> list[dict[str, Any]]:
        if self._chunks is not None:
            return self._chunks.end()
        return [as_chunk(json_object(b"".join(self._body), self._host))]

    def _hear(self, chunks: Sequence[Mapping[str, Any]]) -> None:
        for chunk in chunks:
            self.model = str(chunk["model"]) if chunk.get("model") else self.model
            self._heard.take(chunk)
            for choice in choices(chunk)[:1]:
                delta = choice.get("delta")
                refused = isinstance(delta, Mapping) and bool(delta.get("refusal"))
                self._ok = self._ok and not refused and choice.get("finish_reason") != REFUSED


@dataclass(frozen=True, slots=True)
class Relayed:
    """The answer of the endpoint on its way to the client; it is read to its end and kept, whoever listens."""

    chat_id: str
    status: int
    headers: Mapping[str, str]
    _feed: Feed[bytes, ConversationMessage | None]

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Returns the body as it comes, byte for byte; ModelUnavailable when it breaks off."""
        return self._feed.parts()

    async def done(self) -> ConversationMessage | None:
        """Returns the answer as it is stored; None where there is nothing to store."""
        return await self._feed.result()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request with memory in it, and what it is about."""

    chat: AsyncChat
    message: ConversationMessage | None
    body: Mapping[str, Any]
    context: Context


class Relay:
    """Stands between a client and the endpoint of its model, for one memory, which the caller opens and closes."""

    def __init__(self, memory: AsyncMemory, *, endpoint: Endpoint | None = None, max_tokens: int = MOST_TOKENS) -> None:
        """`max_tokens` of memory go into each request, beside what the client sends."""
        self._count = memory.settings.token_counter or tokens.count
        self._endpoint = endpoint or proxy_endpoint(memory.settings)
        self._most, self._tasks = max_tokens, Tasks()
        self._under_way = 0

    @property
    def leads_somewhere(self) -> bool:
        """Whether there is an endpoint to pass requests on to."""
        return self._endpoint is not None

    @property
    def under_way(self) -> int:
        """How many answers are on their way."""
        return self._under_way

    async def complete(
        self,
        user: AsyncUser,
        body: Mapping[str, Any],
        *,
        chat_id: str | None = None,
        agent: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Relayed:
        """Store what is new in a request, put memory into it and pass it on; the answer is stored when it has ended.

        A client that names its `chat_id` may send its newest message alone: the stored window goes in before it.
        """
        endpoint, request = self._upstream(), checked(body)
        return await self._tasks.run(self._begin(endpoint, user, request, chat_id, agent, headers))

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> EndpointAnswer:
        """Pass any other request on as it is; the caller closes what comes back."""
        return await self._upstream().send(method, path, body, headers)

    async def close(self, grace: float = GRACE) -> None:
        """Take no more requests, wait for the answers on their way, at most `grace` seconds, and let go."""
        await self._tasks.close(grace)
        if self._endpoint is not None:
            await self._endpoint.close()

    def _upstream(self) -> Endpoint:
        if self._endpoint is None:
            raise ModelUnavailable("there is no model to pass this on to: set LTST_PROXY_BASE_URL or LTST_LLM_MODEL")
        return self._endpoint

    async def _begin(
        self,
        endpoint: Endpoint,
        user: AsyncUser,
        body: Mapping[str, Any],
        chat_id: str | None,
        agent: str | None,
        headers: Mapping[str, str] | None,
    ) -> Relayed:
        asked = await self._asked(user, body, chat_id, agent)
        told = {**(headers or {}), "content-type": "application/json"}
        passage = await endpoint.send("POST", COMPLETIONS, json.dumps(asked.body).encode(), told)
        feed: Feed[bytes, ConversationMessage | None] = Feed()
        self._tasks.start(self._pump(passage, asked, feed))
        return Relayed(asked.chat.session_id, passage.status, passage.headers, feed)

    async def _asked(self, user: AsyncUser, body: Mapping[str, Any], chat_id: str | None, agent: str | None) -> _Asked:
        messages = body["messages"]
        chat = user.chat(chat_id or conversation_id(messages), agent=agent)
        stored = await remember(chat, messages)
        asking = next((each for each in reversed(stored) if each.role == "human"), None)
        alone = chat_id is not None and is_newest_alone(messages)
        # What the client shows itself need not be recalled.
        context = await chat.context(
            asking,
            max_tokens=self._most + (0 if asking is None else self._count(asking.content)),
            window=WINDOW if alone else len(messages),
        )
        before = context.turns[:-1] if alone else ()
        return _Asked(chat, asking, merged(body, context.system, before), context)

    async def _pump(
        self, passage: EndpointAnswer, asked: _Asked, feed: Feed[bytes, ConversationMessage | None]
    ) -> None:
        """Read the answer to its end, whoever listens, and store it."""
        reading, end = ReplyReader(passage), b""
        self._under_way += 1
        try:
            async for received in passage.aiter_bytes():
                reading.take(received)
                if reading.over:
                    end += received  # who has it goes on, so the answer must be in its place before
                else:
                    feed.put(received)
            stored = await self._keep(asked, reading)
            if end:
                feed.put(end)
            feed.end(stored)
        except LtstError as problem:
            feed.fail(problem)
        except asyncio.CancelledError:
            feed.fail(ModelUnavailable("the server shut down before the answer was complete"))
            raise
        except Exception as problem:  # noqa: BLE001 - whatever it is, those who listen must hear of it
            LOGGER.error("an answer was not passed on", exc_info=problem)
            feed.fail(problem)
        finally:
            self._under_way -= 1
            await passage.aclose()

    async def _keep(self, asked: _Asked, reading: ReplyReader) -> ConversationMessage | None:
        answer = reading.answer()
        if answer is None:
            return None
        about = {"model": reading.model, "memories": kept(plain(each) for each in asked.context.memories)}
        parent = None if asked.message is None else asked.message.message_id
        try:
            metadata = {**about, **answer["metadata"]}
            return await asked.chat.add("assistant", answer["content"], parent=parent, metadata=metadata)
        except LtstError as problem:
            # The client has its answer; that it could not be kept is not the client's concern.
            LOGGER.error("an answer could not be stored", extra={"reason": str(problem)})
            return None
