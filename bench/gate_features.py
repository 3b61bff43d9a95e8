"""What can be seen of a sentence that tells whether it says something lasting about its writer: words and shape."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from bench.sentences import spans

# So many sentences of a message are read, and so many words of each: nobody tells more of themself at once.
MOST_SENTENCES = 200
MOST_WORDS = 40
BEFORE = 3  # words of the turn before, which may have asked

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?|\d+|[?!]")
_SELF = re.compile(r"\b(?:i|my|me|mine|myself|we|our|us|ich|mein\w{0,2}|mir|mich|wir|unser\w{0,2})\b")
_BEGINS_WITH_SELF = re.compile(r"(?:and |but |so |also |by the way,? |btw,? )?(?:i|we|my|our)\b")
_YOU = re.compile(r"\byou(?:r|'re|'ve)?\b")
_NAME = re.compile(r"\b[A-Z][a-z]+")
_CODE = re.compile(r"[{}<>=;|\\]|```")
_WHEN = re.compile(
    r"\b(?:today|yesterday|tomorrow|last|next|ago|since|now|recently|lately|just|currently|every|always|never|still"
    r"|already)\b"
)
_REQUEST = re.compile(
    r"(?:can|could|would|will|do|does|did|is|are|what|how|why|when|where|which|who|please|write|give|tell|explain|make"
    r"|create|list|summarize|help)\b"
)
_LISTED = re.compile(r"[-*•\d]+[.)]?\s")
_PAST = re.compile(r"\b(?:was|were|went|got|had|did|bought|started|\w{2,20}ed)\b")
_PLAN = re.compile(r"\b(?:going to|will|'ll|plan|planning|thinking of|want to|hope|hoping|next)\b")


def features(text: str, before: str = "") -> Iterator[list[tuple[str, float]]]:
    """Returns the features of each sentence, by name."""
    places = spans(text)[:MOST_SENTENCES]
    asked = [("before " + word, 1.0) for word in set(words(before[-200:])[-BEFORE:])]
    around = [("answers", float(before.rstrip().endswith("?"))), ("long text", min(len(text), 3_000) / 3_000)]
    around.append(("sentences", min(len(places), 15) / 15))
    for number, (start, end) in enumerate(places):
        sentence = text[start:end]
        position = [("first", float(number == 0)), ("last", float(number == len(places) - 1))]
        yield [*_grams(sentence), *_shape(sentence), *asked, *around, *position]


def words(text: str) -> list[str]:
    """Returns the words of a text as the gate knows them; all numbers are one."""
    return ["0" if word.isdigit() else word.replace("’", "'") for word in _WORD.findall(text.lower())]


def _grams(sentence: str) -> Iterator[tuple[str, float]]:
    read: Sequence[str] = ["^", *words(sentence[:1_000])[:MOST_WORDS], "$"]
    pairs = (f"{one} {other}" for one, other in pairwise(read))
    yield from ((gram, 1.0) for gram in {*read, *pairs})


def _shape(sentence: str) -> list[tuple[str, float]]:
    sentence = sentence[:1_000]
    plain = sentence.lower().replace("’", "'")
    length = len(words(plain))
    signs: dict[str, bool | float] = {
        "always": True,
        "length": min(length, 40) / 20,
        "under 4 words": length < 4,
        "under 7 words": length < 7,
        "asks": plain.rstrip().endswith("?"),
        "self": bool(_SELF.search(plain)),
        "begins with self": bool(_BEGINS_WITH_SELF.match(plain)),
        "number": any(each.isdigit() for each in plain),
        "name": bool(_NAME.search(sentence, 1)),
        "you": min(len(_YOU.findall(plain)), 3) / 3,
        "code": bool(_CODE.search(sentence)),
        "exclaims": "!" in sentence,
        "quotes": '"' in sentence or "“" in sentence,
        "when": bool(_WHEN.search(plain)),
        "request": bool(_REQUEST.match(plain)),
        "announces": sentence.rstrip().endswith(":"),
        "listed": bool(_LISTED.match(sentence)),
        "past": bool(_PAST.search(plain)),
        "plan": bool(_PLAN.search(plain)),
    }
    return [(f"={name}", float(sign)) for name, sign in signs.items() if sign]
