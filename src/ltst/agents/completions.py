"""Chat completions API: puts memory into a request and reads the answer on its way to the client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ltst.agents.asking import ModelAnswer
from ltst.agents.history import Message, NewMessage, PlacedRequest, Request, lead, turn
from ltst.errors import Invalid, ModelUnavailable
from ltst.memory import AsyncUser
from ltst.providers.endpoint import ChunkReader, EndpointAnswer, as_chunk, choices, json_object

REFUSED = "content_filter"


def checked(body: object) -> Request:
    """Returns a validated request; checks only what the relay itself needs."""
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(messages, list) or not messages:
        raise Invalid("the request must be a JSON object with messages, a list of at least one")
    if not all(isinstance(each, Mapping) and isinstance(each.get("role"), str) for each in messages):
        raise Invalid("each of messages must be an object with a role and its content")
    return body


async def placed(user: AsyncUser, body: Request, chat_id: str | None) -> PlacedRequest:
    """Returns the request with its chat id, which only a header can name because the body cannot."""
    return PlacedRequest(body, chat_id)


def messages_of(body: Request) -> list[Message]:
    """Returns the messages of a request."""
    return [*body["messages"]]


def merged(body: Request, memory: str | None, before: Sequence[Message] = ()) -> dict[str, Any]:
    """Returns the request with memory in its system message and earlier turns before its own."""
    messages = [*body["messages"]]
    begins = lead(messages)
    messages[begins:begins] = before
    if memory and begins:
        messages[0] = {**messages[0], "content": _append_memory(messages[0].get("content"), memory)}
    elif memory:
        messages.insert(0, {"role": "system", "content": memory})
    return {**body, "messages": messages}


def _append_memory(content: object, memory: str) -> object:
    if isinstance(content, list):
        return [*content, {"type": "text", "text": memory}]
    return f"{content}\n\n{memory}" if content else memory


class ReplyReader:
    """Reads an answer while it passes to the client, and assembles its text."""

    def __init__(self, passage: EndpointAnswer) -> None:
        """Starts reading; the answer to a failed request is not stored."""
        self._ok, self._host = passage.ok, passage.host
        self._chunks = ChunkReader(passage.host) if passage.streamed else None
        self._body: list[bytes] = []
        self._heard = ModelAnswer()
        self.model: str | None = None
        self.key: str | None = None

    def take(self, received: bytes) -> None:
        """Reads the next bytes; an answer that cannot be parsed is not stored, but still reaches the client."""
        if self._chunks is None:
            self._body.append(received)
            return
        try:
            self._hear(self._chunks.feed(received))
        except ModelUnavailable:
            self._ok = False

    @property
    def over(self) -> bool:
        """Whether a streamed answer is complete, so that its client may continue at once."""
        return self._chunks is not None and self._chunks.over

    def answer(self) -> NewMessage | None:
        """Returns the whole answer as a turn; None if it was refused, is incomplete, or says and calls nothing."""
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
