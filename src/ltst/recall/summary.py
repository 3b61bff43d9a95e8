"""Summaries without a model: chooses the sentences that best represent a conversation, in their order."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import mul
from typing import NamedTuple

from ltst.errors import Invalid
from ltst.records import ConversationMessage
from ltst.support import tokens

TokenCounter = Callable[[str], int]

MODEL_ROLES = {"human": "user", "ai": "assistant"}
MARKER = " […]"  # follows the beginning of a text that was cut
LIKELY = 128  # characters: a beginning that mostly fits, and is tried first

DETAILS_WEIGHT = 0.6  # for names, numbers and dates not told yet, against centrality, which is at most 1
DETAILS_ENOUGH = 3  # a list of twenty numbers is not better than a sentence that tells who, when and how many
REPETITION_WEIGHT = 0.8
FEWEST_TERMS = 3  # "Sure, sounds good!" is central to every chat and tells nothing

END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])(?![。！？])")
WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
DAYS = frozenset({"today", "tonight", "tomorrow", "yesterday", "weekend", "week", "month", "year"})


class Sentence(NamedTuple):
    """One sentence, its speaker, and the index of its message."""

    text: str
    speaker: str | None = None
    turn: int = 0


@dataclass(slots=True, eq=False)
class _Candidate:
    """A sentence with what the choice needs; `repeated` is how much of it the chosen sentences already say."""

    place: int
    sentence: Sentence
    terms: frozenset[str]
    details: frozenset[str]
    central: float
    cost: int
    repeated: float = 0.0

    def gain(self, told: set[str]) -> float:
        """Returns what the sentence would add: centrality and new details, minus what is already said."""
        new = min(len(self.details - told), DETAILS_ENOUGH) / DETAILS_ENOUGH
        return self.central + DETAILS_WEIGHT * new - REPETITION_WEIGHT * self.repeated


def sentences(messages: Iterable[ConversationMessage]) -> list[Sentence]:
    """Returns the sentences of a conversation with their speakers; embed these to give `summarise` vectors."""
    return [
        Sentence(text, MODEL_ROLES.get(message.role, message.role), turn)
        for turn, message in enumerate(messages)
        for text in _split(message.content)
    ]


def summarise(
    said: Sequence[str | Sentence | ConversationMessage],
    vectors: Sequence[Sequence[float]] | None = None,
    max_tokens: int = 200,
    count: TokenCounter = tokens.count,
) -> str:
    """Returns the most telling sentences in the order they were said, one line per turn, within `max_tokens`.

    A sentence is telling if it is near to all the others (by `vectors`, one for each of `said`, else by shared words)
    and if it holds names, numbers or dates that no chosen sentence has told yet.
    """
    if vectors is not None and len(vectors) != len(said):
        raise Invalid(f"vectors must be one for each of the {len(said)} texts, not {len(vectors)}")
    parts = [_sentences_of(each, turn) for turn, each in enumerate(said)]
    flat = list(chain.from_iterable(parts))
    rows = None if vectors is None else [vectors[at] for at, part in enumerate(parts) for _ in part]
    candidates = _candidates(flat, rows, count)
    return _write(_choose(candidates, max_tokens), max_tokens, count) or _best_cut(candidates, max_tokens, count)


def cut(text: str, fits: Callable[[str], bool]) -> str | None:
    """Returns the longest beginning of a text that fits together with the marker; None if not one character does.

    The search widens from the beginning, so that its cost depends on the result and not on the length of the text.
    """
    low, high = (LIKELY, 2 * LIKELY) if len(text) > LIKELY and fits(text[:LIKELY] + MARKER) else (0, 1)
    while high < len(text) and fits(text[:high] + MARKER):
        low, high = high, high * 2
    high = min(high, len(text))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(text[:middle] + MARKER) else (low, middle)
    return text[:low] + MARKER if low else None


def _sentences_of(said: str | Sentence | ConversationMessage, turn: int) -> list[Sentence]:
    if isinstance(said, Sentence):
        return [said]
    if isinstance(said, str):
        return [Sentence(" ".join(said.split()), None, turn)] if said.strip() else []
    speaker = MODEL_ROLES.get(said.role, said.role)
    return [Sentence(text, speaker, turn) for text in _split(said.content)]


def _split(content: str) -> list[str]:
    found = (" ".join(piece.split()) for line in content.splitlines() for piece in END.split(line))
    return [piece for piece in found if piece]


def _candidates(
    flat: Sequence[Sentence], rows: Sequence[Sequence[float]] | None, count: TokenCounter
) -> list[_Candidate]:
    terms = [_terms(each.text) for each in flat]
    central = _by_terms(terms)
    if rows is not None:
        # Vectors show what a sentence is about; words show which of its neighbours say the same.
        central = _scale([sum(pair) for pair in zip(central, _by_vectors(rows), strict=True)])
    return [
        _Candidate(
            place,
            sentence,
            frozenset(terms[place]),
            details(sentence.text),
            central[place] * min(1.0, len(terms[place]) / FEWEST_TERMS),
            count(_write_line(sentence.speaker, [sentence.text]) + "\n"),
        )
        for place, sentence in enumerate(flat)
    ]


def _terms(text: str) -> Counter[str]:
    """Counts the lower-cased words of a text; in scripts without spaces, the pairs of characters."""
    found: Counter[str] = Counter()
    for word in WORD.findall(text.casefold()):
        if UNSPACED.fullmatch(word):
            found.update(word[at : at + 2] for at in range(len(word) - 1))
        else:
            found[word] += 1
    return found


def details(text: str) -> frozenset[str]:
    """Returns the specifics that a text names: names (a capital inside the sentence), numbers and days."""
    words = WORD.findall(text)
    names = {word for word in words[1:] if word[0].isupper() and len(word) > 1 and not word.startswith(("I'", "I’"))}
    days = {word for word in map(str.casefold, words) if word in DAYS}
    return frozenset(names | days | set(NUMBER.findall(text)))


def _by_terms(terms: Sequence[Counter[str]]) -> list[float]:
    """Scores how central each sentence is: its cosine with the sum of all; words in every sentence count little."""
    spread = Counter(term for each in terms for term in each)
    weight = {term: math.log((len(terms) + 1) / n) for term, n in spread.items()}
    rows = [_unit_terms({term: n * weight[term] for term, n in each.items()}) for each in terms]
    total = dict.fromkeys(weight, 0.0)
    for row in rows:
        for term, value in row.items():
            total[term] += value
    return _scale([sum(value * total[term] for term, value in row.items()) for row in rows])


def _unit_terms(row: dict[str, float]) -> dict[str, float]:
    length = math.sqrt(sum(value * value for value in row.values()))
    return {term: value / length for term, value in row.items()} if length else row


def _by_vectors(rows: Sequence[Sequence[float]]) -> list[float]:
    """Scores how central each sentence is: its unit vector times the sum of all unit vectors."""
    units = [_unit(row) for row in rows]
    total = [sum(column) for column in zip(*units, strict=True)]
    return _scale([sum(map(mul, unit, total)) for unit in units])


def _unit(row: Sequence[float]) -> list[float]:
    length = math.sqrt(sum(map(mul, row, row)))
    return [value / length for value in row] if length else list(row)


def _scale(values: list[float]) -> list[float]:
    most = max(values, default=0.0)
    return [max(value, 0.0) / most for value in values] if most > 0 else [0.0] * len(values)


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    smaller = min(len(one), len(other))
    return len(one & other) / smaller if smaller else 0.0


def _choose(candidates: Sequence[_Candidate], max_tokens: int) -> list[_Candidate]:
    """Chooses the sentence that adds most, again and again, while one fits; so the best are chosen first."""
    chosen: list[_Candidate] = []
    told: set[str] = set()
    left, room = list(candidates), max_tokens
    while left := [each for each in left if each.cost <= room and each.repeated < 1]:
        best = max(left, key=lambda each: (each.gain(told), -each.place))
        chosen.append(best)
        told |= best.details
        left.remove(best)
        room -= best.cost
        for each in left:
            each.repeated = max(each.repeated, _overlap(each.terms, best.terms))
    return chosen


def _write(chosen: list[_Candidate], max_tokens: int, count: TokenCounter) -> str:
    while chosen:
        text = _text([each.sentence for each in sorted(chosen, key=lambda each: each.place)])
        if count(text) <= max_tokens:
            return text
        chosen = chosen[:-1]
    return ""


def _text(chosen: Sequence[Sentence]) -> str:
    lines: list[tuple[int, str | None, list[str]]] = []
    for each in chosen:
        if lines and lines[-1][:2] == (each.turn, each.speaker):
            lines[-1][2].append(each.text)
        else:
            lines.append((each.turn, each.speaker, [each.text]))
    return "\n".join(_write_line(speaker, texts) for _, speaker, texts in lines)


def _write_line(speaker: str | None, texts: Sequence[str]) -> str:
    said = " ".join(texts)
    return f"{speaker}: {said}" if speaker else said


def _best_cut(candidates: Sequence[_Candidate], max_tokens: int, count: TokenCounter) -> str:
    """Returns the beginning of the best sentence; for when no whole sentence fits."""
    if not candidates:
        return ""
    best = max(candidates, key=lambda each: (each.gain(set()), -each.place)).sentence
    piece = cut(best.text, lambda piece: count(_write_line(best.speaker, [piece])) <= max_tokens)
    return _write_line(best.speaker, [piece]) if piece else ""
