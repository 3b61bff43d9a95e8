"""An endpoint that speaks OpenAI's /embeddings, played by a server on this machine."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from helpers.embedding_endpoint import Answer, embedding_endpoint
from ltst import Invalid, ModelUnavailable
from ltst.providers import remote
from ltst.providers.embedding import OpenAIEmbedder, TextRefused

KEY = "sk-very-secret"


def embeddings(texts: list[str], dimensions: int = 3) -> dict[str, Any]:
    """An answer in the wrong order, as the indexes allow."""
    rows = [{"index": number, "embedding": [len(text), *[1.0] * (dimensions - 1)]} for number, text in enumerate(texts)]
    return {"object": "list", "data": rows[::-1], "model": "m"}


class Endpoint:
    """Answers as scripted, then as it should, and keeps what it was asked."""

    def __init__(self) -> None:
        self.script: list[Answer | Callable[[dict[str, Any]], Answer]] = []
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.url = ""

    def answer(self, question: dict[str, Any]) -> Answer:
        scripted = self.script.pop(0) if self.script else (200, embeddings(question["input"]))
        return scripted(question) if callable(scripted) else scripted


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    played = Endpoint()

    def answer(path: str, headers: Mapping[str, str], question: dict[str, Any]) -> Answer:
        played.asked.append(question)
        played.headers.append(dict(headers))
        played.paths.append(path)
        return played.answer(question)

    with embedding_endpoint(answer) as url:
        played.url = url
        yield played


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were made, without making them."""
    made: list[float] = []
    monkeypatch.setattr(remote.time, "sleep", made.append)
    return made


def test_vectors_come_in_the_order_of_their_texts(endpoint):
    embedder = OpenAIEmbedder(endpoint.url + "/", "small", KEY)
    vectors = embedder.embed(["", "aaaa", "aa"])
    assert vectors.dtype == np.float32
    assert vectors[1] == pytest.approx(np.array([4, 1, 1]) / 18**0.5)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3))
    assert endpoint.asked == [{"model": "small", "input": [" ", "aaaa", "aa"]}]
    assert endpoint.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert endpoint.paths == ["/v1/embeddings"]


def test_without_a_key_none_is_sent(endpoint):
    OpenAIEmbedder(endpoint.url, "small").embed(["a"])
    assert "Authorization" not in endpoint.headers[0]


def test_the_name_tells_model_and_host(endpoint):
    assert OpenAIEmbedder("https://api.example.com/v1", "small").name == "small@api.example.com"
    assert OpenAIEmbedder("http://localhost:11434/v1", "small").name == "small@localhost:11434"
    assert OpenAIEmbedder("http://localhost:11434/v1", "small", name="kept").name == "kept"


def test_dimensions_are_found_out(endpoint):
    embedder = OpenAIEmbedder(endpoint.url, "small")
    assert embedder.dimensions == 3
    assert embedder.dimensions == 3
    assert embedder.embed([]).shape == (0, 3)
    assert len(endpoint.asked) == 1
    assert "dimensions" not in endpoint.asked[0]


def test_dimensions_are_asked_for(endpoint):
    endpoint.script = [lambda question: (200, embeddings(question["input"], question["dimensions"]))]
    embedder = OpenAIEmbedder(endpoint.url, "small", dimensions=5)
    assert embedder.dimensions == 5
    assert embedder.embed(["a"]).shape == (1, 5)


def test_other_dimensions_are_refused(endpoint):
    with pytest.raises(ModelUnavailable, match="3 dimensions where 5"):
        OpenAIEmbedder(endpoint.url, "small", dimensions=5).embed(["a"])


def test_dimensions_may_not_change(endpoint):
    embedder = OpenAIEmbedder(endpoint.url, "small")
    embedder.embed(["a"])
    endpoint.script = [(200, embeddings(["a"], 4))]
    with pytest.raises(ModelUnavailable, match="4 dimensions where 3"):
        embedder.embed(["a"])


def test_many_texts_go_in_several_requests(endpoint):
    texts = ["x" * (number % 7) for number in range(300)] + ["y" * 60_000, "z" * 60_000]
    vectors = OpenAIEmbedder(endpoint.url, "small").embed(texts)
    assert [len(asked["input"]) for asked in endpoint.asked] == [128, 128, 45, 1]
    assert np.argsort(-vectors[:, 0], kind="stable")[:2].tolist() == [300, 301]
    assert vectors.shape == (302, 3)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_endpoint_is_asked_again(endpoint, pauses, status):
    endpoint.script = [(status, {"error": "busy"})] * 2
    assert OpenAIEmbedder(endpoint.url, "small").embed(["a"]).shape == (1, 3)
    assert len(endpoint.asked) == 3
    assert 0.3 < pauses[0] < pauses[1] < 1.3


def test_it_waits_as_long_as_it_is_told(endpoint, pauses):
    endpoint.script = [
        (429, {}, {"Retry-After": "3"}),
        (429, {}, {"Retry-After": "86400"}),
        (503, {}, {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}),
    ]
    OpenAIEmbedder(endpoint.url, "small").embed(["a"])
    assert pauses[:2] == [3, remote.LONGEST_PAUSE]
    assert pauses[2] < 3


def test_it_gives_up_in_the_end(endpoint):
    endpoint.script = [(500, {"error": {"message": "the model crashed"}})] * 10
    with pytest.raises(ModelUnavailable, match=r"4 attempts: HTTP 500 .*the model crashed"):
        OpenAIEmbedder(endpoint.url, "small").embed(["a"])
    assert len(endpoint.asked) == 4


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_final(endpoint, status):
    endpoint.script = [(status, {"error": "no"})]
    with pytest.raises(ModelUnavailable, match=f"HTTP {status}") as caught:
        OpenAIEmbedder(endpoint.url, "small").embed(["a"])
    assert not isinstance(caught.value, TextRefused)
    assert len(endpoint.asked) == 1


def test_refused_texts_are_told_apart(endpoint):
    endpoint.script = [(400, {"error": {"message": "too long"}})]
    with pytest.raises(TextRefused, match="too long"):
        OpenAIEmbedder(endpoint.url, "small").embed(["a"])


@pytest.mark.parametrize(
    "body",
    [
        b"<html>", b"", b"\xff\xfe", b"null", b"[]", b'"text"', {}, {"data": None}, {"data": []}, {"data": [1]},
        {"data": [{}]}, {"data": [{"index": 0}]}, {"data": [{"index": 0, "embedding": "AAAA"}]},
        {"data": [{"index": 0, "embedding": [1, None]}]},
        {"data": [{"index": 0, "embedding": []}]}, {"data": [{"index": 0, "embedding": [0, 0, 0]}]},
        {"data": [{"index": 0, "embedding": [1, float("nan")]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": 1, "embedding": [1, 2]}]},
        {"data": [{"index": 0, "embedding": [1, 2]}, {"index": "1", "embedding": [1, 2]}]},
    ],
)  # fmt: skip
def test_a_malformed_answer_is_refused(endpoint, body):
    endpoint.script = [(200, body)]
    with pytest.raises(ModelUnavailable):
        OpenAIEmbedder(endpoint.url, "small").embed(["a"])


def test_an_answer_that_breaks_off_is_asked_for_again(endpoint):
    endpoint.script = [(200, b"{", {"Content-Encoding": "identity", "Transfer-Encoding": "chunked"})]
    assert OpenAIEmbedder(endpoint.url, "small", timeout=2).embed(["a"]).shape == (1, 3)


def test_an_endpoint_that_is_not_there(pauses):
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:9 gave no embeddings"):
        OpenAIEmbedder("http://127.0.0.1:9/v1", "small", KEY).embed(["a"])
    assert len(pauses) == 3


def test_a_redirect_does_not_carry_the_key_away(endpoint):
    for status in (301, 302, 307, 308):
        endpoint.script = [(status, {}, {"Location": endpoint.url.replace("127.0.0.1", "localhost")})]
        with pytest.raises(ModelUnavailable, match=f"HTTP {status}"):
            OpenAIEmbedder(endpoint.url, "small", KEY).embed(["a"])
    assert len(endpoint.asked) == 4


def test_the_key_is_never_told(endpoint, caplog):
    caplog.set_level(logging.DEBUG)
    embedder = OpenAIEmbedder(endpoint.url, "small", KEY)
    endpoint.script = [(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}})]
    with pytest.raises(ModelUnavailable) as final:
        embedder.embed(["a"])
    endpoint.script = [(500, KEY)] * 4
    with pytest.raises(ModelUnavailable) as busy:
        embedder.embed(["a"])
    told = repr([final.value, busy.value, embedder, caplog.records, [vars(record) for record in caplog.records]])
    assert KEY not in told
    assert "***" in told


@pytest.mark.parametrize("url", ["", "api.openai.com/v1", "ftp://host/v1", "file:///etc/passwd", "http://"])
def test_a_bad_address_is_refused(url):
    with pytest.raises(Invalid, match="http"):
        OpenAIEmbedder(url, "small")


def test_bad_dimensions_are_refused():
    with pytest.raises(Invalid):
        OpenAIEmbedder("http://localhost", "small", dimensions=0)


def test_long_texts_are_cut():
    text = "A sentence of some length, with a comma. " * 200
    parts = OpenAIEmbedder("http://localhost", "small").parts(text)
    assert "".join(parts) == text
    assert max(map(len, parts)) <= 2000
