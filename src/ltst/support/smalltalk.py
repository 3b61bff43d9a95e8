"""Small talk: messages that only greet, thank, agree or take note, in which there is nothing to remember."""

from __future__ import annotations

import re

from ltst.support.tables import Table

LONGEST = 80  # characters; who writes more says something
FEW = 3  # words: so many say nothing even where none of them is telling ("go on", "do it then")

WORD = re.compile(r"[^\W_]+")

_TABLE = Table("ltst.support", "smalltalk.txt")
TELLING, BESIDE = _TABLE.words("telling"), _TABLE.words("beside")
UNSPACED = _TABLE.pattern("unspaced", flags=0)
NOTED = _TABLE.pattern("noted")
LONGEST_NOTE = 60  # characters; a longer one may answer something too
GREETING = _TABLE.pattern("greeting")


def is_small_talk(text: str) -> bool:
    """Returns whether a text only greets, thanks, agrees or takes note ("OK, thanks!", "Noted.", "谢谢")."""
    if len(text) > LONGEST or "?" in text or "？" in text:
        return bool(GREETING.fullmatch(text))
    words = WORD.findall(text.casefold())
    spaced = [word for word in words if not UNSPACED.fullmatch(word)]
    if not spaced:
        return True  # but for such phrases there are only marks and pictures
    telling = len(spaced) < len(words) or len(spaced) <= FEW or any(word in TELLING for word in spaced)
    return telling and all(word in TELLING or word in BESIDE for word in spaced)


def acknowledges(text: str) -> bool:
    """Returns whether an answer only takes note of what was said ("Understood: raw SQL only.")."""
    first = NOTED.match(text)
    return first is not None and len(text) <= LONGEST_NOTE
