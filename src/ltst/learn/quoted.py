"""Quoted: checks the statements of a language model against the messages from which it quotes them.

A quotation counts only where it stands word for word among what its writer says in their own name. A model may also
strike out what the gate or the rules kept, and say what replaces what, but only among what it was shown.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ltst.learn import gate, statements
from ltst.records import STATEMENT_KINDS, ConversationMessage, NewStatement, Statement
from ltst.support.tables import Table
from ltst.support.text import holds_any

LEAST = 0.02  # a sentence that the gate thinks less likely is rejected, whatever a model says
SURE = 0.9  # one that the gate thinks at least this likely cannot be struck out
SHORTEST = 4
MOST_PLACES = 20
MOST_REPLACED = 3
SELVES = frozenset(("me", "i", "myself", "user", "the user"))
# Why something is no statement, or no fact about the user; a fact may be true of another person.
OF_STATEMENTS = ("asked", "imagined", "joke", "quoted", "request", "small_talk")
OF_FACTS = ("asked", "imagined", "joke", "quoted", "other")
REASONS = tuple(dict.fromkeys((*OF_STATEMENTS, *OF_FACTS)))

_ASKS = "?？؟"
_SPACE = re.compile(r"\s+")
_TABLE = Table("ltst.learn", "invented.txt")
_ABROAD, _TAKEN_BACK = _TABLE.pattern("abroad"), _TABLE.pattern("taken_back")
# Everything that the patterns match holds one of these, and looking for them first is cheaper.
_SIGNS = _TABLE.phrases("signs")


class Refused(Exception):
    """What a model says is not kept; the text of the error says why."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim that the rules read in a message, and that a model may strike out."""

    claim_id: str
    message_id: str
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Noted:
    """What is already noted, each under a short name: statements, of the turns or earlier, and the rules' claims."""

    statements: Sequence[Statement] = ()
    claims: Sequence[Claimed] = ()

    def only(self, messages: Collection[str]) -> Noted:
        """Returns the statements of some messages, and all claims."""
        return Noted([each for each in self.statements if each.message_id in messages], self.claims)

    def by_name(self) -> dict[str, Statement | Claimed]:
        """Returns what each short name stands for."""
        return {f"s{at}": each for at, each in enumerate(self.statements, 1)} | {
            f"c{at}": each for at, each in enumerate(self.claims, 1)
        }


@dataclass(frozen=True, slots=True)
class Quoted:
    """A statement in a message, the id of the one already there, if any, and the ids of those it replaces."""

    message_id: str
    stated: NewStatement
    known: str | None
    replaces: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, int, int]:
        """The message and the span where it stands."""
        return self.message_id, self.stated.start_at, self.stated.end_at


def quoted(
    raw: Mapping[str, Any], message: ConversationMessage, said: Sequence[str], noted: Noted, confidence: float
) -> list[Quoted]:
    """Returns the statements that a model quotes from a message; `said` is what its writer said up to it."""
    kind = raw.get("kind")
    if kind not in STATEMENT_KINDS or message.message_id is None or message.timestamp is None:
        raise Refused("a kind that is not in the list")
    text, found = statements.plain(message.content), list[Quoted]()
    for start, end in _places(raw.get("quote"), text):
        person = _about(raw.get("about"), text[start:end], kind, said)
        times = statements.lasts(text[start:end], kind, message.timestamp)
        stated = NewStatement(start, end, kind, person, confidence, *times, origin="model")
        found.append(_as_known(message.message_id, stated, noted))
    return [replace(found[0], replaces=_find_replaced(raw.get("replaces"), found[0], message, noted)), *found[1:]]


def vetoed(raw: Mapping[str, Any], noted: Noted, shown: set[str], agreed: set[str]) -> str:
    """Returns the id that a model strikes out: noted in a `shown` message and not also in its answer (`agreed`)."""
    found = noted.by_name().get(str(raw.get("id")))
    if found is None or found.message_id not in shown:
        raise Refused("nothing that was noted in these turns")
    if raw.get("why") not in (OF_STATEMENTS if isinstance(found, Statement) else OF_FACTS):
        raise Refused("a veto for a reason that is not in the list")
    if isinstance(found, Statement) and (found.origin not in ("gate", "rule") or found.confidence >= SURE):
        raise Refused("what a person set, or the gate is sure of, stays")
    name = found.statement_id if isinstance(found, Statement) else found.claim_id
    if name in agreed:
        raise Refused("it is noted by the same answer")
    return name


def _find_replaced(given: object, newer: Quoted, message: ConversationMessage, noted: Noted) -> tuple[str, ...]:
    """Returns the ids of the statements that one replaces: shown by name, said earlier, about the same person."""
    names, known = given if isinstance(given, list) else [given], noted.by_name()
    older = [known[name] for name in names[:MOST_REPLACED] if isinstance(name, str) and name in known]
    text = statements.plain(message.content)[newer.stated.start_at : newer.stated.end_at]
    place: Any = (message.timestamp, message.message_index or 0, newer.stated.start_at)
    return tuple(
        each.statement_id
        for each in older
        if isinstance(each, Statement)
        and (each.said_at, each.position, each.start_at) < place
        and _same_person(each, newer.stated.about, text)
    )


def _places(quote: object, text: str) -> list[statements.Span]:
    """Returns the spans of the quoted sentences; a short part of a sentence stands for itself."""
    if not isinstance(quote, str) or not SHORTEST <= len(quote.strip()) <= statements.LONGEST_SENTENCE:
        raise Refused("a quotation that is no sentence")
    wanted = statements.plain(quote).strip()
    if wanted not in text:
        raise Refused("words that the turn does not have")
    own = statements.candidates(text)
    for start in _starts(wanted, text):
        parts = [each for each in own if each[0] < start + len(wanted) and start < each[1]]
        pieces = [(max(start, begin), min(start + len(wanted), end)) for begin, end in parts]
        if _SPACE.sub("", "".join(text[begin:end] for begin, end in pieces)) == _SPACE.sub("", wanted):
            _refuse_doubtful(text, own, parts)
            return [_extend(*each) for each in zip(pieces, parts, strict=True)]
    raise Refused("words that are quoted, pasted, invented or taken back, or end within a word")


def _starts(wanted: str, text: str) -> Iterator[int]:
    """Yields where words occur in a text, but not inside other words. Some languages put no spaces between words."""
    at = -1
    for _ in range(MOST_PLACES):
        at = text.find(wanted, at + 1)
        if at < 0:
            return
        if wanted.isascii() and (text[at - 1 : at].isalnum() or text[at + len(wanted) :][:1].isalnum()):
            continue
        yield at


def _refuse_doubtful(text: str, own: Sequence[statements.Span], parts: Sequence[statements.Span]) -> None:
    """Raises Refused for what is asked, supposed in any language, or unlikely to the gate."""
    likely = dict(zip(own, gate.judged(text, own, "", LEAST), strict=True))
    for start, end in parts:
        if text[end - 1] in _ASKS:
            raise Refused("a question")
        if supposed_abroad(text, start, end):
            raise Refused("what is supposed, invented or asked for")
        if likely[start, end] is None:
            raise Refused("nothing that tells of a life")


def supposed_abroad(text: str, start: int, end: int) -> bool:
    """Returns whether foreign words on the line, up to its end, mark a sentence as supposed or invented, or a joke."""
    begins, ends = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line = text[begins : len(text) if ends < 0 else ends]
    if not holds_any(line, _SIGNS):
        return False
    return _ABROAD.search(line[: end - begins]) is not None or _TAKEN_BACK.search(line) is not None


def _extend(piece: statements.Span, sentence: statements.Span) -> statements.Span:
    return sentence if 2 * (piece[1] - piece[0]) >= sentence[1] - sentence[0] else piece


def _as_known(message_id: str, stated: NewStatement, noted: Noted) -> Quoted:
    """Returns a new statement, or the one that already covers its place, whose confidence stays as it is."""
    for each in noted.statements:
        if each.message_id == message_id and each.start_at <= stated.start_at and stated.end_at <= each.end_at:
            whole = replace(stated, start_at=each.start_at, end_at=each.end_at)
            return Quoted(message_id, whole, each.statement_id)
    return Quoted(message_id, stated, None)


def _about(given: object, sentence: str, kind: str, said: Sequence[str]) -> str:
    """Returns whom a statement is about, in the writer's words; if they did not say it so, the rules decide."""
    words = " ".join(given.split()) if isinstance(given, str) else ""
    if words.casefold() in SELVES:
        return "me"
    if 0 < len(words) <= statements.LONGEST_ABOUT and any(_is_in(words, text) for text in said):
        return words
    return statements.about(sentence, kind)


def _is_in(words: str, text: str) -> bool:
    wanted, said = (statements.plain(each).casefold() for each in (words, text))
    return any(True for _ in _starts(wanted, said))


def _same_person(older: Statement, about: str, text: str) -> bool:
    """Returns whether two are about one person: named alike, or one is named in the other's words."""
    one, other = older.about.casefold(), about.casefold()
    if "me" in (one, other):
        named = other if one == "me" else one
        return one == other or _is_in(named, older.content if one == "me" else text)
    return _is_in(one, other) or _is_in(other, one)
