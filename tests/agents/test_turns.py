"""One turn of a chat: durable before the model is asked, completed whoever listens, stored once."""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from helpers.chats import stored
from helpers.embedders import opened
from helpers.language_server import Asked, Events, Hang, LanguageServer, Status, event, events
from helpers.probes import superuser
from ltst import AsyncMemory, AsyncUser, Conflict, Invalid, ModelUnavailable, NotFound, Settings, Unavailable
from ltst.agents.turns import Turn, Turns
from ltst.errors import Unanswered


def slowly(text: str, go: threading.Event) -> Events:
    """The first word at once, the rest when it may."""
    head, first, *rest = events(text)
    return Events([head + first, b"".join(rest)], go)


async def first_piece(turn: Turn) -> str:
    async for piece in turn.pieces():
        return piece
    raise AssertionError("there is no piece")


async def test_a_turn(turns: Turns, ana: AsyncUser, upstream: LanguageServer) -> None:
    fact = await ana.facts.set("home", "Lisbon")
    upstream.script = ["You live in Lisbon."]
    turn = await turns.begin(ana, "Where do I live?", chat_id="today")
    assert [piece async for piece in turn.pieces()] == ["You ", "live ", "in ", "Lisbon."]
    result = await turn.done()
    assert (result.chat_id, result.agent, result.model) == ("today", "assistant", "small")
    assert result.reply == "You live in Lisbon."
    asked, reply = await ana.chat("today").history()
    assert (asked.role, asked.content, asked.message_id) == ("human", "Where do I live?", result.message_id)
    assert (reply.role, reply.content, reply.message_id) == ("ai", "You live in Lisbon.", result.reply_id)
    assert reply.parent_message_id == asked.message_id
    assert reply.metadata == {
        "agent": "assistant",
        "model": "small",
        "memories": [{"kind": "fact", "id": fact.fact_id}],
    }
    assert [piece async for piece in turn.pieces()] == ["You ", "live ", "in ", "Lisbon."], "who comes late misses none"
    assert turns.stats().answered == 1 and turns.stats().under_way == 0


async def test_a_new_chat_and_who_answers_in_it(
    turns: Turns, ana: AsyncUser, with_model: Settings, upstream: LanguageServer
) -> None:
    folder = with_model.home / "agents"
    folder.mkdir(parents=True)
    (folder / "coach.toml").write_text('name = "coach"')
    first = await (await turns.begin(ana, "Hello", agent_name="coach")).done()
    assert first.agent == "coach"
    second = await (await turns.begin(ana, "Hello again", chat_id=first.chat_id)).done()
    assert (second.chat_id, second.agent) == (first.chat_id, "coach"), "the agent of the chat goes on"
    await ana.chat("old", agent="somebody else").add("user", "Hello")
    assert (await (await turns.begin(ana, "Hi", chat_id="old")).done()).agent == "assistant"
    assert (await (await turns.begin(ana, "Hi")).done()).chat_id not in (first.chat_id, "old")


async def test_what_is_refused_stores_nothing(turns: Turns, ana: AsyncUser, upstream: LanguageServer) -> None:
    with pytest.raises(NotFound, match="known are assistant, recall"):
        await turns.begin(ana, "Hello", agent_name="butler")
    wrong: list[dict[str, Any]] = [
        {"message": " "},
        {"message": "a\x00"},
        {"message": None},
        {"chat_id": ""},
        {"agent_name": ""},
        {"key": ""},
        {"chat_id": 7},
        {"key": 7},
    ]
    for each in wrong:
        with pytest.raises(Invalid):
            await turns.begin(ana, **{"message": "Hello", **each})
    assert await ana.sessions.list() == [] and upstream.asked == [] and turns.stats().under_way == 0


async def test_the_message_is_on_disk_before_the_model_is_asked(
    turns: Turns, ana: AsyncUser, modelled: AsyncMemory, upstream: LanguageServer
) -> None:
    seen: list[Any] = []

    def look(asked: Asked) -> str:
        with superuser(modelled.database_url) as connection:
            seen.extend(connection.execute(WRITTEN, (ana.user_id,)).fetchall())
        return "Yes."

    upstream.script = [look]
    await (await turns.begin(ana, "Are you there?", chat_id="today")).done()
    assert seen == [("human", "Are you there?")]


async def test_a_listener_who_goes_away_takes_nothing_along(
    turns: Turns, ana: AsyncUser, upstream: LanguageServer, go: threading.Event
) -> None:
    upstream.script = [slowly("A long answer indeed.", go)]
    turn = await turns.begin(ana, "Go on", chat_id="today")

    async def listen() -> str:
        return "".join([piece async for piece in turn.pieces()])

    listening = asyncio.create_task(listen())
    waiting = asyncio.create_task(turn.done())
    assert await first_piece(turn) == "A "
    for task in (listening, waiting):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert turns.stats().under_way == 1
    go.set()
    assert (await turn.done()).reply == "A long answer indeed."
    assert await stored(ana) == [("human", "Go on"), ("ai", "A long answer indeed.")]


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 21, 34])
async def test_a_client_that_disconnects_while_the_turn_begins(
    turns: Turns, ana: AsyncUser, upstream: LanguageServer, steps: int
) -> None:
    beginning = asyncio.create_task(turns.begin(ana, "Go on", chat_id="today"))
    for _ in range(steps):
        await asyncio.sleep(0.0005)
    beginning.cancel()
    await asyncio.gather(beginning, return_exceptions=True)
    await turns.close()
    told = await stored(ana)
    assert told in ([], [("human", "Go on"), ("ai", "Hello.")]), "both or, where it was not begun, neither"
    assert told or steps == 0


WRITTEN = "SELECT role, content FROM conversation_messages WHERE user_id = %s"
TROUBLE = {
    "an error": Status(500, "oops"),
    "busy": Status(429, ""),
    "cut off": Events([event({"content": "The first half"})]),
    "an error in the stream": Events([event({"content": "a"}), b'data: {"error": {"message": "no"}}\n\n']),
    "empty": "",
    "blank": " \n ",
    "too long": Events([event({"content": "word " * 300_000}), event({}, "stop")]),
}


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE.keys())
async def test_a_model_that_fails_leaves_the_message_and_no_reply(
    turns: Turns, ana: AsyncUser, upstream: LanguageServer, trouble: Any
) -> None:
    upstream.script = [trouble]
    turn = await turns.begin(ana, "Are you there?", chat_id="today")
    with pytest.raises(Unanswered, match="the message is stored as") as raised:
        await turn.done()
    assert isinstance(raised.value, ModelUnavailable)
    (message,) = await ana.chat("today").history()
    assert (raised.value.message_id, raised.value.chat_id) == (message.message_id, "today")
    assert "sk-secret" not in str(raised.value)
    with pytest.raises(Unanswered):
        [piece async for piece in turn.pieces()]
    assert turns.stats().failed == 1 and turns.stats().under_way == 0
    upstream.script = ["Now I am."]
    assert (await (await turns.begin(ana, "And now?", chat_id="today")).done()).reply == "Now I am."


async def test_no_model_at_all(settings: Settings) -> None:
    async with opened(settings) as memory:
        turns = Turns(memory)
        turn = await turns.begin(memory.user(uuid.uuid4().hex), "Hello", agent_name="assistant")
        with pytest.raises(Unanswered, match="LTST_LLM_MODEL"):
            await turn.done()
        await turns.close()


async def test_a_model_that_gives_what_cannot_be_stored(turns: Turns, ana: AsyncUser, upstream: LanguageServer) -> None:
    pieces = [event({"content": text}) for text in ("a\x00b ", "\ud83d\ude00 ", "\ud800")]
    upstream.script = [Events([*pieces, event({}, "stop"), b"data: [DONE]\n\n"])]
    assert (await (await turns.begin(ana, "Hello", chat_id="today")).done()).reply == "ab 😀 \ufffd"


async def test_a_key_stores_once_and_gives_the_same_answer(
    turns: Turns, ana: AsyncUser, bob: AsyncUser, upstream: LanguageServer
) -> None:
    await ana.facts.set("home", "Lisbon")
    upstream.script = ["First."]
    one = await (await turns.begin(ana, "Hello", chat_id="today", key="k1")).done()
    again = await turns.begin(ana, "Hello", chat_id="today", key="k1")
    two = await again.done()
    assert [piece async for piece in again.pieces()] == ["First."]
    assert (two.reply, two.reply_id, two.message_id, two.agent, two.model) == (
        "First.",
        one.reply_id,
        one.message_id,
        "assistant",
        "small",
    )
    assert [(each["kind"], each["id"]) for each in two.memories] == [
        (each["kind"], each["id"]) for each in one.memories
    ]
    assert await stored(ana) == [("human", "Hello"), ("ai", "First.")]
    assert len(upstream.asked) == 1 and turns.stats().repeated == 1
    with pytest.raises(Conflict):
        await turns.begin(ana, "Something else", chat_id="today", key="k1")
    other = await (await turns.begin(bob, "Hello", chat_id="today", key="k1")).done()
    assert other.reply == "Hello." and other.message_id != one.message_id


async def test_a_key_without_a_chat_finds_the_chat_again(turns: Turns, ana: AsyncUser) -> None:
    one = await (await turns.begin(ana, "Hello", key="k1")).done()
    two = await (await turns.begin(ana, "Hello", key="k1")).done()
    assert (one.chat_id, one.reply_id) == (two.chat_id, two.reply_id)
    assert (await (await turns.begin(ana, "Hello", key="k2")).done()).chat_id != one.chat_id


async def test_the_same_request_while_the_first_is_under_way_listens_along(
    turns: Turns, ana: AsyncUser, upstream: LanguageServer, go: threading.Event
) -> None:
    upstream.script = [slowly("One answer.", go)]
    one = await turns.begin(ana, "Hello", chat_id="today", key="k1")
    assert await first_piece(one) == "One "
    two = await turns.begin(ana, "Hello", chat_id="today", key="k1")
    assert two is one
    go.set()
    assert (await two.done()).reply == "One answer." and len(upstream.asked) == 1


async def test_many_of_the_same_at_once(turns: Turns, ana: AsyncUser, upstream: LanguageServer) -> None:
    begun = await asyncio.gather(*(turns.begin(ana, "Hello", chat_id="today", key="k1") for _ in range(10)))
    results = await asyncio.gather(*(each.done() for each in begun))
    assert len({each.reply_id for each in results}) == 1 and len(upstream.asked) == 1
    assert len(await stored(ana)) == 2


async def test_a_failed_request_is_tried_again_under_its_key(
    turns: Turns, ana: AsyncUser, upstream: LanguageServer
) -> None:
    upstream.script = [Status(500, ""), "Here I am."]
    with pytest.raises(Unanswered) as raised:
        await (await turns.begin(ana, "Hello", chat_id="today", key="k1")).done()
    result = await (await turns.begin(ana, "Hello", chat_id="today", key="k1")).done()
    assert result.message_id == raised.value.message_id
    assert await stored(ana) == [("human", "Hello"), ("ai", "Here I am.")]


async def test_two_processes_store_one_answer(
    with_model: Settings, turns: Turns, ana: AsyncUser, upstream: LanguageServer, go: threading.Event
) -> None:
    upstream.script = [slowly("The slow answer.", go), "The fast answer."]
    slow = await turns.begin(ana, "Hello", chat_id="today", key="k1")
    await first_piece(slow)
    async with opened(with_model) as elsewhere:
        others = Turns(elsewhere)
        fast = await (await others.begin(elsewhere.user(ana.user_id), "Hello", chat_id="today", key="k1")).done()
        await others.close()
    go.set()
    result = await slow.done()
    assert (result.reply, result.reply_id) == ("The fast answer.", fast.reply_id)
    assert await stored(ana) == [("human", "Hello"), ("ai", "The fast answer.")]


async def test_two_messages_in_one_chat_are_answered_in_order(
    turns: Turns, ana: AsyncUser, upstream: LanguageServer, go: threading.Event
) -> None:
    upstream.script = [slowly("Answer one.", go), "Answer two."]
    one = await turns.begin(ana, "Question one", chat_id="today")
    await first_piece(one)
    two = await turns.begin(ana, "Question two", chat_id="today")
    elsewhere = await (await turns.begin(ana, "Hi", chat_id="other")).done()
    assert elsewhere.reply == "Answer two.", "another chat does not wait"
    assert await stored(ana) == [("human", "Question one"), ("human", "Question two")]
    go.set()
    await asyncio.gather(one.done(), two.done())
    assert [role for role, _ in await stored(ana)] == ["human", "human", "ai", "ai"]
    last = [each["content"] for each in upstream.asked[-1].body["messages"] if each["role"] != "system"]
    assert last == ["Question one", "Answer one.", "Question two"], "the newest stands once, and last"


@pytest.fixture
async def under_way(turns: Turns, ana: AsyncUser, upstream: LanguageServer, go: threading.Event) -> Turn:
    """A turn whose answer has begun, and ends when it may go on."""
    upstream.script = [slowly("A long answer.", go)]
    turn = await turns.begin(ana, "Go on", chat_id="today")
    await first_piece(turn)
    return turn


async def test_closing_waits_for_what_is_under_way(
    turns: Turns, ana: AsyncUser, under_way: Turn, go: threading.Event
) -> None:
    closing = asyncio.create_task(turns.close(grace=10))
    await asyncio.sleep(0.05)
    with pytest.raises(Unavailable, match="shutting down"):
        await turns.begin(ana, "One more", chat_id="today")
    assert not closing.done()
    go.set()
    await closing
    assert (await under_way.done()).reply == "A long answer."
    assert len(await stored(ana)) == 2


async def test_closing_does_not_wait_for_ever(turns: Turns, ana: AsyncUser, upstream: LanguageServer) -> None:
    upstream.otherwise = Hang()
    turn = await turns.begin(ana, "Go on", chat_id="today")
    await turns.close(grace=0.1)
    with pytest.raises(Unanswered, match="shut down"):
        await turn.done()
    assert await stored(ana) == [("human", "Go on")] and turns.stats().under_way == 0


async def test_a_user_who_is_erased_meanwhile_gets_nothing_back(
    ana: AsyncUser, under_way: Turn, go: threading.Event
) -> None:
    await ana.erase()
    go.set()
    with pytest.raises(NotFound):
        await under_way.done()
    assert await ana.sessions.list() == []


async def test_something_unforeseen_reaches_whoever_listens(
    turns: Turns, ana: AsyncUser, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*_: object) -> AsyncIterator[Any]:
        raise RuntimeError("a bug")
        yield

    monkeypatch.setattr("ltst.agents.executor.AgentExecutor._ask_model", fail)
    turn = await turns.begin(ana, "Hello", chat_id="today")
    with pytest.raises(RuntimeError, match="a bug"):
        await turn.done()
    assert turns.stats().under_way == 0 and await stored(ana) == [("human", "Hello")]


async def test_the_timeout_of_the_settings(with_model: Settings, upstream: LanguageServer) -> None:
    upstream.otherwise = Hang()
    async with opened(replace(with_model, llm_timeout=0.2)) as memory:
        turns = Turns(memory)
        with pytest.raises(Unanswered, match=r"0\.2 seconds"):
            await (await turns.begin(memory.user(uuid.uuid4().hex), "Hello")).done()
        await turns.close()
