"""Corrections: right after "I live in Berlin", "Actually it's Hamburg" tells where the writer lives instead.

Only a short message counts, if it comes right after the one it corrects and holds nothing but a value and words that
take something back; or its first sentence does. The value replaces the old one in the earlier message, and the rules
read the result: so either it is of the right kind, or nothing is learned. A full sentence ("No, I live in Hamburg") is
read as usual, and marked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from ltst.learn.extract import message, values
from ltst.learn.extract.clauses import first_sentence
from ltst.learn.extract.reading import own_words
from ltst.learn.extract.values import LISTS, PACKAGE
from ltst.learn.keys import BARE, CORRECTS
from ltst.records import Claim, EarlierMessage
from ltst.support.tables import Table
from ltst.support.timeline import ANY, same

LONGEST, LONGEST_BEFORE = 80, 300  # characters of a correction, and of what it corrects
MOST_MARKS = 6

_TABLE = Table(PACKAGE, "corrections.txt")
_AFTER = r"(?![\w'])[ ,.:;!…—–-]*"
_FILLERS, _WEAK = _TABLE.pattern("fillers", after=_AFTER), _TABLE.pattern("weak", after=_AFTER)
_SURE, _WRONG = _TABLE.pattern("sure", after=_AFTER), _TABLE.pattern("wrong", r"\b", r"\b")
_BEHIND, _SAID = _TABLE.pattern("behind", r",? \b", "$"), _TABLE.pattern("said", after=" ")
_CHANGED = _TABLE.pattern("changed", r"\b", r"\b")
_IN = r"(?:(?:in|at|for|to|from|with|as) )?"
_WORDS = r"[^,;:.!?\n]{1,60}"
_VALUE = re.compile(rf"{_IN}(?P<v>{_WORDS})")
_NOT_BEHIND = re.compile(rf"{_IN}(?P<v>{_WORDS}?),? (?:and |und )?(?:not|nicht) {_IN}(?P<x>{_WORDS})")
_NOT_BEFORE = re.compile(
    rf"(?:it's |it is )?(?:not|nicht) {_IN}(?P<x>{_WORDS}?)(?:,? (?:but|sondern)|, it's|,) {_IN}(?P<v>{_WORDS})", re.I
)
_NAMED = frozenset(("pet", "child", "partner"))


class _Correction(NamedTuple):
    """The new value, the old one if it is named, whether it is given as a name, and whether it is a sure correction."""

    value: str
    old: str | None = None
    named: bool = False
    sure: bool = False


def read(text: str, said_at: datetime, before: str, earlier: Sequence[EarlierMessage]) -> list[Claim]:
    """Returns what a message says about its writer after their `earlier` ones; `before` is the turn it answers."""
    found = message.read(text, said_at)
    if len(text) > LONGEST_BEFORE or not (earlier or found):
        return found
    own = own_words(text).strip()
    if own.endswith("?"):
        return found
    corrected = _read_bare_correction(own, said_at, earlier, asked="?" in before)
    if corrected is not None and all(each.key != corrected[0].key for each in found):
        return [corrected[0], *found]
    return _mark_correction(found, own, said_at, earlier) if found and len(text) <= LONGEST else found


def _mark_correction(found: list[Claim], own: str, said_at: datetime, earlier: Sequence[EarlierMessage]) -> list[Claim]:
    """Returns the claims of a full sentence; if it corrects something, only the new claim, marked as a correction."""
    holds = [each for each in found if each.change == "holds"]
    alone = len(holds) == 1 and all(each.key == holds[0].key for each in found)
    if not alone or not _correctable(holds[0]) or not holds[0].single_valued or _CHANGED.search(own):
        return found
    # An earlier age was right in its time.
    if _WRONG.search(own) and holds[0].key != "age":
        return [_with_details(holds[0], {CORRECTS: ANY})]
    if not (_WEAK.match(own) or _SURE.match(own)) or not earlier:
        return found
    told = message.read(_complete_last(earlier, said_at), said_at)
    said = [each for each in told if each.key == holds[0].key and each.change == "holds"]
    return [_with_details(holds[0], {CORRECTS: earlier[-1].message_id})] if len(said) == 1 else found


def _read_bare_correction(
    own: str, said_at: datetime, earlier: Sequence[EarlierMessage], *, asked: bool = False
) -> tuple[Claim, str] | None:
    """Returns the claim of a bare correction, and the text that says it in full; None if it is none, or in doubt."""
    correction = (_parse(own) or _parse(first_sentence(own))) if earlier else None
    if correction is None or (asked and not correction.sure):
        return None
    told = _complete_last(earlier, said_at)
    old = _find_corrected(message.read(told, said_at), correction)
    if old is None or same(old.value, values.bare(correction.value)):
        return None
    full, times = re.subn(rf"(?<!\w){re.escape(old.value)}(?!\w)", lambda _: correction.value, told)
    new = [each for each in message.read(full, said_at) if (each.key, each.change) == (old.key, "holds")]
    new = [each for each in new if same(values.bare(each.value), values.bare(correction.value))]
    if times != 1 or len(new) != 1:
        return None
    return _with_details(new[0], {CORRECTS: earlier[-1].message_id, BARE: True}), full


def _complete_last(earlier: Sequence[EarlierMessage], said_at: datetime) -> str:
    """Returns the last of these messages, completed if it is itself a bare correction."""
    *others, last = earlier
    own = "" if len(last.content) > LONGEST_BEFORE else own_words(last.content).strip()
    corrected = _read_bare_correction(own, said_at, others)
    return own if corrected is None else corrected[1]


def _find_corrected(told: Sequence[Claim], correction: _Correction) -> Claim | None:
    """Returns the claim that is corrected: the only one, or the one whose value is named; None if it is unclear."""
    meant = [each for each in told if correction.old is None or same(each.value, values.bare(correction.old))]
    if len(meant) != 1 or not _correctable(meant[0]) or (correction.named and meant[0].key not in _NAMED):
        return None
    alike = [each for each in told if each.key == meant[0].key]
    return meant[0] if len(alike) == 1 else None


def _correctable(claim: Claim) -> bool:
    known = claim.single_valued or claim.key in message.CORRECTED
    return claim.noun == "fact" and claim.change == "holds" and claim.value != ANY and known


def _with_details(claim: Claim, marks: dict[str, object]) -> Claim:
    return replace(claim, details={**claim.details, **marks})


def _parse(own: str) -> _Correction | None:
    """Parses a message as a correction; None if it is long or holds any other words."""
    if len(own) > LONGEST:
        return None
    text, mark, sure = _strip_marker(own.strip(" .!…"))
    if behind := _BEHIND.search(text):
        text, mark = text[: behind.start()], mark or behind[0]
    if found := _NOT_BEFORE.fullmatch(text):
        return _Correction(found["v"], found["x"], sure=True)
    said = _SAID.match(text)
    text = text[said.end() :] if said else text
    if found := _NOT_BEHIND.fullmatch(text):
        return _Correction(found["v"], found["x"], bool(said and said["named"]), sure=True)
    found = _VALUE.fullmatch(text)
    if not found or not mark:
        return None
    # "Sorry, Claude" and "No. Thanks" have capitalised words too.
    known = found["v"].lower() in LISTS["cities"] or found["v"].isdecimal()
    doubtful = mark.rstrip()[-1:] in (".", "!") or not (sure or mark.lower().startswith(("actually", "i mean")))
    if not said and not known and doubtful:
        return None
    return _Correction(found["v"], None, bool(said and said["named"]), sure)


def _strip_marker(text: str) -> tuple[str, str, bool]:
    """Returns the text after the words that take something back, the last of these, and whether that is certain."""
    mark, sure = "", False
    for _ in range(MOST_MARKS):
        if found := _SURE.match(text):
            mark, sure = found[0], True
        elif found := _WEAK.match(text):
            mark = found[0]
        elif not (found := _FILLERS.match(text)):
            break
        text = text[found.end() :]
    return text, mark, sure
