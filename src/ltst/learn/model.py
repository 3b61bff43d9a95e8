"""Learning with a language model: one call per batch of turns, and nothing is kept that the turns do not bear out."""

from __future__ import annotations

import asyncio
import json
import re
from calendar import month_name, monthrange
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ltst.learn import grounding, keys
from ltst.learn.quoted import REASONS, Claimed, Noted, Quoted, Refused, quoted, vetoed
from ltst.learn.transcript import ShownTurn, bare_answer, messages, shown_turns
from ltst.providers.language import ask
from ltst.recall import temporal
from ltst.records import STATEMENT_KINDS, Claim, ConversationMessage, Fact, Statement
from ltst.support.child import Limits
from ltst.support.children import LEARNING
from ltst.support.logs import LOGGER
from ltst.support.text import shortened

if TYPE_CHECKING:
    from ltst.protocols import LanguageModel

MOST_KNOWN = 40
LONGEST_KNOWN = 100
LONGEST_NOTED = 160
LONGEST_VALUE = 200
LONGEST_KIND = 40
LONGEST_ANSWER = 20_000
MOST_CLAIMS = 64
ANSWER_TOKENS = 3_000
LIMITS = Limits(10.0)  # the default for checking an answer
HIGHEST_CONFIDENCE = 0.9
USUAL_CONFIDENCE = 0.7
EARLIEST_YEAR, LATEST_YEAR = 1900, 9000
FURTHEST_PLAN = 10  # years
SLACK = timedelta(days=1)  # two time zones may disagree on the date by this much

NOTHING = Noted()
KINDS = {"child": "relation", "sibling": "relation", "parent": "relation", "pet": "species"}
# A model may file a true value under a wrong key; for these keys the form of the value shows it.
FORMS = {
    "email": re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+"),
    "age": re.compile(rf"(?:(?:1[0-2]|[1-9])?\d|(?:{'|'.join(grounding.NUMBER_WORDS)})\w*)\b.*", re.I),
    "phone": re.compile(r"(?:\D*\d){4}.*"),
    "birthday": re.compile(rf"(?>.*?(?:\d|{'|'.join(month_name[1:])})).*", re.I),
    "name": re.compile(r"\D+"),
}
DATE = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:T.*)?")
ARTICLE = re.compile(r"(?:a|an|the|my|our)\s+", re.I)
COMPARED = re.compile(r" (?:over|to|than|rather than|instead of) ", re.I)


_TEXT, _TURN, _SURE = {"type": "string"}, {"type": "integer"}, {"type": "number"}
_CLAIM: dict[str, Any] = {
    "turn": _TURN,
    "key": {**_TEXT, "enum": sorted({*keys.FACTS, *keys.PREFERENCES, keys.PREFERS, keys.INSTRUCTION})},
    "value": _TEXT,
    "change": {**_TEXT, "enum": ["holds", "ends"]},
    **{key: {"type": ["string", "null"]} for key in ("kind", "since", "date")},
    "explicit": {"type": "boolean"},
    "confidence": _SURE,
}
_STATEMENT: dict[str, Any] = {
    "turn": _TURN,
    "quote": _TEXT,
    "kind": {**_TEXT, "enum": [*STATEMENT_KINDS]},
    "about": _TEXT,
    "replaces": {"type": "array", "items": _TEXT},
    "confidence": _SURE,
}
_WRONG: dict[str, Any] = {"id": _TEXT, "why": {**_TEXT, "enum": [*REASONS]}}


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": dict(fields), "required": [*fields], "additionalProperties": False}


_LISTS = {"claims": _CLAIM, "statements": _STATEMENT, "wrong": _WRONG}
SCHEMA: Mapping[str, Any] = _object(
    {name: {"type": "array", "items": _object(fields)} for name, fields in _LISTS.items()}
)
# The fields by which an object is recognised where its list is missing.
_SIGNS = {"claims": {"key", "value"}, "statements": {"turn", "quote"}, "wrong": {"id", "why"}}


@dataclass(slots=True)
class Weighed:
    """What became of a model's answer: kept with the ids of its messages, or refused with the reason.

    `wrong` are the ids of the statements and claims that it strikes out.
    """

    kept: list[tuple[str, Claim]] = field(default_factory=list)
    stated: list[Quoted] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    refused: list[tuple[Mapping[str, Any], str]] = field(default_factory=list)


async def extracted(
    model: LanguageModel,
    turns: Sequence[ConversationMessage],
    known: Sequence[Fact],
    noted: Noted = NOTHING,
    *,
    limits: Limits = LIMITS,
    owner: str = "",
) -> Weighed:
    """Asks the model once what the user's turns say about the user, each with the id of the message that says it.

    If the turns do not fit one prompt, only the latest are read; `batches` cuts them so that all are. Raises
    ModelUnavailable if the model cannot be asked. A child process checks its answer, for the `owner` of the turns.
    """
    shown = shown_turns(turns)
    if not any(each.message.role == "human" for each in shown):
        return Weighed()
    asked = request(shown, known, noted)
    answer = await asyncio.to_thread(ask, model, asked, schema=SCHEMA, max_tokens=ANSWER_TOKENS)
    weighed = await LEARNING.one(weigh, answer.text, shown, noted, limits=limits, owner=owner)
    told = {name: len(getattr(weighed, name)) for name in ("kept", "stated", "wrong", "refused")}
    LOGGER.info("claims_weighed", extra=told)
    return weighed


def request(shown: Sequence[ShownTurn], known: Sequence[Fact], noted: Noted = NOTHING) -> list[dict[str, str]]:
    """Returns the messages that ask for claims and statements."""
    facts = [{"key": fact.key, "value": shortened(fact.value, LONGEST_KNOWN)} for fact in known[:MOST_KNOWN]]
    numbers = {each.message.message_id: each.number for each in shown}
    names = [{"id": name, **_show_noted(each, numbers)} for name, each in noted.by_name().items()]
    data = {"known": facts, "noted": names, "turns": [each.as_data() for each in shown]}
    return messages("ltst.learn", "extract.md", data)


def _show_noted(each: Statement | Claimed, numbers: Mapping[str | None, int]) -> dict[str, Any]:
    """Returns how the prompt shows what is noted: by turn number if the turn is shown, else with its date."""
    number = numbers.get(each.message_id)
    if isinstance(each, Claimed):
        return {"turn": number, "key": each.key, "value": shortened(each.value, LONGEST_KNOWN)}
    if number is not None:  # the turn itself shows the full text
        return {"turn": number, "text": shortened(each.content, LONGEST_KNOWN)}
    return {"on": f"{each.said_at:%Y-%m-%d}", "about": each.about, "text": shortened(each.content, LONGEST_NOTED)}


def weigh(answer: str, shown: Sequence[ShownTurn], noted: Noted = NOTHING) -> Weighed:
    """Returns what is kept and refused of an answer, however broken, checked against the turns that it cites."""
    weighed, found = Weighed(), _found_in(answer)
    told: set[tuple[str, str, str, str]] = set()
    for raw in found["claims"][:MOST_CLAIMS]:
        with _collect_refusal(weighed, raw):
            source, claim = _check_claim(raw, shown)
            same = (source, claim.key, claim.value.casefold(), claim.change)
            if same not in told:
                told.add(same)
                weighed.kept.append((source, claim))
    for raw in found["statements"][:MOST_CLAIMS]:
        with _collect_refusal(weighed, raw):
            _keep_statements(raw, shown, noted, weighed)
    agreed = {each.known for each in weighed.stated if each.known} | _claimed_again(weighed, noted)
    for raw in found["wrong"][:MOST_CLAIMS]:
        with _collect_refusal(weighed, raw):
            turns = {str(each.message.message_id) for each in shown if each.message.role == "human"}
            weighed.wrong.append(vetoed(raw, noted, turns, agreed))
    return weighed


@contextmanager
def _collect_refusal(weighed: Weighed, raw: Mapping[str, Any]) -> Iterator[None]:
    try:
        yield
    except Refused as problem:
        weighed.refused.append((raw, str(problem)))


def _keep_statements(raw: Mapping[str, Any], shown: Sequence[ShownTurn], noted: Noted, weighed: Weighed) -> None:
    """Keeps the statements that a model quotes, each place only once."""
    turn = _find_turn(raw.get("turn"), shown)
    said = [each.text for each in shown if each.message.role == "human" and each.number <= turn.number]
    told = {each.place for each in weighed.stated}
    found = quoted(raw, turn.message, said, noted, _confidence(raw))
    weighed.stated += [each for each in found if each.place not in told]
    if raw.get("replaces") and not found[0].replaces:
        raise Refused("it takes the place of nothing that was shown, was said before and is about the same")


def _claimed_again(weighed: Weighed, noted: Noted) -> set[str]:
    """Returns the ids of the rules' claims that the model also makes."""
    told = {(source, claim.key, claim.value.casefold()) for source, claim in weighed.kept}
    return {each.claim_id for each in noted.claims if (each.message_id, each.key, each.value.casefold()) in told}


def _check_claim(raw: Mapping[str, Any], shown: Sequence[ShownTurn]) -> tuple[str, Claim]:
    turn = _find_turn(raw.get("turn"), shown)
    key, value, change = str(raw.get("key")).strip().lower(), _check_value(raw.get("value")), raw.get("change", "holds")
    if change not in ("holds", "ends"):
        raise Refused("a change that is neither holds nor ends")
    if key == keys.INSTRUCTION:
        claim = _instruction(raw, turn, value, change)
    elif key in keys.FACTS:
        claim = _fact(raw, turn, key, _bare(value), change)
    else:
        claim = _preference(raw, turn, key, _bare(value), change)
    assert turn.message.message_id is not None
    return turn.message.message_id, claim


def _find_turn(number: object, shown: Sequence[ShownTurn]) -> ShownTurn:
    if isinstance(number, str) and number.isdecimal() and len(number) < 9:
        number = int(number)
    for each in shown:
        if each.number == number and not isinstance(number, bool):
            if each.message.role != "human":
                raise Refused("a turn that is not the user's")
            return each
    raise Refused("a turn that is not there")


def _check_value(value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        value = str(value)  # an age
    if not isinstance(value, str) or len(value) > 10 * LONGEST_VALUE:
        raise Refused("a value that is no short text")
    value = " ".join(value.split())
    if not value or len(value) > LONGEST_VALUE or not value.isprintable():
        raise Refused("a value that is no short text")
    return value


def _bare(value: str) -> str:
    """Returns the value without an article before it and punctuation around it."""
    return ARTICLE.sub("", value.strip(" .,;:!?"), count=1) if ARTICLE.match(value) else value.strip(" .,;:!?")


def _fact(raw: Mapping[str, Any], turn: ShownTurn, key: str, value: str, change: str) -> Claim:
    if key in FORMS and not FORMS[key].fullmatch(value):
        raise Refused(f"a value that is no {key}")
    if not grounding.has(turn.text, value):
        raise Refused("a value that the turn does not have")
    if not grounding.says_fact(turn.text, key, value, change):
        raise Refused("the turn denies, asks or imagines it, or means someone else")
    since = _read_start(raw.get("since"), turn)
    # For something that ended, this is the day from which the end holds.
    single = key in keys.SINGLE_VALUED
    return Claim("fact", key, value, change, single, _confidence(raw), since, None, _details(raw, turn, key))


def _preference(raw: Mapping[str, Any], turn: ShownTurn, key: str, value: str, change: str) -> Claim:
    if key == keys.PREFERS or key.startswith(f"{keys.PREFERS}_"):
        key, kind = _prefers(value), "general"
    elif key in keys.PREFERENCES:
        kind = keys.PREFERENCES[key]
    else:
        raise Refused("a key that is not in the list")
    if not grounding.says_preference(turn.text, key, value):
        raise Refused("a wish that the turn does not say, or says for once")
    details = {"type": kind, "explicit": raw.get("explicit") is True}
    return Claim("preference", key, value, change, True, _confidence(raw), details=details)


def _instruction(raw: Mapping[str, Any], turn: ShownTurn, value: str, change: str) -> Claim:
    if change != "holds" or not grounding.says_instruction(turn.text, value):
        raise Refused("a standing order that the turn does not give")
    return Claim("instruction", "", value, single_valued=False, confidence=_confidence(raw))


def _prefers(value: str) -> str:
    thing = "_".join(re.findall(r"\w+", COMPARED.split(value)[0].casefold()))
    if not thing:
        raise Refused("a preference for nothing")
    return f"{keys.PREFERS}_{thing}"[:64].rstrip("_")


def _confidence(raw: Mapping[str, Any]) -> float:
    given = raw.get("confidence")
    if isinstance(given, bool) or not isinstance(given, int | float) or given != given:
        return USUAL_CONFIDENCE
    return float(min(max(given, 0.0), HIGHEST_CONFIDENCE))


def _details(raw: Mapping[str, Any], turn: ShownTurn, key: str) -> dict[str, str]:
    if key == "plan":
        date = _plan_date(raw.get("date"), turn)
        return {"date": date} if date else {}
    kind = raw.get("kind")
    if key not in KINDS or not isinstance(kind, str) or not 0 < len(kind.strip()) <= LONGEST_KIND:
        return {}
    return {KINDS[key]: kind.strip().lower()} if grounding.has(turn.text, kind.strip()) else {}


def _read_start(written: object, turn: ShownTurn) -> datetime | None:
    """Returns the date that the model gives as the start, if the turn names it; None means the day it was said."""
    said_at, days = _said_at(turn), _date(written)
    if said_at is None or days is None:
        return None
    start, end = (day.replace(tzinfo=said_at.tzinfo) for day in days)
    if start - said_at > SLACK:
        return None
    for named in temporal.intervals(turn.text, said_at):
        if _overlap(named, start, end):
            return start if start == end else max(start, named.start)
    return None


def _plan_date(written: object, turn: ShownTurn) -> str | None:
    """Returns the date of a plan, if the turn names it and it has not passed."""
    said_at, days = _said_at(turn), _date(written)
    if said_at is None or days is None:
        return None
    start, end = (day.replace(tzinfo=said_at.tzinfo) for day in days)
    if said_at - end > SLACK or start.year > said_at.year + FURTHEST_PLAN:
        return None
    # temporal.py reads "in June" as the past June, but a plan means the coming one.
    past = [each.replace(year=each.year - 1, day=min(each.day, 28)) for each in (start, end)]
    named = temporal.intervals(turn.text, said_at)
    near = any(_overlap(each, start, end) or _overlap(each, *past) for each in named)
    return str(written).partition("T")[0] if near else None


def _overlap(named: temporal.Interval, start: datetime, end: datetime) -> bool:
    """Returns whether an interval and a range of days (both ends included) overlap, give or take a time zone."""
    return named.start - end < 2 * SLACK and start - named.end < SLACK


def _said_at(turn: ShownTurn) -> datetime | None:
    said_at = turn.message.timestamp
    if said_at is None or not EARLIEST_YEAR <= said_at.year < LATEST_YEAR:
        return None
    return said_at if said_at.tzinfo else said_at.replace(tzinfo=UTC)


def _date(written: object) -> tuple[datetime, datetime] | None:
    """Returns the first and the last day of a written date, month or year."""
    found = DATE.fullmatch(written) if isinstance(written, str) and len(written) <= 40 else None
    if found is None:
        return None
    year, month, day = (int(part) if part else None for part in found.groups())
    assert year is not None
    try:
        start = datetime(year, month or 1, day or 1)
        end = datetime(year, month or 12, day or monthrange(year, month or 12)[1])
    except ValueError:
        return None
    return (start, end) if start.year >= EARLIEST_YEAR else None


def _found_in(answer: str) -> dict[str, list[Mapping[str, Any]]]:
    """Returns the objects of each list, even from an answer that breaks off or has other text around them."""
    text = bare_answer(answer)[:LONGEST_ANSWER]
    reader = json.JSONDecoder()
    found: dict[str, list[Mapping[str, Any]]] = {name: [] for name in _LISTS}
    at = text.find("{")
    while at >= 0:
        try:
            read, after = reader.raw_decode(text, at)
        except (ValueError, RecursionError):
            after = at + 1
        else:
            for name, objects in found.items():
                objects += _objects_of(read, name)
        at = text.find("{", after)
    return found


def _objects_of(read: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    listed = read.get(name)
    if isinstance(listed, list):
        return [each for each in listed if isinstance(each, dict)]
    return [read] if read.keys() >= _SIGNS[name] else []
