"""Superseding: what is said later about the same thing takes the place of what was said; in doubt both stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from helpers.learning import actions, day, taught
from ltst import AsyncMemory, AsyncUser
from ltst.learn.superseding import Pair, likelihood, says_so, takes_place

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


def pair(older: str, newer: str, **changed: Any) -> Pair:
    given = Pair(newer, older, 0.6, 0, 0.2, [3.0, 3.0], (12.0, 12.0), 30.0, together=False)
    return replace(given, **changed)


def test_the_nearer_and_the_more_alike_two_are_the_likelier_one_takes_the_others_place() -> None:
    said = "the new photo box is otter, port 8143", "photo box is heron, port 443"
    near, far = likelihood(pair(*said)), likelihood(pair(*said, nearness=0.2, place=7, ahead=-0.3, shared=[]))
    assert near > 0.5 > 0.1 > far


def test_a_question_takes_nothing_away() -> None:
    assert likelihood(pair("My rent is 900.", "Sorry, new rent is 950, not 900.")) > likelihood(
        pair("My rent is 900.", "Is a rent of 950 too much?")
    )


@pytest.mark.asyncio(loop_scope="module")
class TestDoubt:
    """Where no word says so, what is likely outdated stays, and a search puts it behind what took its place."""

    OTHERS = (
        "My sister Ana keeps bees on the roof of her house.",
        "I ride the tram to work, it takes me twenty minutes.",
        "We bought a piano for the children in spring.",
        "My doctor wants me to drink less coffee.",
        "I play chess with my neighbour on Sundays.",
        "Our car is a blue van with a dent in the door.",
    )
    OLDER = "Our standup is at half past nine in the big meeting room."
    NEWER = "So the new standup is at quarter past ten, small meeting room, sorry."

    async def doubt(self, user: AsyncUser) -> float:
        hits = await user.search("meeting room of the standup", kinds=["message"], floor=0.0)
        return next(hit.scores.get("outdated", 0.0) for hit in hits if hit.content == self.OLDER)

    async def test_what_is_likely_outdated_comes_later(self, shared: AsyncMemory, user: AsyncUser) -> None:
        for number, other in enumerate(self.OTHERS):
            await taught(shared, user, f"other-{number}", other, at=day(2 + number))
        await taught(shared, user, "monday", self.OLDER, at=day(1))
        assert await self.doubt(user) == 0
        (later,) = await taught(shared, user, "tuesday", self.NEWER, at=day(60))
        assert await self.doubt(user) < 0
        first, *_ = await user.search("When does the standup start?", kinds=["message"])
        assert first.content == self.NEWER
        assert {each.superseded_by for each in await user.statements.list()} == {None}
        await user.chat("tuesday").remove(later)
        await shared.settle(user.user_id)
        assert await self.doubt(user) == 0

    async def test_the_order_of_reading_makes_no_difference(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "tuesday", self.NEWER, at=day(60))
        await taught(shared, user, "monday", self.OLDER, at=day(1))
        assert await self.doubt(user) < 0

    async def test_a_rejected_statement_casts_no_doubt(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", self.OLDER, at=day(1))
        await taught(shared, user, "tuesday", self.NEWER, at=day(60))
        for each in await user.statements.list():
            if each.content == self.NEWER:
                await user.statements.reject(each.statement_id)
        await shared.settle(user.user_id)
        assert await self.doubt(user) == 0


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
