"""The baselines: what anyone could build in a page of Python, ranked over the same histories.

BM25, the cosine of all-MiniLM-L6-v2 (or whichever model the product is measured with), and the fusion of both.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evaluation.benchmark import Benchmark, History, Question, Session, Turn
from evaluation.metrics import Result
from evaluation.scores import Scores, scored
from ltst.providers.local import NAME
from ltst.providers.turns import Prompted
from ltst.support.terms import terms

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ltst.protocols import Embedder

    Floats = NDArray[np.float64]

# The usual values: how fast a repeated term stops counting, and how much a long text is held against it.
SATURATION = 1.5
LENGTH = 0.75
FUSION = 60

Order = list[int]
Ranker = Callable[[str], Order]


class Field(NamedTuple):
    """What is ranked in one history, and the baselines that rank it."""

    results: Sequence[Result]
    rankers: Mapping[str, Ranker]

    def ranked(self, question: str) -> Iterator[tuple[str, list[Result]]]:
        """The results in the order of each baseline."""
        for name, ranker in self.rankers.items():
            yield name, [self.results[place] for place in ranker(question)]


def field(benchmark: Benchmark, history: History, embedder: Embedder) -> Field:
    """The baselines of a benchmark, ready for the questions about one history."""
    return turns(history, embedder) if benchmark.tables[0].level == "turn" else sessions(history, embedder)


def score(benchmark: Benchmark, history: History, question: Question, field: Field) -> dict[str, Scores]:
    """The scores of each baseline for one question."""
    return {name: scored(benchmark, history, question, results) for name, results in field.ranked(question.text)}


def turns(history: History, embedder: Embedder) -> Field:
    """Single turns, with date and speaker before them, alone or among their neighbours."""
    places = [(session, turn) for session in history.sessions for turn in session.turns]
    labelled = [_labelled(session, turn) for session, turn in places]
    words, meaning = by_words(labelled), by_meaning(labelled, embedder)
    return Field(
        [Result((turn.id,), len(turn.text)) for _, turn in places],
        {
            "BM25, prefix": words,
            "BM25, window": by_words([text for session in history.sessions for text in _windows(session)]),
            called(embedder): by_meaning([turn.text for _, turn in places], embedder),
            f"{called(embedder)}, prefix": meaning,
            "RRF, prefix": fused(words, meaning),
        },
    )


def bare_turns(history: History, embedder: Embedder) -> Field:
    """Single turns as they were said, with nothing before them."""
    said = [turn for session in history.sessions for turn in session.turns]
    texts = [turn.text for turn in said]
    words, meaning = by_words(texts), by_meaning(texts, embedder)
    results = [Result((turn.id,), len(turn.text)) for turn in said]
    return Field(results, {"BM25": words, called(embedder): meaning, "RRF": fused(words, meaning)})


def sessions(history: History, embedder: Embedder) -> Field:
    """Whole sessions: all words of one, but only what the user said for the model, which reads no more anyway."""
    words = by_words(["\n".join(turn.text for turn in session.turns) for session in history.sessions])
    meaning = by_meaning([_said_by_user(session) for session in history.sessions], embedder)
    return Field(
        [_result(session) for session in history.sessions],
        {"BM25": words, f"{called(embedder)}, user turns": meaning, "RRF": fused(words, meaning)},
    )


def called(embedder: Embedder) -> str:
    """The name of a model in a table: short for the one that comes with ltst."""
    return "MiniLM" if embedder.name == NAME else embedder.name


def by_words(texts: Sequence[str]) -> Ranker:
    """BM25 over stemmed words without stop words."""
    found = [Counter(terms(text)) for text in texts]
    lengths = np.array([counts.total() for counts in found], dtype=np.float64)
    norms = SATURATION * (1 - LENGTH + LENGTH * lengths / (lengths.mean() or 1.0))
    holders: dict[str, list[int]] = defaultdict(list)
    for place, counts in enumerate(found):
        for term in counts:
            holders[term].append(place)

    def rank(question: str) -> Order:
        total = np.zeros(len(texts))
        for term, asked in Counter(terms(question)).items():
            held = holders.get(term, [])
            often = np.array([found[place][term] for place in held], dtype=np.float64)
            rarity = math.log(1 + (len(texts) - len(held) + 0.5) / (len(held) + 0.5))
            total[held] += asked * rarity * often * (SATURATION + 1) / (often + norms[held])
        return _ordered(total)

    return rank


def by_meaning(texts: Sequence[str], embedder: Embedder) -> Ranker:
    """The cosine between the question's vector and each text's, of which the model reads as much as it can."""
    # The model that comes with ltst is compared as it was published, without ltst's own reading of questions.
    prompted = embedder.prompted if isinstance(embedder, Prompted) and embedder.name != NAME else _unprompted
    vectors = embedder.embed([prompted(text, False) for text in texts])

    def rank(question: str) -> Order:
        (asked,) = embedder.embed([prompted(question, True)])
        return _ordered((vectors @ asked).astype(np.float64))

    return rank


def fused(*rankers: Ranker) -> Ranker:
    """Reciprocal rank fusion: every order has a say, and the top of each has most."""

    def rank(question: str) -> Order:
        orders = [ranker(question) for ranker in rankers]
        total = np.zeros(len(orders[0]))
        for order in orders:
            total[order] += 1 / (FUSION + np.arange(1, len(order) + 1))
        return _ordered(total)

    return rank


def _unprompted(text: str, question: bool) -> str:
    return text


def _ordered(scores: Floats) -> Order:
    """The best first; among equals the earlier."""
    return [int(place) for place in np.argsort(-scores, kind="stable")]


def _labelled(session: Session, turn: Turn) -> str:
    return f"[{turn.at or session.at:%d %B %Y}] {turn.speaker or turn.role}: {turn.text}"


def _windows(session: Session) -> Iterator[str]:
    """Each turn with the one before it and the one after it."""
    texts = ["", *(turn.text for turn in session.turns), ""]
    for place, turn in enumerate(session.turns):
        yield "\n".join((_labelled(session, turn), texts[place], texts[place + 2]))


def _said_by_user(session: Session) -> str:
    return "\n".join(turn.text for turn in session.turns if turn.role == "user")


def _result(session: Session) -> Result:
    return Result(tuple(turn.id for turn in session.turns), sum(len(turn.text) for turn in session.turns))
