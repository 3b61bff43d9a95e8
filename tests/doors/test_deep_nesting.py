"""Requests that nest too deeply: every JSON body of both servers is refused with a clear 400, and nothing fails."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from helpers import mcp_clients
from helpers.language_server import language_server
from helpers.serving import listening
from ltst import Settings
from ltst.doors.http.app import Serving, create

DEPTHS = (1_500, 5_000, 100_000)
ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


def lists(depth: int) -> str:
    return "[" * depth + "]" * depth


def objects(depth: int) -> str:
    return '{"a":' * depth + "1" + "}" * depth


NESTED = [pytest.param(shape(depth), id=f"{shape.__name__} {depth}") for depth in DEPTHS for shape in (lists, objects)]


@pytest.fixture
def door(settings: Settings) -> Iterator[httpx.Client]:
    """The server, before a model, so that a request can go all the way."""
    with language_server() as model, listening(replace(settings, proxy_base_url=model.url)) as server:
        yield httpx.Client(base_url=server.url, timeout=60)


def takes_json(settings: Settings) -> list[tuple[str, str]]:
    """Every operation whose body is JSON, with something in its path."""
    paths: dict[str, dict[str, Any]] = create(Serving(settings)).openapi()["paths"]
    return [
        (method.upper(), re.sub(r"\{[^}]*\}", "x", path))
        for path, operations in paths.items()
        for method, operation in operations.items()
        if "application/json" in operation.get("requestBody", {}).get("content", {})
    ]


@pytest.mark.parametrize("nested", NESTED)
def test_every_body_that_nests_too_deeply_is_refused(door: httpx.Client, settings: Settings, nested: str) -> None:
    operations = takes_json(settings)
    assert ("POST", "/v1/chat/completions") in operations and len(operations) > 15
    for method, path in operations:
        answer = door.request(method, path, content=nested, headers=ACCEPTED)
        assert (answer.status_code, "nests" in answer.text) == (400, True), (method, path, answer.text)
    assert door.get("/healthz").status_code == 200


@pytest.mark.parametrize("model", ["ltst/recall", "scripted"])
@pytest.mark.parametrize("depth", [850, 880, 900, 920, 940, 960, 980, *DEPTHS])
def test_a_completion_that_nests_deeply_is_answered_or_refused(door: httpx.Client, model: str, depth: int) -> None:
    """Somewhere on the way to the model the depth becomes too much; wherever that is, it is a refusal."""
    head = json.dumps({"model": model, "messages": [{"role": "user", "content": "hello"}]})
    answer = door.post("/v1/chat/completions", content=f'{head[:-1]}, "extra": {objects(depth)}}}', headers=ACCEPTED)
    assert answer.status_code in (200, 400), answer.text
    if answer.status_code == 400:
        assert "nests" in answer.json()["error"]["message"]


@pytest.mark.parametrize("nested", NESTED)
def test_a_call_of_a_tool_that_nests_too_deeply_is_refused(settings: Settings, nested: str) -> None:
    with mcp_clients.listening(settings) as url:
        call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":%s}}'
        answer = httpx.post(f"{url}/mcp", content=call % nested, headers=ACCEPTED, timeout=60)
        assert answer.status_code == 400, answer.text
        assert "recursion limit" in answer.json()["error"]["message"]
