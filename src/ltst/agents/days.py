"""Answers what happened at a time and what is planned, from the dates that the user's statements name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from ltst.agents import wording
from ltst.agents.intents import OF_TIME, PLANS, UNSPECIFIC
from ltst.agents.memories import distinct, plain_message
from ltst.agents.parts import parts
from ltst.agents.passages import LONGEST_QUOTE, UserQuestion, words
from ltst.agents.wording import Reply
from ltst.handles import viewing
from ltst.learn import when
from ltst.memory import AsyncUser
from ltst.recall.temporal import Interval
from ltst.records import ConversationMessage, Statement

# How many statements are read, the newest first, and how many messages are told.
READ, MOST = 300, 5
# A longer time is no moment: "this year".
LONGEST_MOMENT = timedelta(days=31)
# A plan without a day is told only if it is this new, and only so many of them.
FRESH, UNDATED = timedelta(days=60), 2
DAY = timedelta(days=1)


class _DatedStatement(NamedTuple):
    """A statement, and the moment it tells of; without one, the moment it was said."""

    at: datetime
    dated: bool
    statement: Statement


async def answer(user: AsyncUser, question: UserQuestion, now: datetime) -> Reply | None:
    """Returns the answer to a question that asks for nothing but a time or for plans; None to any other."""
    period = _period(question, now)
    if period is None:
        return None
    said = [each for each in await user.statements.list(limit=READ) if each.superseded_by is None]
    told = _planned(said, period, now) if period.start >= now else _happened(said, period)
    messages = await viewing.messages_by_id(user._desk, [each.statement.message_id for each in told])
    quotes = _quotes(told, messages)[:MOST]
    if not quotes:
        return None
    memories = [plain_message(message) for message, _ in quotes]
    return Reply(" ".join(_sentence(place, *each) for place, each in enumerate(quotes)), tuple(distinct(memories)))


def _period(question: UserQuestion, now: datetime) -> Interval | None:
    """Returns the time that a question is about; that of plans is to come."""
    text = question.text.strip()
    if not OF_TIME.match(text):
        return None
    named, plans = when.named(text, now), PLANS.search(text)
    rest = question.terms - {term for each in named for term in words(each.text)} - words(UNSPECIFIC)
    if rest or not (named or plans):
        return None
    start, end = (named[0].start, named[0].end) if named else (now, datetime.max.replace(tzinfo=now.tzinfo))
    return Interval(max(start, now) if plans and end > now else start, end, text)


def _happened(said: Sequence[Statement], period: Interval) -> list[_DatedStatement]:
    """Returns what names a moment in a period, and then what was said in it without naming another."""
    told = [
        _DatedStatement(at, True, each) for each in said for at in _moments(each) if period.start <= at < period.end
    ]
    dated = {each.statement.statement_id for each in told}
    during = [
        _DatedStatement(each.said_at, False, each)
        for each in said
        if each.statement_id not in dated and period.start <= each.said_at < period.end
        if all(period.start - DAY <= at < period.end for at in _moments(each))
    ]
    return [*sorted(told, key=lambda each: each.at), *sorted(during, key=lambda each: each.at)]


def _planned(said: Sequence[Statement], period: Interval, now: datetime) -> list[_DatedStatement]:
    """Returns what names a moment to come, the next first, and then the newest plans without one."""
    told = [
        _DatedStatement(at, True, each)
        for each in said
        for at in _moments(each)
        if period.start - DAY < at < period.end
    ]
    loose = [
        _DatedStatement(each.said_at, False, each)
        for each in said
        if each.kind == "plan" and each.until is None and now - each.said_at < FRESH and not _moments(each)
    ]
    open_ended = period.end.year == datetime.max.year
    return [*sorted(told, key=lambda each: each.at), *(loose[:UNDATED] if open_ended else ())]


def _moments(statement: Statement) -> list[datetime]:
    named = when.named(statement.content, statement.said_at)
    return [each.start for each in named if each.end - each.start <= LONGEST_MOMENT]


def _quotes(
    told: Sequence[_DatedStatement], messages: Mapping[str, ConversationMessage]
) -> list[tuple[ConversationMessage, str]]:
    """Returns each message once with what to quote of it: all that it tells if that is short, else what was found."""
    found: dict[str, list[str]] = {}
    for each in told:
        said = found.setdefault(each.statement.message_id, [])
        said += [each.statement.content] if each.statement.content not in said else []
    quotes = list[tuple[ConversationMessage, str]]()
    for message_id, said in found.items():
        message = messages.get(message_id)
        if message and (whole := parts(message.content).told):
            quotes.append((message, whole if len(whole) <= LONGEST_QUOTE else " ".join(said)))
    return quotes


def _sentence(place: int, message: ConversationMessage, quote: str) -> str:
    on = wording.day(message.timestamp) if message.timestamp else "an unknown day"
    lead = f"Also ({on})" if place else f"{wording.TOLD} on {on}"
    return f"{lead}: {wording.ended(wording.quoted(quote))}"
