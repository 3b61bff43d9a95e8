"""The relay: what of a client's request is stored, what goes to the model, and what is kept of its answer."""

from __future__ import annotations

import asyncio
import json
import threading
import uuid
from dataclasses import replace
from typing import Any

import pytest

from helpers.chats import stored
from helpers.embedders import opened
from helpers.language_server import Close, Events, LanguageServer, Raw, Status, Tools, event, events
from ltst import AsyncUser, ConversationMessage, Invalid, ModelUnavailable, Settings, Unavailable
from ltst.agents.completions import merged
from ltst.agents.history import fresh, turn
from ltst.agents.relay import CHAT_COMPLETIONS, Relay, conversation_id, is_newest_alone

Body = dict[str, Any]


def user(content: Any, **more: Any) -> Body:
    return {"role": "user", "content": content, **more}


def assistant(content: Any, **more: Any) -> Body:
    return {"role": "assistant", "content": content, **more}


def system(content: Any) -> Body:
    return {"role": "system", "content": content}


def tool(content: str) -> Body:
    return {"role": "tool", "content": content, "tool_call_id": "call_0"}


def kept(*said: tuple[str, str]) -> list[ConversationMessage]:
    return [ConversationMessage("c", role, content) for role, content in said]


def new(messages: list[Body], *stored: tuple[str, str]) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in fresh(messages, kept(*stored))]


CALLING = assistant(None, tool_calls=[{"id": "call_0", "type": "function", "function": {"name": "f"}}])


def test_an_empty_chat_takes_the_whole_history() -> None:
    messages = [system("Be brief."), user("A"), assistant("B"), user("C"), CALLING, tool("D")]
    assert new(messages) == [("human", "A"), ("ai", "B"), ("human", "C"), ("ai", "f()"), ("tool", "D")]


def test_a_chat_that_goes_on_takes_what_follows_the_last_answer() -> None:
    stored = ("human", "A"), ("ai", "B")
    assert new([user("A"), assistant("B"), user("C")], *stored) == [("human", "C")]
    assert new([user("A"), assistant("B, as the client has it"), user("C"), user("D")], *stored) == [
        ("human", "C"),
        ("human", "D"),
    ]
    assert new([user("C")], *stored) == [("human", "C")], "the newest alone"
    assert new([user("A"), assistant("B")], *stored) == []


def test_a_retry_is_not_stored_again() -> None:
    assert new([user("A")], ("human", "A")) == []
    assert new([user("A"), assistant("B"), user("C")], ("human", "A"), ("ai", "B"), ("human", "C")) == []
    assert new([user("A"), user("B")], ("human", "A")) == [("human", "B")]
    assert new([user("A")], ("human", "A"), ("ai", "B")) == [("human", "A")], "answered: it is said again"
    assert new([user("B")], ("human", "A")) == [("human", "B")]


def test_results_of_tools_are_stored_once() -> None:
    messages = [user("A"), CALLING, tool("D")]
    assert new(messages, ("human", "A")) == [("ai", "f()"), ("tool", "D")]
    assert new(messages, ("human", "A"), ("ai", "f()")) == [("tool", "D")]
    assert new(messages, ("human", "A"), ("ai", "f()"), ("tool", "D")) == []


def test_turns_that_were_answered_elsewhere_are_stored() -> None:
    stored = ("human", "A"), ("ai", "B")
    whole = [user("A"), assistant("B"), user("C"), assistant("D"), user("E")]
    assert new(whole, *stored) == [("human", "C"), ("ai", "D"), ("human", "E")]
    assert new(whole, ("human", "A")) == [("ai", "B"), ("human", "C"), ("ai", "D"), ("human", "E")]
    assert new(whole, *stored, ("human", "C"), ("ai", "D"), ("human", "E")) == []
    other = [user("X"), assistant("Y"), user("Z")]
    assert new(other, *stored) == [("human", "X"), ("ai", "Y"), ("human", "Z")]
    trimmed = [assistant("B"), user("C")]
    assert new(trimmed, *stored) == [("human", "C")]


def test_equal_turns_are_told_apart_by_their_place() -> None:
    yes, ok = ("human", "yes"), ("ai", "ok")
    said = [user("yes"), assistant("ok"), user("yes"), assistant("ok"), user("yes")]
    assert new(said, yes, ok) == [yes, ok, yes]
    assert new(said, yes, ok, yes) == [ok, yes]
    assert new(said, yes, ok, yes, ok) == [yes]
    assert new(said, yes, ok, yes, ok, yes) == []
    assert new(said[-3:], yes, ok, yes, ok, yes, ok) == [yes], "the client shows its newest turns alone"
    assert new([user("A"), assistant("B"), user("C")], ("human", "A"), ("ai", "B"), ("human", "A")) == [("human", "C")]


def test_an_answer_that_the_client_did_not_get_is_asked_for_again() -> None:
    held = ("human", "A"), ("ai", "B"), ("human", "C"), ("ai", "D")
    assert new([user("A"), assistant("B"), user("C")], *held) == []


def test_of_a_long_chat_the_end_is_compared() -> None:
    said = [each for n in range(100) for each in (user(f"q{n}"), assistant(f"a{n}"))]
    held = kept(*[each for n in range(75, 100) for each in (("human", f"q{n}"), ("ai", f"a{n}"))])
    told = fresh([*said, user("now")], held, whole=False)
    assert [each["content"] for each in told] == ["now"]
    edited = [*said[:-1], assistant("a99, as the client has it"), user("now")]
    assert [each["content"] for each in fresh(edited, held, whole=False)] == ["now"]


def test_tool_calls_are_kept() -> None:
    asked = {"id": "call_7", "type": "function", "function": {"name": "book", "arguments": '{"city": "Lisbon"}'}}
    calls = [{"id": "call_7", "name": "book", "arguments": '{"city": "Lisbon"}'}]
    assert turn(assistant(None, tool_calls=[asked])) == {
        "role": "ai",
        "content": 'book({"city": "Lisbon"})',
        "metadata": {"tool_calls": calls},
    }
    assert turn(assistant("One moment.", tool_calls=[asked])) == {
        "role": "ai",
        "content": "One moment.",
        "metadata": {"tool_calls": calls},
    }
    older = {"role": "assistant", "content": None, "function_call": {"name": "book", "arguments": "{}"}}
    assert (turn(older) or {})["content"] == "book({})"
    assert turn(assistant(None, tool_calls="no list")) is None


def test_contents_in_parts() -> None:
    parts = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": "data:"}},
        {"type": "text", "text": "Tell me."},
    ]
    assert turn(user(parts, name="Ana")) == {
        "role": "human",
        "content": "What is this?\nTell me.",
        "metadata": {"parts": ["image_url"], "name": "Ana"},
    }
    assert turn(user([parts[1]])) == {
        "role": "human",
        "content": "[image_url]",
        "metadata": {"parts": ["image_url"]},
    }
    assert turn(user(" ")) is None and turn(user(None)) is None and turn(user([])) is None and turn(system("a")) is None
    assert (turn(user("a\x00b\ud800")) or {})["content"] == "ab\ufffd"
    assert turn(tool("D")) == {"role": "tool", "content": "D", "metadata": {"tool_call_id": "call_0"}}


def test_memory_is_merged_into_the_request() -> None:
    body = {"model": "m", "n": 1, "user": "x", "messages": [user("A")]}
    assert merged(body, "MEMORY") == {**body, "messages": [system("MEMORY"), user("A")]}
    assert merged(body, None) == body and body["messages"] == [user("A")]
    text = {"messages": [system("Be brief."), user("A")]}
    assert merged(text, "MEMORY")["messages"] == [system("Be brief.\n\nMEMORY"), user("A")]
    part = {"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}
    parts = {"messages": [system([part]), user("A")]}
    assert merged(parts, "MEMORY")["messages"][0] == system([part, {"type": "text", "text": "MEMORY"}])
    developer = {"messages": [{"role": "developer", "content": "Be brief."}, user("A")]}
    assert merged(developer, "M")["messages"][0] == {"role": "developer", "content": "Be brief.\n\nM"}
    assert merged(text, "M", [user("1"), assistant("2")])["messages"] == [
        system("Be brief.\n\nM"),
        user("1"),
        assistant("2"),
        user("A"),
    ]


def test_which_chat_and_whether_the_history_is_left_out() -> None:
    assert is_newest_alone([system("a"), user("b")]) and is_newest_alone([user("b")])
    assert not is_newest_alone([user("a"), assistant("b"), user("c")]) and not is_newest_alone([tool("a")])
    first = conversation_id([system("a"), user("b")])
    assert conversation_id([system("a"), user("b"), assistant("c"), user("d")]) == first
    assert conversation_id([user([{"type": "text", "text": "b"}])]) == conversation_id([user("b")]) != first


async def send(relay: Relay, ana: AsyncUser, *messages: Body, **more: Any) -> tuple[str, bytes]:
    body = {"model": "theirs", "messages": [*messages], "seed": 7, **more.pop("body", {})}
    relayed = await relay.answer(CHAT_COMPLETIONS, ana, body, **more)
    received = b"".join([each async for each in relayed.aiter_bytes()])
    await relayed.done()
    return relayed.chat_id, received


async def test_a_request_goes_on_with_memory_in_it(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    fact = await ana.facts.set("home", "Lisbon")
    chat, received = await send(relay, ana, system("Be brief."), user("Where do I live?"))
    assert json.loads(received) == upstream.completion("Hello.")
    (asked,) = upstream.asked
    assert asked.body["model"] == "theirs" and asked.body["seed"] == 7 and "stream" not in asked.body
    assert asked.system.startswith("Be brief.\n\n") and "Lisbon" in asked.system
    assert asked.body["messages"][1:] == [user("Where do I live?")]
    assert str(asked.body).count("Where do I live?") == 1
    question, reply = await ana.chat(chat).history()
    assert (question.content, reply.content, reply.parent_message_id) == (
        "Where do I live?",
        "Hello.",
        question.message_id,
    )
    assert reply.metadata == {"model": "scripted", "memories": [{"kind": "fact", "id": fact.fact_id}]}


async def test_a_stream_goes_through_byte_for_byte(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    whole = b": hello\r\n\r\n" + b"".join(events("You live in Lisbon."))
    upstream.script = [Events([whole[:50], whole[50:51], whole[51:]])]
    relayed = await relay.answer(
        CHAT_COMPLETIONS, ana, {"model": "m", "stream": True, "messages": [user("Where?")]}, chat_id="c"
    )
    assert relayed.status == 200 and relayed.headers["content-type"] == "text/event-stream"
    assert b"".join([each async for each in relayed.aiter_bytes()]) == whole
    reply = await relayed.done()
    assert reply is not None and reply.content == "You live in Lisbon."
    assert await stored(ana, "c") == [("human", "Where?"), ("ai", "You live in Lisbon.")]


async def test_a_conversation_whose_client_sends_it_all_is_stored_once(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer
) -> None:
    upstream.script = ["One.", "Two."]
    first, _ = await send(relay, ana, user("A"))
    second, _ = await send(relay, ana, user("A"), assistant("One."), user("B"))
    assert first == second
    assert await stored(ana, first) == [("human", "A"), ("ai", "One."), ("human", "B"), ("ai", "Two.")]
    assert upstream.asked[1].body["messages"][-3:] == [user("A"), assistant("One."), user("B")]
    assert "One." not in upstream.asked[1].system, "what the client shows is not recalled"


async def test_a_client_that_names_its_chat_may_send_the_newest_alone(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer
) -> None:
    upstream.script = ["One.", "Two.", "Three."]
    await send(relay, ana, system("Be brief."), user("A"), chat_id="c")
    await send(relay, ana, system("Be brief."), user("B"), chat_id="c")
    asked = upstream.asked[1].body["messages"]
    assert asked[0]["content"].startswith("Be brief.")
    assert asked[1:] == [user("A"), assistant("One."), user("B")]
    await send(relay, ana, user("B"))
    assert [each for each in upstream.asked[2].body["messages"] if each["role"] != "system"] == [user("B")]


async def test_instructions_for_an_agent(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    await ana.instructions.set("coach", "Answer in rhymes.")
    await send(relay, ana, user("A"), chat_id="c", agent="coach")
    assert upstream.asked[0].system.startswith("Answer in rhymes.")


async def test_pictures_go_through_untouched(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:x"}}]
    chat, _ = await send(relay, ana, user(parts))
    assert upstream.asked[0].body["messages"][-1] == user(parts)
    message = (await ana.chat(chat).history())[0]
    assert (message.content, message.metadata) == ("What is this?", {"parts": ["image_url"]})


async def test_tools_of_the_client(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    upstream.script = [Tools([("weather", {"city": "Lisbon"})]), "It rains."]
    offered = {"tools": [{"type": "function", "function": {"name": "weather"}}]}
    _, received = await send(relay, ana, user("Weather?"), chat_id="c", body=offered)
    assert b"tool_calls" in received and upstream.asked[0].body["tools"] == offered["tools"]
    called = ("ai", 'weather({"city": "Lisbon"})')
    assert await stored(ana, "c") == [("human", "Weather?"), called]
    question, wanting = await ana.chat("c").history()
    (call,) = wanting.metadata["tool_calls"]
    assert (call["name"], json.loads(call["arguments"])) == ("weather", {"city": "Lisbon"})
    assert wanting.parent_message_id == question.message_id
    calling = json.loads(received)["choices"][0]["message"]
    await send(relay, ana, user("Weather?"), calling, tool("rain"), chat_id="c", body={**offered, "stream": True})
    assert await stored(ana, "c") == [("human", "Weather?"), called, ("tool", "rain"), ("ai", "It rains.")]
    spoken = [each for each in upstream.asked[1].body["messages"] if each["role"] != "system"]
    assert spoken == [user("Weather?"), calling, tool("rain")]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_tool_that_takes_a_text_is_kept(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer, stream: bool
) -> None:
    call = {"index": 0, "id": "call_0", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    whole = {"choices": [{"message": {"role": "assistant", "content": None, "tool_calls": [call]}}]}
    upstream.script = [
        Events([event({"tool_calls": [call]}), event({}, "tool_calls")]) if stream else Raw(json.dumps(whole).encode())
    ]
    await send(relay, ana, user("How many?"), chat_id="c", body={"stream": stream})
    (_, calling) = await ana.chat("c").history()
    assert calling.content == "sql(SELECT 1)"
    assert calling.metadata["tool_calls"] == [{"id": "call_0", "name": "sql", "arguments": "SELECT 1"}]


async def test_a_request_that_is_sent_many_times_at_once_is_stored_once(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer
) -> None:
    said = [user("A"), assistant("elsewhere"), user("B")]
    await asyncio.gather(*(send(relay, ana, *said, chat_id="c") for _ in range(5)))
    asked = [each for each in await stored(ana, "c") if each != ("ai", "Hello.")]
    assert asked == [("human", "A"), ("ai", "elsewhere"), ("human", "B")]


REFUSED = {
    "refused": Status(400, {"error": {"message": "too long"}}),
    "down": Status(503, "oops"),
    "no completion": Raw(b"<html>"),
    "an error": Raw(b'{"error": {"message": "no"}}'),
    "a refusal": Raw(b'{"choices": [{"message": {"content": null, "refusal": "I cannot."}}]}'),
    "filtered": Raw(b'{"choices": [{"message": {"content": "He"}, "finish_reason": "content_filter"}]}'),
    "an error in the stream": Events([event({"content": "a"}), b'data: {"error": {"message": "no"}}\n\n']),
    "a refusal in the stream": Events([event({"refusal": "I cannot."}), event({}, "stop")]),
    "cut off": Events([event({"content": "The first half"})]),
    "empty": "",
}


@pytest.mark.parametrize("refused", REFUSED.values(), ids=REFUSED.keys())
async def test_what_is_no_answer_goes_to_the_client_and_is_not_kept(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer, refused: Any
) -> None:
    upstream.script = [refused, refused, "At last."]
    _, received = await send(relay, ana, user("A"), chat_id="c")
    if isinstance(refused, Raw):
        assert received == refused.body
    await send(relay, ana, user("A"), chat_id="c")
    assert await stored(ana, "c") == [("human", "A")], "a retry is stored once"
    await send(relay, ana, user("A"), chat_id="c")
    assert await stored(ana, "c") == [("human", "A"), ("ai", "At last.")]


async def test_the_status_of_a_refusal(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    upstream.script = [Status(429, {"error": {"message": "slow down"}}, {"Retry-After": "7"})]
    relayed = await relay.answer(CHAT_COMPLETIONS, ana, {"messages": [user("A")]})
    assert (relayed.status, relayed.headers["retry-after"]) == (429, "7")
    assert await relayed.done() is None


async def test_an_answer_that_breaks_off(relay: Relay, ana: AsyncUser, upstream: LanguageServer) -> None:
    upstream.script = [Close()]
    relayed = await relay.answer(CHAT_COMPLETIONS, ana, {"messages": [user("A")]}, chat_id="c")
    with pytest.raises(ModelUnavailable):
        [each async for each in relayed.aiter_bytes()]
    assert await stored(ana, "c") == [("human", "A")]


async def test_a_client_that_disconnects(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer, go: threading.Event
) -> None:
    head, *rest = events("You live in Lisbon.")
    upstream.script = [Events([head, b"".join(rest)], go)]
    relayed = await relay.answer(CHAT_COMPLETIONS, ana, {"stream": True, "messages": [user("Where?")]}, chat_id="c")
    async for _ in relayed.aiter_bytes():
        break
    assert relay.under_way == 1
    go.set()
    await relay.close()
    assert await stored(ana, "c") == [("human", "Where?"), ("ai", "You live in Lisbon.")]
    assert relay.under_way == 0
    with pytest.raises(Unavailable, match="shutting down"):
        await relay.answer(CHAT_COMPLETIONS, ana, {"messages": [user("A")]})


@pytest.mark.parametrize("after", [0.0, 0.01, 0.05, 0.2])
async def test_a_client_that_disconnects_before_the_answer_begins(
    relay: Relay, ana: AsyncUser, upstream: LanguageServer, after: float
) -> None:
    sending = asyncio.create_task(relay.answer(CHAT_COMPLETIONS, ana, {"messages": [user("Where?")]}, chat_id="c"))
    await asyncio.sleep(after)
    sending.cancel()
    await asyncio.gather(sending, return_exceptions=True)
    await relay.close()
    assert await stored(ana, "c") in ([], [("human", "Where?"), ("ai", "Hello.")])
    assert after == 0.0 or await stored(ana, "c")


@pytest.mark.parametrize(
    "body", [{}, [], None, {"messages": []}, {"messages": "a"}, {"messages": ["a"]}, {"messages": [{"content": "a"}]}]
)
async def test_what_is_no_request(relay: Relay, ana: AsyncUser, upstream: LanguageServer, body: Any) -> None:
    with pytest.raises(Invalid, match="messages"):
        await relay.answer(CHAT_COMPLETIONS, ana, body)
    assert upstream.asked == []


async def test_other_paths_go_through(relay: Relay, upstream: LanguageServer) -> None:
    passage = await relay.send("GET", "/models", headers={"Authorization": "Bearer ltst"})
    assert b"scripted" in b"".join([each async for each in passage.aiter_bytes()])
    await passage.aclose()
    assert upstream.asked[0].headers["authorization"] == "Bearer sk-secret"


async def test_the_upstream_of_the_settings(settings: Settings, upstream: LanguageServer) -> None:
    async with opened(settings) as memory:
        with pytest.raises(ModelUnavailable, match="LTST_PROXY_BASE_URL or LTST_LLM_MODEL"):
            await Relay(memory).answer(CHAT_COMPLETIONS, memory.user(uuid.uuid4().hex), {"messages": [user("A")]})
    named = replace(settings, proxy_base_url=upstream.url, proxy_api_key="sk-proxy")
    async with opened(named) as memory:
        relay = Relay(memory)
        await send(relay, memory.user(uuid.uuid4().hex), user("A"))
        assert upstream.asked[0].headers["authorization"] == "Bearer sk-proxy"
        await relay.close()


async def test_two_users_of_one_relay(relay: Relay, ana: AsyncUser, bob: AsyncUser, upstream: LanguageServer) -> None:
    await ana.facts.set("home", "Lisbon")
    await send(relay, ana, user("Where do I live?"))
    await send(relay, bob, user("Where do I live?"))
    assert "Lisbon" in upstream.asked[0].system and "Lisbon" not in str(upstream.asked[1].body)
