"""Reduces a message to what its writer says in their own name: no code, no quotation, no pasted or invented text."""

from __future__ import annotations

import re

from ltst.learn import pasted
from ltst.learn.statements import LONGEST, LONGEST_SENTENCE, plain
from ltst.support.tables import Table

_TABLE = Table("ltst.learn.extract", "reading.txt")
_CODE = re.compile(r"`[^`\n]{1,500}`")
_SINGLE = re.compile(r"‘[^‘\n]{0,500}?’(?!\w)")
_DOUBLE = re.compile(r'"([^"\n]{0,2000})"')
_STRAIGHT = re.compile(r"(?<![\w'])'(?:[^'\n]{3,300}[,.!?]|(?=I\b|I'|My\b|We\b|i\b)[^\n]{3,200}?)'(?!\w)")
_SHORT = re.compile(r"(?!I\b|I'|i\b|my\b)[\w'.-]{1,30}(?: (?!am\b)[\w'.-]{1,30})?", re.I)
_LINK = re.compile(r"(?:https?://|www\.)\S+", re.I)
_SPACE = re.compile(r"[^\S\n]+")
_BULLET = re.compile(r"^(?:[-*•·]|\d{1,2}[.)])\s+")
# A line that continues in the next one, as in wrapped text.
_WRAPPED = re.compile(r"(?<=[a-z,])\n(?=(?!i\b|i'|im\b|my\b)[a-z])")
_EMOJI = re.compile(r"[\U0001F000-\U0001FAFF\u2600-\u27BF\uFE0F\u200D\u200B]+")

_SUPPOSED = _TABLE.pattern("supposed", r"\b", r"[^\n]*")

_JOKE = _TABLE.pattern("joke", flags=re.I | re.M)


def own_words(text: str) -> str:
    """Returns the beginning of a message without code, quotations, links, pasted blocks, fiction and suppositions."""
    text = pasted.own_words(plain(_SINGLE.sub('""', text[:LONGEST])))
    text = _CODE.sub('""', text)
    text = _LINK.sub("", text)
    text = _DOUBLE.sub(_strip_quotes, text)
    text = _STRAIGHT.sub('""', text)
    text = text if text.isascii() else _EMOJI.sub(" . ", text)
    text = _SPACE.sub(" ", text)
    lines = (line.strip() for line in text.split("\n") if len(line) <= LONGEST_SENTENCE)
    text = "\n".join(_BULLET.sub("", line) for line in lines)
    return _SUPPOSED.sub("", _JOKE.sub("", _WRAPPED.sub(" ", text)))


def _strip_quotes(quotation: re.Match[str]) -> str:
    """Returns a short quotation without its marks, since it is only a name; of a longer one just the marks."""
    return quotation[1] if _SHORT.fullmatch(quotation[1]) else '""'
