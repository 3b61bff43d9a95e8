"""Grounding: checks by rules, which no model can talk around, whether a text bears out what a model says of it.

The words must be there in any language. How they are meant (denied, asked, imagined, of someone else) is checked in
English only, and otherwise left to the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from ltst.learn import pasted
from ltst.learn.keys import FACTS, NUMBERS, words
from ltst.support.tables import Table
from ltst.support.terms import STOP_WORDS, terms
from ltst.support.text import composed

_TABLE = Table("ltst.learn", "grounding.txt")
WORD = re.compile(r"\w+")
NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
SENTENCE_END = re.compile(
    r"(?<=[.!?…])(?<!\b[A-Z]\.)(?<!\bSt\.)(?<!\bMt\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bDr\.)\s+|(?<=[。！？])|\n+"
)
CLAUSE_END = re.compile(r"[,;:()–—]|\s-\s|\b(?:but|and|so|because|although)\b", re.I)
# Quotations longer than a name or a title are not the user's own words either.
QUOTED = re.compile(r"\"[^\"]{1,1000}\"|“[^”]{1,1000}”|«[^»]{1,1000}»|„[^“”]{1,1000}[“”]")
LONGEST_NAME = 3
# Words that a value may hold although its text does not: they only join others.
JOINING = words("a an the of in at on for with to and or over than from by as my our")

QUESTION = _TABLE.pattern("question", r"\s{0,20}", r"\b")
DENIED = _TABLE.pattern("denied", r"\b", r"\b")
IMAGINED = _TABLE.pattern("imagined", r"\b", r"\b")
WISHED = _TABLE.pattern("wished", r"\b", r"\b")
OVER = _TABLE.pattern("over", r"\b", r"\b")
ENDED = _TABLE.pattern("ended", r"\b", r"\b")
STANDING = _TABLE.pattern("standing", r"\b", r"\b")
# What must come before the value of some preferences, since the value could be any word of the turn.
WANTED = {
    "answer_language": re.compile(r"\b(?:in|auf|en|em|på|speak|use|using|prefer)\s+(?:\w+\s+)?\w+$", re.I),
    "address_as": re.compile(r"\b(?:call|address|name|named|refer|nenn\w*|appel\w*|ll[aá]m\w*|cham\w*)\b", re.I),
    "units": re.compile(r"metric|imperial|celsius|fahrenheit|kelvin|kilo|met(?:re|er)|mile|feet|pound|units", re.I),
}
ANYTHING = re.compile("")
ONCE = _TABLE.pattern("once", r"\b", r"\b")

SUBJECT = _TABLE.pattern("subject")

# Facts that "my sister …" would wrongly give to the user.
PERSONAL = FACTS - {"partner", "child", "sibling", "parent", "pet", "cloud_provider"}
MEANT_DENIED = frozenset({"dislike"})  # "I don't like olives"
MEANT_WISHED = frozenset({"goal"})
MEANT_OVER = frozenset({"hometown", "birthday", "school", "studies"})

NUMBER_WORDS = {word: str(number) for word, number in NUMBERS.items() if number > 1}


class Occurrence(NamedTuple):
    """A place where a text holds the words of a value: the sentence, and the part of it up to the last of them."""

    sentence: str
    before: str

    @property
    def clause(self) -> str:
        """The clause that leads up to the words."""
        ends = [found.end() for found in CLAUSE_END.finditer(self.before)]
        return self.before[max(ends, default=0) :]

    @property
    def is_asked(self) -> bool:
        """Whether the words are part of a question, not of what is said on the way to it."""
        rest = self.sentence[len(self.before) :]
        until = CLAUSE_END.search(rest)
        asked = rest[: until.start() if until else None].rstrip().endswith("?")
        return asked or ("?" in rest and bool(QUESTION.match(self.clause)))

    @property
    def is_of_another(self) -> bool:
        """Whether the last subject named before the words is not the user."""
        spoken_of = [found.lastgroup for found in SUBJECT.finditer(self.before)]
        return spoken_of[-1:] == ["other"]


def plain(text: str) -> str:
    """Returns the text with composed letters and one kind of apostrophe."""
    return composed(text).replace("’", "'")


def own_words(text: str) -> str:
    """Returns the text without pasted text and longer quotations."""
    own = pasted.own_words(plain(text))
    return QUOTED.sub(lambda found: found[0] if len(WORD.findall(found[0])) <= LONGEST_NAME else " ", own)


def passages(text: str, value: str) -> Iterator[Occurrence]:
    """Yields the places in the user's own words where the words of a value stand close together."""
    needed = _required_words(plain(value))
    if not needed:
        return
    reach = 2 * len(WORD.findall(value)) + 4
    numbers = {*NUMBER.findall(plain(value))}
    for sentence in SENTENCE_END.split(own_words(text)):
        if numbers <= {*NUMBER.findall(sentence)}:
            yield from (Occurrence(sentence, sentence[:end]) for end in _places(sentence, needed, reach))


def has(text: str, words: str) -> bool:
    """Returns whether the text holds the words."""
    return any(passages(text, words))


def says_fact(text: str, key: str, value: str, change: str) -> bool:
    """Returns whether the text says this about its writer."""
    said = _ends if change == "ends" else _holds
    return any(said(passage, key) for passage in passages(text, value))


def says_preference(text: str, key: str, value: str) -> bool:
    """Returns whether the text wants this, and not only this once."""
    wanted = WANTED.get(key, ANYTHING)
    return any(
        wanted.search(each.before) and not ONCE.search(each.sentence) and not each.is_of_another
        for each in passages(text, value)
    )


def says_instruction(text: str, value: str) -> bool:
    """Returns whether the text gives this standing order, word for word."""
    said = " ".join(WORD.findall(own_words(text).casefold()))
    order = " ".join(WORD.findall(plain(value).casefold()))
    standing = STANDING.search(plain(value)) is not None
    return standing and bool(order) and f" {order} " in f" {said} "


def _holds(passage: Occurrence, key: str) -> bool:
    if passage.is_asked or IMAGINED.search(passage.before):
        return False
    if key not in MEANT_DENIED and DENIED.search(passage.clause):
        return False
    if key not in MEANT_WISHED and WISHED.search(passage.clause):
        return False
    if key not in MEANT_OVER and OVER.search(passage.before):
        return False
    return not (key in PERSONAL and passage.is_of_another)


def _ends(passage: Occurrence, key: str) -> bool:
    """Returns whether the passage ends a fact, which takes a word that says so."""
    if passage.is_asked or IMAGINED.search(passage.before) or WISHED.search(passage.clause):
        return False
    return ENDED.search(passage.sentence) is not None and not (key in PERSONAL and passage.is_of_another)


def _required_words(value: str) -> frozenset[str]:
    """Returns what a text must hold: the stems of the value's words, and stop words as they are."""
    words = WORD.findall(value)
    content = {*terms(value)}
    content |= {f"={word}" for word in map(str.lower, words) if word in STOP_WORDS and word not in JOINING}
    # A value of stop words alone, such as the name Will, must match letter by letter.
    return frozenset(content if terms(value) else (f"=={word}" for word in words))


def _places(sentence: str, needed: frozenset[str], reach: int) -> Iterator[int]:
    """Yields the positions at which everything needed has occurred within the last `reach` words."""
    words = [*WORD.finditer(sentence)]
    parts = [needed & {*terms(word[0]), f"={word[0].lower()}", f"=={word[0]}"} for word in words]
    held: Counter[str] = Counter()
    for at, word in enumerate(words):
        held.update(parts[at])
        if at >= reach:
            held.subtract(parts[at - reach])
        if parts[at] and all(held[each] > 0 for each in needed):
            yield word.end()
