"""Separates a message into what it tells, what it asks and what was pasted into it, sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ltst.agents import intents
from ltst.learn.pasted import own_spans
from ltst.support import questions
from ltst.support.terms import UNSPACED
from ltst.support.text import cut

# Only the beginning of a very long text is read.
LONGEST_TEXT, LONGEST_SENTENCE = 20_000, 600
SHORT = 100
# As many words tell something even if none of them is a verb that is known here: "dinner with Tom on Friday".
TELLING_WORDS = 4
# As many are a request before "ok?": "answer in German, ok?".
REQUESTING_WORDS = 3

SENTENCE_END = re.compile(r"[.!?…][\"'”’»)]?\s+|[。！？]|\n+")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|No|vs|e\.g|i\.e|z\.B|bzw|ca|Nr|Std|\d{1,2})\.$", re.IGNORECASE)
# "Room 12. Where is that?" are two sentences, "on the 12. of May" is one.
_NUMBER = re.compile(r"\b\d{1,2}\.$")
_COMMA = re.compile(r"[,;–—]\s+|\s-\s")


@dataclass(frozen=True, slots=True)
class Parts:
    """What a message tells and asks in its writer's own words, and what was pasted; each empty if there is none."""

    told: str
    asked: str
    pasted: str


def parts(text: str) -> Parts:
    """Returns the parts of a message. A message that asks nothing is told as a whole."""
    text = text[:LONGEST_TEXT].replace("\r\n", " \n").replace("\r", "\n")
    own, pasted = _own(text)
    told, asked = list[str](), list[str]()
    for sentence in pieces(own):
        tells, asks = _split_sentence(sentence, first=not told and not asked)
        told += [tells] if tells else []
        asked += [asks] if asks else []
    if not pasted and told == [*pieces(own)]:
        return Parts(own.strip(), "", "")
    return Parts("\n".join(filter(_is_telling, told)), " ".join(asked), pasted)


def pieces(text: str) -> Iterator[str]:
    """Yields the sentences of a text, each on one line; an abbreviation ends none."""
    found = ""
    for piece in cut(text, SENTENCE_END):
        line = " ".join(piece.split())
        if _NUMBER.search(found[-8:]) and intents.asks(line):
            yield found
            found = ""
        found = f"{found} {line}".strip()
        if not _ABBREVIATION.search(found[-8:]):
            yield from [found] if found else []
            found = ""
    if found:
        yield found


def _own(text: str) -> tuple[str, str]:
    """Returns the writer's own words, and the lines that hold others.

    A short line alone is its writer's, even if it looks like somebody's in a chat: "Wifi: tulip".
    """
    spans = own_spans(text)
    if not spans and "\n" not in text.strip() and len(text) <= SHORT:
        return text, ""
    others, pasted, start = bytearray(b"\1" * len(text)), list[str](), 0
    for at, stop in spans:
        others[at:stop] = bytes(stop - at)
    for line in text.split("\n"):
        if any(others[start : start + len(line.rstrip())]):
            pasted.append(line.rstrip())
        start += len(line) + 1
    return ("\n".join(_before_paste(text, *span) for span in spans) if pasted else text), "\n".join(pasted)


def _before_paste(text: str, start: int, stop: int) -> str:
    """Returns the writer's words without those that only announce the text that follows them on the same line."""
    line_end = text.find("\n", stop)
    if not text[stop : line_end if line_end >= 0 else None].strip():
        return text[start:stop]
    ends = [found.end() for found in SENTENCE_END.finditer(text, start, stop)]
    return text[start : ends[-1] if ends else start]


def _split_sentence(sentence: str, *, first: bool) -> tuple[str, str]:
    """Returns what a sentence tells and what it asks; without a question mark only the first one may ask."""
    begun = intents.OPENING.sub("", sentence)
    marked = questions.is_marked(sentence)
    if request := intents.TELLING.match(begun):
        return (begun[request.end() :].strip(" ,:?") if marked else sentence), ""
    if not marked and not (first and intents.asks(begun) and not sentence.endswith("!")):
        return sentence, ""
    if intents.PHATIC.match(begun) or (not first and intents.TAG.match(sentence)):
        return "", ""
    if intents.asks(begun, marked=marked) or intents.SUBORDINATE.match(begun):
        return "", sentence
    return _split_tag(sentence)


def _split_tag(sentence: str) -> tuple[str, str]:
    """Returns what a sentence tells before the clause that asks, as in "I parked on level 3, where was that?"."""
    # Every comma reads the sentence again, so a very long one is not searched.
    for comma in _COMMA.finditer(sentence if len(sentence) <= LONGEST_SENTENCE else ""):
        said, rest = sentence[: comma.start()], sentence[comma.end() :]
        if intents.TAG.match(rest) and len(said.split()) >= REQUESTING_WORDS:
            return said, ""
        asks = intents.asks(intents.OPENING.sub("", rest), marked=True)
        if asks and _is_telling(said) and intents.STATING.search(said):
            return said, rest
    return "", sentence


def _is_telling(sentence: str) -> bool:
    """Returns whether a sentence beside a question tells something, unlike "Thanks!" or "I don't remember"."""
    begun = intents.OPENING.sub("", sentence).strip(" .!?,:;")
    if intents.courtesy(sentence) is not None or intents.WONDERING.match(begun):
        return False
    return len(sentence.split()) >= TELLING_WORDS or bool(intents.STATING.search(begun[:200]) or UNSPACED.search(begun))
