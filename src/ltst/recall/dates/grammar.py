"""Combines date words into periods: before and after a date, from one date to another, one period within another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from ltst.recall.dates import english
from ltst.recall.dates.phrases import Phrase, Query, Spot
from ltst.recall.dates.spans import DAY, EARLIEST, LATEST, hours_of

# How many periods may be nested ("the end of the first week of last month").
DEEPEST = 4


def phrases_in(asked: Query) -> Iterator[tuple[int, Phrase]]:
    """Yields each period that the text names, with the position where its words begin."""
    reached, listed = 0, -1
    for word in english.WORD.finditer(asked.text):
        at = word.start()
        if at < reached or not asked.rules.may_begin(word[0]):
            continue
        phrase = _attempt(asked, Spot(at, "list" if at == listed else ""))
        if phrase:
            yield at, phrase
            reached = phrase.stop
            also = english.ALSO.match(asked.text, reached) if phrase.unit in english.WHOLES else None
            listed = also.end() if also else -1


def _attempt(asked: Query, spot: Spot) -> Phrase | None:
    try:
        return _expression(asked, spot)
    except (ValueError, OverflowError):  # June 31, a million years ago: words like a date that is in no calendar
        return None


def _expression(asked: Query, spot: Spot) -> Phrase | None:
    if edge := english.EDGE.match(asked.text, spot.at):
        return _half_open(asked, english.EDGES[edge[1]], spot.inner(edge.end(), english.EDGES[edge[1]]))
    if between := english.BETWEEN.match(asked.text, spot.at):
        spot = spot.inner(between.end(), "range")
        return _range(asked, spot, period(asked, spot), english.AND)
    if lead := english.LEAD.match(asked.text, spot.at):
        spot = Spot(lead.end(), lead[1])
    phrase = _read_phrase(asked, spot)
    if phrase is None:
        return None
    first = phrase if phrase.sure else period(asked, spot._replace(cue="range"))
    stretch = _range(asked, spot, first, english.TO) or (_onward(asked, first) if spot.cue == "from" else None)
    return stretch or (_single(asked, spot, phrase) if phrase.sure else None)


def _half_open(asked: Query, edge: str, spot: Spot) -> Phrase | None:
    phrase = period(asked, spot)
    if phrase is None:
        return None
    start, end = phrase.anchor
    spans = {
        "since": (start, max(end, asked.today + DAY)),
        "before": (EARLIEST, start),
        "after": (end, LATEST),
        "until": (EARLIEST, end),
    }
    return phrase.settled(spans[edge])


def _range(asked: Query, spot: Spot, first: Phrase | None, joint: re.Pattern[str]) -> Phrase | None:
    link = first and joint.match(asked.text, first.stop)
    if not first or not link:
        return None
    # A dash may also end a clause, so it does not make an ambiguous name a date.
    second = period(asked, spot.inner(link.end(), "" if " -" in link[0] else "range"))
    if second is None:
        return None
    if first.cycle:
        first = first.settled(first.cycle.latest(second.start))
    elif second.cycle:
        second = second.settled(second.cycle.first(first.start))
    return second.settled((min(first.start, second.start), max(first.end, second.end)))


def _onward(asked: Query, phrase: Phrase | None) -> Phrase | None:
    """Reads "from March on"."""
    onward = phrase and english.ONWARD.match(asked.text, phrase.stop)
    if not phrase or not onward:
        return None
    return phrase.settled((phrase.start, max(phrase.end, asked.today + DAY)), onward.end())


def _single(asked: Query, spot: Spot, phrase: Phrase) -> Phrase:
    """Returns the phrase as read; in "March and April 2022", March takes the year from April."""
    also = english.ALSO.match(asked.text, phrase.stop) if phrase.cycle else None
    other = period(asked, spot.inner(also.end(), "list")) if also else None
    if phrase.cycle and other and other.year and phrase.cycle.inside == "year":
        return phrase.settled(phrase.cycle.within(datetime(other.year, 1, 1), asked.now))
    return phrase


def period(asked: Query, spot: Spot) -> Phrase | None:
    """Reads a period with everything that belongs to it; None if the words may mean something else."""
    phrase = _read_phrase(asked, spot)
    return phrase if phrase and phrase.sure else None


def _read_phrase(asked: Query, spot: Spot) -> Phrase | None:
    """Reads a period with everything that belongs to it, certain or not."""
    phrase = base(asked, spot)
    if phrase and phrase.cycle:
        phrase = _in_parent(asked, spot, phrase)
    elif phrase and phrase.unit in english.PARENTS:
        phrase = _with_child(asked, spot, phrase)
    if phrase and phrase.unit == "day":
        phrase = _at_hours(asked, phrase)
    return phrase


def base(asked: Query, spot: Spot) -> Phrase | None:
    """Reads a period by the first rule that knows its words, without the words that follow."""
    if spot.depth > DEEPEST:
        return None
    the = english.THE.match(asked.text, spot.at)
    at = the.end() if the else spot.at
    word = english.WORD.match(asked.text, at)
    if word is None:
        return None
    rules = asked.rules.of(word[0])
    if not rules:
        return None
    spot = spot._replace(at=at, the=asked.before(at) in english.DETERMINERS)
    return next((phrase for rule in rules if (phrase := rule(asked, spot))), None)


def _in_parent(asked: Query, spot: Spot, phrase: Phrase) -> Phrase:
    """Settles a period by the one after it: May 2023, Tuesday of last week."""
    link = english.LINK.match(asked.text, phrase.stop)
    parent = base(asked, spot.inner(link.end(), "parent")) if link else None
    if not (link and parent and parent.sure and phrase.cycle and phrase.cycle.inside == parent.unit):
        return phrase
    number = asked.text[parent.stop - 1].isdigit()
    # "May 2023" is no person, but "prices fall in 2023" names no season, and "it may last a year" no month.
    if not phrase.sure and (link[1] == "in" or not (number or link[1] or asked.capital(spot.at))):
        return phrase
    closed = "(" in link[0] and asked.text.startswith(")", parent.stop)
    settled = phrase.settled(phrase.cycle.within(parent.start, asked.now), parent.stop + closed)
    return replace(settled, year=parent.start.year)


def _with_child(asked: Query, spot: Spot, phrase: Phrase) -> Phrase:
    """Narrows a period by the one after it: last year in May, last week on Tuesday."""
    link = english.INSIDE.match(asked.text, phrase.stop)
    child = base(asked, spot.inner(link.end(), link[1])) if link else None
    if child and child.sure and child.cycle and child.cycle.inside == phrase.unit:
        return child.settled(child.cycle.within(phrase.start, asked.now))
    return phrase


def _at_hours(asked: Query, phrase: Phrase) -> Phrase:
    """Narrows a day by the part of it that follows: Monday morning, yesterday evening."""
    hours = english.HOURS_AFTER.match(asked.text, phrase.stop)
    if hours is None or not phrase.sure:
        return phrase
    return Phrase(hours.end(), *hours_of(phrase.start, hours[1]), "hours")
