"""A revoked key, an erased user or an expired token ends the streams that are open; nobody else's."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import jwt
import pytest

from helpers import mcp_clients
from helpers.language_server import Events, LanguageServer, events
from helpers.serving import listening
from ltst import Memory, Settings
from ltst.handles import callers, visits
from ltst.handles.callers import Caller, CallerCheck

STREAM = {"Accept": "text/event-stream"}
HANDSHAKE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
}
SECRET = "a secret that is long enough for HS256"


@pytest.fixture(autouse=True)
def looking_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(visits, "LOOKED_AFTER_EVERY", 0.05)
    monkeypatch.setattr(callers, "KEYS_LOOKED_FOR_EVERY", 0.0)


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=60) as made:
        yield made


def bearer(secret: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@contextmanager
def stream(client: httpx.Client, url: str, headers: dict[str, str], body: Any = None) -> Iterator[Iterator[str]]:
    """The lines of a stream that has begun."""
    method = "GET" if body is None else "POST"
    with client.stream(method, url, headers={**STREAM, **headers}, json=body) as answer:
        assert answer.status_code == 200, answer.read()
        yield answer.iter_lines()


@pytest.mark.parametrize("path", ["/v1/events", "/v1/admin/events"])
def test_a_revoked_key_ends_its_streams_and_no_others(settings: Settings, client: httpx.Client, path: str) -> None:
    with Memory(settings=settings) as memory, listening(settings) as server:
        of_all = "admin" in path
        revoked, good = (memory.keys.create(None if of_all else "ana", admin=of_all) for _ in range(2))
        with (
            stream(client, server.url + path, bearer(revoked.secret)) as ending,
            stream(client, server.url + path, bearer(good.secret)) as lasting,
        ):
            memory.keys.revoke(revoked.key_id)
            for _ in ending:
                pass
            memory.user("ana").facts.set("home", "Lisbon")
            assert any("fact" in line for line in lasting)
        assert client.get(server.url + path, headers=bearer(revoked.secret)).status_code == 401


def test_an_erased_user_hears_no_more(settings: Settings, client: httpx.Client) -> None:
    with Memory(settings=settings) as memory, listening(settings) as server:
        made = memory.keys.create("ana")
        with stream(client, f"{server.url}/v1/events", bearer(made.secret)) as ending:
            memory.user("ana").erase()
            for _ in ending:
                pass


def test_the_first_key_ends_the_streams_of_those_who_came_without(settings: Settings, client: httpx.Client) -> None:
    with (
        Memory(settings=settings) as memory,
        listening(settings) as server,
        stream(client, f"{server.url}/v1/events", {"X-User-Id": "ana"}) as ending,
    ):
        memory.keys.create(admin=True)
        for _ in ending:
            pass


def test_a_token_that_expires_ends_its_stream(settings: Settings, client: httpx.Client) -> None:
    trusting = replace(settings, jwt_secret=SECRET)
    with listening(trusting) as server:
        for seconds in (1, 10, 60):  # longer, if the machine was too busy to begin in time
            claims = {"sub": "ana", "exp": time.time() - callers.LEEWAY + seconds}
            token = jwt.encode(claims, SECRET, "HS256")
            with client.stream("GET", f"{server.url}/v1/events", headers={**STREAM, **bearer(token)}) as answer:
                if answer.status_code == 200:
                    for _ in answer.iter_lines():
                        pass
                    break
        assert answer.status_code == 200
        assert client.get(f"{server.url}/v1/events", headers=bearer(token)).status_code == 401


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/chat", {"message": "Where do I live?", "chat_id": "monday", "stream": True, "agent_name": "assistant"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Where?"}], "stream": True}),
    ],
)
def test_a_revoked_key_ends_an_answer_that_is_being_streamed_and_the_answer_is_kept(
    settings: Settings, client: httpx.Client, upstream: LanguageServer, path: str, body: dict[str, Any]
) -> None:
    go = threading.Event()
    head, *rest = events("You live in Lisbon.")
    upstream.script = [Events([head, b"".join(rest)], go)]
    modelled = replace(settings, llm_model="scripted", llm_base_url=upstream.url)
    with Memory(settings=settings) as memory, listening(modelled) as server:
        made = memory.keys.create("ana")
        try:
            with stream(client, server.url + path, {**bearer(made.secret), "X-Chat-Id": "monday"}, body) as ending:
                memory.keys.revoke(made.key_id)
                assert not any("Lisbon" in line for line in ending)
        finally:
            go.set()
        chat = memory.user("ana").chat("monday")
        until(lambda: [each.content for each in chat.window()][1:] == ["You live in Lisbon."])


def until(condition: Callable[[], bool]) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up, "it never came to be"
        time.sleep(0.02)


@pytest.mark.parametrize("path", ["/mcp", "/sse"])
def test_a_revoked_key_ends_its_streams_of_mcp(settings: Settings, client: httpx.Client, path: str) -> None:
    with Memory(settings=settings) as memory, mcp_clients.listening(settings) as url:
        made = memory.keys.create("ana")
        session: dict[str, str] = {}
        if path == "/mcp":
            accepted = {"Accept": "application/json, text/event-stream"}
            begun = client.post(f"{url}/mcp", headers={**accepted, **bearer(made.secret)}, json=HANDSHAKE)
            session = {"Mcp-Session-Id": begun.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
        with stream(client, url + path, {**bearer(made.secret), **session}) as ending:
            memory.keys.revoke(made.key_id)
            for _ in ending:
                pass


def test_who_comes_while_the_others_are_asked_about_may_stay(
    settings: Settings, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, answer = threading.Event(), threading.Event()
    ask = CallerCheck.still_welcome

    async def slow(caller_check: CallerCheck, given: Any) -> set[Caller]:
        found = await ask(caller_check, given)
        asking.set()
        await asyncio.to_thread(answer.wait, 60)
        return found

    monkeypatch.setattr(CallerCheck, "still_welcome", slow)
    with Memory(settings=settings) as memory, listening(settings) as server:
        first, second = memory.keys.create("ana"), memory.keys.create("bob")
        with stream(client, f"{server.url}/v1/events", bearer(first.secret)):
            assert asking.wait(60)
            with stream(client, f"{server.url}/v1/events", bearer(second.secret)) as lasting:
                answer.set()
                asking.clear()
                assert asking.wait(60), "nobody was asked about again"
                memory.user("bob").facts.set("home", "Lisbon")
                assert any("fact" in line for line in lasting)


def test_all_streams_are_looked_after_at_once(
    settings: Settings, client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[Caller]] = []
    ask = CallerCheck.still_welcome

    async def counted(caller_check: CallerCheck, given: Any) -> set[Caller]:
        asked.append({*given})
        return await ask(caller_check, asked[-1])

    monkeypatch.setattr(CallerCheck, "still_welcome", counted)
    with Memory(settings=settings) as memory, listening(settings) as server:
        made = memory.keys.create("ana")
        begun = []
        for _ in range(20):
            entered = stream(client, f"{server.url}/v1/events", bearer(made.secret))
            entered.__enter__()
            begun.append(entered)
        assert len(server.app.state.visits._here) == 20
        before = len(asked)
        until(lambda: len(asked) > before + 3)
        assert all(len(each) == 1 for each in asked), "one question for all streams of a key"
        for entered in begun:
            entered.__exit__(None, None, None)
        until(lambda: not server.app.state.visits._here and server.app.state.visits._looking is None)
