"""A reranker judges the best of a search anew; when it cannot, the search stays as it was."""

from __future__ import annotations

import logging
import math
import re
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from helpers.embedders import hashed
from ltst import AsyncMemory, AsyncUser, CallableEmbedder, Hit, Memory, ModelUnavailable, Settings
from ltst.handles.recall import RERANKED
from ltst.providers.rerank import reranked

STORED = [f"The {colour} apple weighs {number} grams." for number, colour in enumerate(["red", "green", "blue"] * 4)]


def grams(text: str) -> float:
    return float(re.findall(r"\d+", text)[0])


class Judge:
    """A reranker that notes what it is asked; by its own taste the heaviest apple is the best."""

    def __init__(self, scores: Callable[[Sequence[str]], Any] = lambda texts: [grams(text) for text in texts]) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self.threads: set[int] = set()
        self._scores = scores

    def scores(self, query: str, texts: Sequence[str]) -> Any:
        self.asked.append((query, list(texts)))
        self.threads.add(threading.get_ident())
        return self._scores(texts)


@pytest.fixture
def opened(url: str, settings: Settings) -> Callable[..., Any]:
    @asynccontextmanager
    async def open(reranker: Any = None, name: str = "ana", stored: Sequence[str] = STORED) -> AsyncIterator[AsyncUser]:
        """A user who has some apples, the same in every test."""
        mine = Settings(worker=False, database_url=url, home=settings.home)
        embedder = CallableEmbedder(hashed, "hashed", 384)
        async with AsyncMemory(settings=mine, embedder=embedder, reranker=reranker) as memory:
            user = memory.user(name)
            if not await user.sessions.get("monday"):
                await user.chat("monday").add_many([{"role": "user", "content": content} for content in stored])
            yield user

    return open


def fail(problem: Exception) -> Callable[[Sequence[str]], Any]:
    def scores(texts: Sequence[str]) -> Any:
        raise problem

    return scores


async def test_its_order_is_the_order(opened: Callable[..., Any]) -> None:
    judge = Judge()
    async with opened() as user:
        plain = await user.search("red apple", limit=50)
    async with opened(judge) as user:
        hits = await user.search("red apple", limit=50)
    assert [grams(hit.content) for hit in hits] == sorted((grams(hit.content) for hit in hits), reverse=True)
    assert {hit.id for hit in hits} == {hit.id for hit in plain}
    assert [hit.id for hit in hits] != [hit.id for hit in plain]


async def test_its_score_stands_beside_the_others(opened: Callable[..., Any]) -> None:
    async with opened() as user:
        plain = {hit.id: hit for hit in await user.search("red apple", limit=50)}
    async with opened(Judge()) as user:
        for hit in await user.search("red apple", limit=50):
            assert hit.scores == {**plain[hit.id].scores, "rerank": grams(hit.content)}
            assert hit.score in {each.score for each in plain.values()}


async def test_it_sees_more_than_were_asked_for(opened: Callable[..., Any]) -> None:
    judge = Judge()
    async with opened(judge) as user:
        hits = await user.search("red apple", limit=1)
    ((query, texts),) = judge.asked
    assert query == "red apple"
    assert len(texts) > 1
    assert [hit.content for hit in hits] == [max(texts, key=grams)]


async def test_it_sees_at_least_fifty_or_all_that_were_asked_for(opened: Callable[..., Any]) -> None:
    judge = Judge()
    async with opened(judge, "gardener", [f"The apple weighs {number} grams." for number in range(120)]) as user:
        assert len(await user.search("apple", limit=10)) == 10
        assert len(await user.search("apple", limit=100)) == 100
    assert [len(texts) for _, texts in judge.asked] == [RERANKED, 100]


async def test_equal_scores_leave_the_order(opened: Callable[..., Any]) -> None:
    async with opened() as user:
        plain = await user.search("red apple", limit=50)
    async with opened(Judge(lambda texts: [0.5] * len(texts))) as user:
        assert [hit.id for hit in await user.search("red apple", limit=50)] == [hit.id for hit in plain]


@pytest.mark.parametrize(
    "scores",
    [
        fail(ModelUnavailable("no network")),
        lambda texts: [],
        lambda texts: [1.0] * (len(texts) - 1),
        lambda texts: [1.0] * (len(texts) + 1),
        lambda texts: [math.nan] * len(texts),
        lambda texts: [*[1.0] * (len(texts) - 1), math.inf],
        lambda texts: np.full(len(texts), np.nan),
        fail(ConnectionRefusedError("no network")),
        lambda texts: None,
        lambda texts: ["good"] * len(texts),
    ],
    ids=[
        "unavailable",
        "none",
        "too few",
        "too many",
        "not numbers",
        "infinite",
        "an array that is no good",
        "in its own way",
        "nothing",
        "words",
    ],
)
async def test_one_that_fails_leaves_the_order(
    opened: Callable[..., Any], caplog: pytest.LogCaptureFixture, scores: Callable[[Sequence[str]], Any]
) -> None:
    async with opened() as user:
        plain = await user.search("red apple", limit=3)
    with caplog.at_level(logging.WARNING, logger="ltst"):
        async with opened(Judge(scores)) as user:
            assert await user.search("red apple", limit=3) == plain
    assert "search goes without the reranker" in caplog.messages


@pytest.mark.parametrize("row", [tuple, iter, lambda scores: np.array(scores, dtype=np.float32)])
async def test_any_row_of_numbers_will_do(opened: Callable[..., Any], row: Callable[[list[float]], Any]) -> None:
    async with opened(Judge(lambda texts: row([grams(text) for text in texts]))) as user:
        hits = await user.search("red apple", limit=50)
    assert [grams(hit.content) for hit in hits] == sorted((grams(hit.content) for hit in hits), reverse=True)
    assert all(isinstance(hit.scores["rerank"], float) for hit in hits)


async def test_it_is_asked_again_for_what_comes_from_the_cache(opened: Callable[..., Any]) -> None:
    judge = Judge()
    async with opened(judge) as user:
        first = await user.search("green apple", limit=2)
        await user._desk.core.finish()
        assert await user.search("green apple", limit=2) == first
        assert len(judge.asked) == 2
        assert judge.asked[0] == judge.asked[1]


async def test_it_is_not_asked_about_nothing(opened: Callable[..., Any]) -> None:
    judge = Judge()
    async with opened(judge) as user:
        assert await user.search("zeppelin", floor=0.99) == []
    assert judge.asked == []


async def test_it_does_not_stand_in_the_way_of_others(opened: Callable[..., Any]) -> None:
    """It may block, so it is asked in a thread."""
    judge = Judge()
    async with opened(judge) as user:
        await user.search("red apple")
    assert threading.get_ident() not in judge.threads


async def test_where_not_all_fits_into_a_context_what_it_prefers_does(opened: Callable[..., Any]) -> None:
    async with opened(Judge()) as user:
        best, *_, worst = await user.search("apple", limit=30)
        context = await user.chat("today").context("apple", max_tokens=100)
    assert context.dropped["recalled"] > 0
    assert best.content in context.text
    assert worst.content not in context.text


def test_the_sync_memory_takes_one_too(url: str, settings: Settings) -> None:
    judge = Judge()
    mine = Settings(worker=False, database_url=url, home=settings.home)
    embedder = CallableEmbedder(hashed, "hashed", 384)
    with Memory(settings=mine, embedder=embedder, reranker=judge) as memory:
        user = memory.user("bob")
        for content in STORED[:3]:
            user.chat("monday").add("user", content)
        assert user.search("apple", limit=1)[0].content == STORED[2]


def test_hits_are_not_changed_in_place() -> None:
    hit = Hit("message", "1", "2 grams", 0.5, {"dense": 1.0}, None, None, None, ())
    (judged,) = reranked(Judge(), "apple", [hit])
    assert (judged.scores, hit.scores) == ({"dense": 1.0, "rerank": 2.0}, {"dense": 1.0})
