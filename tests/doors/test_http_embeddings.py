"""Embeddings and single models over the proxy, with the official client."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import httpx
import openai
import pytest

from helpers.language_server import Raw, language_server
from helpers.serving import Listening, listening
from ltst import Memory, Settings


def client(address: str, key: str = "of no use here") -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{address}/v1", api_key=key, max_retries=0)


def alike(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_vectors_of_texts_by_the_model_of_the_database(door: Listening, settings: Settings) -> None:
    texts = ["I live in Lisbon.", "My home is Lisbon.", "The train was late."]
    asking = client(door.url).embeddings
    coded = asking.create(model="ltst/embedder", input=texts)  # the client asks for base64 by itself
    plain = asking.create(model="ltst/embedder", input=texts, encoding_format="float", dimensions=384)
    with Memory(settings=settings) as memory:
        expected, named = memory.embed(texts), memory.embedder_model()
    assert [each.index for each in coded.data] == [0, 1, 2]
    for told in (coded, plain):
        assert told.model == named
        for each, vector in zip(told.data, expected, strict=True):
            assert each.embedding == pytest.approx(vector, abs=1e-6)
            assert math.hypot(*each.embedding) == pytest.approx(1, abs=1e-3)
    home, again, train = (each.embedding for each in plain.data)
    assert alike(home, again) > alike(home, train)
    assert coded.usage.prompt_tokens == coded.usage.total_tokens > 0
    assert len(asking.create(model=str(named), input="alone").data) == 1


@pytest.mark.parametrize(
    ("body", "status", "named"),
    [
        ({"input": "a"}, 422, "model is missing: ask for ltst/embedder"),
        ({"model": "text-embedding-3-small", "input": "a"}, 404, "ask for ltst/embedder"),
        ({"model": "ltst/recall", "input": "a"}, 404, "ask for ltst/embedder"),
        ({"model": "ltst/embedder"}, 422, "a list of at least one text"),
        ({"model": "ltst/embedder", "input": []}, 422, "a list of at least one text"),
        ({"model": "ltst/embedder", "input": [1, 2]}, 422, "tokens are not read"),
        ({"model": "ltst/embedder", "input": " "}, 422, "input"),
        ({"model": "ltst/embedder", "input": ["a"] * 2049}, 422, "at most 2,048 texts"),
        ({"model": "ltst/embedder", "input": ["é" * 300_000] * 2}, 422, "at most 1,048,576 bytes"),
        ({"model": "ltst/embedder", "input": "a", "dimensions": 1536}, 422, "dimensions must be 384"),
        ({"model": "ltst/embedder", "input": "a", "encoding_format": "hex"}, 422, "float, base64"),
        ([], 422, "a JSON object"),
    ],
)
def test_errors_name_what_is_accepted(door: Listening, body: Any, status: int, named: str) -> None:
    answer = httpx.post(f"{door.url}/v1/embeddings", json=body, timeout=60)
    assert answer.status_code == status, answer.text
    assert named in answer.json()["error"]["message"]


def test_other_models_are_those_behind_the_server(settings: Settings) -> None:
    vectors = {"object": "list", "model": "theirs", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}]}
    with language_server() as upstream:
        upstream.paths = frozenset({"/v1/embeddings"})
        upstream.script = [vectors_of(vectors)]
        with listening(replace(settings, proxy_base_url=upstream.url, proxy_api_key="sk-upstream")) as server:
            told = client(server.url).embeddings.create(model="theirs", input="a", encoding_format="float")
    assert told.data[0].embedding == [0.5]
    assert upstream.asked[0].body == {"model": "theirs", "input": "a", "encoding_format": "float"}
    assert upstream.asked[0].headers["authorization"] == "Bearer sk-upstream"


def vectors_of(answer: dict[str, Any]) -> Raw:
    return Raw(json.dumps(answer).encode())


def test_vectors_need_a_key_where_there_are_keys(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        secret = memory.keys.create("ana").secret or ""
    with listening(settings) as server:
        with pytest.raises(openai.AuthenticationError):
            client(server.url).embeddings.create(model="ltst/embedder", input="a")
        assert client(server.url, secret).embeddings.create(model="ltst/embedder", input="a").data


@pytest.mark.parametrize("name", ["ltst/recall", "ltst/embedder"])
def test_one_model(door: Listening, name: str) -> None:
    assert client(door.url).models.retrieve(name).id == name
    assert httpx.get(f"{door.url}/v1/models/{name}", timeout=60).json()["id"] == name, "with the slash as it is"
    for missing in ("ltst/nobody", "gpt"):
        with pytest.raises(openai.NotFoundError, match="there is no model"):
            client(door.url).models.retrieve(missing)


def test_a_model_behind_the_server(settings: Settings) -> None:
    with language_server() as upstream, listening(replace(settings, proxy_base_url=upstream.url)) as server:
        client(server.url).models.retrieve("vendor/large model")
    assert [each.path for each in upstream.asked] == ["/v1/models/vendor%2Flarge%20model"]


def test_a_path_cannot_leave_the_models(settings: Settings) -> None:
    with language_server() as upstream, listening(replace(settings, proxy_base_url=upstream.url)) as server:
        answer = httpx.get(f"{server.url}/v1/models/%2e%2e%2f%2e%2e%2fsecrets", timeout=60)
    assert answer.status_code == 422
    assert upstream.asked == []
