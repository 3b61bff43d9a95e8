"""Small talk: recognises messages that only greet, thank, agree or take note, and hold nothing to remember."""

from __future__ import annotations

import re

from ltst.support.tables import Table

LONGEST = 80  # characters: a longer message says something
FEW = 3  # words: this few say nothing even if none of them is telling ("go on", "do it then")

WORD = re.compile(r"[^\W_]+")

_TABLE = Table("ltst.support", "smalltalk.txt")
TELLING, BESIDE = _TABLE.words("telling"), _TABLE.words("beside")
UNSPACED = _TABLE.pattern("unspaced", flags=0)
NOTED = _TABLE.pattern("noted")
LONGEST_NOTE = 60  # characters: a longer note may also answer something
GREETING = _TABLE.pattern("greeting")


def is_small_talk(text: str) -> bool:
    """Returns whether a text only greets, thanks, agrees or takes note ("OK, thanks!", "Noted.", "谢谢")."""
    if len(text) > LONGEST or "?" in text or "？" in text:
        return bool(GREETING.fullmatch(text))
    words = WORD.findall(text.casefold())
    spaced = [word for word in words if not UNSPACED.fullmatch(word)]
    if not spaced:
        return True  # besides such phrases it holds only punctuation and emoji
    telling = len(spaced) < len(words) or len(spaced) <= FEW or any(word in TELLING for word in spaced)
    return telling and all(word in TELLING or word in BESIDE for word in spaced)


def acknowledges(text: str) -> bool:
    """Returns whether an answer only takes note of what was said ("Understood: raw SQL only.")."""
    first = NOTED.match(text)
    return first is not None and len(text) <= LONGEST_NOTE
