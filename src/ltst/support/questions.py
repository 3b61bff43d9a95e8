"""Questions: tells them from what states something, with a question mark or without."""

from __future__ import annotations

import re

from ltst.support.sentences import spans
from ltst.support.tables import Table

QUESTION_MARKS = ("?", "？", "؟")
# How much a message tells that only asks, or is small talk; what states something tells between 0 and 1.
TELLS_NOTHING = -1.0
# A longer message tells something in passing, even if it asks.
LONGEST = 200
MOST_WORDS = 10

_TABLE = Table("ltst.support", "questions.txt")
_MAYBE, _REQUEST, _PLAINLY = map(_TABLE.pattern, ("maybe", "request", "plainly"))
_AND = re.compile(r"(?:and|so|but|or)\s+", re.IGNORECASE)
_MARK = re.compile(r"[?？؟](?=[\s\"'”’»)\]*]|$)|？")
# The rest of a question that says nothing of its writer besides.
_ALONE = re.compile(r"(?:\s+(?:i|we)\b)?(?:(?!\bi\b|\bwe\b)[^,;:—–()\n]){0,200}+$", re.IGNORECASE)


def is_marked(text: str) -> bool:
    """Returns whether a question mark ends a sentence of a text."""
    return _MARK.search(text) is not None


def may_ask(text: str) -> bool:
    """Returns whether a text begins with a word that questions begin with, or ends with a question mark."""
    return text.rstrip().endswith(QUESTION_MARKS) or _MAYBE.match(text.lstrip()) is not None


def asks(sentence: str, *, marked: bool = False) -> bool:
    """Returns whether a sentence is a question by the words it begins with.

    If `marked`, a question mark says that it is one, and any word will do that a question may begin with.
    """
    return (_MAYBE if marked else _PLAINLY).match(sentence) is not None


def asks_alone(sentence: str) -> bool:
    """Returns whether a sentence is a question and says nothing else; "can you remember that Jo is vegan" does."""
    begun = None if _REQUEST.match(sentence) else _PLAINLY.match(sentence)
    return begun is not None and _ALONE.match(sentence, begun.end()) is not None


def only_asks(text: str) -> bool:
    """Returns whether a text consists of short questions alone, typed with a mark or without."""
    if len(text) > LONGEST:
        return False
    sentences = [text[start:end] for start, end in spans(text)]
    return bool(sentences) and all(map(_is_short_question, sentences))


def _is_short_question(sentence: str) -> bool:
    if len(sentence.split()) > MOST_WORDS:
        return False
    begun = _AND.sub("", sentence, count=1) if _AND.match(sentence) else sentence
    return not _REQUEST.match(begun) and asks(begun, marked=sentence.endswith(QUESTION_MARKS))
