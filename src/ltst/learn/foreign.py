"""Finds other people's texts that show only as a whole: letters, transcripts with speakers' names, announced texts.

`pasted` recognises a log line or a quotation by itself. A letter is recognised by its beginning and end, a transcript
by repeated names, and an announced text by the line before it, which ends with a colon.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from ltst.support.tables import Table

_TABLE = Table("ltst.learn", "foreign.txt")
_GREETING = _TABLE.pattern("greeting")
_CLOSING = _TABLE.pattern("closing")
_SIGNED = _TABLE.pattern("signed")
_SALUTATION = _TABLE.pattern("salutation")
_SIGN_OFF = _TABLE.pattern("sign_off")
_NAME = re.compile(r"[A-ZÀ-Þ][\w.'-]+(?: [A-ZÀ-Þ][\w.'-]+){0,2}")
_CARD = re.compile(r"[^.!?,@]{2,60}, [^.!?,]{2,40}|[^\s@]+@\S+|\+?\d[\d ()-]{6,}")
_LABEL = _TABLE.pattern("label", flags=0)
_ANNOUNCES = re.compile(r"[^\n]{1,120}:[*_\s]*$")
_RECEIVED = re.compile(
    r"[^\n]{0,200}\b(?:got|received|found|saw|copied|pasted) (?:this|that|it|these) (?:from|in|on|at|off|via)\b", re.I
)
_OWN = _TABLE.pattern("own")
FEWEST_SPOKEN = 3  # fewest lines of a transcript
LONGEST_LABEL = 80
SHORTEST_LETTER = 20  # characters between greeting and closing


def hollowed(lines: list[str], hole: str) -> list[str]:
    """Returns the lines, with a hole of the same length for each that belongs to a transcript or a letter."""
    foreign = {*_transcript_lines(lines), *_letter([line.strip() for line in lines])}
    return [hole * len(line) if at in foreign else _unfolded(line, hole) for at, line in enumerate(lines)]


def _unfolded(line: str, hole: str) -> str:
    """Returns a line with a hole for each letter that was pasted on it as a whole, from its greeting to its name."""
    kept, at = list[str](), 0
    ends = [found.end() for found in _SIGN_OFF.finditer(line)]
    for greeted in _SALUTATION.finditer(line) if ends else ():
        while ends and ends[0] < greeted.end() + SHORTEST_LETTER:
            ends.pop(0)
        if ends and greeted.start() >= at:
            kept += [line[at : greeted.start()], hole * (ends[0] - greeted.start())]
            at = ends[0]
    return "".join([*kept, line[at:]])


def announces(line: str, after: str) -> re.Match[str] | None:
    """Returns the match if a line announces that the next one is not the writer's: "From the FAQ:"."""
    if not after or _OWN.match(line):
        return None
    return _ANNOUNCES.match(line) or _RECEIVED.match(line)


def _transcript_lines(lines: list[str]) -> Iterable[int]:
    """Returns the lines of a transcript: several lines begin with names, and one of the names repeats."""
    found = {at: _LABEL.match(line[:LONGEST_LABEL]) for at, line in enumerate(lines)}
    labels = {at: (each["name"] or each["inside"]).lower() for at, each in found.items() if each}
    often = Counter(labels.values())
    talk = len(labels) >= FEWEST_SPOKEN and len(often) > 1 and max(often.values()) > 1
    return labels if talk else ()


def _letter(lines: list[str]) -> Iterable[int]:
    """Returns the lines of a letter with greeting and closing, of a text above a business card, or signed lines."""
    filled = [at for at, line in enumerate(lines) if line]
    greeted = next(((at, found) for at in filled if (found := _GREETING.fullmatch(lines[at]))), None)
    ends = [at for at in filled[1:] if _CLOSING.fullmatch(lines[at])]
    if greeted and ends and (greeted[1]["whom"] or _signature(lines, ends[-1])):
        # The name below the closing belongs to it; what follows is the writer's own again.
        return range(greeted[0], ends[-1] + 2)
    # A name on a line of its own, with a title, address or number below it.
    if cards := [at for at in filled[1:] if _NAME.fullmatch(lines[at]) and _CARD.fullmatch(_next(lines, at))]:
        return range(cards[-1] + 2)
    return [at for at in filled if _SIGNED.fullmatch(lines[at])]


def _signature(lines: list[str], at: int) -> bool:
    """Returns whether a closing here is signed with a name."""
    closing = _CLOSING.fullmatch(lines[at])
    return closing is not None and bool(closing["name"] or _NAME.fullmatch(_next(lines, at)))


def _next(lines: list[str], at: int) -> str:
    return lines[at + 1] if at + 1 < len(lines) else ""
