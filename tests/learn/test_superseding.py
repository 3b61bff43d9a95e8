"""Superseding: what is said later about the same thing takes the place of what was said; in doubt both stay."""

from __future__ import annotations

import pytest

from helpers.learning import actions, day, taught
from ltst import AsyncMemory, AsyncUser
from ltst.learn.superseding import says_so, takes_place

TAKES = [
    ("The haircut costs £50.", "Price update: raised the haircut to £60.", 0.6, ["haircut"]),
    ("The course was 640.", "Correction: the course was 680 not 640.", 0.8, ["cours"]),
    ("I train on Mondays and Tuesdays.", "Actually scratch that, I only train Wednesdays.", 0.6, ["train"]),
    ("I eat fish twice a week.", "I gave up fish too.", 0.6, ["fish"]),
    ("Our cat Lola sleeps on my bed.", "Lola died last year.", 0.5, ["lola"]),
    ("I live in Porto.", "I moved to Lisbon.", 0.4, []),
    ("MSRV 1.78, don't raise it", "ok raise MSRV to 1.82", 0.6, ["msrv"]),
]
STAYS = [
    # The same again, or more of it.
    ("I've used Netflix for 6 months now.", "I've used Netflix for 6 months now.", 1.0, ["netflix"]),
    ("I've been using Netflix.", "I've been using Netflix for 6 months now.", 0.9, ["netflix"]),
    # Another matter.
    ("I have 2 dogs.", "I moved to Lisbon in 2024.", 0.2, []),
    ("My brother sold his car for 300.", "I bought 3 apples.", 0.3, []),
    # Nothing says that it changed.
    ("I like tea.", "I like coffee.", 0.7, []),
    ("I ran 5 km on Monday.", "I ran 8 km on Tuesday.", 0.8, ["ran", "km"]),
]


@pytest.mark.parametrize(("older", "newer", "nearness", "shared"), TAKES)
def test_what_changed_takes_its_place(older: str, newer: str, nearness: float, shared: list[str]) -> None:
    assert says_so(newer)
    assert takes_place(older, "about_me", newer, nearness, shared)


@pytest.mark.parametrize(("older", "newer", "nearness", "shared"), STAYS)
def test_in_doubt_both_stay(older: str, newer: str, nearness: float, shared: list[str]) -> None:
    assert not takes_place(older, "about_me", newer, nearness, shared)


def test_what_happened_is_not_undone() -> None:
    assert not takes_place("We ran 5 km together.", "event", "We now run 8 km together.", 0.8, ["km"])


@pytest.mark.asyncio(loop_scope="module")
class TestInAMemory:
    async def test_both_stay_and_the_older_is_marked(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I live in Porto with my dog.", at=day(1))
        await taught(shared, user, "tuesday", "I moved to Lisbon last week with my dog.", at=day(9))
        newer, older = await user.statements.list()
        assert (older.superseded_by, older.superseded_at) == (newer.statement_id, day(9))
        assert newer.superseded_by is None
        assert await user.statements.list(current=True) == [newer]
        assert await user.statements.list(current=False) == [older]
        assert "supersede" in await actions(user, "statement")

    async def test_the_order_of_reading_makes_no_difference(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "tuesday", "I moved to Lisbon last week with my dog.", at=day(9))
        await taught(shared, user, "monday", "I live in Porto with my dog.", at=day(1))
        newer, older = await user.statements.list()
        assert older.superseded_by == newer.statement_id

    @pytest.mark.parametrize("rejected", [False, True])
    async def test_it_holds_again_when_the_later_one_goes(
        self, shared: AsyncMemory, user: AsyncUser, rejected: bool
    ) -> None:
        await taught(shared, user, "monday", "I live in Porto with my dog.", at=day(1))
        (later,) = await taught(shared, user, "tuesday", "I moved to Lisbon last week with my dog.", at=day(9))
        newer, older = await user.statements.list()
        if rejected:
            await user.statements.reject(newer.statement_id)
        else:
            await user.chat("tuesday").remove(later)
        await shared.settle(user.user_id)
        (left,) = await user.statements.list(current=True)
        assert (left.statement_id, left.superseded_at) == (older.statement_id, None)

    async def test_a_plan_is_over_when_its_day_has_passed(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I'm going to visit my parents next weekend.", at=day(1))
        (plan,) = await user.statements.list(current=False)
        assert plan.kind == "plan"
        assert plan.until is not None
        assert plan.superseded_at is None
