"""Answers what happened at a time and what is planned, from the dates that the user's statements name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from operator import itemgetter

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
from ltst.support.place import in_thread

# How many statements are read, the newest first, and how many messages are told.
READ, MOST = 300, 5
# A longer time is no moment: "this year".
LONGEST_MOMENT = timedelta(days=31)
# A plan without a day is told only if it is this new, and only so many of them.
FRESH, UNDATED = timedelta(days=60), 2
DAY = timedelta(days=1)


# A statement and the moments that it names.
_Dated = tuple[Statement, Sequence[datetime]]
# A statement and the moment that it tells of, or the moment that it was said.
_Placed = tuple[datetime, Statement]


async def answer(user: AsyncUser, question: UserQuestion, now: datetime) -> Reply | None:
    """Returns the answer to a question that asks for nothing but a time or for plans; None to any other."""
    period = _period(question, now)
    if period is None:
        return None
    said = await user.statements.list(limit=READ)
    if len(said) == READ and period.end <= said[-1].said_at:  # a search finds what is older
        return None
    dated = await in_thread(_dated, said)
    told = _planned(dated, period, now) if period.start >= now else _happened(dated, period)
    messages = await viewing.messages_by_id(user._desk, [each.message_id for _, each in told])
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


def _dated(said: Sequence[Statement]) -> list[_Dated]:
    """Returns what nothing took the place of, with the moments that it names."""
    return [(each, _moments(each)) for each in said if each.superseded_by is None]


def _happened(said: Sequence[_Dated], period: Interval) -> list[_Placed]:
    """Returns what names a moment in a period, and then what was said in it without naming another."""
    told = [(at, each) for each, moments in said for at in moments if period.start <= at < period.end]
    dated = {each.statement_id for _, each in told}
    during = [
        (each.said_at, each)
        for each, moments in said
        if each.statement_id not in dated and period.start <= each.said_at < period.end
        if all(period.start - DAY <= at < period.end for at in moments)
    ]
    return [*_by_time(told), *_by_time(during)]


def _planned(said: Sequence[_Dated], period: Interval, now: datetime) -> list[_Placed]:
    """Returns what names a moment to come, the next first, and then the newest plans without one."""
    told = [(at, each) for each, moments in said for at in moments if period.start - DAY < at < period.end]
    loose = [
        (each.said_at, each)
        for each, moments in said
        if each.kind == "plan" and each.until is None and now - each.said_at < FRESH and not moments
    ]
    open_ended = period.end.year == datetime.max.year
    return [*_by_time(told), *(loose[:UNDATED] if open_ended else ())]


def _by_time(placed: Sequence[_Placed]) -> list[_Placed]:
    return sorted(placed, key=itemgetter(0))


def _moments(statement: Statement) -> list[datetime]:
    named = when.named(statement.content, statement.said_at)
    return [each.start for each in named if each.end - each.start <= LONGEST_MOMENT]


def _quotes(
    told: Sequence[_Placed], messages: Mapping[str, ConversationMessage]
) -> list[tuple[ConversationMessage, str]]:
    """Returns each message once with what to quote of it: all that it tells if that is short, else what was found."""
    found: dict[str, list[str]] = {}
    for _, each in told:
        said = found.setdefault(each.message_id, [])
        said += [each.content] if each.content not in said else []
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
