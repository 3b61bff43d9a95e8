"""Forwards a client's requests to its model with memory added, and stores both sides of the conversation."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypedDict, Unpack

from ltst.agents import completions, responses
from ltst.agents.feed import Feed
from ltst.agents.history import Message, NewMessage, PlacedRequest, Request, fresh, keyed, lead, parts, spoken, turn
from ltst.agents.memories import kept, plain
from ltst.agents.tasks import Tasks
from ltst.errors import Conflict, LtstError, ModelUnavailable, NotFound
from ltst.memory import AsyncChat, AsyncMemory, AsyncUser
from ltst.providers.endpoint import COMPLETIONS, Endpoint, EndpointAnswer, proxy_endpoint
from ltst.recall.context import Context
from ltst.records import ConversationMessage
from ltst.support import tokens
from ltst.support.logs import LOGGER

GRACE = 30.0
WINDOW = 50
LONGEST_COMPARED = 200
MOST_TOKENS = 4000  # of memory in a request, in addition to what the client sends
ABSENT = (404, 405, 501)
# Chat ids for clients that name none are derived from the first messages, which clients send with every request.
CONVERSATIONS = uuid.UUID("0d9a3f3e-3c0f-5d7b-8a57-5b1f0d7e9c42")


class AnswerReader(Protocol):
    """Reads an answer while it passes to the client."""

    @property
    def model(self) -> str | None:
        """The model that answered."""

    @property
    def key(self) -> str | None:
        """The key under which the answer is stored, if it has one."""

    @property
    def over(self) -> bool:
        """Whether the answer is complete, so that its client may continue at once."""

    def take(self, received: bytes) -> None:
        """Reads the next bytes."""

    def answer(self) -> NewMessage | None:
        """Returns the whole answer as a turn, or None if there is nothing to store."""


@dataclass(frozen=True, slots=True)
class Api:
    """One of OpenAI's APIs: its path, the field with the messages, and functions to read and change its messages."""

    path: str
    field: str  # the request field that holds the conversation
    checked: Callable[[object], Request]
    placed: Callable[[AsyncUser, Request, str | None], Awaitable[PlacedRequest]]
    messages: Callable[[Request], list[Message]]
    merged: Callable[[Request, str | None, Sequence[Message]], dict[str, Any]]
    reader: Callable[[EndpointAnswer], AnswerReader]


CHAT_COMPLETIONS = Api(
    COMPLETIONS,
    "messages",
    completions.checked,
    completions.placed,
    completions.messages_of,
    completions.merged,
    completions.ReplyReader,
)
RESPONSES = Api(
    responses.PATH,
    "input",
    responses.checked,
    responses.placed,
    responses.messages_of,
    responses.merged,
    responses.ResponseReader,
)


class Where(TypedDict, total=False):
    """What the headers of a request say: its chat, the agent whose instructions apply, and the headers to pass on."""

    chat_id: str | None
    agent: str | None
    headers: Mapping[str, str]


def is_newest_alone(messages: Sequence[Message]) -> bool:
    """Returns whether a request has only the user's newest message and leaves the history to the memory."""
    said = messages[lead(messages) :]
    return len(said) == 1 and said[0]["role"] == "user"


def conversation_id(messages: Sequence[Message]) -> str:
    """Returns a chat id derived from the first messages; equal beginnings share a chat."""
    first = [each for each in messages if each["role"] == "user"][:1] or messages[:1]
    beginning = [parts(each.get("content"))[0] for each in (*messages[: lead(messages)], *first)]
    return str(uuid.uuid5(CONVERSATIONS, json.dumps(beginning)))


async def remember(chat: AsyncChat, messages: Sequence[Message]) -> list[ConversationMessage]:
    """Stores the messages of a request that the chat lacks, and returns its newest messages."""
    stored = await chat.window(WINDOW)
    if len(stored) == WINDOW and len(fresh(messages, stored, whole=False)) > 1:
        stored = await chat.window(LONGEST_COMPARED)  # too many seem new: compare with more stored ones
    new = fresh(messages, stored, whole=len(stored) not in (WINDOW, LONGEST_COMPARED))
    return stored + await chat.add_many(keyed(new, stored))


@dataclass(frozen=True, slots=True)
class Relayed:
    """The endpoint's answer on its way to the client; it is read to the end and stored even if the client leaves."""

    chat_id: str
    status: int
    headers: Mapping[str, str]
    _feed: Feed[bytes, ConversationMessage | None]

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Returns the body as it arrives, byte for byte; raises ModelUnavailable if it breaks off."""
        return self._feed.parts()

    async def done(self) -> ConversationMessage | None:
        """Returns the stored answer, or None if there is nothing to store."""
        return await self._feed.result()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request with memory added, with its chat, its question and the context that was added."""

    chat: AsyncChat
    message: ConversationMessage | None
    body: Mapping[str, Any]
    context: Context


class Relay:
    """Stands between clients and their model's endpoint, for one memory that the caller opens and closes."""

    def __init__(self, memory: AsyncMemory) -> None:
        """Takes the endpoint from the settings of the memory."""
        self._count = memory.settings.token_counter or tokens.count
        self._endpoint = proxy_endpoint(memory.settings)
        self._tasks = Tasks()
        self._under_way = 0

    @property
    def leads_somewhere(self) -> bool:
        """Whether there is an endpoint to forward requests to."""
        return self._endpoint is not None

    @property
    def under_way(self) -> int:
        """How many answers are being received."""
        return self._under_way

    async def answer(self, api: Api, user: AsyncUser, body: Request, **where: Unpack[Where]) -> Relayed:
        """Stores what is new in a request, adds memory and forwards it; the answer is stored when it is complete.

        A client that names its chat, or a previous response, may send its newest message alone: the stored window goes
        in before it. Raises NotFound if the response is another user's, or the endpoint lacks the API.
        """
        checked, endpoint = api.checked(body), self._upstream()
        place = await api.placed(user, checked, where.get("chat_id"))
        return await self._tasks.run(self._begin(endpoint, api, user, place, where))

    async def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> EndpointAnswer:
        """Forwards any other request unchanged; the caller closes the answer."""
        return await self._upstream().send(method, path, body, headers)

    async def close(self, grace: float = GRACE) -> None:
        """Refuses new requests, waits at most `grace` seconds for pending answers, then closes the endpoint."""
        await self._tasks.close(grace)
        if self._endpoint is not None:
            await self._endpoint.close()

    def _upstream(self) -> Endpoint:
        if self._endpoint is None:
            raise ModelUnavailable("there is no model to pass this on to: set LTST_PROXY_BASE_URL or LTST_LLM_MODEL")
        return self._endpoint

    async def _begin(
        self, endpoint: Endpoint, api: Api, user: AsyncUser, place: PlacedRequest, where: Where
    ) -> Relayed:
        messages = api.messages(place.body)
        chat = user.chat(place.chat_id or conversation_id(messages), agent=where.get("agent"))
        asked = await self._asked(api, chat, place, messages)
        headers = {**where.get("headers", {}), "content-type": "application/json"}
        passage = await endpoint.send("POST", api.path, json.dumps(asked.body).encode(), headers)
        if api is RESPONSES:
            await _refuse_absent(passage)
        feed: Feed[bytes, ConversationMessage | None] = Feed()
        self._tasks.start(self._pump(passage, asked, api.reader(passage), feed))
        return Relayed(chat.session_id, passage.status, passage.headers, feed)

    async def _asked(self, api: Api, chat: AsyncChat, place: PlacedRequest, messages: Sequence[Message]) -> _Asked:
        stored = await remember(chat, messages)
        asking = next((each for each in reversed(stored) if each.role == "human"), None)
        alone = place.continued
        if alone is None:
            alone = place.chat_id is not None and is_newest_alone(messages)
        # What the client sends itself need not be recalled.
        context = await chat.context(
            asking,
            max_tokens=MOST_TOKENS + (0 if asking is None else self._count(asking.content)),
            window=WINDOW if alone else max(1, len(messages)),
        )
        before = _turns_before(context, stored, asking, messages) if alone and asking is not None else ()
        return _Asked(chat, asking, api.merged(place.body, context.system, before), context)

    async def _pump(
        self,
        passage: EndpointAnswer,
        asked: _Asked,
        reading: AnswerReader,
        feed: Feed[bytes, ConversationMessage | None],
    ) -> None:
        """Reads the answer to its end even if nobody listens, and stores it."""
        end = b""
        self._under_way += 1
        try:
            async for received in passage.aiter_bytes():
                reading.take(received)
                if reading.over:
                    end += received  # held back until the answer is stored, because the client then continues
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
        except Exception as problem:  # noqa: BLE001 - listeners must get every error
            LOGGER.error("an answer was not passed on", exc_info=problem)
            feed.fail(problem)
        finally:
            self._under_way -= 1
            await passage.aclose()

    async def _keep(self, asked: _Asked, reading: AnswerReader) -> ConversationMessage | None:
        answer = reading.answer()
        if answer is None:
            return None
        about = {"model": reading.model, "memories": kept(plain(each) for each in asked.context.memories)}
        parent = None if asked.message is None else asked.message.message_id
        try:
            metadata = {**about, **answer["metadata"]}
            return await _store_answer(asked.chat, answer["content"], parent, metadata, reading.key)
        except LtstError as problem:
            # The client has its answer; failing to store it must not fail the request.
            LOGGER.error("an answer could not be stored", extra={"reason": str(problem)})
            return None


def _turns_before(
    context: Context, stored: Sequence[ConversationMessage], asking: ConversationMessage, sent: Sequence[Message]
) -> list[Message]:
    """Returns the turns before those that were sent; turns after the question keep their tool calls."""
    began = len(stored) - sum(turn(each) is not None for each in sent)
    asked = stored.index(asking)
    shown = len(context.turns) - 1  # the question comes last, after whatever followed it
    earlier = context.turns[: max(0, shown - (len(stored) - 1 - min(asked, began)))]
    return [*earlier, *map(spoken, stored[asked:began])]


async def _store_answer(
    chat: AsyncChat, content: str, parent: str | None, metadata: Mapping[str, Any], key: str | None
) -> ConversationMessage:
    """Stores an answer under its key, or without one if the endpoint used the same id for different answers."""
    told: Any = {"parent": parent, "metadata": metadata}
    try:
        return await chat.add("assistant", content, key=key, **told)
    except Conflict:
        return await chat.add("assistant", content, **told)


async def _refuse_absent(passage: EndpointAnswer) -> None:
    """Raises NotFound if a refusal means that the endpoint lacks this path, not that something else is missing."""
    if passage.status not in ABSENT or b"model" in (await passage.read()).lower():
        return
    await passage.aclose()
    raise NotFound(
        f"{passage.host} has no {responses.PATH}: it answered HTTP {passage.status}. Ask for chat completions, which "
        "every endpoint has (in the OpenAI Agents SDK: set_default_openai_api('chat_completions')), or for ltst/recall"
    )
