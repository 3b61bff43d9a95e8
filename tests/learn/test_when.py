"""When something began or happened, as the sentence that tells it says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from ltst.learn.statements import read
from ltst.learn.when import began, named, over, starts

NOW = datetime(2025, 6, 18, 15, tzinfo=UTC)  # a Wednesday


def at(year: int, month: int = 1, day: int = 1) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sentence", "moment"),
    [
        ("I've lived in Ghent since March.", at(2025, 3)),
        ("Since 2019 I've worked at Acme.", at(2019)),
        ("I'm vegan since 2020.", at(2020)),
        ("I moved to Porto in 2019.", at(2019)),
        ("Last week I started a new job.", at(2025, 6, 9)),
        ("I bought a red bicycle last week.", at(2025, 6, 9)),
        ("Yesterday I sold my car.", at(2025, 6, 17)),
        ("Today I started pottery.", at(2025, 6, 18)),
        ("I saw her on Friday.", at(2025, 6, 13)),
        ("We met in the summer of 2010.", at(2010, 6)),
        ("I got married on May 3rd.", at(2025, 5, 3)),
        ("I signed the lease on the first of March.", at(2025, 3)),
        ("I worked there from 2015 to 2019.", at(2015)),
        ("Three years ago I quit smoking.", at(2022, 6, 18)),
        ("I quit a few weeks ago.", at(2025, 5, 25)),
        ("We’ve been married for 12 years.", at(2013, 6, 18)),
        ("I've been ill for the last two weeks.", at(2025, 6, 4)),
        ("Ich bin 2019 nach Wien gezogen.", at(2019)),
        ("Letzte Woche habe ich angefangen zu laufen.", at(2025, 6, 9)),
        ("Me mudé a Madrid en 2018.", at(2018)),
        ("J'ai déménagé à Lyon la semaine dernière.", at(2025, 6, 9)),
    ],
)
def test_the_moment_that_a_sentence_names(sentence: str, moment: datetime) -> None:
    assert began(sentence, NOW) == moment


@pytest.mark.parametrize(
    "sentence",
    [
        "I live in Porto now.",
        "I have two cats.",
        "I have an appointment on Friday.",
        "My birthday is May 3rd.",
        "I'm going to Rome in May.",
        "I'll start a new job on Monday.",
        "I want to move in March.",
        "Every summer we went to Rome.",
        "I always visited her on Sunday.",
        "I went to Rome in 2019 and to Paris in 2021.",
        "I worked there until 2019.",
        "I was happier before Christmas.",
        "I quit after Christmas.",
        "I lived there for three years.",
        "I have the house to myself for two weeks.",
        "I've been ill for two weeks since we met in May.",
        "I was promised a raise in 2031.",
        "I started with 2019 dollars.",
        "It happened ages ago.",
    ],
)
def test_no_moment_where_none_or_more_than_one_of_the_past_is_named(sentence: str) -> None:
    assert began(sentence, NOW) is None


def test_days_are_those_of_the_speakers_zone() -> None:
    tokyo = timezone(timedelta(hours=9))
    said = datetime(2025, 6, 18, 1, tzinfo=tokyo)
    assert began("Yesterday I sold my car.", said) == datetime(2025, 6, 17, tzinfo=tokyo)


def test_statements_know_it_and_plans_do_not() -> None:
    bought, plans = read("I bought a red bicycle last week. I'm flying to Rome with my wife tomorrow.", NOW)
    assert (bought.since, bought.until) == (at(2025, 6, 9), None)
    assert (plans.kind, plans.since, plans.until) == ("plan", None, at(2025, 6, 20))


@pytest.mark.parametrize(
    ("plan", "moment"),
    [
        ("I start on June 20.", at(2025, 6, 20)),
        ("I start on June 1.", at(2026, 6)),
        ("I start on Wednesday.", at(2025, 6, 25)),
        ("I start on Thursday.", at(2025, 6, 19)),
        ("I start in July.", at(2025, 7)),
        ("I start in May.", at(2026, 5)),
        ("I start tomorrow.", at(2025, 6, 19)),
        ("I start on the first of September.", at(2025, 9)),
        ("I start soon.", None),
        ("I work there until July.", None),
        ("I work there for two weeks in July.", None),
        ("I start in 2019.", None),
        ("I start in July or in August.", None),
    ],
)
def test_a_plan_holds_from_the_only_day_to_come_that_it_names(plan: str, moment: datetime | None) -> None:
    assert starts(plan, NOW) == moment


def test_what_goes_on_is_no_plan_and_has_no_end() -> None:
    (stated,) = read("I'm learning to play the cello since January.", NOW)
    assert (stated.kind, stated.since, stated.until) == ("activity", at(2025), None)
    assert over("I'm selling my tripod, which I've had since 2018.", NOW) is None


@pytest.mark.parametrize(
    ("sentence", "moment"),
    [
        ("booked the park for 28 june", at(2025, 6, 28)),
        ("He died on Thursday.", at(2025, 6, 12)),
        ("the viewing is on tuesday", at(2025, 6, 24)),
        ("The new deadline is the 15th of January.", at(2026, 1, 15)),
        ("They moved me to the 2nd of June.", at(2025, 6, 2)),
        ("Er hat am 5. Juli Geburtstag.", at(2025, 7, 5)),
        ("I saw them last month.", at(2025, 5)),
    ],
)
def test_a_date_without_a_year_is_the_nearest(sentence: str, moment: datetime) -> None:
    assert [each.start for each in named(sentence, NOW)] == [moment]


@pytest.mark.parametrize("sentence", ["I live here since May.", "I like tea.", ""])
def test_what_is_open_is_no_time(sentence: str) -> None:
    assert named(sentence, NOW) == []
