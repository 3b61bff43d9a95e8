"""Parts: cuts a long text into parts that a model reads whole; joined in order, they are the text again."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from ltst.support.text import split
from ltst.support.tokens import BYTES_PER_TOKEN

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

SENTENCE_ENDS = frozenset(".!?…")
WIDE_SENTENCE_ENDS = frozenset("。！？")
CLOSERS = "\"')]}”’»」』"

LONGEST_STRETCH = 8_000
STRETCH = re.compile(r".{1,7998}\Z|.{4000,7998}\n\n|.{4000,7998}[.!?…。！？]\s|.{4000,7998}\s|.{1,7998}", re.DOTALL)

Span = tuple[int, int]


def by_characters(text: str, longest: int, room: int = 0) -> list[str]:
    """Returns parts of at most `longest` characters, less `room` tokens, for a model whose tokens are not known."""
    return split(text, max(longest - room * BYTES_PER_TOKEN, longest // 2, 1)) or [text]


def encoded(tokenizer: Tokenizer, text: str) -> Encoding:
    """Returns the pieces of a text without special tokens around it.

    A lone surrogate becomes a question mark, one character for one, so that positions stay the same.
    """
    return tokenizer.encode(text.encode(errors="replace").decode(), add_special_tokens=False)


def by_pieces(text: str, longest: int, read: Callable[[str], Encoding]) -> list[str]:
    """Returns a text in parts of at most `longest` pieces; `read` gets a few thousand characters at a time."""
    return [part for stretch in STRETCH.findall(text) or [text] for part in _parts(stretch, longest, read(stretch))]


def _parts(text: str, longest: int, pieces: Encoding) -> list[str]:
    spans, words = pieces.offsets, pieces.word_ids
    if len(spans) <= longest:
        return [text]
    cuts = [0, *(spans[piece][0] for piece in _cuts(text, spans, words, longest)), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _cuts(text: str, spans: Sequence[Span], words: Sequence[int | None], longest: int) -> Iterator[int]:
    """Yields the pieces that begin a part: at the best boundary, and among equals where parts come out most even."""

    def worth(piece: int) -> tuple[int, int]:
        return _boundary(text, spans, words, piece), -abs(piece - aim)

    start = 0
    while (left := len(spans) - start) > longest:
        aim = start + left // -(-left // longest)
        start = max(range(start + longest // 2, start + longest + 1), key=worth)
        yield start


def _boundary(text: str, spans: Sequence[Span], words: Sequence[int | None], piece: int) -> int:
    """Returns how good a cut before a piece is: 4 at a paragraph, 3 a sentence, 2 a space, 1 a word, else 0."""
    if words[piece] == words[piece - 1]:
        return 0
    end = spans[piece - 1][1]
    gap = text[end : spans[piece][0]]
    last = text[max(end - 3, 0) : end].rstrip(CLOSERS)[-1:]
    if gap.count("\n") > 1:
        return 4
    if "\n" in gap or last in WIDE_SENTENCE_ENDS or (gap and last in SENTENCE_ENDS):
        return 3
    return 2 if gap else 1
