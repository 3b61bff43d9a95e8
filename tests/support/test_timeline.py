"""The timeline: what was said, in any order of reading, gives the same line of time."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltst.support.timeline import ANY, Mention, Period, periods

DAY = timedelta(days=1)


def day(number: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + number * DAY


def said(value: str, since: int, at: int | None = None, **more: object) -> Mention:
    moment = since if at is None else at
    return Mention(f"{value}-{since}-{moment}-{more}", value, day(since), day(moment), **more)  # type: ignore[arg-type]


def line(
    *statements: Mention, rejected: tuple[str, ...] = (), single: bool = True
) -> list[tuple[str, int, int | None]]:
    return [
        (each.value, (each.since - day(0)).days, None if each.until is None else (each.until - day(0)).days)
        for each in periods(statements, rejected, single_valued=single)
        if each.since != each.until
    ]


def test_nothing_was_said() -> None:
    assert periods([], [], single_valued=True) == []


def test_one_value_follows_another() -> None:
    assert line(said("Porto", 1), said("Lisbon", 5)) == [("Porto", 1, 5), ("Lisbon", 5, None)]


def test_the_same_again_goes_on() -> None:
    (only,) = periods([said("Porto", 1), said("porto", 5)], [], single_valued=True)
    assert (only.value, only.since, only.until, len(only.mentions)) == ("Porto", day(1), None, 2)


def test_a_later_word_about_an_earlier_time_overrules_what_was_said_before() -> None:
    """Who says "I moved last week" means it, although they said otherwise yesterday out of habit."""
    found = line(said("Lisbon", 1), said("Lisbon", 10), said("Porto", 5, at=12))
    assert found == [("Lisbon", 1, 5), ("Porto", 5, None)]


def test_an_earlier_beginning_of_what_is_known_moves_it() -> None:
    assert line(said("Porto", 10), said("Porto", 4, at=12)) == [("Porto", 4, None)]


def test_what_is_written_down_is_not_moved_by_what_is_said() -> None:
    written = said("Braga", 15, by_hand=True)
    assert line(written, said("Porto", 8, at=20)) == [("Porto", 8, 15), ("Braga", 15, None)]


def test_what_is_written_down_keeps_its_beginning_although_the_same_was_said_of_an_earlier_time() -> None:
    written = said("Porto", 15, at=30, by_hand=True)
    expected = [("Porto", 8, 15), ("Porto", 15, None)]
    assert line(written, said("Porto", 8, at=10)) == expected
    assert line(written, said("Porto", 8, at=40)) == expected


def test_an_end_that_is_written_down_holds_although_the_value_was_only_said() -> None:
    heard, written = said("Porto", 1), said("Porto", 1, at=9, by_hand=True, until=day(5))
    assert line(heard, written) == [("Porto", 1, 5)]
    assert line(heard, written, said("Porto", 20)) == [("Porto", 1, 5), ("Porto", 20, None)]


def test_an_end_leaves_nothing_behind() -> None:
    assert line(said("Acme", 1), said("Acme", 7, ends=True)) == [("Acme", 1, 7)]


def test_an_end_of_something_else_changes_nothing() -> None:
    assert line(said("Acme", 1), said("Beta", 7, ends=True)) == [("Acme", 1, None)]


def test_after_an_end_it_may_begin_again() -> None:
    found = line(said("Acme", 1), said("Acme", 7, ends=True), said("Acme", 9))
    assert found == [("Acme", 1, 7), ("Acme", 9, None)]


def test_a_correction_ends_one_and_begins_another() -> None:
    found = line(said("Lisbon", 1), said("Lisbon", 5, ends=True), said("Porto", 5))
    assert found == [("Lisbon", 1, 5), ("Porto", 5, None)]


def test_what_is_called_wrong_never_held() -> None:
    assert line(said("Rome", 0), said("Lisbon", 1), said("Porto", 5, corrects=ANY)) == [
        ("Rome", 0, 1),
        ("Porto", 1, None),
    ]
    lisbon = said("Lisbon", 1, source="a")
    assert line(lisbon, said("Porto", 5, corrects="a")) == [("Porto", 1, None)]
    assert line(lisbon, said("Porto", 5, corrects="b")) == [("Lisbon", 1, 5), ("Porto", 5, None)]
    assert line(said("Lisbon", 1, by_hand=True), said("Porto", 5, corrects=ANY)) == [
        ("Lisbon", 1, 5),
        ("Porto", 5, None),
    ], "what was written down is not wrong because somebody says so"


def test_of_several_values_the_wrong_one_never_held() -> None:
    known = [said("Rex", 0, source="a"), said("Lena", 1, source="b")]
    assert line(*known, said("Luna", 5, corrects="b"), single=False) == [("Rex", 0, None), ("Luna", 5, None)]


def test_several_values_hold_beside_each_other() -> None:
    found = line(said("chess", 1), said("climbing", 3), said("chess", 6, ends=True), single=False)
    assert found == [("chess", 1, 6), ("climbing", 3, None)]


def test_an_end_may_name_a_thing_by_its_noun() -> None:
    found = line(said("road bike", 1), said("bike", 4, ends=True), single=False)
    assert found == [("road bike", 1, 4)]
    two = line(said("road bike", 1), said("city bike", 2), said("bike", 4, ends=True), single=False)
    assert two == [("road bike", 1, None), ("city bike", 2, None)], "which of them is not said"


def test_what_was_rejected_never_held() -> None:
    found = line(said("Porto", 1), said("Paris", 5), said("PARIS ", 7), rejected=("paris",))
    assert found == [("Porto", 1, None)]


def test_a_future_value_waits() -> None:
    assert line(said("Rome", 30, at=2), said("Porto", 5)) == [("Porto", 5, 30), ("Rome", 30, None)]


def test_two_who_say_the_same_are_surer_than_one_and_a_copy_is_not_a_second_one() -> None:
    once = periods([said("Porto", 1, confidence=0.8)], [], single_valued=True)[0]
    twice = periods([said("Porto", 1, confidence=0.8), said("Porto", 2, confidence=0.8)], [], single_valued=True)[0]
    copy = [said("Porto", 1, confidence=0.8), said("Porto", 1, confidence=0.8, source="copy")]
    assert once.confidence == pytest.approx(0.8)
    assert twice.confidence == pytest.approx(0.96)
    assert periods(copy, [], single_valued=True)[0].confidence == pytest.approx(0.8)


STATEMENTS = st.lists(
    st.builds(
        lambda value, since, later, ends, by_hand, source, corrects: said(
            value,
            since,
            since + later,
            ends=ends and not by_hand,
            by_hand=by_hand,
            source=source,
            corrects=None if ends or by_hand else corrects,
        ),
        st.sampled_from(["Porto", "Lisbon", "Braga", "Paris"]),
        st.integers(0, 20),
        st.integers(0, 6),
        st.booleans(),
        st.booleans(),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from([None, None, ANY, "a", "b"]),
    ),
    max_size=12,
    unique_by=lambda each: (each.id, each.said_at),
)


@given(STATEMENTS, st.booleans(), st.randoms(use_true_random=False))
def test_the_order_of_reading_makes_no_difference(heard: list[Mention], single: bool, chance: random.Random) -> None:
    def told(found: list[Period]) -> list[object]:
        return sorted((each.value, each.since, str(each.until), [*each.sources], each.confidence) for each in found)

    shuffled = chance.sample(heard, len(heard))
    one = periods(heard, ["Paris"], single_valued=single)
    assert told(one) == told(periods(shuffled, ["Paris"], single_valued=single))
    assert all(each.value != "Paris" for each in one)


@given(STATEMENTS)
def test_of_a_single_valued_key_one_value_holds_at_a_time(heard: list[Mention]) -> None:
    found = [each for each in periods(heard, [], single_valued=True) if each.since != each.until]
    for earlier, later in pairwise(found):
        assert earlier.until is not None
        assert earlier.until <= later.since
