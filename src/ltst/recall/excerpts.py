"""Excerpts: picks the sentences of a long memory that matter for the question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from ltst.recall.summary import MARKER, cut, details
from ltst.support.terms import terms

END = re.compile(r"(?<=[.!?…;])\s|(?<=[。！？])(?![。！？])")
LOOKED_AT = 20_000  # characters: a longer text is a file, of which only the beginning is read
TRIED = 12  # after this many sentences in a row that did not fit, no more are tried
SHARED_WEIGHT = 2.0  # for each word of the question; names, numbers and dates together count 1


def excerpt(text: str, asked: frozenset[str], fits: Callable[[str], bool]) -> str | None:
    """Returns the sentences that share most with the question, in order, or the beginning of the best one.

    A marker stands where something was left out. Returns None if not even one character fits.
    """
    sentences = _sentences(text[:LOOKED_AT])
    if len(sentences) < 2:
        return _to_a_word(cut(text, fits))
    more = len(text) > LOOKED_AT
    chosen: set[int] = set()
    failed = 0
    for at in _by_weight(sentences, asked):
        if fits(_join(sentences, chosen | {at}, more)):
            chosen.add(at)
            failed = 0
        elif not chosen:
            return _to_a_word(cut(sentences[at], fits))
        elif (failed := failed + 1) == TRIED:
            break
    return _join(sentences, chosen, more)


def _to_a_word(piece: str | None) -> str | None:
    """Returns the cut text without its last, possibly broken word, unless that is the only one."""
    if piece is None:
        return None
    whole, space, _ = piece.removesuffix(MARKER).rpartition(" ")
    return whole + MARKER if space and whole else piece


def _sentences(text: str) -> list[str]:
    """Splits a text into sentences, each with the space after it, so that together they are the text again."""
    ends = [*(match.end() for match in END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise([0, *ends]) if end > start]


def _by_weight(sentences: Sequence[str], asked: frozenset[str]) -> list[int]:
    """Returns the indexes of the sentences, the most relevant first; among equals the earlier one."""
    weights = [SHARED_WEIGHT * len(asked.intersection(terms(each))) + bool(details(each)) for each in sentences]
    return sorted(range(len(sentences)), key=lambda at: (-weights[at], at))


def _join(sentences: Sequence[str], chosen: set[int], more: bool) -> str:
    """Joins the chosen sentences, with a marker for whatever is missing before, between and after them."""
    told, last = "", -1
    for at in sorted(chosen):
        gap = f"{MARKER} " if at > last + 1 else ""
        told = (told.rstrip() + gap).lstrip() + sentences[at] if gap else told + sentences[at]
        last = at
    return told.rstrip() + (MARKER if more or last < len(sentences) - 1 else "")
