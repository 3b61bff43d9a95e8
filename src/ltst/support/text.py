"""Text: hashes that identify a text, cutting a long text into parts, and repairing a broken one."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator

PARAGRAPH_END = re.compile(r"\n\s*\n")
SENTENCE_END = re.compile(r"[.!?…。！？]\s+|[。！？\n]")
# More combining marks than this on one letter are not writing; Unicode's own limit for streams of text is the same.
MOST_MARKS = 30
MAY_BE_MARKS = re.compile(rf"[^\w\s\x00-\u02ff]{{{MOST_MARKS + 1},}}")
# Characters that a case-insensitive pattern takes for "s" and "i", although `lower` does not.
_AS_IF = str.maketrans({"ſ": "s", "ı": "i", "\u0307": None})


def sha256(text: str) -> str:
    """Returns the hash that identifies a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def scoped_hash(*parts: str) -> str:
    """Returns the hash of a text in its scope, such as a session and a role."""
    return hashlib.sha256(":".join(parts).encode()).hexdigest()


def shortened(text: str, longest: int) -> str:
    """Returns the text, or its beginning and an ellipsis if it is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def split(text: str, longest: int) -> list[str]:
    """Cuts at paragraphs, else at sentences, else anywhere; the parts, joined, are the text again."""
    parts: list[list[str]] = []
    room = 0
    for piece in _pieces(text, longest):
        if len(piece) > room:
            parts.append([])
            room = longest
        parts[-1].append(piece)
        room -= len(piece)
    return ["".join(pieces) for pieces in parts]


def _pieces(text: str, longest: int) -> Iterator[str]:
    for paragraph in cut(text, PARAGRAPH_END):
        if len(paragraph) <= longest:
            yield paragraph
        else:
            yield from _sentences(paragraph, longest)


def _sentences(paragraph: str, longest: int) -> Iterator[str]:
    for sentence in cut(paragraph, SENTENCE_END):
        for start in range(0, len(sentence), longest):
            yield sentence[start : start + longest]


def cut(text: str, end: re.Pattern[str]) -> Iterator[str]:
    """Yields the parts of a text, each up to and including an `end`, in one pass."""
    start = 0
    for found in end.finditer(text):
        yield text[start : found.end()]
        start = found.end()
    if start < len(text):
        yield text[start:]


def holds_any(text: str, words: Iterable[str]) -> bool:
    """Returns whether a text holds one of these lower-case words in any case; far cheaper than a pattern."""
    low = text.lower() if text.isascii() else text.lower().translate(_AS_IF)
    return any(word in low for word in words)


def composed(text: str) -> str:
    """Returns the text with each letter written in one way (NFKC).

    Of many marks on one letter only the first are kept, since sorting them takes time that grows with the square of
    their number.
    """
    return unicodedata.normalize("NFKC", text if text.isascii() else MAY_BE_MARKS.sub(_fewer_marks, text))


def _fewer_marks(found: re.Match[str]) -> str:
    kept: list[str] = []
    marks = 0
    for character in found[0]:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if marks <= MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def normalised(text: str) -> str:
    """Returns the text in a form for comparing, where neither case nor white space makes a difference."""
    return " ".join(composed(text).casefold().split())


def mended(text: str) -> str:
    """Returns the text without what cannot be stored: NULs are removed, surrogate halves joined or replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "")
