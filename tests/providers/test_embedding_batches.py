"""An embedder beside the event loop: shared batches, turns, failures, the end."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest

from helpers.embedders import Bare
from ltst import Invalid, ModelUnavailable
from ltst.providers.embedding import CallableEmbedder, Embedding, LocalEmbedder, TextRefused


class Model:
    """A function that keeps its batches and can be held up."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.threads: set[str] = set()
        self.started = threading.Event()
        self.free = threading.Event()
        self.free.set()
        self.poison: dict[str, Exception] = {}
        self.slow_text: str | None = None
        self.at_slow_text, self.over_it = threading.Event(), threading.Event()

    def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        self.batches.append(list(texts))
        self.threads.add(threading.current_thread().name)
        self.started.set()
        assert self.free.wait(120)
        if self.slow_text in texts:
            self.at_slow_text.set()
            assert self.over_it.wait(120)
        for text in texts:
            if text in self.poison:
                raise self.poison[text]
        return [[len(text), 1.0] for text in texts]


@pytest.fixture
def model() -> Model:
    return Model()


@asynccontextmanager
async def embedding_by(embedder: CallableEmbedder, model: Model) -> AsyncIterator[Embedding]:
    made = Embedding(embedder, texts=8, characters=1000)
    yield made
    model.free.set()
    await made.close()


@pytest.fixture
async def embedding(model: Model) -> AsyncIterator[Embedding]:
    async with embedding_by(CallableEmbedder(model, "model", 2), model) as made:
        yield made


async def hold(embedding: Embedding, model: Model) -> asyncio.Task[object]:
    """Keep the model busy, so that whoever comes next has to wait."""
    model.free.clear()
    model.started.clear()
    busy = asyncio.create_task(embedding.vectors(["busy"]))
    await asyncio.to_thread(model.started.wait, 120)
    return busy


async def waiting(embedding: Embedding, *lists: list[str]) -> list[asyncio.Task[object]]:
    tasks = [asyncio.create_task(embedding.vectors(texts)) for texts in lists]
    await asyncio.sleep(0.01)
    return tasks


async def test_each_caller_gets_their_own(embedding):
    answers = await asyncio.gather(*(embedding.vectors(["x" * length] * 2) for length in range(50)))
    for length, vectors in enumerate(answers):
        assert vectors.shape == (2, 2)
        assert vectors[:, 0] / vectors[:, 1] == pytest.approx([length, length])


async def test_those_who_wait_share_a_batch(embedding, model):
    await hold(embedding, model)
    tasks = await waiting(embedding, ["a"], ["b", "c"], ["d"])
    model.free.set()
    await asyncio.gather(*tasks)
    assert model.batches == [["busy"], ["a", "b", "c", "d"]]


async def test_there_is_one_thread_and_it_is_not_the_loops(embedding, model):
    await asyncio.gather(*(embedding.vectors(["a"]) for _ in range(20)))
    assert model.threads == {"ltst-embedding"}


async def test_the_loop_goes_on(embedding, model):
    busy = await hold(embedding, model)
    began = time.perf_counter()
    for _ in range(10):
        await asyncio.sleep(0.001)
    assert time.perf_counter() - began < 60
    assert not busy.done()


async def test_batches_are_bounded(embedding, model):
    texts = [f"{number}" for number in range(50)]
    vectors = await embedding.vectors(texts)
    assert vectors.shape == (50, 2)
    assert max(map(len, model.batches)) <= 8
    assert [text for batch in model.batches for text in batch] == texts


async def test_batches_are_bounded_by_characters(embedding, model):
    await embedding.vectors(["x" * 400] * 5 + ["y" * 5000] * 2)
    assert [len(batch) for batch in model.batches] == [2, 2, 1, 1, 1]


async def test_a_question_does_not_stand_behind_a_backlog(embedding, model):
    busy = await hold(embedding, model)
    backlog, question = await waiting(embedding, [f"{number}" for number in range(500)], ["question"])
    model.free.set()
    await asyncio.gather(busy, question)
    assert "question" in model.batches[1]
    assert (await backlog).shape == (500, 2)


async def test_the_background_waits_for_everyone_else(embedding, model):
    await hold(embedding, model)
    backlog = asyncio.create_task(embedding.vectors(["later"] * 3, background=True))
    await asyncio.sleep(0.01)
    tasks = await waiting(embedding, ["a"], ["b"])
    model.free.set()
    await asyncio.gather(backlog, *tasks)
    assert model.batches == [["busy"], ["a", "b"], ["later"] * 3]


class PacedModel(CallableEmbedder):
    """An embedder that says itself how long texts are, and that two of them take a moment."""

    def lengths(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]

    def moment(self, lengths: Sequence[int]) -> int:
        assert list(lengths) == sorted(lengths, reverse=True)
        return 2


@pytest.fixture
async def paced(model: Model) -> AsyncIterator[Embedding]:
    async with embedding_by(PacedModel(model, "model", 2), model) as made:
        yield made


def in_the_background(embedding: Embedding, *lists: list[str]) -> list[asyncio.Task[object]]:
    return [asyncio.create_task(embedding.vectors(texts, background=True)) for texts in lists]


async def test_the_background_is_sorted_by_length_over_all_callers(paced, model):
    await hold(paced, model)
    first, second = in_the_background(paced, ["aaa", "a", "aaaaa"], ["bbbb", "bb", "bbbbbb"])
    await asyncio.sleep(0.01)
    model.free.set()
    for task, lengths in ((first, [3, 1, 5]), (second, [4, 2, 6])):
        vectors = await task
        assert vectors[:, 0] / vectors[:, 1] == pytest.approx(lengths)
    assert [sorted(batch) for batch in model.batches[1:]] == [["aaaaa", "bbbbbb"], ["aaa", "bbbb"], ["a", "bb"]]


async def test_a_question_waits_for_one_moment_of_the_background(paced, model):
    model.free.clear()
    (backlog,) = in_the_background(paced, ["x" * length for length in range(1, 301)])
    await asyncio.to_thread(model.started.wait, 120)
    (question,) = await waiting(paced, ["question"])
    model.free.set()
    await question
    assert model.batches[1] == ["question"]
    assert (await backlog).shape == (300, 2)
    assert {len(batch) for batch in [model.batches[0], *model.batches[2:]]} == {2}


async def test_a_backlog_leaves_room_for_others_in_the_background(paced, model, monkeypatch):
    monkeypatch.setattr("ltst.providers.embedding.POOL", 8)
    await hold(paced, model)
    backlog, other = in_the_background(paced, ["long " * 9] * 100, ["short"])
    await asyncio.sleep(0.01)
    model.free.set()
    await other
    assert ["short" in batch for batch in model.batches].index(True) <= 3
    assert (await backlog).shape == (100, 2)


async def test_long_texts_that_come_later_do_not_go_first_for_ever(paced, model):
    model.free.clear()
    (early,) = in_the_background(paced, ["xx", "xx", "x"])
    await asyncio.to_thread(model.started.wait, 120)
    late = in_the_background(paced, ["longer"], ["longer still"])
    await asyncio.sleep(0.01)
    model.free.set()
    await asyncio.gather(early, *late)
    assert model.batches == [["xx", "xx"], ["x"], ["longer still", "longer"]]


async def test_an_embedder_that_does_not_say_how_much_a_moment_is_gets_few_characters(model):
    embedding = Embedding(CallableEmbedder(model, "model", 2))
    await embedding.vectors(["x" * 900] * 3 + ["y" * 5000] + ["z"] * 64, background=True)
    await embedding.close()
    assert [len(batch) for batch in model.batches] == [1, 2, 32, 32, 1]
    assert model.batches[2].count("z") == 31


async def test_texts_that_cannot_be_measured_are_embedded_even_so(paced, model, monkeypatch):
    monkeypatch.setattr(PacedModel, "lengths", lambda self, texts: 1 / 0)
    assert (await paced.vectors(["a", "bb", "ccc"], background=True)).shape == (3, 2)
    assert model.batches == [["ccc", "bb", "a"]]


async def test_closing_refuses_what_waits_in_the_background(paced, model):
    model.free.clear()
    (backlog,) = in_the_background(paced, ["x"] * 5)
    await asyncio.to_thread(model.started.wait, 120)
    closing = asyncio.create_task(paced.close())
    await asyncio.sleep(0.01)
    model.free.set()
    await closing
    with pytest.raises(ModelUnavailable, match="closed"):
        await backlog
    assert model.batches == [["x", "x"]]


async def test_who_leaves_the_background_is_not_asked_for(paced, model):
    model.slow_text = "xxx"
    await hold(paced, model)
    gone, stays = in_the_background(paced, ["xxx", "xx", "x"], ["yyy", "yy", "y"])
    await asyncio.sleep(0.01)
    model.free.set()
    await asyncio.to_thread(model.at_slow_text.wait, 120)
    gone.cancel()
    await asyncio.sleep(0.01)
    model.over_it.set()
    assert (await stays).shape == (3, 2)
    assert model.batches == [["busy"], ["xxx", "yyy"], ["yy"], ["y"]]


async def test_everyone_has_their_turn(embedding, model):
    await hold(embedding, model)
    tasks = await waiting(embedding, *([f"{caller}-{number}" for number in range(3)] for caller in range(20)))
    model.free.set()
    await asyncio.gather(*tasks)
    firsts = [text for batch in model.batches[1:] for text in batch][:20]
    assert firsts == [f"{caller}-0" for caller in range(20)]


async def test_no_texts_need_no_model(embedding, model):
    assert (await embedding.vectors([])).shape == (0, 2)
    assert not model.batches


async def test_a_failure_reaches_everyone_in_the_batch(embedding, model):
    model.poison["bad"] = RuntimeError("out of order")
    await hold(embedding, model)
    tasks = await waiting(embedding, ["good"], ["bad"])
    model.free.set()
    for result in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(result, ModelUnavailable)
    assert (await embedding.vectors(["good"])).shape == (1, 2)


async def test_a_refused_text_fails_its_own_caller_only(embedding, model):
    model.poison["bad"] = TextRefused("too odd")
    await hold(embedding, model)
    tasks = await waiting(embedding, ["good"], ["fine", "bad"], ["better"])
    model.free.set()
    first, second, third = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(second, TextRefused)
    assert first.shape == third.shape == (1, 2)


async def test_after_a_failure_the_rest_of_the_list_is_not_asked_for(embedding, model):
    model.poison["3"] = RuntimeError("out of order")
    with pytest.raises(ModelUnavailable):
        await embedding.vectors([f"{number}" for number in range(100)])
    assert (await embedding.vectors(["next"])).shape == (1, 2)
    assert len(model.batches) == 2


async def test_an_embedder_that_raises_anything_does_not_end_the_thread():
    class Foreign(Bare):
        dimensions = 2

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            if "bad" in texts:
                raise KeyError("whatever")
            return np.full((len(texts), 2), 3.0 if "long" in texts else 0.0)

    embedding = Embedding(Foreign())
    with pytest.raises(ModelUnavailable, match="whatever"):
        await embedding.vectors(["bad"])
    with pytest.raises(TextRefused):
        await embedding.vectors(["zero"])
    assert np.linalg.norm(await embedding.vectors(["long"])) == pytest.approx(1)
    await embedding.close()


async def test_a_cancelled_caller_is_forgotten(embedding, model):
    busy = await hold(embedding, model)
    gone, stays = await waiting(embedding, ["gone"], ["stays"])
    gone.cancel()
    busy.cancel()
    await asyncio.sleep(0.01)
    model.free.set()
    assert (await stays).shape == (1, 2)
    assert model.batches == [["busy"], ["stays"]]
    with pytest.raises(asyncio.CancelledError):
        await gone


async def test_closing_finishes_the_batch_at_hand_and_refuses_the_rest(embedding, model):
    others = threading.enumerate()
    busy = await hold(embedding, model)
    (refused,) = await waiting(embedding, ["late"])
    closing = asyncio.create_task(embedding.close())
    await asyncio.sleep(0.01)
    model.free.set()
    await closing
    assert (await busy).shape == (1, 2)
    with pytest.raises(ModelUnavailable, match="closed"):
        await refused
    with pytest.raises(ModelUnavailable, match="closed"):
        await embedding.vectors(["later"])
    await embedding.close()
    started = [thread for thread in threading.enumerate() if thread not in others]
    assert not any(thread.name == "ltst-embedding" for thread in started)


async def test_closing_does_not_wait_for_ever(embedding, model, monkeypatch):
    monkeypatch.setattr("ltst.providers.embedding.LONGEST_GOODBYE", 0.05)
    await hold(embedding, model)
    await asyncio.wait_for(embedding.close(), 10)


def test_it_belongs_to_no_loop(model):
    embedding = Embedding(CallableEmbedder(model, "model", 2))
    for _ in range(3):
        assert asyncio.run(embedding.vectors(["a"])).shape == (1, 2)
    asyncio.run(embedding.close())


async def test_parts_and_dimensions_are_the_embedders():
    embedding = Embedding(LocalEmbedder())
    assert (embedding.name, await embedding.dimensions()) == ("all-MiniLM-L6-v2", 384)
    short, long = await embedding.parts(["short", "word " * 1000], room=20)
    assert short == ["short"]
    assert len(long) == 5
    await embedding.close()


async def test_the_local_model_is_shared_by_many_callers():
    embedder = LocalEmbedder()
    embedding = Embedding(embedder)
    texts = [f"Message number {number} about {'cats ' * (number % 9)}" for number in range(40)]
    answers = await asyncio.gather(*(embedding.vectors([text]) for text in texts))
    expected = embedder.embed(texts)
    assert (np.concatenate(answers) * expected).sum(axis=1).min() > 0.99999
    await embedding.close()


@pytest.mark.parametrize("wrong", [{"texts": 0}, {"characters": 0}])
def test_bounds_are_at_least_one(model, wrong):
    with pytest.raises(Invalid):
        Embedding(CallableEmbedder(model, "model", 2), **wrong)
