"""Sentences: finds where each begins and ends in a text, so that it can be quoted as it stands."""

from __future__ import annotations

import re

# A closing mark with quotes or brackets after it, before a space; or a line break.
_END = re.compile(r"[.!?…][\"'”’)\]]*+(?=[ \t])|\n")
# A full stop after one of these, or after a single capital, ends no sentence. Only the last characters are searched.
_SHORTENED = re.compile(r"(?:^|[\s(])(?:Mr|Mrs|Ms|Dr|St|Prof|vs|etc|e\.g|i\.e|approx|No|Jr|Sr|[A-Z])\.$")
_LONGEST_SHORTENED = 8
# "Am 5. Dezember" is one date; "in 2019. August was hot" is two sentences.
_ORDINAL = re.compile(
    r"(?<!\d\d)\d\. (?:Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)


def spans(text: str) -> list[tuple[int, int]]:
    """Returns the start and end of each sentence, without the white space around it."""
    found, start = [], 0
    for end in _END.finditer(text):
        if end[0][0] == "." and _goes_on(text, start, end.start()):
            continue
        found.append((start, end.end()))
        start = end.end()
    found.append((start, len(text)))
    trimmed = (_trimmed(text, *each) for each in found)
    return [(begin, end) for begin, end in trimmed if begin < end]


def _goes_on(text: str, start: int, stop: int) -> bool:
    """Returns whether a full stop belongs to an abbreviation or to a date."""
    before = text[max(start, stop - _LONGEST_SHORTENED) : stop + 1]
    return _SHORTENED.search(before) is not None or (stop > start and _ORDINAL.match(text, stop - 1) is not None)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    begin = start + len(piece) - len(piece.lstrip())
    return begin, max(begin, start + len(piece.rstrip()))
