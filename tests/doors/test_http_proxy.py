"""The proxy: the official OpenAI client, its base URL changed and nothing else, gets memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest

from helpers.language_server import LanguageServer, Status, Tools
from helpers.openai_clients import UNKNOWN, client, stored
from helpers.serving import listening
from ltst import Memory, Settings

TOOL: Any = {
    "type": "function",
    "function": {
        "name": "book_table",
        "description": "Book a table.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def says(text: str) -> Any:
    return [{"role": "user", "content": text}]


def test_what_was_said_in_one_chat_is_in_the_request_of_another(
    address: str, upstream: LanguageServer, behind: Settings
) -> None:
    upstream.script = ["Noted.", "You live in Lisbon."]
    client(address, chat="monday").chat.completions.create(model="scripted", messages=says("I live in Lisbon."))
    answer = client(address, chat="tuesday").chat.completions.create(
        model="scripted", messages=says("Where do I live?"), tools=[TOOL], extra_body=UNKNOWN, temperature=0.25, seed=3
    )
    assert answer.choices[0].message.content == "You live in Lisbon."
    asked = upstream.asked[-1]
    assert "I live in Lisbon." in asked.system
    assert asked.body["messages"][-1] == {"role": "user", "content": "Where do I live?"}
    assert [each["content"] for each in asked.body["messages"]].count("Where do I live?") == 1
    rest = {name: value for name, value in asked.body.items() if name != "messages"}
    assert rest == {"model": "scripted", "tools": [TOOL], "temperature": 0.25, "seed": 3, **UNKNOWN}
    assert asked.headers["authorization"] == "Bearer sk-upstream"
    assert not {"x-user-id", "x-chat-id"} & asked.headers.keys()
    assert stored(behind, "ana", "tuesday") == [("human", "Where do I live?"), ("ai", "You live in Lisbon.")]


def test_the_same_as_a_stream(address: str, upstream: LanguageServer, behind: Settings) -> None:
    upstream.script = ["Noted.", "You live in Lisbon."]
    asking = client(address, chat="monday").chat.completions
    for message in ("I live in Lisbon.", "Where do I live?"):
        stream = asking.create(model="scripted", messages=says(message), stream=True, extra_body=UNKNOWN)
        said = "".join(chunk.choices[0].delta.content or "" for chunk in stream)
    assert said == "You live in Lisbon."
    asked = upstream.asked[-1].body
    assert asked["stream"] is True
    assert asked["vendor"] == UNKNOWN["vendor"]
    # A client that sends its newest message alone gets the turns before it.
    assert [each["content"] for each in asked["messages"][-3:]] == ["I live in Lisbon.", "Noted.", "Where do I live?"]
    assert [role for role, _ in stored(behind, "ana", "monday")] == ["human", "ai", "human", "ai"]


def test_the_field_user_says_whose_memory_it_is(address: str, upstream: LanguageServer, behind: Settings) -> None:
    asking = openai.OpenAI(base_url=f"{address}/v1", api_key="of no use here", max_retries=0).chat.completions
    named = {"extra_headers": {"X-Chat-Id": "monday"}, "user": "ana"}
    asking.create(model="scripted", messages=says("hello"), **named)  # type: ignore[call-overload]
    assert stored(behind, "ana", "monday") == [("human", "hello"), ("ai", "Hello.")]
    assert stored(behind, "local", "monday") == []
    assert upstream.asked[-1].body["user"] == "ana"
    asking.create(model="ltst/recall", messages=says("What did I say?"), **named)  # type: ignore[call-overload]
    assert len(stored(behind, "ana", "monday")) == 4


def test_two_users_of_one_client_have_chats_of_their_own(address: str, behind: Settings) -> None:
    asking = openai.OpenAI(base_url=f"{address}/v1", api_key="of no use here", max_retries=0).chat.completions
    chats = {
        asking.with_raw_response.create(model="scripted", messages=says("hello"), user=name).headers["x-chat-id"]
        for name in ("ana", "eve")
    }
    (chat,) = chats
    assert stored(behind, "ana", chat) == stored(behind, "eve", chat) == [("human", "hello"), ("ai", "Hello.")]


def test_a_users_own_key_takes_no_other_user(behind: Settings, upstream: LanguageServer) -> None:
    with Memory(settings=behind) as memory:
        own, admin = memory.keys.create("ana").secret, memory.keys.create(admin=True).secret
    with listening(behind) as server:

        def asking(key: str | None, **headers: str) -> Any:
            return openai.OpenAI(
                base_url=f"{server.url}/v1", api_key=key, max_retries=0, default_headers=headers
            ).chat.completions

        for model in ("scripted", "ltst/recall"):
            with pytest.raises(openai.PermissionDeniedError, match="the field user names another"):
                asking(own).create(model=model, messages=says("hello"), user="eve")
            asking(own).create(model=model, messages=says("hello"), user="ana")
            asking(admin).create(model=model, messages=says("hello"), user="eve")
        with pytest.raises(openai.UnprocessableEntityError, match="X-User-Id"):
            asking(admin).create(model="scripted", messages=says("hello"))
        with pytest.raises(openai.UnprocessableEntityError, match="send one of them"):
            asking(admin, **{"X-User-Id": "ana"}).create(model="scripted", messages=says("hello"), user="eve")
        with pytest.raises(openai.UnprocessableEntityError, match="user must be a text"):
            asking(admin).create(model="scripted", messages=says("hello"), extra_body={"user": 7})
        assert {each.id for each in openai.OpenAI(base_url=f"{server.url}/v1", api_key=admin).models.list()}
    with Memory(settings=behind) as memory:
        assert len(memory.user("eve").sessions.list()) == 1


def test_turns_that_were_answered_elsewhere_are_stored(
    address: str, upstream: LanguageServer, behind: Settings
) -> None:
    upstream.script = ["One.", "Three."]
    asking = client(address, chat="monday").chat.completions
    asking.create(model="scripted", messages=says("A"))
    said: Any = [("user", "A"), ("assistant", "One."), ("user", "B"), ("assistant", "Two, elsewhere."), ("user", "C")]
    asking.create(model="scripted", messages=[{"role": role, "content": content} for role, content in said])
    assert [content for _, content in stored(behind, "ana", "monday")] == [*(each for _, each in said), "Three."]
    more: Any = [*said, ("assistant", "Three."), ("user", "D"), ("assistant", "Four."), ("user", "What is my plan?")]
    asking.create(model="ltst/recall", messages=[{"role": role, "content": content} for role, content in more])
    assert [content for _, content in stored(behind, "ana", "monday")][:-1] == [each for _, each in more]


@pytest.mark.parametrize("stream", [False, True])
def test_no_header_comes_twice(address: str, upstream: LanguageServer, stream: bool) -> None:
    body = {"model": "scripted", "messages": says("hello"), "stream": stream}
    answer = httpx.post(f"{address}/v1/chat/completions", json=body, timeout=60)
    names = [name for name, _ in answer.headers.multi_items()]
    assert "date" in names and len(names) == len({*names})


def test_users_do_not_meet(address: str, upstream: LanguageServer) -> None:
    client(address, "ana").chat.completions.create(model="scripted", messages=says("My cat is called Miau."))
    client(address, "eve").chat.completions.create(model="scripted", messages=says("What is the cat called?"))
    assert "Miau" not in str(upstream.asked[-1].body)


def test_tool_calls_come_back_untouched(address: str, upstream: LanguageServer) -> None:
    upstream.script = [Tools([("book_table", {"city": "Lisbon"})])]
    answer = client(address).chat.completions.create(model="scripted", messages=says("Book me a table."), tools=[TOOL])
    (call,) = answer.choices[0].message.tool_calls or []
    assert call.function.name == "book_table"  # type: ignore[union-attr]


@pytest.mark.parametrize("code", [400, 401, 429, 500])
def test_errors_of_the_upstream_come_back_as_they_are(address: str, upstream: LanguageServer, code: int) -> None:
    refusal = {"error": {"message": "not today", "type": "weather", "code": "rain"}}
    upstream.script = [Status(code, refusal)]
    with pytest.raises(openai.APIStatusError) as raised:
        client(address).chat.completions.create(model="scripted", messages=says("hello"))
    assert raised.value.status_code == code
    assert raised.value.body == refusal["error"]


def test_a_retry_after_an_error_stores_once(address: str, upstream: LanguageServer, behind: Settings) -> None:
    upstream.script = [Status(500, {"error": {"message": "no"}}), "Hello!"]
    asking = client(address, chat="monday").with_options(max_retries=2)
    asking.chat.completions.create(model="scripted", messages=says("hello"))
    assert stored(behind, "ana", "monday") == [("human", "hello"), ("ai", "Hello!")]


def test_models_are_the_upstreams_and_the_agents(address: str) -> None:
    assert {each.id for each in client(address).models.list()} == {"scripted", "ltst/recall", "ltst/assistant"}


@pytest.mark.parametrize("stream", [False, True])
def test_without_any_model_an_agent_answers(settings: Settings, stream: bool) -> None:
    with listening(settings) as server:
        address = server.url
        asking = client(address).chat.completions
        asking.create(model="ltst/recall", messages=says("I live in Lisbon."))
        answer: Any = asking.create(model="ltst/recall", messages=says("Where do I live?"), stream=stream)
        told = (
            "".join(chunk.choices[0].delta.content or "" for chunk in answer)
            if stream
            else answer.choices[0].message.content
        )
        assert "I live in Lisbon." in told
        assert {each.id for each in client(address).models.list()} == {"ltst/recall", "ltst/assistant"}
        with pytest.raises(openai.NotFoundError, match="LTST_PROXY_BASE_URL"):
            asking.create(model="gpt", messages=says("hello"))


def test_a_request_that_is_none_is_refused(address: str, upstream: LanguageServer) -> None:
    with pytest.raises(openai.UnprocessableEntityError, match="messages"):
        client(address).chat.completions.create(model="scripted", messages=[])
    assert upstream.asked == []


def refused(address: str, body: dict[str, Any], status: int) -> dict[str, Any]:
    answer = httpx.post(f"{address}/v1/chat/completions", json=body, timeout=60)
    assert answer.status_code == status, answer.text
    told: dict[str, Any] = answer.json()["error"]
    assert told["code"] is None or isinstance(told["code"], str)
    return told


def test_errors_name_what_is_wrong_with_a_request(settings: Settings) -> None:
    with listening(settings) as server:
        missing = refused(server.url, {"messages": says("hello")}, 422)
        assert missing["message"].startswith("model is missing")
        assert "ltst/recall" in missing["message"]
        unknown = refused(server.url, {"model": "gpt", "messages": says("hello")}, 404)
        assert "no model 'gpt'" in unknown["message"]
        assert unknown["code"] == "not_found"
        spoken = [{"role": "robot", "content": "beep"}, *says("hello")]
        role = refused(server.url, {"model": "ltst/recall", "messages": spoken}, 422)
        assert "'robot'" in role["message"]
        assert "system, developer, user, assistant, tool" in role["message"]


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"proxy_base_url": "http://127.0.0.1:9/v1"}, "LTST_PROXY_BASE_URL"),
        ({"llm_model": "gpt", "llm_base_url": "http://127.0.0.1:9/v1"}, "LTST_LLM_BASE_URL"),
    ],
)
def test_an_upstream_that_cannot_be_reached_is_told_with_its_setting(
    settings: Settings, changed: dict[str, Any], named: str
) -> None:
    with listening(replace(settings, **changed)) as server:
        told = refused(server.url, {"model": "gpt", "messages": says("hello")}, 502)
    assert "cannot be reached" in told["message"]
    assert named in told["message"]
