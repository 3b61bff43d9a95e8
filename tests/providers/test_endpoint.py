"""The asynchronous endpoint: answers, streams in all the shapes they come in, and a plain passage."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from helpers.language_server import Close, Events, Hang, LanguageServer, Raw, Status, event, events
from ltst import Invalid, ModelUnavailable, Settings
from ltst.providers.endpoint import Endpoint, EventReader, model_endpoint, proxy_endpoint

KEY = "sk-very-secret"
REQUEST = {"model": "small", "messages": [{"role": "user", "content": "My secret is the blue door"}]}


def endpoint(upstream: LanguageServer, **options: Any) -> Endpoint:
    return Endpoint(upstream.url, KEY, **{"timeout": 5, **options})


async def heard(asked: Endpoint) -> str:
    chunks = [chunk async for chunk in asked.stream(REQUEST)]
    return "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_cut_anywhere_and_ended_in_any_way(size: int) -> None:
    stream = (
        ": a comment\n\ndata: one\n\ndata:two\r\n\r\nevent: message\r\ndata: three\rid: 7\r\r"
        "data: first\ndata: second\n\ndata: é世界\n\n\n\nretry: 5\n\ndata: last"
    ).encode()
    reader = EventReader()
    found = [data for start in range(0, len(stream), size) for data in reader.feed(stream[start : start + size])]
    assert found + reader.end() == ["one", "two", "three", "first\nsecond", "é世界", "last"]


async def test_an_answer(upstream: LanguageServer) -> None:
    answer = await endpoint(upstream).complete(REQUEST)
    assert answer["choices"][0]["message"]["content"] == "Hello."
    assert upstream.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert upstream.asked[0].body == {**REQUEST, "stream": False}


async def test_without_a_key_none_is_sent(upstream: LanguageServer) -> None:
    await Endpoint(upstream.url + "/").complete(REQUEST)
    assert "authorization" not in upstream.asked[0].headers


async def test_a_stream(upstream: LanguageServer) -> None:
    upstream.script = ["The blue  door\nis open."]
    assert await heard(endpoint(upstream)) == "The blue  door\nis open."
    assert upstream.asked[0].body["stream"] is True


@pytest.mark.parametrize("size", [1, 5, 64])
async def test_a_stream_in_small_pieces_with_comments_and_crlf(upstream: LanguageServer, size: int) -> None:
    whole = b": keep-alive\r\n\r\n" + b"".join(events("Olá, 世界!")).replace(b"\n", b"\r\n")
    upstream.script = [Events([whole[start : start + size] for start in range(0, len(whole), size)])]
    assert await heard(endpoint(upstream)) == "Olá, 世界!"


async def test_a_stream_that_only_gives_a_reason_to_finish_is_complete(upstream: LanguageServer) -> None:
    upstream.script = [Events([event({"content": "Yes."}), event({}, "stop")])]
    assert await heard(endpoint(upstream)) == "Yes."


async def test_a_server_that_knows_no_streams(upstream: LanguageServer) -> None:
    upstream.script = [Raw(json.dumps(upstream.completion("All at once.")).encode())]
    assert await heard(endpoint(upstream)) == "All at once."


BROKEN = {
    "cut off": Events([event({"content": "The first half"})]),
    "an error in it": Events([event({"content": "a"}), b'data: {"error": {"message": "' + KEY.encode() + b'"}}\n\n']),
    "no JSON": Events([b"data: {oops\n\n"]),
    "no object": Events([b"data: [1]\n\n"]),
    "closed": Close(),
    "empty": Events([]),
    "refused": Status(401, {"error": {"message": f"wrong key {KEY}"}}),
    "broken": Status(500, "oops"),
    "elsewhere": Status(307, "", {"Location": "http://127.0.0.1:9/v1"}),
    "something else": Raw(b"<html>"),
}


@pytest.mark.parametrize("trouble", BROKEN.values(), ids=BROKEN.keys())
async def test_trouble_is_model_unavailable_and_tells_no_secret(upstream: LanguageServer, trouble: Any) -> None:
    upstream.script = [trouble]
    with pytest.raises(ModelUnavailable) as raised:
        await heard(endpoint(upstream))
    assert "127.0.0.1" in str(raised.value)
    assert KEY not in str(raised.value) and "blue door" not in str(raised.value)
    assert len(upstream.asked) == 1


async def test_whole_answers_have_the_same_trouble(upstream: LanguageServer) -> None:
    upstream.script = [Status(429, ""), Raw(b"{}"), Close(), Raw(b'{"error": {"message": "no"}}')]
    for _ in range(4):
        with pytest.raises(ModelUnavailable):
            await endpoint(upstream).complete(REQUEST)


async def test_no_answer_in_time(upstream: LanguageServer) -> None:
    upstream.otherwise = Hang()
    with pytest.raises(ModelUnavailable, match=r"0\.2 seconds"):
        await endpoint(upstream, timeout=0.2).complete(REQUEST)
    with pytest.raises(ModelUnavailable, match=r"0\.2 seconds"):
        await heard(endpoint(upstream, timeout=0.2))
    never = threading.Event()
    upstream.otherwise = Events([event({"content": "a"}), event({"content": "b"})], never)
    with pytest.raises(ModelUnavailable, match=r"0\.2 seconds"):
        await heard(endpoint(upstream, timeout=0.2))
    never.set()


async def test_nobody_there() -> None:
    with pytest.raises(ModelUnavailable, match="cannot be reached"):
        await Endpoint("http://127.0.0.1:1/v1", KEY, timeout=2).complete(REQUEST)


async def test_a_passage_carries_refusals_and_no_keys_of_the_client(upstream: LanguageServer) -> None:
    asked = endpoint(upstream)
    headers = {"Authorization": "Bearer ltst-key", "Cookie": "a=b", "X-User-Id": "ana", "Accept": "text/event-stream"}
    upstream.script = [Status(400, {"error": {"message": "too long"}}, {"X-Request-Id": "7"})]
    passage = await asked.send("POST", "/chat/completions", json.dumps(REQUEST).encode(), headers)
    body = b"".join([chunk async for chunk in passage.aiter_bytes()])
    await passage.aclose()
    assert (passage.status, passage.ok, json.loads(body)["error"]["message"]) == (400, False, "too long")
    assert passage.headers["x-request-id"] == "7" and "content-length" not in passage.headers
    sent = upstream.asked[0].headers
    assert sent["authorization"] == f"Bearer {KEY}" and sent["accept"] == "text/event-stream"
    assert "cookie" not in sent and "x-user-id" not in sent


async def test_a_passage_to_another_path(upstream: LanguageServer) -> None:
    passage = await endpoint(upstream).send("GET", "models?limit=5", stream=False)
    assert b"scripted" in b"".join([chunk async for chunk in passage.aiter_bytes()])
    assert upstream.asked[0].path == "/v1/models?limit=5" and "set-cookie" not in passage.headers
    for path in ("../admin", "/models/%2e%2e/%2e%2e/admin"):
        with pytest.raises(Invalid, match="below the address"):
            await endpoint(upstream).send("GET", path)


def test_which_endpoint_the_settings_name() -> None:
    assert model_endpoint(Settings()) is None and proxy_endpoint(Settings()) is None
    model = Settings(llm_model="small", llm_base_url="http://model:1/v1")
    both = Settings(llm_model="small", llm_base_url="http://model:1/v1", proxy_base_url="http://proxy:2/v1")
    assert [each and each.host for each in (model_endpoint(both), proxy_endpoint(both), proxy_endpoint(model))] == [
        "model:1",
        "proxy:2",
        "model:1",
    ]
    assert KEY not in repr(Endpoint("http://model:1/v1", KEY))
    with pytest.raises(Invalid, match="LTST_PROXY_BASE_URL"):
        Settings(proxy_api_key=KEY)
    with pytest.raises(Invalid, match="proxy_base_url"):
        Settings(proxy_base_url="proxy")
