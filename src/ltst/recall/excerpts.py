"""Excerpts: of a long memory the sentences that matter for what is asked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from ltst.recall.summary import MARKER, cut, details
from ltst.support.terms import terms

END = re.compile(r"(?<=[.!?…;])\s|(?<=[。！？])(?![。！？])")
LOOKED_AT = 20_000  # characters: what is longer is a file
TRIED = 12  # sentences that did not fit, one after another, before no more are tried
SHARED_WEIGHT = 2.0  # of a word that is asked for, beside one for names, numbers and dates


def excerpt(text: str, asked: frozenset[str], fits: Callable[[str], bool]) -> str | None:
    """Return the sentences that share most with what is asked, in their order, or the beginning of the best.

    Where something is left out stands a mark. None, where not one character fits.
    """
    sentences = _sentences(text[:LOOKED_AT])
    if len(sentences) < 2:
        return _to_a_word(cut(text, fits))
    more = len(text) > LOOKED_AT
    chosen: set[int] = set()
    failed = 0
    for at in _by_weight(sentences, asked):
        if fits(_joined(sentences, chosen | {at}, more)):
            chosen.add(at)
            failed = 0
        elif not chosen:
            return _to_a_word(cut(sentences[at], fits))
        elif (failed := failed + 1) == TRIED:
            break
    return _joined(sentences, chosen, more)


def _to_a_word(piece: str | None) -> str | None:
    """Return a beginning without the word that it was cut in, unless it is the only one."""
    if piece is None:
        return None
    whole, space, _ = piece.removesuffix(MARKER).rpartition(" ")
    return whole + MARKER if space and whole else piece


def _sentences(text: str) -> list[str]:
    """Return the sentences with the space behind them: together they are the text."""
    ends = [*(match.end() for match in END.finditer(text)), len(text)]
    return [text[start:end] for start, end in pairwise([0, *ends]) if end > start]


def _by_weight(sentences: Sequence[str], asked: frozenset[str]) -> list[int]:
    """Return the places of the sentences, the most telling first; of equals the first."""
    weights = [SHARED_WEIGHT * len(asked.intersection(terms(each))) + bool(details(each)) for each in sentences]
    return sorted(range(len(sentences)), key=lambda at: (-weights[at], at))


def _joined(sentences: Sequence[str], chosen: set[int], more: bool) -> str:
    """Return the chosen sentences; a mark stands for what is missing before, between and behind them."""
    told, last = "", -1
    for at in sorted(chosen):
        gap = f"{MARKER} " if at > last + 1 else ""
        told = (told.rstrip() + gap).lstrip() + sentences[at] if gap else told + sentences[at]
        last = at
    return told.rstrip() + (MARKER if more or last < len(sentences) - 1 else "")
