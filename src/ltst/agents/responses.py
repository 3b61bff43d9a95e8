"""OpenAI's Responses API: converts its items to stored messages and back, and reads the answer on its way."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ltst.agents.history import Message, NewMessage, PlacedRequest, Request, turn
from ltst.errors import Invalid, ModelUnavailable, NotFound
from ltst.memory import AsyncUser
from ltst.providers.endpoint import DONE, EndpointAnswer, EventReader, json_object
from ltst.support.validate import LONGEST_IDENTIFIER

PATH = "/responses"
PREFIX = "resp_"
REFUSED = "content_filter"
CALLS = {"function_call": "arguments", "mcp_call": "arguments", "custom_tool_call": "input"}
ENDS = ("response.completed", "response.incomplete", "response.failed", "error")

Item = Mapping[str, Any]


def checked(body: object) -> Request:
    """Returns a validated request; checks only what the relay itself needs."""
    given = body.get("input") if isinstance(body, Mapping) else None
    if not isinstance(body, Mapping) or not isinstance(given, str | list) or not given:
        raise Invalid("the request must be a JSON object with input, a text or a list of at least one item")
    if isinstance(given, list) and not all(map(_is_item, given)):
        raise Invalid("each item of input must be an object with a type, or a message with a role and its content")
    if not isinstance(body.get("instructions") or "", str):
        raise Invalid("instructions must be a text")
    if body.get("background"):
        raise Invalid("background responses are not offered here: leave background out, and stream a long answer")
    return body


def _is_item(item: object) -> bool:
    if not isinstance(item, Mapping):
        return False
    if item.get("type") in (None, "message"):
        return isinstance(item.get("role"), str)
    return isinstance(item["type"], str)


def messages_of(body: Request) -> list[Message]:
    """Returns the instructions and the input as messages; consecutive items of an assistant become one message."""
    instructions = body.get("instructions")
    head: list[Message] = [{"role": "system", "content": instructions}] if instructions else []
    return [*head, *_messages(_items(body["input"]))]


def _items(given: str | list[Item]) -> list[Item]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _messages(items: Iterable[Item]) -> Iterator[Message]:
    known = [(role, item) for item in items if (role := _role(item)) is not None]
    for role, group in groupby(known, key=lambda pair: pair[0]):
        same = [item for _, item in group]
        if role == "assistant":
            yield _as_message(same)
        elif role == "tool":
            yield from (_result(item) for item in same)
        else:
            yield from same


def _role(item: Item) -> str | None:
    """Returns the role behind an item; None for items that say nothing, such as reasoning or references."""
    kind = str(item.get("type") or "message")
    if kind == "message":
        return str(item["role"])
    if kind.endswith("_call_output"):
        return "tool"
    return "assistant" if kind.endswith("_call") else None


def _as_message(items: Sequence[Item]) -> Message:
    """Returns the items of an assistant as one message: its texts, its tool calls and the types of all other items."""
    content: list[Mapping[str, Any]] = []
    calls: list[Mapping[str, Any]] = []
    for item in items:
        kind = item.get("type") or "message"
        if kind in CALLS:
            wanted = {"name": item.get("name"), "arguments": item.get(CALLS[kind], "")}
            calls.append({"id": item.get("call_id") or item.get("id"), "function": wanted})
        elif kind != "message":
            content.append({"type": kind})
        elif isinstance(item.get("content"), list):
            content.extend(part for part in item["content"] if isinstance(part, Mapping))
        else:
            content.append({"type": "text", "text": item.get("content")})
    return {"role": "assistant", "content": content, "tool_calls": calls}


def _result(item: Item) -> Message:
    output = item.get("output")
    content = output if isinstance(output, str | list) else json.dumps(output)
    return {"role": "tool", "content": content, "tool_call_id": item.get("call_id")}


def _as_items(message: Message) -> Iterator[Item]:
    """Yields the items that represent a message."""
    if message["role"] == "tool":
        yield {"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}
        return
    if message.get("content"):
        yield {"role": message["role"], "content": message["content"]}
    for call in message.get("tool_calls", ()):
        yield {"type": "function_call", "call_id": call["id"], **call["function"]}


def merged(body: Request, memory: str | None, before: Sequence[Message] = ()) -> dict[str, Any]:
    """Returns the request with memory in its instructions and earlier turns before its input."""
    request = dict(body)
    earlier = [item for message in before for item in _as_items(message)]
    instructions = body.get("instructions")
    if memory and body.get("prompt") and not instructions:
        # Setting instructions would replace those of the prompt, which the endpoint stores.
        earlier.insert(0, {"role": "developer", "content": memory})
    elif memory:
        request["instructions"] = f"{instructions}\n\n{memory}" if instructions else memory
    if earlier:
        request["input"] = [*earlier, *_items(body["input"])]
    return request


async def placed(user: AsyncUser, body: Request, chat_id: str | None) -> PlacedRequest:
    """Returns the request with its chat, as named by a header, `conversation` or `previous_response_id`."""
    named, previous = body.get("conversation"), body.get("previous_response_id")
    if named and previous:
        raise Invalid("conversation and previous_response_id both say what came before: send one of them")
    if previous:
        return await _place_after(user, body, previous, chat_id)
    if not named:
        return PlacedRequest(body, chat_id)
    conversation = named.get("id") if isinstance(named, Mapping) else named
    if not isinstance(conversation, str) or not conversation:
        raise Invalid("conversation must be the id of a conversation, or an object with its id")
    if chat_id not in (None, conversation):
        raise Invalid("the header X-Chat-Id names one chat and the field conversation another: send one of them")
    return PlacedRequest(_without(body, "conversation"), conversation, continued=True)


async def _place_after(user: AsyncUser, body: Request, previous: object, chat_id: str | None) -> PlacedRequest:
    """Returns the place after a response that this user got; raises NotFound for anybody else's."""
    known = own = None
    if isinstance(previous, str) and 0 < len(previous) <= LONGEST_IDENTIFIER:
        own = await user.message(previous.removeprefix(PREFIX))
        known = own or await user.keyed(response_key(previous))
    if known is None:
        raise NotFound(f"there is no response {previous!r} that was given to this user here")
    if own is None:
        return PlacedRequest(body, chat_id or known.session_id, continued=False)
    return PlacedRequest(_without(body, "previous_response_id"), own.session_id, continued=True)


def _without(body: Request, name: str) -> Request:
    return {each: value for each, value in body.items() if each != name}


def response_key(response_id: str) -> str:
    """Returns the key that the answer of a response is stored under."""
    return f"response:{response_id}"


class ResponseReader:
    """Reads a response while it passes to the client, and assembles what it says."""

    def __init__(self, passage: EndpointAnswer) -> None:
        """Starts reading; the answer to a failed request is not stored."""
        self._ok, self._host = passage.ok, passage.host
        self._events = EventReader() if passage.streamed else None
        self._body: list[bytes] = []
        self._items: dict[int, Item] = {}
        self._whole: Mapping[str, Any] | None = None
        self.over = False

    @property
    def model(self) -> str | None:
        """The model that answered."""
        return None if self._whole is None or not self._whole.get("model") else str(self._whole["model"])

    @property
    def key(self) -> str | None:
        """The key of the answer, or None if the response has no id."""
        known = None if self._whole is None else self._whole.get("id")
        key = response_key(known) if isinstance(known, str) and known else ""
        return key if 0 < len(key) <= LONGEST_IDENTIFIER else None

    def take(self, received: bytes) -> None:
        """Reads the next bytes; an answer that cannot be parsed is not stored, but still reaches the client."""
        if self._events is None:
            self._body.append(received)
        else:
            self._hear(self._events.feed(received))

    def answer(self) -> NewMessage | None:
        """Returns the whole answer as a turn; None if it was refused, is incomplete, or says and calls nothing."""
        if self._events is not None:
            self._hear(self._events.end())
        elif self._ok:
            self._end(self._parse(b"".join(self._body)))
        if not self._ok or self._whole is None:
            return None
        given = self._whole.get("output")
        items = given if isinstance(given, list) and given else [self._items[at] for at in sorted(self._items)]
        said = [item for item in items if _is_item(item) and _role(item) == "assistant"]
        return turn(_as_message(said)) if said and not _is_refused(said) else None

    def _hear(self, events: Iterable[str]) -> None:
        for data in events:
            event = {} if data.strip() == DONE else self._parse(data)
            kind, item = event.get("type"), event.get("item")
            if kind == "response.output_item.done" and isinstance(item, Mapping):
                self._items[len(self._items)] = item
            elif kind in ENDS:
                self._ok = self._ok and kind != "error"  # an error carries no response that would tell its status
                self._end(event.get("response") or {})

    def _parse(self, text: str | bytes) -> Mapping[str, Any]:
        try:
            return json_object(text, self._host)
        except ModelUnavailable:
            self._ok = False
            return {}

    def _end(self, response: object) -> None:
        self.over = True
        self._whole = response if isinstance(response, Mapping) else {}
        why = self._whole.get("incomplete_details")
        filtered = isinstance(why, Mapping) and why.get("reason") == REFUSED
        self._ok = self._ok and self._whole.get("status") in ("completed", "incomplete", None) and not filtered


def _is_refused(said: Sequence[Item]) -> bool:
    parts = [part for item in said for part in item.get("content") or () if isinstance(part, Mapping)]
    return any(part.get("type") == "refusal" for part in parts)
