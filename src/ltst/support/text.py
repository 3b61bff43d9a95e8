"""Text: hashes that tell two texts apart, and the cut of a long text into parts."""

import hashlib
import re
from collections.abc import Iterator

PARAGRAPH = re.compile(r".+?(?:\n\s*\n|\Z)", re.DOTALL)
SENTENCE = re.compile(r".+?(?:[.!?…。！？]+\s+|\n|\Z)", re.DOTALL)


def sha256(text: str) -> str:
    """The hash under which the same text is the same text."""
    return hashlib.sha256(text.encode()).hexdigest()


def scoped_hash(*parts: str) -> str:
    """The hash of a text in its place, such as a session and a role."""
    return hashlib.sha256(":".join(parts).encode()).hexdigest()


def split(text: str, longest: int) -> list[str]:
    """Cut at paragraphs, else at sentences, else anywhere; the parts, joined, are the text again."""
    parts: list[str] = []
    for piece in _pieces(text, longest):
        if parts and len(parts[-1]) + len(piece) <= longest:
            parts[-1] += piece
        else:
            parts.append(piece)
    return parts


def _pieces(text: str, longest: int) -> Iterator[str]:
    for paragraph in PARAGRAPH.findall(text):
        if len(paragraph) <= longest:
            yield paragraph
        else:
            yield from _sentences(paragraph, longest)


def _sentences(paragraph: str, longest: int) -> Iterator[str]:
    for sentence in SENTENCE.findall(paragraph):
        for start in range(0, len(sentence), longest):
            yield sentence[start : start + longest]
