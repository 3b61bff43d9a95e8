"""The Responses API: the official client, its base URL changed and nothing else, gets memory; the model is scripted."""

from __future__ import annotations

from typing import Any

import httpx
import openai
import pytest

from helpers.language_server import COMPLETIONS, LanguageServer, Status, Tools
from helpers.openai_clients import UNKNOWN, client, stored
from helpers.serving import listening
from ltst import Memory, Settings

TOOL: Any = {
    "type": "function",
    "name": "book_table",
    "description": "Book a table.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}


def chats(settings: Settings, user: str) -> list[str]:
    with Memory(settings=settings) as memory:
        return [each.session_id for each in memory.user(user).sessions.list()]


def test_what_was_said_in_one_chat_is_in_the_request_of_another(
    address: str, upstream: LanguageServer, behind: Settings
) -> None:
    upstream.script = ["Noted.", "You live in Lisbon."]
    client(address, chat="monday").responses.create(model="scripted", input="I live in Lisbon.")
    answer = client(address, chat="tuesday").responses.create(
        model="scripted",
        input="Where do I live?",
        instructions="Be brief.",
        tools=[TOOL],
        temperature=0.25,
        store=False,
        extra_body=UNKNOWN,
    )
    assert answer.output_text == "You live in Lisbon."
    asked = upstream.asked[-1]
    assert asked.path == "/v1/responses"
    assert asked.body["instructions"].startswith("Be brief.\n\n") and "I live in Lisbon." in asked.body["instructions"]
    rest = {name: value for name, value in asked.body.items() if name != "instructions"}
    told = {"model": "scripted", "input": "Where do I live?", "tools": [TOOL], "temperature": 0.25, "store": False}
    assert rest == {**told, **UNKNOWN}
    assert asked.headers["authorization"] == "Bearer sk-upstream"
    assert not {"x-user-id", "x-chat-id"} & asked.headers.keys()
    assert stored(behind, "ana", "tuesday") == [("human", "Where do I live?"), ("ai", "You live in Lisbon.")]


def test_the_same_as_a_stream(address: str, upstream: LanguageServer, behind: Settings) -> None:
    upstream.script = ["Noted.", "You live in Lisbon."]
    asking = client(address, chat="monday").responses
    for said in ("I live in Lisbon.", "Where do I live?"):
        with asking.stream(model="scripted", input=said) as stream:
            deltas = [each.delta for each in stream if each.type == "response.output_text.delta"]
            whole = stream.get_final_response()
    assert "".join(deltas) == whole.output_text == "You live in Lisbon." and len(deltas) == 4
    # A client that sends its newest message alone gets the turns before it.
    assert upstream.asked[-1].body["input"] == [
        {"role": "user", "content": "I live in Lisbon."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Where do I live?"},
    ]
    assert [role for role, _ in stored(behind, "ana", "monday")] == ["human", "ai", "human", "ai"]


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_is_called_and_answered(address: str, upstream: LanguageServer, behind: Settings, stream: bool) -> None:
    upstream.script = [Tools([("book_table", {"city": "Lisbon"})], text="One moment."), "Booked."]
    asking = client(address, chat="monday").responses
    said: list[Any] = [{"role": "user", "content": "Book me a table."}]
    for _ in range(2):
        if stream:
            with asking.stream(model="scripted", input=said, tools=[TOOL]) as streamed:
                answer: Any = streamed.get_final_response()
        else:
            answer = asking.create(model="scripted", input=said, tools=[TOOL])
        calls = [each for each in answer.output if each.type == "function_call"]
        results = [{"type": "function_call_output", "call_id": each.call_id, "output": "19:30"} for each in calls]
        said += [*(each.model_dump(exclude_none=True) for each in answer.output), *results]
    assert answer.output_text == "Booked."
    assert upstream.asked[-1].body["input"] == said[:-1], "what the client sends goes through untouched"
    assert stored(behind, "ana", "monday") == [
        ("human", "Book me a table."),
        ("ai", "One moment."),
        ("tool", "19:30"),
        ("ai", "Booked."),
    ]
    with Memory(settings=behind) as memory:
        _, calling, result, _ = memory.user("ana").chat("monday").history()
    assert calling.metadata["tool_calls"] == [{"id": "call_0", "name": "book_table", "arguments": '{"city": "Lisbon"}'}]
    assert result.metadata["tool_call_id"] == "call_0"


def test_a_conversation_is_held_by_the_memory(address: str, upstream: LanguageServer, behind: Settings) -> None:
    upstream.script = ["Noted.", Tools([("book_table", "{}"), ("book_table", '{"a":1}')]), "Booked."]
    asking = client(address).responses
    asking.create(model="scripted", input="I live in Lisbon.", conversation="monday")
    answer = asking.create(model="scripted", input="Book a table.", tools=[TOOL], conversation={"id": "monday"})
    calls = [each.call_id for each in answer.output if each.type == "function_call"]
    results: Any = [{"type": "function_call_output", "call_id": each, "output": f"of {each}"} for each in calls]
    asking.create(model="scripted", input=results, tools=[TOOL], conversation="monday")
    asked = upstream.asked[-1].body
    assert "conversation" not in asked and "previous_response_id" not in asked
    assert asked["input"] == [
        {"role": "user", "content": "I live in Lisbon."},
        {"role": "assistant", "content": "Noted."},
        {"role": "user", "content": "Book a table."},
        {"type": "function_call", "call_id": "call_0", "name": "book_table", "arguments": "{}"},
        {"type": "function_call", "call_id": "call_1", "name": "book_table", "arguments": '{"a":1}'},
        *results,
    ]
    assert [role for role, _ in stored(behind, "ana", "monday")] == ["human", "ai", "human", "ai", "tool", "tool", "ai"]


def test_a_response_goes_on_in_its_chat(address: str, upstream: LanguageServer, behind: Settings) -> None:
    upstream.script = ["Noted.", "You live in Lisbon."]
    first = client(address).responses.create(model="scripted", input="I live in Lisbon.")
    client(address).responses.create(model="scripted", input="And where?", previous_response_id=first.id)
    asked = upstream.asked[-1].body
    assert asked["previous_response_id"] == first.id and asked["input"] == "And where?", "the endpoint has the history"
    (chat,) = chats(behind, "ana")
    assert [content for _, content in stored(behind, "ana", chat)][1:] == [
        "Noted.",
        "And where?",
        "You live in Lisbon.",
    ]


@pytest.mark.parametrize("model", ["scripted", "ltst/recall"])
def test_nobody_goes_on_with_anothers_response(
    address: str, upstream: LanguageServer, behind: Settings, model: str
) -> None:
    first = client(address).responses.create(model=model, input="My cat is called Miau.")
    upstream.asked.clear()
    for asking in ("scripted", "ltst/recall"):
        with pytest.raises(openai.NotFoundError, match="no response"):
            client(address, "eve").responses.create(model=asking, input="And?", previous_response_id=first.id)
    assert upstream.asked == [] and chats(behind, "eve") == []


def test_a_chat_goes_from_an_agent_to_a_model(address: str, upstream: LanguageServer, behind: Settings) -> None:
    first = client(address, chat="monday").responses.create(model="ltst/recall", input="I live in Lisbon.")
    client(address).responses.create(model="scripted", input="And where?", previous_response_id=first.id)
    asked = upstream.asked[-1].body
    assert "previous_response_id" not in asked, "which the endpoint cannot know"
    assert [each["content"] for each in asked["input"]] == ["I live in Lisbon.", first.output_text, "And where?"]
    assert len(stored(behind, "ana", "monday")) == 4


def test_users_do_not_meet(address: str, upstream: LanguageServer) -> None:
    client(address, "ana").responses.create(model="scripted", input="My cat is called Miau.", conversation="c")
    client(address, "eve").responses.create(model="scripted", input="What is the cat called?", conversation="c")
    assert "Miau" not in str(upstream.asked[-1].body)


def test_the_field_user_and_keys(behind: Settings, upstream: LanguageServer) -> None:
    with Memory(settings=behind) as memory:
        own, admin = memory.keys.create("ana").secret or "", memory.keys.create(admin=True).secret or ""
    with listening(behind) as server:

        def asking(key: str) -> Any:
            return openai.OpenAI(base_url=f"{server.url}/v1", api_key=key, max_retries=0).responses

        for model in ("scripted", "ltst/recall"):
            with pytest.raises(openai.PermissionDeniedError, match="the field user names another"):
                asking(own).create(model=model, input="hello", user="eve")
            asking(own).create(model=model, input="hello", user="ana")
            asking(admin).create(model=model, input="hello", user="eve")
            with pytest.raises(openai.UnprocessableEntityError, match="X-User-Id"):
                asking(admin).create(model=model, input="hello")
            with pytest.raises(openai.AuthenticationError):
                asking("nobody's").create(model=model, input="hello")
    assert len(chats(behind, "eve")) == len(chats(behind, "ana")) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_without_any_model_an_agent_answers(settings: Settings, stream: bool) -> None:
    with listening(settings) as server:
        asking = client(server.url).responses
        first = asking.create(model="ltst/recall", input="I live in Lisbon.")
        asked: Any = {"model": "ltst/recall", "input": "Where do I live?", "previous_response_id": first.id}
        if stream:
            with asking.stream(**asked) as streamed:
                kinds = [each.type for each in streamed]
                answer: Any = streamed.get_final_response()
            assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
            assert "response.output_text.delta" in kinds
        else:
            answer = asking.create(**asked)
        assert "I live in Lisbon." in answer.output_text
        assert answer.status == "completed" and answer.previous_response_id == first.id
        with pytest.raises(openai.NotFoundError, match="LTST_PROXY_BASE_URL"):
            asking.create(model="gpt", input="hello")
    assert len(chats(settings, "ana")) == 1


def test_a_request_under_a_key_has_its_effect_once(settings: Settings) -> None:
    with listening(settings) as server:
        asking = client(server.url, chat="monday").responses
        same: Any = {"model": "ltst/recall", "input": "I live in Lisbon.", "extra_headers": {"Idempotency-Key": "k"}}
        assert asking.create(**same).output_text == asking.create(**same).output_text
    assert len(stored(settings, "ana", "monday")) == 2


def test_an_agent_whose_model_fails_says_so_in_the_stream(settings: Settings) -> None:
    with listening(settings) as server:
        with client(server.url).responses.stream(model="ltst/assistant", input="hello") as streamed:
            last = [*streamed][-1]
        assert last.type == "response.failed"
        assert last.response.error is not None and "LTST_LLM_MODEL" in last.response.error.message
        with pytest.raises(openai.InternalServerError, match="LTST_LLM_MODEL"):
            client(server.url).responses.create(model="ltst/assistant", input="hello")


def test_an_endpoint_without_responses_is_named(address: str, upstream: LanguageServer) -> None:
    upstream.paths = frozenset({COMPLETIONS})
    with pytest.raises(openai.NotFoundError, match=r"127\.0\.0\.1:\d+ has no /responses.*chat completions"):
        client(address).responses.create(model="scripted", input="hello")


@pytest.mark.parametrize("code", [400, 401, 404, 429, 500])
def test_errors_of_the_upstream_come_back_as_they_are(
    address: str, upstream: LanguageServer, behind: Settings, code: int
) -> None:
    refusal = {"error": {"message": "no such model today", "type": "weather", "code": "rain"}}
    upstream.script = [Status(code, refusal), "Hello!"]
    with pytest.raises(openai.APIStatusError) as raised:
        client(address, chat="monday").responses.create(model="scripted", input="hello")
    assert raised.value.status_code == code
    assert raised.value.body == refusal["error"]
    client(address, chat="monday").responses.create(model="scripted", input="hello")
    assert stored(behind, "ana", "monday") == [("human", "hello"), ("ai", "Hello!")], "a retry is stored once"


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, "input"),
        ({"input": []}, "a list of at least one item"),
        ({"input": ""}, "a text or a list"),
        ({"input": [7]}, "each item of input"),
        ({"input": [{"content": "a"}]}, "a message with a role"),
        ({"input": "a", "instructions": 7}, "instructions must be a text"),
        ({"input": "a", "background": True}, "background"),
        ({"input": "a", "conversation": 7}, "conversation must be the id"),
        ({"input": "a", "conversation": "c", "previous_response_id": "r"}, "send one of them"),
        ({"input": [{"role": "assistant", "content": "a"}]}, "the last of input must be what the user says"),
        ({"input": [{"type": "reasoning", "summary": []}]}, "the last of input must be what the user says"),
    ],
)
def test_errors_name_what_is_wrong_with_a_request(settings: Settings, body: dict[str, Any], named: str) -> None:
    with listening(settings) as server:
        answer = httpx.post(f"{server.url}/v1/responses", json={"model": "ltst/recall", **body}, timeout=60)
    assert answer.status_code == 422, answer.text
    assert named in answer.json()["error"]["message"]
