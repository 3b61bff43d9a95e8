"""Spans of time: how long they are, how to move them, and which of them recur every year, month or week."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from ltst.recall.dates import english

Span = tuple[datetime, datetime]

DAY = timedelta(days=1)
# Open ends stay a year inside the calendar, so that no time zone can push them out of it.
EARLIEST = datetime(2, 1, 1)
LATEST = datetime(9998, 12, 31)


@dataclass(frozen=True, slots=True)
class Cycle:
    """Something that recurs every year, month or week; `fall` gives its span in the nth of them."""

    inside: str
    fall: Callable[[int], Span]

    def nth(self, number: int) -> Span | None:
        """Returns its span in the nth year, month or week, or None if it does not occur there."""
        try:
            return self.fall(number)
        except ValueError:  # February 29 in most years
            return None

    def number(self, day: datetime) -> int:
        """Returns the number of the year, month or week that a day is in."""
        if self.inside == "year":
            return day.year
        return day.year * 12 + day.month - 1 if self.inside == "month" else (day.toordinal() - 1) // 7

    def latest(self, limit: datetime, *, finished: bool = False) -> Span:
        """Returns the last occurrence that has begun by a moment, or that is over by then if `finished`."""
        number = self.number(limit)
        for each in range(number + 1, number - 9, -1):
            span = self.nth(each)
            if span and span[1 if finished else 0] <= limit:
                return span
        raise ValueError("never")

    def first(self, limit: datetime) -> Span:
        """Returns the first occurrence that begins at a moment or later."""
        number = self.number(limit)
        for each in range(number - 1, number + 9):
            span = self.nth(each)
            if span and span[0] >= limit:
                return span
        raise ValueError("never")

    def within(self, parent: datetime, now: datetime) -> Span:
        """Returns the occurrence in a given year, month or week."""
        number = self.number(parent)
        span = self.nth(number)
        if span is None:
            raise ValueError("never")
        # "Winter 2023", asked in May of that year, is the winter that ended in it.
        straddles = self.inside == "year" and (span[1] - DAY).year > number
        return self.nth(number - 1) or span if straddles and span[0] > now else span


def slice_of(whole: Span, place: int, count: int, unit: str) -> Span:
    """Returns the nth, or last, `count` units of a span, or one of its halves."""
    start, end = whole
    if unit == "half":
        middle = start + (end - start).days // 2 * DAY
        return (start, middle) if place == 0 else (middle, end)
    if unit in SHIFTS:
        if place < 0:
            return shifted(end, -count, unit), end
        return shifted(start, place, unit), shifted(start, place + count, unit)
    weekday, length = (5, 2) if unit == "weekend" else (english.WEEKDAYS[unit], 1)
    if place < 0:
        day = end - DAY
        day -= (day.weekday() - weekday) % 7 * DAY
    else:
        day = start + ((weekday - start.weekday()) % 7 + 7 * place) * DAY
    return day, day + length * DAY


def occurrence(cycle: Cycle, which: str, today: datetime) -> Span:
    """Returns the last, this or next occurrence of a cycle."""
    if which == "last":
        return cycle.latest(today, finished=True)
    if which == "next":
        return cycle.first(today + DAY)
    present = cycle.latest(today)
    return present if today < present[1] else cycle.nth(cycle.number(today)) or present


def vagueness(count: int, unit: str) -> timedelta:
    """Returns how far off people are when they count back: little for days, months for years."""
    days = {
        "day": (count + 2) // 5,
        "week": 3 + count // 3,
        "fortnight": 3 + count // 2,
        "month": 12 + 3 * count,
        "year": 120 + 60 * count,
        "decade": 1000 * count,
    }
    return timedelta(days=days[unit])


def hours_ago(now: datetime, low: int, high: int, unit: str) -> Span:
    """Returns the days that it may have been on: an hour ago may have been yesterday."""
    size = timedelta(hours=1) if unit == "hour" else timedelta(minutes=1)
    start, end = now - high * 1.5 * size, now - low * 0.5 * size
    return unit_around(start, "day")[0], unit_around(end, "day")[1]


def hours_of(day: datetime, part: str) -> Span:
    """Returns the hours of a part of a day."""
    start, end = HOURS[part]
    return day + timedelta(hours=start), day + timedelta(hours=end)


def days_back(today: datetime, count: int, unit: str) -> Span:
    """Returns the span from `count` units ago through today."""
    return shifted(today, -count, unit), today + DAY


def shifted(day: datetime, count: int, unit: str) -> datetime:
    """Returns the day `count` units later; the last day of the month where that has no such day."""
    size, of = SHIFTS.get(unit, (7, "day"))
    if of == "day":
        return day + timedelta(days=count * size)
    year, month = divmod(day.year * 12 + day.month - 1 + count * size, 12)
    return day.replace(year=year, month=month + 1, day=min(day.day, monthrange(year, month + 1)[1]))


def unit_around(day: datetime, unit: str) -> Span:
    """Returns the day, week, weekend, month, quarter or year that a time falls in."""
    day = day.replace(hour=0, minute=0, second=0, microsecond=0)
    monday = day - day.weekday() * DAY
    if unit == "weekend":
        return monday + 5 * DAY, monday + 7 * DAY
    if unit == "week":
        return monday, monday + 7 * DAY
    if unit == "day":
        return day, day + DAY
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    start = day.replace(month=month, day=1)
    return start, shifted(start, 1, unit)


def years_from(year: int, count: int) -> Span:
    """Returns the span of `count` whole years."""
    return datetime(year, 1, 1), datetime(year + count, 1, 1)


def full_year(year: int, now: datetime) -> int:
    """Returns a year of two digits, as in '23 or 5/5/23, in full: this century up to next year, else the last one."""
    if year > 99:
        return year
    return year + (now.year // 100 - (year > now.year % 100 + 1)) * 100


def days_of(month: int, first: int, last: int) -> Cycle:
    """Returns the yearly cycle of some days of a month."""

    def fall(year: int) -> Span:
        return datetime(year, month, first), datetime(year, month, last) + DAY

    return Cycle("year", fall)


def months_from(month: int, count: int) -> Cycle:
    """Returns the yearly cycle of `count` months from this one on."""

    def fall(year: int) -> Span:
        start = datetime(year, month, 1)
        return start, shifted(start, count, "month")

    return Cycle("year", fall)


def day_cycle(day: int) -> Cycle:
    """Returns the monthly cycle of a day."""

    def fall(number: int) -> Span:
        start = datetime(number // 12, number % 12 + 1, day)
        return start, start + DAY

    return Cycle("month", fall)


def weekday_cycle(weekday: int) -> Cycle:
    """Returns the weekly cycle of a weekday."""

    def fall(number: int) -> Span:
        start = datetime.fromordinal(number * 7 + 1 + weekday)
        return start, start + DAY

    return Cycle("week", fall)


def new_year(year: int) -> Span:
    """Returns the days around the turn into a year."""
    return datetime(year - 1, 12, 31), datetime(year, 1, 2)


def thanksgiving(year: int) -> Span:
    """Returns the fourth Thursday of November."""
    first = datetime(year, 11, 1)
    day = first + ((3 - first.weekday()) % 7 + 21) * DAY
    return day, day + DAY


HOURS = {"morning": (4, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
SHIFTS = {
    "day": (1, "day"),
    "week": (7, "day"),
    "fortnight": (14, "day"),
    "month": (1, "month"),
    "quarter": (3, "month"),
    "year": (12, "month"),
    "decade": (120, "month"),
}

MONTH_CYCLES = {month: months_from(month, 1) for month in range(1, 13)}
QUARTER_CYCLES = {quarter: months_from(quarter * 3 - 2, 3) for quarter in range(1, 5)}
WEEKDAY_CYCLES = [weekday_cycle(weekday) for weekday in range(7)]
