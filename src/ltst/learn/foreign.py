"""Texts of others that show themselves only as a whole: letters, talk with the names of its speakers, announced texts.

`pasted` knows a line of a log or a quotation by itself. A letter is known by its beginning and its end, a transcript by
names that come again, and an announced text by the line before it, which ends with a colon.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

_GREETING = re.compile(
    r"(?:hi|hello|hey|hiya|dear|good (?:morning|afternoon|evening|day)|to whom it may concern|hallo|guten tag"
    r"|regards to you|liebe[rs]?)\b(?P<whom>(?: (?!claude|chatgpt|gpt|assistant|gemini|copilot|there|ai\b)\w+)?)"
    r"[^.?\n]{0,30}[,!]?",
    re.I,
)
_CLOSING = re.compile(
    r"(?:(?:with |my |all |many )?(?:(?:kind|best|warm(?:est)?) )?(?:regards|wishes|greetings)|(?:all the )?best|cheers"
    r"|sincerely|yours(?: \w+)?|love|(?:many )?thanks|thank you|take care|see you(?: soon)?|xx?x?|ciao"
    r"|mit freundlichen grüßen|viele grüße|saludos|cordialement)[,!.]?(?P<name>(?: (?-i:[A-ZÀ-Þ])[\w.'-]*){0,3})",
    re.I,
)
_SIGNED = re.compile(
    r".{20,2000}?[.!?)] (?:all the best|best|(?:kind |best |warm )?regards|cheers|sincerely|love|yours|xx)"
    r",? (?-i:[A-Z])[\w.'-]{1,20}",
    re.I,
)
_NAME = re.compile(r"[A-ZÀ-Þ][\w.'-]+(?: [A-ZÀ-Þ][\w.'-]+){0,2}")
_CARD = re.compile(r"[^.!?,@]{2,60}, [^.!?,]{2,40}|[^\s@]+@\S+|\+?\d[\d ()-]{6,}")
_LABEL = re.compile(
    r"[\W_]{0,3}(?P<name>[^\W\d_][\w.'’-]{0,30}(?: [\w.'’-]{1,30}){0,2})(?: ?[^\w\s:(),.!?–—-]{1,4})?"
    r"(?: \([^()]{1,30}\))?[*_]{0,2}(?::| [–—-])[*_]{0,2} |\((?P<inside>[^()\n]{1,30})\) (?=\S)"
)
_ANNOUNCES = re.compile(r"[^\n]{1,120}:[*_\s]*$")
_RECEIVED = re.compile(
    r"[^\n]{0,200}\b(?:got|received|found|saw|copied|pasted) (?:this|that|it|these) (?:from|in|on|at|off|via)\b", re.I
)
# With these a writer announces what they say themself.
_OWN = re.compile(
    r"(?:.{0,100}\b)?(?:about (?:me|myself|us)|who i am|update|context|background|facts?|note|fyi|btw|remember"
    r"|important|so|well|basics|first|also|question|correction|know)[*_ ]{0,3}:[*_\s]*$|(?:my|our) (?!\w{1,30}['’]s\b)"
    r"(?!.{0,40}\b(?:answer|reply|e?mail|essay|letter|text|story|draft|bio|post|message|cv|resume|homework|speech"
    r"|transcript|chat|persona|character|prompt|poem|article|code|log|output)s?\b).{2,40}:",
    re.I,
)
FEWEST_SPOKEN = 3  # lines of a transcript
LONGEST_LABEL = 80


def hollowed(lines: list[str], hole: str) -> list[str]:
    """The lines with a hole in place of each that belongs to a talk or a letter; every character stays where it is."""
    foreign = {*_spoken(lines), *_letter([line.strip() for line in lines])}
    return [hole * len(line) if at in foreign else line for at, line in enumerate(lines)]


def announces(line: str, after: str) -> re.Match[str] | None:
    """Where a line announces that the next one is not the writer's: "From the FAQ:"."""
    if not after or _OWN.match(line):
        return None
    return _ANNOUNCES.match(line) or _RECEIVED.match(line)


def _spoken(lines: list[str]) -> Iterable[int]:
    """The lines of a talk: of several that begin with a name some begin with the same."""
    found = {at: _LABEL.match(line[:LONGEST_LABEL]) for at, line in enumerate(lines)}
    labels = {at: (each["name"] or each["inside"]).lower() for at, each in found.items() if each}
    often = Counter(labels.values())
    talk = len(labels) >= FEWEST_SPOKEN and len(often) > 1 and max(often.values()) > 1
    return labels if talk else ()


def _letter(lines: list[str]) -> Iterable[int]:
    """From the greeting of a letter to its end, where it has both; and a paragraph that is signed."""
    filled = [at for at, line in enumerate(lines) if line]
    greeted = next(((at, found) for at in filled if (found := _GREETING.fullmatch(lines[at]))), None)
    ends = [at for at in filled[1:] if _CLOSING.fullmatch(lines[at])]
    if greeted and ends and (greeted[1]["whom"] or _signature(lines, ends[-1])):
        # The name below belongs to it; what comes after that is the writer's again.
        return range(greeted[0], ends[-1] + 2)
    if cards := [at for at in filled[1:] if _card(lines, at)]:
        return range(cards[-1] + 2)
    return [at for at in filled if _SIGNED.fullmatch(lines[at])]


def _signature(lines: list[str], at: int) -> bool:
    """Whether somebody takes leave here and gives their name."""
    closing = _CLOSING.fullmatch(lines[at])
    return closing is not None and bool(closing["name"] or _NAME.fullmatch(_next(lines, at)))


def _card(lines: list[str], at: int) -> bool:
    """Whether a name stands alone, with a title or a number under it."""
    return bool(_NAME.fullmatch(lines[at]) and _CARD.fullmatch(_next(lines, at)))


def _next(lines: list[str], at: int) -> str:
    return lines[at + 1] if at + 1 < len(lines) else ""
