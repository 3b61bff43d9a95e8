"""Splits sentences into clauses and opens only those in which the writer states something about themself.

Every rule for facts reads clauses that were opened here, so questions, conditions, wishes, other people's affairs and
the past are left out in one place. An opened clause has its subject and auxiliary removed: "I no longer live in Rome"
is "live in Rome" with the opener "do" and the change "ends".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ltst.learn.extract.values import LISTS, PACKAGE
from ltst.support.tables import Table

MOST_SENTENCES = 400
MOST_CLAUSES = 12
LONGEST_SENTENCE = 600
LONGEST_SARCASM = 40  # characters looked at before the final punctuation


class Clause(NamedTuple):
    """What is said of the writer: `opener` is am, have, do, was, can, will, my, or one of them after "not "."""

    opener: str
    rest: str
    whole: str
    plural: bool = False
    change: str = "holds"


class ParsedSentence(NamedTuple):
    """A sentence as written, whether it asks or is in doubt, and its clauses that state something."""

    text: str
    asks: bool
    doubtful: bool
    clauses: tuple[Clause, ...]


_TABLE = Table(PACKAGE, "clauses.txt", LISTS)
_END = re.compile(
    r"(?<=[.!?…])(?<!\bMr\.)(?<!\bDr\.)(?<!\bMs\.)(?<!\bSt\.)(?<!\bMrs\.)(?<!e\.g\.)(?<!i\.e\.)(?<!vs\.)\)? +|\n+"
)
_ASKING, _JOINTS, _DATED = _TABLE.pattern("asking"), _TABLE.pattern("joints"), _TABLE.pattern("dated")
_LEADS = _TABLE.pattern("leads", after=r"(?![\w'])[,:!.-]* ?")
_TIME_LEAD = _TABLE.pattern("times", after=r",? (?=I\b|I'|we\b|we'|my\b|our\b)")
_DOUBTS, _GOVERNED = _TABLE.pattern("doubts", after=r"(?![\w])"), _TABLE.pattern("governed", after=r"\b")
_PAST, _SARCASM = _TABLE.pattern("past", r"\b", r"\b"), _TABLE.pattern("sarcasm", r"(?:\b|(?<= ))", r"[.!) ]*$")
_REPORTED, _SUBJECT = _TABLE.pattern("reported", after=r"\b"), _TABLE.pattern("subject")
_TAILS = {"m": "am", "re": "am", "ve": "have", "d": "would", "ll": "will", "im": "am", "ive": "have"}
_ADVERBS = _TABLE.pattern("adverbs", "(?:", " )+")
_AUXILIARIES, _IMPLIED = _TABLE.pattern("auxiliaries"), _TABLE.pattern("implied", after=r"\b")
_VERBAL, _MEANT = _TABLE.pattern("verbal", after="$"), _TABLE.pattern("meant")
_SIMPLY, _OWNING = _TABLE.pattern("simply"), _TABLE.pattern("owning")
_COUNTED = _TABLE.pattern("counted", r"(?:, and|,| and|, plus| plus|;) (?=", ")")
_OTHERS_TOO = re.compile(r"\b(?:who|whose|with|has|have|of|for|like)\b", re.I)
_NOT = re.compile(r"(?:not|never|hardly|barely|rarely)\b ?", re.I)
_NO_LONGER = re.compile(r"(?:no longer|not any longer|not anymore|formerly|previously)\b ?", re.I)
_USED_TO = re.compile(r"used to (?:(?P<be>be )|(?P<have>have |own ))?", re.I)
_STOPPED = _TABLE.pattern("stopped")
_ANY_MORE = re.compile(r"\b(?:any ?more|any longer|these days|after all)\b", re.I)
_BOTH = _TABLE.pattern("both")
_DEED = re.compile(r"(?:just |now )?(?:moved|switched|got|bought|started|joined|became|went)\b", re.I)
_PARTICIPLE = re.compile(r"(?:working|living|based|married|allergic|currently|retired)\b", re.I)
_TAG = re.compile(r"(?:don't|am|aren't|isn't|didn't|do|is) (?:i|we|it|that)\b ?$", re.I)
_TOGETHER = frozenset(("and", "or", "then", "and then"))
_RESUMED = frozenset(("shared", "listed", "beside", "alike"))


def sentences(text: str) -> Iterator[ParsedSentence]:
    """Yields the sentences of the writer's own words, in order."""
    for raw in _END.split(text)[:MOST_SENTENCES]:
        sentence = raw.strip(" *_-").lstrip("# ")
        if sentence:
            yield _sentence(sentence[:LONGEST_SENTENCE])


def first_sentence(text: str) -> str:
    """Returns the first sentence of the writer's own words."""
    return _END.split(text, maxsplit=1)[0].strip()


def _sentence(text: str) -> ParsedSentence:
    asks = text.endswith("?") or bool(_ASKING.match(text))
    unstated = bool(_PAST.search(text) or _REPORTED.search(text.rstrip(" .!?…"))) or _is_sarcastic(text)
    clauses = () if unstated else tuple(_clauses(text))
    return ParsedSentence(text, asks, unstated or bool(_DOUBTS.match(text)), clauses)


def _is_sarcastic(text: str) -> bool:
    """Returns whether the end of the sentence takes it back, as sarcasm does. Only the end is looked at."""
    return _SARCASM.search(text, max(0, len(text.rstrip(".!) ")) - LONGEST_SARCASM)) is not None


class _Piece(NamedTuple):
    """A part of a sentence, and how it is joined to the one before it."""

    text: str
    joint: str
    kind: str

    @property
    def dependent(self) -> bool:
        """Whether it continues in the mood of the piece before it."""
        return self.kind in _RESUMED or self.joint.strip(" ,").lower() in _TOGETHER


def _clauses(text: str) -> Iterator[Clause]:
    pieces = _before_question(_pieces(text.rstrip(" .!?…")), text.endswith("?"))
    before: Clause | None = None
    stated = True
    for number, piece in enumerate(pieces):
        if _GOVERNED.match(_strip_lead(piece.text)[0]):
            return
        if piece.dependent and not stated:
            continue
        clause = _open_clause(piece, before, number == 0)
        stated = not _DOUBTS.match(_strip_lead(piece.text)[0])
        if not stated:
            before = None
            continue
        before = clause if clause and not clause.opener.startswith("not") else None
        if clause:
            yield from _split_counted(clause)


def _split_counted(clause: Clause) -> Iterator[Clause]:
    """Yields a clause for each of several whom one has: "two sons, Finn and Max" and "a daughter, Zoe"."""
    owning = _OWNING.match(clause.rest) if clause.opener in ("have", "do") else None
    # "I have a son with a cat and a dog": they are not the writer's.
    if owning is None or _OTHERS_TOO.search(clause.rest):
        yield clause
        return
    for each in _COUNTED.split(clause.rest[owning.end() :]):
        yield clause._replace(rest=f"{owning[0]}{each}")


def _pieces(text: str) -> list[_Piece]:
    pieces: list[_Piece] = []
    at, joint, kind = 0, "", "first"
    for found in _JOINTS.finditer(text):
        if found.lastgroup == "beside" and _VERBAL.search(text, at, found.start()):
            continue
        pieces.append(_Piece(text[at : found.start()], joint, kind))
        at, joint, kind = found.end(), found[0], found.lastgroup or "first"
        if len(pieces) >= MOST_CLAUSES:
            return pieces
    return [*pieces, _Piece(text[at:], joint, kind)]


def _before_question(pieces: list[_Piece], asks: bool) -> list[_Piece]:
    """Returns the pieces before the question itself: "I'm vegan, what can I cook?" asserts the first."""
    for number, piece in enumerate(pieces):
        if _ASKING.match(_strip_lead(piece.text)[0]):
            # A question tag casts doubt on everything before it: "I live in Lisbon, don't I".
            return [] if _TAG.match(piece.text) else pieces[:number]
    return [] if asks else pieces


def _strip_lead(text: str) -> tuple[str, str]:
    """Returns the clause without greetings and connectives, and the date that was among them."""
    when = ""
    for _ in range(6):
        if _SUBJECT.match(text) and not _LEADS.match(text):
            break
        if (time := _TIME_LEAD.match(text)) and _DATED.search(time[0]):
            when = time[0]
            text = text[time.end() :]
        elif lead := _LEADS.match(text):
            text = text[lead.end() :]
        else:
            break
    return text, when


def _open_clause(piece: _Piece, before: Clause | None, first: bool) -> Clause | None:
    text, when = _strip_lead(piece.text)
    whole = f"{text} {when}".strip()
    if piece.kind in _RESUMED:
        return _resume_subject(text, whole, before, piece.kind)
    if both := _BOTH.match(text):
        return _clause_of_verb(text[both.end() :], "", whole, True)
    if mine := re.match(r"(?:my|our)\b ", text, re.I):
        return Clause("my", text[mine.end() :], whole, text[0] in "oO")
    subject = _SUBJECT.match(text)
    if subject:
        tail = (subject["tail"] or subject["bare"] or "").lower()
        plural = (subject["who"] or subject["plain"] or "I").lower() == "we"
        return _clause_of_verb(text[subject.end() :], _TAILS.get(tail, ""), whole, plural)
    if first and _IMPLIED.match(text):
        been = "have" if text.lower().startswith("been ") else ""
        return _clause_of_verb(text, "am" if _PARTICIPLE.match(text) else been, whole, False)
    return Clause("other", text, whole)


def _resume_subject(text: str, whole: str, before: Clause | None, kind: str) -> Clause | None:
    """Opens a clause whose subject is in the one before it: "I'm 34 and live in Porto"."""
    if before is None or before.opener not in ("am", "have", "do", "was", "can"):
        return None
    # "I have a sister living in Rome" does not say where the writer lives.
    if kind == "beside" and (before.opener != "am" or re.search(r"\b(?:who|with|my)\b", before.rest)):
        return None
    # "I'm cooking for a vegan and allergic guest" is not about the writer's own food.
    if kind == "alike" and (before.opener != "am" or not _SIMPLY.fullmatch(before.rest)):
        return None
    # "I'm going to get a card and use Maps": neither has been done yet.
    if kind == "shared" and _MEANT.search(before.rest) and not _DEED.match(text):
        return None
    # After "I no longer work at Acme" only an action can follow: "moved to Beta".
    if before.change == "ends" and not _DEED.match(text):
        return None
    return _clause_of_verb(text, "am" if kind in ("beside", "alike") else "", whole, before.plural)


def _clause_of_verb(rest: str, auxiliary: str, whole: str, plural: bool) -> Clause | None:
    rest = _ADVERBS.sub("", rest, count=1) if _ADVERBS.match(rest) else rest
    if ended := _clause_of_end(rest, auxiliary, whole, plural):
        return ended
    opener = auxiliary
    if not auxiliary and (found := _AUXILIARIES.match(rest)):
        opener = (found.lastgroup or "").replace("_", " ")
        rest = rest[found.end() :].lstrip(" ,")
    opener = opener or "do"
    if opener == "had" and re.match(r"(?:an?|our|my|to put|to say) ", rest, re.I):
        opener, rest = "do", f"had {rest}"
    if opener in ("would", "modal", "had"):
        return None
    rest = _ADVERBS.sub("", rest, count=1) if _ADVERBS.match(rest) else rest
    if opener in ("am", "have", "will") and (denied := _NOT.match(rest)):
        opener, rest = f"not {opener}", rest[denied.end() :]
    elif ended := _clause_of_end(rest, opener, whole, plural):
        return ended
    if opener == "not do" and re.match(r"have\b|own\b", rest, re.I):
        opener, rest = "not have", rest.partition(" ")[2]
    if opener.startswith("not ") and _ANY_MORE.search(whole):
        rest = _ANY_MORE.sub("", rest).strip()
        return Clause(opener[4:], rest, whole, plural, "ends")
    return Clause(opener, rest, whole, plural)


def _clause_of_end(rest: str, auxiliary: str, whole: str, plural: bool) -> Clause | None:
    """Returns a clause for what is no longer so, with the opener that it would have if it were."""
    if auxiliary not in ("", "am", "have", "do"):
        return None
    if found := _NO_LONGER.match(rest):
        rest = rest[found.end() :]
        opener = auxiliary or "do"
        if opener == "do" and re.match(r"(?:have|own) ", rest, re.I):
            opener, rest = "have", rest.partition(" ")[2]
        return Clause(opener, rest, whole, plural, "ends")
    found = (None if auxiliary == "am" else _USED_TO.match(rest)) or _STOPPED.match(rest)
    if found:
        opener = "am" if found["be"] else "have" if found["have"] else "do"
        return Clause(opener, rest[found.end() :], whole, plural, "ends")
    return None
