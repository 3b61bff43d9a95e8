"""Weighing: folds claims into facts, preferences and instructions, anew whenever a claim is added or removed.

Claims are never matched by similarity: only the same key brings two of them together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from ltst.arguments import PREFERENCE_TYPES
from ltst.db.pool import Executor
from ltst.learn.keys import BARE, CORRECTS, NAMED
from ltst.records import ME, Instruction, UserPreference
from ltst.rooms import claims, events, facts, instructions, preferences
from ltst.rooms.claims import StoredClaim
from ltst.support.text import normalised
from ltst.support.timeline import Mention

ACTOR = "learning"
_WORD = re.compile(r"\w+")
# The agent name for conversations that name none.
NO_AGENT = "default"


async def weigh(tx: Executor, keys: Iterable[tuple[str, str]]) -> None:
    """Folds the claims of each (noun, key), in an order that all callers share so that they cannot deadlock."""
    folded = sorted(set(keys))
    for noun, key in folded:
        # Before folding, so that a claim removed meanwhile is marked for the next time.
        await claims.settled(tx, noun, key)
    for noun, key in folded:
        await FOLDS[noun](tx, key)


async def hold(tx: Executor, keys: Iterable[tuple[str, str]]) -> None:
    """Locks each (noun, key) in the same order, before the rows they rest on are changed."""
    for noun, key in sorted(set(keys)):
        await LOCKS[noun](tx, key)


async def weigh_fact(tx: Executor, key: str) -> None:
    """Folds a fact and records in the ledger what changed."""
    folded = await fold_fact(tx, key)
    for fact_id in folded.changed:
        await events.add(tx, ACTOR, "learn", "fact", fact_id)
    for fact_id in folded.gone:
        await events.add(tx, ACTOR, "unlearn", "fact", fact_id)


async def fold_fact(tx: Executor, key: str, about: str = ME) -> facts.FoldedKey:
    """Rebuilds the timeline of a key of a person from everything said and written about it."""
    await facts.lock(tx, key)
    # Claims are only about the user themself.
    heard = await claims.of(tx, "fact", key) if about.lower() == ME else []
    said = [*map(_mention, _fullest_forms(key, _drop_orphans(heard)))]
    folded = await facts.fold(tx, key, about, said, single_valued=all(each.single_valued for each in heard))
    rests = {each.claim_id: folded.rests.get(each.claim_id) for each in heard}
    await claims.rest_on(tx, {each.claim_id: row for each in heard if (row := rests[each.claim_id]) != each.row_id})
    return folded


async def weigh_preference(tx: Executor, key: str) -> None:
    """Lets the strongest and latest wish for a preference stand."""
    row = await preferences.row_id(tx, key)
    known = await tx.row("preferences.own", UserPreference, key=key)
    heard = await claims.of(tx, "preference", key)
    if known is not None and known.sensitive:
        return
    by_hand, wanted = _by_hand(known), wish(heard)
    if wanted is None or (by_hand is not None and not _overrules(wanted, by_hand)):
        await _without_wish(tx, key, known, by_hand)
        return
    metadata = {"sources": wanted.sources} | ({"by_hand": by_hand} if by_hand else {})
    if known is None or not known.learned or _fields_of(known) != (*wanted[:4], metadata):
        known_by: dict[str, Any] = {
            "source": wanted.source,
            "confidence": wanted.confidence,
            "metadata": json.dumps(metadata),
        }
        await preferences.set(tx, row, key, wanted.value, type=wanted.type, learned=True, **known_by)
        await events.add(tx, ACTOR, "learn", "preference", row)
    await claims.rest_on(tx, {each.claim_id: row for each in heard if each.row_id != row})


async def weigh_instruction(tx: Executor, agent: str) -> None:
    """Sets the instruction to what was written by hand, followed by what the user has asked for since."""
    await instructions.lock(tx, agent)
    versions = await instructions.history(tx, agent)
    base = next((each for each in reversed(versions) if not each.learned), None)
    active = next((each for each in versions if each.active), None)
    lines = _instruction_lines(await claims.of(tx, "instruction", agent), base)
    if not lines:
        await _as_written(tx, agent, base, active)
        return
    content = "\n".join([*([base.content] if base else []), *lines])
    if active is None or active.content != content:
        instruction, _ = await instructions.set(tx, agent, content, learned=True)
        await events.add(tx, ACTOR, "learn", "instruction", instruction.id, {"version": instruction.version})


FOLDS = {"fact": weigh_fact, "preference": weigh_preference, "instruction": weigh_instruction}
LOCKS = {"fact": facts.lock, "preference": preferences.lock, "instruction": instructions.lock}


class Wish(NamedTuple):
    """How the user wants something, how that is known, since when and from which messages."""

    value: str
    type: str
    source: str
    confidence: float
    said_at: datetime
    sources: list[str]


def wish(heard: Sequence[StoredClaim]) -> Wish | None:
    """Returns what is wanted: the latest explicit request, else the latest of what was said."""
    # Versions before 0.9 also stored hints, which no longer count.
    living = [each for each in _not_over(heard) if not each.details.get("hint")]
    asked = [each for each in living if each.details.get("explicit")]
    if not living:
        return None
    return _wish("explicit", asked) if asked else _wish("learned", living)


def _wish(source: str, heard: Sequence[StoredClaim]) -> Wish:
    last = heard[-1]
    alike = [each for each in heard if normalised(each.claim_value) == normalised(last.claim_value)]
    times = len({each.said_at for each in alike})
    confidence = min(0.99, 1 - (1 - last.confidence) ** times)
    kind = str(last.details.get("type", "general"))
    return Wish(
        last.claim_value,
        kind if kind in PREFERENCE_TYPES else "general",
        source,
        round(confidence, 4),
        last.said_at,
        [*dict.fromkeys(each.message_id for each in alike)],
    )


def _not_over(heard: Sequence[StoredClaim]) -> list[StoredClaim]:
    """Returns the claims that were not taken back later."""
    ended = {normalised(each.claim_value): each.said_at for each in heard if each.change == "ends"}
    holds = [(each, ended.get(normalised(each.claim_value))) for each in heard if each.change == "holds"]
    return [each for each, end in holds if end is None or end < each.said_at]


def _drop_orphans(heard: Sequence[StoredClaim]) -> list[StoredClaim]:
    """Returns the claims without bare corrections whose corrected message is gone, since they mean nothing alone."""
    sources = {each.message_id for each in heard}
    standing = [each for each in heard if not each.details.get(BARE) or each.details[CORRECTS] in sources]
    # A removed correction may itself have been corrected.
    return standing if len(standing) == len(heard) else _drop_orphans(standing)


def _fullest_forms(key: str, heard: Sequence[StoredClaim]) -> list[StoredClaim]:
    """Returns the claims with each name and birthday in its fullest form, so that a longer form is no change."""
    holds = [each for each in heard if each.change == "holds"] if key in (*NAMED, "name", "birthday") else []
    spelled = {normalised(each.claim_value): each.claim_value for each in holds}
    sources = {value: {each.message_id for each in holds if normalised(each.claim_value) == value} for value in spelled}
    full = dict[str, str]()
    corrected = {normalised(each.claim_value) for each in holds if each.details.get(CORRECTS)}
    for value in spelled.keys() - corrected:
        # "Rex and Rex Junior" are two.
        fuller = [each for each in spelled if _is_fuller(each, value) and not sources[each] & sources[value]]
        longest = max(fuller, key=len, default=value)
        if all(each == longest or _is_fuller(longest, each) for each in fuller):
            full[value] = spelled[longest]
    return [each._replace(claim_value=full.get(normalised(each.claim_value), each.claim_value)) for each in heard]


def _is_fuller(value: str, than: str) -> bool:
    """Returns whether a normalised name or date is the longer form of another: with a surname, or with the year."""
    if value.startswith(f"{than} "):
        return True
    words, fewer = ({word[:3] if word.isalpha() else word for word in _WORD.findall(each)} for each in (value, than))
    return fewer < words and all(word.isdecimal() and len(word) == 4 for word in words - fewer)


def _mention(heard: StoredClaim) -> Mention:
    details = {name: value for name, value in heard.details.items() if name not in (CORRECTS, BARE)}
    said = heard.claim_id, heard.claim_value, heard.valid_from, heard.said_at, heard.change == "ends", heard.valid_to
    corrects = heard.details.get(CORRECTS)
    return Mention(*said, confidence=heard.confidence, source=heard.message_id, details=details, corrects=corrects)


def _by_hand(known: UserPreference | None) -> Mapping[str, Any] | None:
    """Returns what was set by hand, even if a later wish has replaced it."""
    if known is None:
        return None
    if known.learned:
        found: Mapping[str, Any] | None = known.metadata.get("by_hand")
        return found
    return {
        "value": known.preference_value,
        "type": known.preference_type,
        "source": known.source,
        "confidence": known.confidence_score,
        "at": known.updated_at.isoformat(),
    }


def _overrules(wanted: Wish, by_hand: Mapping[str, Any]) -> bool:
    """Returns whether a wish overrules what was set by hand: by source (explicit, learned, inferred), then by time."""
    rank = {"explicit": 2, "learned": 1, "inferred": 0}
    one, other = rank[wanted.source], rank.get(str(by_hand["source"]), rank["explicit"])
    return one > other or (one == other and wanted.said_at > datetime.fromisoformat(str(by_hand["at"])))


async def _without_wish(
    tx: Executor, key: str, known: UserPreference | None, by_hand: Mapping[str, Any] | None
) -> None:
    """Restores what was set by hand, or removes what was learned, when nothing is wished any more."""
    if known is None or not known.learned:
        return
    if by_hand is None:
        await preferences.forget(tx, key)
        await events.add(tx, ACTOR, "unlearn", "preference", known.preference_id)
        return
    before = {name: by_hand[name] for name in ("type", "source", "confidence")}
    at = datetime.fromisoformat(by_hand["at"])
    await preferences.set(tx, known.preference_id, key, by_hand["value"], **before, at=at)
    await events.add(tx, ACTOR, "set", "preference", known.preference_id)


def _fields_of(known: UserPreference) -> tuple[object, ...]:
    """Returns the fields that a wish also has, in its order, and the metadata."""
    return known.preference_value, known.preference_type, known.source, known.confidence_score, known.metadata


async def _as_written(tx: Executor, agent: str, base: Instruction | None, active: Instruction | None) -> None:
    """Restores the instruction set by hand, and retires the learned one, when nothing is asked for any more."""
    if active is not None and active.learned:
        await instructions.retire(tx, agent)
        await events.add(tx, ACTOR, "unlearn", "instruction", active.id)
    if base is not None and not base.active:
        await tx.run("instructions.revive", id=base.id)
        await events.add(tx, ACTOR, "set", "instruction", base.id, {"version": base.version})


def _instruction_lines(heard: Sequence[StoredClaim], base: Instruction | None) -> list[str]:
    """Returns what was asked for since the last instruction by hand, each once, without what was taken back."""
    lines: dict[str, str] = {}
    for each in heard:
        # Of two wishes on the same matter and condition, the later one holds.
        name = str(each.details.get("matter") or normalised(each.claim_value))
        if base is not None and each.said_at <= base.created_at:
            continue
        lines.pop(name, None)
        known = base is not None and normalised(each.claim_value) in normalised(base.content)
        if each.change != "ends" and not known:
            lines[name] = each.claim_value
    return [*lines.values()]
