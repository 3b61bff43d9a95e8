"""The Responses API in the relay: items as messages and back, and what is kept of an answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from helpers.chats import stored
from helpers.language_server import Close, Events, LanguageServer, Raw, Status
from helpers.response_shapes import call, event, events, message, response
from ltst import AsyncUser, Invalid, ModelUnavailable
from ltst.agents.history import turn
from ltst.agents.relay import RESPONSES, Relay, conversation_id
from ltst.agents.responses import checked, merged, messages_of

Body = dict[str, Any]


def turns(items: Any) -> list[tuple[str, str]]:
    found = [turn(each) for each in messages_of({"input": items})]
    return [(each["role"], each["content"]) for each in found if each is not None]


def result(number: int, output: Any) -> Body:
    return {"type": "function_call_output", "call_id": f"call_{number}", "output": output}


def test_items_are_turns() -> None:
    assert turns("Hello") == [("human", "Hello")]
    assert turns([{"role": "developer", "content": "a"}, {"role": "user", "content": "b"}]) == [("human", "b")]
    parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": "data:x"}]
    assert turns([{"type": "message", "role": "user", "content": parts}]) == [("human", "What is this?")]
    reasoning, reference = {"type": "reasoning", "summary": []}, {"type": "item_reference", "id": "msg_1"}
    said = [reasoning, message("One moment."), call(0, "f", {"a": 1}), reasoning, call(1, "g", "{}"), reference]
    given = [*said, result(0, "x"), result(1, [{"type": "input_text", "text": "y"}])]
    assert turns(given) == [("ai", "One moment."), ("tool", "x"), ("tool", "y")]
    assert turns([call(0, "f", {"a": 1}), call(1, "g", "{}")]) == [("ai", 'f({"a": 1})\ng({})')]
    custom = {"type": "custom_tool_call", "call_id": "c", "name": "sql", "input": "SELECT 1"}
    assert turns([custom, {"type": "custom_tool_call_output", "call_id": "c", "output": "1"}]) == [
        ("ai", "sql(SELECT 1)"),
        ("tool", "1"),
    ]
    assert turns([{"type": "web_search_call", "id": "ws_1", "status": "completed"}]) == [("ai", "[web_search_call]")]
    assert turns([{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]) == [("ai", "a\nb")]


def test_memory_is_merged_into_the_instructions() -> None:
    body = {"model": "m", "input": "A", "user": "x"}
    assert merged(body, "MEMORY") == {**body, "instructions": "MEMORY"}
    assert merged(body, None) == body
    assert merged({**body, "instructions": "Be brief."}, "M")["instructions"] == "Be brief.\n\nM"
    kept = merged({**body, "prompt": {"id": "pmpt_1"}}, "M")
    assert "instructions" not in kept, "they would replace those of the prompt"
    assert kept["input"] == [{"role": "developer", "content": "M"}, {"role": "user", "content": "A"}]
    calls = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    before = [
        {"role": "user", "content": "1"},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c", "content": "2"},
    ]
    assert merged(body, None, before)["input"] == [
        {"role": "user", "content": "1"},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": "2"},
        {"role": "user", "content": "A"},
    ]


def test_the_instructions_and_the_first_words_tell_the_chat() -> None:
    first = conversation_id(messages_of({"instructions": "a", "input": "b"}))
    longer = [{"role": "user", "content": "b"}, message("c"), {"role": "user", "content": "d"}]
    assert conversation_id(messages_of({"instructions": "a", "input": longer})) == first
    assert conversation_id(messages_of({"input": "b"})) != first
    assert conversation_id([])


async def send(relay: Relay, ana: AsyncUser, given: Any, **more: Any) -> bytes:
    body = {"model": "theirs", "input": given, **more}
    relayed = await relay.answer(RESPONSES, ana, body, chat_id="c")
    try:
        return b"".join([each async for each in relayed.aiter_bytes()])
    finally:
        await asyncio.wait([asyncio.ensure_future(relayed.done())])


async def test_a_stream_goes_through_byte_for_byte(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    fact = await ana.facts.set("home", "Lisbon")
    whole = response([message("You live in Lisbon.")])
    sent = b": hello\r\n\r\n" + b"".join(events(whole))
    upstream.script = [Events([sent[:50], sent[50:51], sent[51:]])]
    assert await send(relay, ana, "Where do I live?", stream=True) == sent
    question, reply = await ana.chat("c").history()
    assert (reply.content, reply.parent_message_id) == ("You live in Lisbon.", question.message_id)
    assert reply.metadata == {"model": "scripted", "memories": [{"kind": "fact", "id": fact.fact_id}]}
    assert (await ana.keyed(f"response:{whole['id']}")) == reply


async def test_a_stream_that_ends_without_its_output_is_kept_by_its_items(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer
) -> None:
    *before, _ = events(response([message("One."), call(0, "f", "{}")]))
    last = event({"type": "response.completed", "response": response([])})
    upstream.script = [Events([*before, last])]
    await send(relay, ana, "A", stream=True)
    assert await stored(ana, "c") == [("human", "A"), ("ai", "One.")]
    assert [each["name"] for each in (await ana.chat("c").history())[-1].metadata["tool_calls"]] == ["f"]


async def test_an_answer_that_was_cut_is_kept(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    cut = {**response([message("The first half")], "incomplete"), "incomplete_details": {"reason": "max_output_tokens"}}
    upstream.script = [Raw(json.dumps(cut).encode())]
    await send(relay, ana, "A")
    assert await stored(ana, "c") == [("human", "A"), ("ai", "The first half")]


async def test_an_endpoint_that_gives_one_id_to_all_answers(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer
) -> None:
    for said in ("One.", "Two."):
        upstream.script = [Raw(json.dumps({**response([message(said)]), "id": "resp_0"}).encode())]
        await send(relay, ana, f"Before {said}")
    assert [content for role, content in await stored(ana, "c") if role == "ai"] == ["One.", "Two."]


REFUSAL: Body = {**message(""), "content": [{"type": "refusal", "refusal": "I cannot."}]}
FILTERED = {**response([message("He")], "incomplete"), "incomplete_details": {"reason": "content_filter"}}
REFUSED = {
    "refused": Status(400, {"error": {"message": "too long"}}),
    "down": Status(503, "oops"),
    "no response": Raw(b"<html>"),
    "an error": Raw(b'{"error": {"message": "no"}}'),
    "failed": Raw(json.dumps(response([message("He")], "failed")).encode()),
    "a refusal": Raw(json.dumps(response([REFUSAL])).encode()),
    "filtered": Raw(json.dumps(FILTERED).encode()),
    "an error in the stream": Events([event({"type": "error", "message": "no"})]),
    "failed in the stream": Events([event({"type": "response.failed", "response": response([], "failed")})]),
    "cut off": Events(events(response([message("The first half")]))[:-1]),
    "empty": "",
    "odd items": Raw(json.dumps(response([{"type": 7}, "x", {"role": 1}])).encode()),  # type: ignore[list-item]
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_no_answer_goes_to_the_client_and_is_not_kept(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer, refused: Any
) -> None:
    upstream.script = [refused, refused, "At last."]
    received = await send(relay, ana, "A")
    if isinstance(refused, Raw):
        assert received == refused.body
    await send(relay, ana, "A")
    assert await stored(ana, "c") == [("human", "A")], "a retry is stored once"
    await send(relay, ana, "A")
    assert await stored(ana, "c") == [("human", "A"), ("ai", "At last.")]


async def test_a_connection_that_breaks(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    upstream.script = [Close()]
    with pytest.raises(ModelUnavailable):
        await send(relay, ana, "A")
    assert await stored(ana, "c") == [("human", "A")]


async def test_the_same_request_at_once_is_stored_once(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    said = [{"role": "user", "content": "A"}, message("elsewhere"), {"role": "user", "content": "B"}]
    await asyncio.gather(*(send(relay, ana, said) for _ in range(5)))
    asked = [each for each in await stored(ana, "c") if each != ("ai", "Hello.")]
    assert asked == [("human", "A"), ("ai", "elsewhere"), ("human", "B")]


def test_what_is_no_request_is_refused() -> None:
    for body in (None, [], {}, {"input": {}}, {"input": [[]]}, {"input": [{"type": "message"}]}, {"input": [{}]}):
        with pytest.raises(Invalid, match="input"):
            checked(body)
