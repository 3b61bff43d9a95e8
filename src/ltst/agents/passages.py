"""Passages: the sentence of a text that answers a question, by the words they share and the kind of answer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ltst.agents.intents import QUESTION_MARK
from ltst.learn.keys import words
from ltst.support.terms import terms
from ltst.support.text import cut

# Of a text of megabytes only the beginning is read.
LONGEST_TEXT = 20_000
LONGEST_QUOTE = 200
# Fewer words are no sentence by themselves: "FIRST.".
FRAGMENT = 4
# What the kind of answer that is asked for weighs beside one word in common.
KIND = 0.6
ASKS = 0.5

SENTENCE_END = re.compile(r"[.!?…][\"'”’»)]?\s+|[。！？]|\n+")
_ABBREVIATION = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|No|vs|e\.g|i\.e|z\.B|bzw|ca|Nr|Std|\d{1,2})\.$", re.IGNORECASE)
# What a sentence begins with that goes on with what the one before spoke of.
_GOES_ON = re.compile(
    r"(?:it|it['’]s|that|this|they|he|she|he['’]s|she['’]s|so|because|but|then|and|to|for|with|of|which|who"
    r"|es|das|der|die|er|sie|weil|aber|dann|und)\b",
    re.IGNORECASE,
)

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?"
    r"|dec(?:ember)?|januar|februar|märz|mai|juni|juli|oktober|dezember)"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?"
# What a question asks for, and what holds it.
SHAPES = (
    (
        re.compile(
            r"\b(?:when|what (?:day|date|time|year)|which (?:day|date|year|month|weekday)|wann"
            r"|welche[mnr]? (?:tag|jahr|abend))\b",
            re.IGNORECASE,
        ),
        re.compile(
            rf"\b(?:{_MONTH}|{_DAY}|today|yesterday|tomorrow|tonight|(?:19|20)\d\d|\d{{1,2}}(?:st|nd|rd|th|[:.]\d\d))\b"
            r"|\d\. ",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(
            r"\b(?:how (?:many|much|long|old|often|far|big)|what (?:number|price|cost|rate|size|interest)|cost"
            r"|wie (?:viele?|lange|alt|oft|hoch|weit))\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|dozen|half"
            r"|eine?|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn)\b",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(r"\b(?:where|which (?:city|town|place|country|room|machine|host)|wo|woher|wohin)\b", re.IGNORECASE),
        re.compile(
            r"\b(?:in|at|near|behind|under|to|from|bei|neben|im|am|auf|nach|aus) (?:(?:the|my|our|a|der|dem) )?\w"
            r"|\w\.\w{2}"
        ),
    ),
    (
        re.compile(
            r"\b(?:who|whom|whose|wer|wem|wen|wessen|what(?:'s| is) .{0,40}\bname|wie heiß\w{1,3})\b", re.IGNORECASE
        ),
        re.compile(r"(?<=[\w,:] )[A-ZÄÖÜ][a-zäöüß]+"),
    ),
)
# What stands in questions and tells nothing of their subject.
FILLERS = words(
    """
    which whose tell show give remember know say said told mention name call thing kind sort type current present
    moment today time day now still ever already really exact please much mani long old often ich du er sie es wir
    ihr mich mir dich dir uns mein meine meinen meinem meiner meines dein deine unser unsere unseren sein seine der
    die das den dem des ein eine einen einem einer eines und oder aber auch noch schon denn nur nicht kein keine
    sehr zu zur zum im in am an auf aus bei mit von vom vor nach für über um bis ist sind war waren bin bist hab
    habe hast hat haben hatte wird werden wurde kann können soll sollst muss darf darfst was wer wen wem wo wie wann
    warum wieso welch welche welcher welches welchen welchem wohin woher heiß heißt heiße viel viele lange alt oft
    zurzeit jetzt mal wegen gerade wort sag
    """
)


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the terms that tell its subject, and what may hold the answer."""

    text: str
    terms: frozenset[str]
    shapes: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, text: str) -> Question:
        """Read a question."""
        said = frozenset(terms(text[:LONGEST_TEXT]))
        asked = tuple(held for asks, held in SHAPES if asks.search(text[:LONGEST_TEXT]))
        return cls(text, said - FILLERS or said, asked)


def rarity(question: Question, texts: Iterable[str]) -> dict[str, float]:
    """Return how much each term of a question tells, by the share of the texts that hold it."""
    held = [question.terms & set(terms(text[:LONGEST_TEXT])) for text in texts]
    total = len(held) + 1
    return {term: math.log1p(total / (1 + sum(term in each for each in held))) for term in question.terms}


def covered(question: Question, text: str, weights: Mapping[str, float]) -> float:
    """Return the share of a question's weight that a text holds, from 0 to 1."""
    held = question.terms & set(terms(text[:LONGEST_TEXT]))
    return sum(weights[term] for term in held) / (sum(weights.values()) or 1.0)


def answering(question: Question, text: str, weights: Mapping[str, float]) -> str:
    """Return the one or two sentences of a text that answer best."""
    said = sentences(text)
    if len(said) <= 2 and sum(map(len, said)) <= LONGEST_QUOTE:
        return " ".join(said)
    scores = [_score(question, each, weights) for each in said]
    best = max(range(len(said)), key=lambda place: scores[place])
    if scores[best] <= 0:
        return _beginning(said)
    return " ".join(said[place] for place in _with_neighbour(said, scores, best))


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, each in one line; a few words by themselves go with the sentence before."""
    found: list[str] = []
    for piece in cut(text[:LONGEST_TEXT], SENTENCE_END):
        line = " ".join(piece.split())
        if found and (_short(line) or _short(found[-1]) or _ABBREVIATION.search(found[-1][-8:])):
            found[-1] += f" {line}"
        elif line:
            found.append(line)
    return found


def _short(line: str) -> bool:
    return len(line) < LONGEST_QUOTE and len(line.split()) < FRAGMENT


def _score(question: Question, sentence: str, weights: Mapping[str, float]) -> float:
    shared = sum(weights[term] for term in question.terms & set(terms(sentence)))
    held = KIND * any(shape.search(sentence) for shape in question.shapes)
    return shared + held - ASKS * bool(QUESTION_MARK.search(sentence))


def _with_neighbour(said: Sequence[str], scores: Sequence[float], best: int) -> list[int]:
    """The place of the best sentence, and of the one beside it where they belong together."""
    after, before = best + 1, best - 1
    if after < len(said) and (_GOES_ON.match(said[after]) or scores[after] >= scores[best] / 2):
        return [best, after]
    if before >= 0 and _GOES_ON.match(said[best]):
        return [before, best]
    return [best]


def _beginning(said: Sequence[str]) -> str:
    """The first sentences, as many as fit into a quote; one in any case."""
    kept = said[0]
    for each in said[1:]:
        if len(kept) + len(each) >= LONGEST_QUOTE:
            break
        kept += f" {each}"
    return kept
