"""What a question says about when: what is read as a date, and what only looks like one."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltst import Invalid
from ltst.recall.temporal import EARLIEST, LATEST, Interval, days_apart, intervals

NEW_YORK, TOKYO, KOLKATA = ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo"), ZoneInfo("Asia/Kolkata")

WEDNESDAY = datetime(2023, 5, 17, 15, 30, tzinfo=UTC)
SUNDAY = datetime(2023, 5, 21, 9, 0, tzinfo=KOLKATA)
NEW_YEAR = datetime(2024, 1, 1, 0, 30, tzinfo=TOKYO)
YEAR_END = datetime(2023, 12, 31, 23, 59, 59, tzinfo=timezone(timedelta(hours=-9, minutes=-30)))
LEAP_DAY = datetime(2024, 2, 29, 22, 0, tzinfo=NEW_YORK)
MONTH_END = datetime(2023, 3, 31, 12, 0, tzinfo=ZoneInfo("America/Los_Angeles"))
CLOCKS_FORWARD = datetime(2023, 3, 12, 3, 30, tzinfo=NEW_YORK)

# Each interval as start/end: days, hours after a T, and … for an open end.
READ = [
    (WEDNESDAY, "What did I do today?", "2023-05-17/2023-05-18"),
    (WEDNESDAY, "What did I eat yesterday?", "2023-05-16/2023-05-17"),
    (WEDNESDAY, "what's on tonight", "2023-05-17T18/2023-05-18T06"),
    (WEDNESDAY, "what did I say this morning", "2023-05-17T04/2023-05-17T12"),
    (WEDNESDAY, "who called last night?", "2023-05-16T18/2023-05-17T06"),
    (WEDNESDAY, "the day before yesterday", "2023-05-15/2023-05-16"),
    (WEDNESDAY, "what did I plan for tomorrow", "2023-05-18/2023-05-19"),
    (WEDNESDAY, "yesterday evening", "2023-05-16T17/2023-05-17"),
    (WEDNESDAY, "Monday morning", "2023-05-15T04/2023-05-15T12"),
    (WEDNESDAY, "WHAT DID I DO TODAY", "2023-05-17/2023-05-18"),
    (WEDNESDAY, "Yesterday I ran. Today I rest.", "2023-05-16/2023-05-17 + 2023-05-17/2023-05-18"),
    (WEDNESDAY, "What did I buy two weeks ago?", "2023-04-30/2023-05-07"),
    (WEDNESDAY, "a week ago", "2023-05-07/2023-05-14"),
    (WEDNESDAY, "1 day ago", "2023-05-16/2023-05-17"),
    (WEDNESDAY, "10 days ago", "2023-05-05/2023-05-10"),
    (WEDNESDAY, "3 months ago", "2023-01-27/2023-03-11"),
    (WEDNESDAY, "two years ago", "2020-09-19/2022-01-13"),
    (WEDNESDAY, "a year ago today", "2022-05-17/2022-05-18"),
    (WEDNESDAY, "about half a year ago", "2022-10-18/2022-12-18"),
    (WEDNESDAY, "in the week of Christmas", "2022-12-19/2022-12-26"),
    (WEDNESDAY, "about two weeks ago", "2023-04-27/2023-05-10"),
    (WEDNESDAY, "around two weeks ago", "2023-04-27/2023-05-10"),
    (WEDNESDAY, "a couple of days ago", "2023-05-13/2023-05-17"),
    (WEDNESDAY, "a few weeks ago", "2023-04-08/2023-05-08"),
    (WEDNESDAY, "2-3 weeks ago", "2023-04-22/2023-05-08"),
    (WEDNESDAY, "five or six days ago", "2023-05-10/2023-05-14"),
    (WEDNESDAY, "an hour ago", "2023-05-17/2023-05-18"),
    (WEDNESDAY, "what did I do in the last 3 days", "2023-05-14/2023-05-18"),
    (WEDNESDAY, "over the past two months", "2023-03-17/2023-05-18"),
    (WEDNESDAY, "the past few days", "2023-05-12/2023-05-18"),
    (WEDNESDAY, "in the last 24 hours", "2023-05-16/2023-05-18"),
    (WEDNESDAY, "in the past year", "2022-05-17/2023-05-18"),
    (WEDNESDAY, "in the last week", "2023-05-10/2023-05-18"),
    (WEDNESDAY, "last week", "2023-05-08/2023-05-15"),
    (WEDNESDAY, "last month", "2023-04-01/2023-05-01"),
    (WEDNESDAY, "last year's trip", "2022-01-01/2023-01-01"),
    (WEDNESDAY, "this week", "2023-05-15/2023-05-22"),
    (WEDNESDAY, "this month", "2023-05-01/2023-06-01"),
    (WEDNESDAY, "this year", "2023-01-01/2024-01-01"),
    (WEDNESDAY, "next week", "2023-05-22/2023-05-29"),
    (WEDNESDAY, "the week before last", "2023-05-01/2023-05-08"),
    (WEDNESDAY, "last weekend", "2023-05-13/2023-05-15"),
    (WEDNESDAY, "this past weekend", "2023-05-13/2023-05-15"),
    (WEDNESDAY, "over the weekend", "2023-05-13/2023-05-15"),
    (WEDNESDAY, "last Monday", "2023-05-15/2023-05-16"),
    (WEDNESDAY, "on Tuesday", "2023-05-16/2023-05-17"),
    (WEDNESDAY, "on Wednesday", "2023-05-10/2023-05-11"),
    (WEDNESDAY, "last Sat", "2023-05-13/2023-05-14"),
    (WEDNESDAY, "next Monday", "2023-05-22/2023-05-23"),
    (WEDNESDAY, "Tuesday of last week", "2023-05-09/2023-05-10"),
    (WEDNESDAY, "last week on Tuesday", "2023-05-09/2023-05-10"),
    (WEDNESDAY, "last May", "2022-05-01/2022-06-01"),
    (WEDNESDAY, "last may", "2022-05-01/2022-06-01"),
    (WEDNESDAY, "in May", "2023-05-01/2023-06-01"),
    (WEDNESDAY, "where was I in may", "2023-05-01/2023-06-01"),
    (WEDNESDAY, "in march", "2023-03-01/2023-04-01"),
    (WEDNESDAY, "in June", "2022-06-01/2022-07-01"),
    (WEDNESDAY, "next May", "2024-05-01/2024-06-01"),
    (WEDNESDAY, "in May 2022", "2022-05-01/2022-06-01"),
    (WEDNESDAY, "may 2022", "2022-05-01/2022-06-01"),
    (WEDNESDAY, "May last year", "2022-05-01/2022-06-01"),
    (WEDNESDAY, "last year in May", "2022-05-01/2022-06-01"),
    (WEDNESDAY, "the April meeting", "2023-04-01/2023-05-01"),
    (WEDNESDAY, "what happened april?", "2023-04-01/2023-05-01"),
    (WEDNESDAY, "the january invoice", "2023-01-01/2023-02-01"),
    (WEDNESDAY, "May 5", "2023-05-05/2023-05-06"),
    (WEDNESDAY, "may 5", "2023-05-05/2023-05-06"),
    (WEDNESDAY, "May 20", "2022-05-20/2022-05-21"),
    (WEDNESDAY, "5 May", "2023-05-05/2023-05-06"),
    (WEDNESDAY, "5th of May 2022", "2022-05-05/2022-05-06"),
    (WEDNESDAY, "May 5th, 2022", "2022-05-05/2022-05-06"),
    (WEDNESDAY, "December 1,2022", "2022-12-01/2022-12-02"),
    (WEDNESDAY, "Sept. 5", "2022-09-05/2022-09-06"),
    (WEDNESDAY, "the fourth of July", "2022-07-04/2022-07-05"),
    (WEDNESDAY, "Monday, May 1, 2023", "2023-05-01/2023-05-02"),
    (WEDNESDAY, "May 5-10, 2022", "2022-05-05/2022-05-11"),
    (WEDNESDAY, "between May 5 and 10", "2023-05-05/2023-05-11"),
    (WEDNESDAY, "from 2 to 5 March 2022", "2022-03-02/2022-03-06"),
    (WEDNESDAY, "on the 5th", "2023-05-05/2023-05-06"),
    (WEDNESDAY, "the 5th of last month", "2023-04-05/2023-04-06"),
    (WEDNESDAY, "2023-05-05", "2023-05-05/2023-05-06"),
    (WEDNESDAY, "2023/05/05", "2023-05-05/2023-05-06"),
    (WEDNESDAY, "on 2023-05-05T10:00:00Z", "2023-05-05/2023-05-06"),
    (WEDNESDAY, "04/05/2023", "2023-04-05/2023-04-06"),
    (WEDNESDAY, "25/12/2022", "2022-12-25/2022-12-26"),
    (WEDNESDAY, "12/25/22", "2022-12-25/2022-12-26"),
    (WEDNESDAY, "5.6.2022", "2022-06-05/2022-06-06"),
    (WEDNESDAY, "in 2022", "2022-01-01/2023-01-01"),
    (WEDNESDAY, "in 1984", "1984-01-01/1985-01-01"),
    (WEDNESDAY, "in 2020 and 2021", "2020-01-01/2021-01-01 + 2021-01-01/2022-01-01"),
    (WEDNESDAY, "in March and April 2022", "2022-03-01/2022-04-01 + 2022-04-01/2022-05-01"),
    (WEDNESDAY, "summer 2022", "2022-06-01/2022-09-01"),
    (WEDNESDAY, "summer of '22", "2022-06-01/2022-09-01"),
    (WEDNESDAY, "last summer", "2022-06-01/2022-09-01"),
    (WEDNESDAY, "this summer", "2023-06-01/2023-09-01"),
    (WEDNESDAY, "in the fall of 2022", "2022-09-01/2022-12-01"),
    (WEDNESDAY, "in the spring we planted trees", "2023-03-01/2023-06-01"),
    (WEDNESDAY, "winter 2022", "2022-12-01/2023-03-01"),
    (WEDNESDAY, "winter 2023", "2022-12-01/2023-03-01"),
    (WEDNESDAY, "early May", "2023-05-01/2023-05-14"),
    (WEDNESDAY, "mid-May", "2023-05-10/2023-05-23"),
    (WEDNESDAY, "late march 2022", "2022-03-19/2022-04-01"),
    (WEDNESDAY, "the end of last month", "2023-04-23/2023-05-01"),
    (WEDNESDAY, "the first week of May", "2023-05-01/2023-05-08"),
    (WEDNESDAY, "in the last two weeks of August 2022", "2022-08-18/2022-09-01"),
    (WEDNESDAY, "the last Friday in March", "2023-03-31/2023-04-01"),
    (WEDNESDAY, "the first weekend of October 2022", "2022-10-01/2022-10-03"),
    (WEDNESDAY, "the last month of 2022", "2022-12-01/2023-01-01"),
    (WEDNESDAY, "the week of May 5", "2023-05-01/2023-05-08"),
    (WEDNESDAY, "between March and June", "2022-03-01/2022-07-01"),
    (WEDNESDAY, "from March to June 2022", "2022-03-01/2022-07-01"),
    (WEDNESDAY, "from March to June (2022)", "2022-03-01/2022-07-01"),
    (WEDNESDAY, "from march to june", "2022-03-01/2022-07-01"),
    (WEDNESDAY, "March–June 2022", "2022-03-01/2022-07-01"),
    (WEDNESDAY, "from June 2021 to March", "2021-06-01/2022-04-01"),
    (WEDNESDAY, "between November and February", "2022-11-01/2023-03-01"),
    (WEDNESDAY, "from 2020 to 2022", "2020-01-01/2023-01-01"),
    (WEDNESDAY, "notes from 2023-05-01 to 2023-05-10", "2023-05-01/2023-05-11"),
    (WEDNESDAY, "from last Tuesday to yesterday", "2023-05-16/2023-05-17"),
    (WEDNESDAY, "from March to now", "2023-03-01/2023-05-18"),
    (WEDNESDAY, "since March", "2023-03-01/2023-05-18"),
    (WEDNESDAY, "from March on", "2023-03-01/2023-05-18"),
    (WEDNESDAY, "since yesterday", "2023-05-16/2023-05-18"),
    (WEDNESDAY, "before May 2022", "…/2022-05-01"),
    (WEDNESDAY, "after June", "2022-07-01/…"),
    (WEDNESDAY, "until February", "…/2023-03-01"),
    (WEDNESDAY, "by March 3", "…/2023-03-04"),
    (WEDNESDAY, "since I moved in May 2022", "2022-05-01/2022-06-01"),
    (WEDNESDAY, "last Christmas", "2022-12-24/2022-12-27"),
    (WEDNESDAY, "what did I get for Christmas 2021", "2021-12-24/2021-12-27"),
    (WEDNESDAY, "Christmas Eve", "2022-12-24/2022-12-25"),
    (WEDNESDAY, "the day after Christmas", "2022-12-26/2022-12-27"),
    (WEDNESDAY, "two weeks before Christmas", "2022-12-08/2022-12-15"),
    (WEDNESDAY, "on New Year’s Eve", "2022-12-31/2023-01-01"),
    (WEDNESDAY, "New Year's Day", "2023-01-01/2023-01-02"),
    (WEDNESDAY, "on Halloween", "2022-10-31/2022-11-01"),
    (WEDNESDAY, "on Valentine's Day", "2023-02-14/2023-02-15"),
    (WEDNESDAY, "Q1 2023", "2023-01-01/2023-04-01"),
    (WEDNESDAY, "in q3", "2022-07-01/2022-10-01"),
    (WEDNESDAY, "what happened in Q4 last year", "2022-10-01/2023-01-01"),
    (WEDNESDAY, "did prices fall in 2022?", "2022-01-01/2023-01-01"),
    (WEDNESDAY, "how long did it last two weeks ago", "2023-04-30/2023-05-07"),
    (SUNDAY, "this weekend", "2023-05-20/2023-05-22"),
    (SUNDAY, "over the weekend", "2023-05-20/2023-05-22"),
    (SUNDAY, "last weekend", "2023-05-13/2023-05-15"),
    (SUNDAY, "last week", "2023-05-08/2023-05-15"),
    (SUNDAY, "last Sunday", "2023-05-14/2023-05-15"),
    (NEW_YEAR, "yesterday", "2023-12-31/2024-01-01"),
    (NEW_YEAR, "last month", "2023-12-01/2024-01-01"),
    (NEW_YEAR, "last year", "2023-01-01/2024-01-01"),
    (NEW_YEAR, "in December", "2023-12-01/2024-01-01"),
    (NEW_YEAR, "in January", "2024-01-01/2024-02-01"),
    (NEW_YEAR, "last January", "2023-01-01/2023-02-01"),
    (NEW_YEAR, "this winter", "2023-12-01/2024-03-01"),
    (NEW_YEAR, "last winter", "2022-12-01/2023-03-01"),
    (NEW_YEAR, "an hour ago", "2023-12-31/2024-01-02"),
    (NEW_YEAR, "tonight", "2023-12-31T18/2024-01-01T06"),
    (NEW_YEAR, "last quarter", "2023-10-01/2024-01-01"),
    (NEW_YEAR, "on New Year's Eve", "2023-12-31/2024-01-01"),
    (YEAR_END, "tomorrow", "2024-01-01/2024-01-02"),
    (YEAR_END, "next month", "2024-01-01/2024-02-01"),
    (YEAR_END, "next year", "2024-01-01/2025-01-01"),
    (YEAR_END, "since Christmas", "2023-12-25/2024-01-01"),
    (YEAR_END, "this week", "2023-12-25/2024-01-01"),
    (LEAP_DAY, "today", "2024-02-29/2024-03-01"),
    (LEAP_DAY, "a year ago today", "2023-02-28/2023-03-01"),
    (LEAP_DAY, "on February 29", "2024-02-29/2024-03-01"),
    (LEAP_DAY, "in February", "2024-02-01/2024-03-01"),
    (LEAP_DAY, "last February", "2023-02-01/2023-03-01"),
    (LEAP_DAY, "feb 29, 2020", "2020-02-29/2020-03-01"),
    (WEDNESDAY, "on February 29", "2020-02-29/2020-03-01"),
    (MONTH_END, "last month", "2023-02-01/2023-03-01"),
    (MONTH_END, "in the past month", "2023-02-28/2023-04-01"),
    (MONTH_END, "on the 31st", "2023-03-31/2023-04-01"),
    (WEDNESDAY, "Where was I on the night of May 5th?", "2023-05-05T18/2023-05-06T06"),
    (WEDNESDAY, "Was I in Paris in April or May?", "2023-04-01/2023-05-01 + 2023-05-01/2023-06-01"),
    (WEDNESDAY, "She had a bad fall last winter", "2022-12-01/2023-03-01"),
    (CLOCKS_FORWARD, "today", "2023-03-12/2023-03-13"),
    (CLOCKS_FORWARD, "last night", "2023-03-11T18/2023-03-12T06"),
]

NOT_READ = [
    "what did May say",
    "is May coming?",
    "May I come in?",
    "have you seen May",
    "a gift for May",
    "a letter from May",
    "with May and June",
    "May's birthday",
    "in May's opinion",
    "before May arrived",
    "since May and I met",
    "you may be right",
    "we may go",
    "this may be wrong",
    "the last may be better",
    "may 5 people join?",
    "these top 5 may not work",
    "it may last a year",
    "it may last two weeks",
    "what may 5 apples cost",
    "march to the store",
    "did they march in the parade",
    "march 5 miles",
    "the march",
    "the last march",
    "written in march step",
    "the 2 march to the castle",
    "what did April say?",
    "is June coming to dinner?",
    "who is june?",
    "tell me about april",
    "after June left",
    "an august company",
    "in august company",
    "jan is my friend",
    "dec the halls",
    "wait a second",
    "who is in the second row",
    "the second time",
    "the cat sat on the mat",
    "who last sat here",
    "the sun is hot",
    "what shines on sun",
    "mon ami",
    "the spring in my mattress broke",
    "what's wrong with the spring?",
    "in the spring mechanism",
    "spring roll recipe",
    "did prices fall",
    "what happened after the fall?",
    "my last fall from a ladder",
    "the fall of Rome",
    "my winter jacket",
    "his summer camp",
    "during his summer drives",
    "5 apples",
    "who wrote 1984?",
    "1984 is a book",
    "room 2022",
    "call 555-2020",
    "$2023 in cash",
    "of 2000 dollars",
    "in 2000 words",
    "it costs 2000 dollars",
    "by 2000 votes",
    "version 1.2.3",
    "10.0.20.23",
    "5/5 stars",
    "before I moved",
    "after the wedding",
    "since I was a kid",
    "until he left",
    "three days before my birthday",
    "by the river",
    "for two weeks",
    "it took two weeks",
    "a 12 months warranty",
    "in two hours of work",
    "I am 5 years old",
    "1.5 years ago",
    "how many days ago did I go",
    "how long ago was it",
    "at 5pm",
    "at 20:15",
    "at night",
    "good morning",
    "last time we met",
    "the last month of pregnancy",
    "the last week of school",
    "the last night of the trip",
    "in my last year at college",
    "the first day of school",
    "the first week in Paris",
    "the year of the dragon",
    "in the past",
    "the next day",
    "day after day",
    "every Monday",
    "every other Friday",
    "on Mondays",
    "Sunday mornings",
    "every January",
    "Black Friday deals",
    "the Ash Wednesday service",
    "on the 5th floor",
    "the 5th time",
    "June 31",
    "May 32",
    "2023-13-45",
    "13/13/2022",
    "February 30, 2023",
    "USA Today",
    "the song Yesterday",
    "do you like Christmas movies",
    "a Halloween costume",
    "between you and me",
    "from start to end",
    "early bird",
    "late fees",
    "the end of the story",
    "we",
    "Mayor Augustus and his marching band",
    "we walked past May's house",
    "9999 years ago",
    "99999999999999999999 days ago",
    "",
    "   ",
    "Did April and May get along at the party?",
    "Does May still work at the bakery?",
    "I think May will like it. What was her favourite flower?",
    "What are May's allergies?",
    "How old is June now?",
    "What did Jan recommend for dinner?",
    "Who is Augusta?",
    "What did we decide about the march on Washington?",
    "Which march did I attend?",
    "How many seconds does it take?",
    "What is my sun sign?",
    "where do we keep the sun screen",
    "remind me what I sat through",
    "Did I mention falling in love",
    "What's the last thing I said about my job?",
    "What was the last book I read?",
    "Who was the last person I met before the holidays?",
    "What did I learn in my first year at Google?",
    "How much did I pay for 2 tickets?",
    "What's my 5 year plan?",
    "What's the 10 day forecast",
    "do I have a 3 month membership",
    "How many weeks of vacation do I get?",
    "I am 32; how old was I when I moved?",
    "when did I turn 30",
    "How was day 3 of the retreat",
    "What's on page 1999",
    "What's my PIN 1987?",
    "Have I read Catch-22 or 2001: A Space Odyssey",
    "what do I usually do on weekends",
    "what do I do every summer",
    "When is my mom's birthday?",
    "what was the plan for the second date",
    "What did Dr. March prescribe",
    "Where does Mr. May live",
    "Did I see Theresa May on TV",
    "the mayflower",
    "year to date spending",
    "Cinco de Mayo",
    "at the start of the pandemic",
    "in the middle of the night",
    "by the end of the day",
    "in the early days",
    "the late show",
    "a long time ago",
]


def written(interval: Interval) -> str:
    def short(moment: datetime) -> str:
        if moment.replace(tzinfo=None) in (EARLIEST, LATEST):
            return "…"
        return f"{moment:%Y-%m-%d}" if moment.hour == 0 else f"{moment:%Y-%m-%dT%H}"

    return f"{short(interval.start)}/{short(interval.end)}"


@pytest.mark.parametrize(("now", "query", "expected"), READ, ids=[f"{now:%m%d} {query}" for now, query, _ in READ])
def test_a_date_is_read(now: datetime, query: str, expected: str) -> None:
    assert " + ".join(map(written, intervals(query, now))) == expected


@pytest.mark.parametrize("query", NOT_READ)
def test_what_only_looks_like_a_date_is_not_read(query: str) -> None:
    for now in (WEDNESDAY, NEW_YEAR, LEAP_DAY):
        assert intervals(query, now) == []


def test_an_interval_carries_the_words_as_written() -> None:
    query = "Compare what I said SINCE March with the 5th of May, 2022 – and “last  week”."
    assert [each.text for each in intervals(query, WEDNESDAY)] == ["SINCE March", "the 5th of May, 2022", "last  week"]


def test_the_same_period_named_twice_is_one_interval() -> None:
    assert len(intervals("today, I mean today, 2023-05-17", WEDNESDAY)) == 1


@pytest.mark.parametrize("zone", [UTC, NEW_YORK, TOKYO, KOLKATA, timezone(timedelta(hours=-9, minutes=-30))])
def test_days_begin_at_midnight_where_the_question_is_asked(zone: tzinfo) -> None:
    now = WEDNESDAY.astimezone(zone)
    (today,) = intervals("today", now)
    assert today.start <= now < today.end
    assert today.start == datetime(now.year, now.month, now.day, tzinfo=zone)
    assert today.start.tzinfo is zone
    assert today.end.tzinfo is zone


def test_the_day_on_which_the_clocks_change_is_shorter() -> None:
    (today,) = intervals("today", CLOCKS_FORWARD)
    assert today.end.astimezone(UTC) - today.start.astimezone(UTC) == timedelta(hours=23)


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(Invalid, match="now must have a time zone"):
        intervals("today", datetime(2023, 5, 17))


def apart(found: Sequence[Interval], moment: datetime) -> float:
    (days,) = days_apart(found, np.array([moment.timestamp()]))
    return float(days)


def test_distance_is_in_days_to_the_nearest_interval() -> None:
    found = intervals("in March 2023 or on May 5, 2023", WEDNESDAY)
    assert apart(found, datetime(2023, 3, 1, tzinfo=UTC)) == 0
    assert apart(found, datetime(2023, 3, 31, 23, 59, tzinfo=UTC)) == 0
    assert apart(found, datetime(2023, 4, 2, tzinfo=UTC)) == 1
    assert apart(found, datetime(2023, 5, 3, 12, tzinfo=UTC)) == 1.5
    assert apart(found, datetime(2023, 2, 26, 19, tzinfo=NEW_YORK)) == 2


def test_open_intervals_reach_as_far_as_any_message() -> None:
    assert apart(intervals("before May 2022", WEDNESDAY), datetime(1971, 1, 1, tzinfo=UTC)) == 0
    assert apart(intervals("after June 2022", NEW_YEAR), datetime(2999, 1, 1, tzinfo=UTC)) == 0


def test_a_long_text_is_read_at_its_beginning_only() -> None:
    assert intervals("yesterday " + "word " * 1000, WEDNESDAY)
    assert intervals("word " * 1000 + "yesterday", WEDNESDAY) == []
    assert intervals("the end of " * 300, WEDNESDAY) == []


WORDS = """
    last this next past the a an of in on at from to until since before after between and or , - ' ( ) 's ago back now
    may May march March june April jan dec monday Tue sat fri spring summer fall winter christmas new year's eve Q1
    day days week weeks weekend month months year years quarter hour night morning today tonight yesterday tomorrow
    first second last two three few couple several half early mid late beginning end about around every
    0 1 5 5th 12 29 30 31 32 99 1900 1984 2000 2022 2023 2099 '22 2023-05-05 2023-02-30 5/5 13/13/2022 5.6.2022 9999
"""
ZONES = st.sampled_from([UTC, NEW_YORK, TOKYO, KOLKATA, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])
MOMENTS = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=ZONES)


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)), MOMENTS)
def test_any_text_gives_intervals_that_begin_before_they_end(query: str, now: datetime) -> None:
    for found in intervals(query, now):
        assert found.start < found.end
        assert found.start.tzinfo is found.end.tzinfo is now.tzinfo
        assert found.text
        assert found.text in query
        assert apart([found], found.start) == 0
