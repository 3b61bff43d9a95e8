"""The closed lists that tell a job from a mood and a cat from a car; they lie in `words.txt`, by name."""

from __future__ import annotations

import re
from importlib import resources

_TEXT = (resources.files("ltst.learn.extract") / "words.txt").read_text(encoding="utf-8")
_SECTIONS = re.split(r"^\[(\w+)\]$", _TEXT, flags=re.M)[1:]


def listed(text: str) -> frozenset[str]:
    """Phrases that are written one after another with commas."""
    return frozenset(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip())


LISTS = {name: listed(text) for name, text in zip(_SECTIONS[::2], _SECTIONS[1::2], strict=True)}


def alternatives(name: str) -> str:
    """The words of a list as a part of a pattern, the longest first."""
    return "|".join(sorted(map(re.escape, LISTS[name]), key=lambda each: (-len(each), each)))
