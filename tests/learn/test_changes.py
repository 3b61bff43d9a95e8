"""Values that change: what is said later closes what was known, and an ending ends it."""

from __future__ import annotations

import pytest

from helpers.learning import day, taught, values
from ltst import AsyncMemory, AsyncUser

pytestmark = pytest.mark.asyncio(loop_scope="module")

# What is said first, what is said later, a key, and what then holds of it.
CHANGES = [
    ("I live in Lisbon.", "I moved to Porto.", "home", ["Porto"]),
    ("I live in Lisbon.", "We've relocated to Ghent in the end.", "home", ["Ghent"]),
    ("I live in Lisbon.", "I don't live in Lisbon any more.", "home", []),
    ("I live in Lisbon.", "I moved out of Lisbon.", "home", []),
    ("I live in Lisbon.", "Correction: I live in Setúbal, not Lisbon.", "home", ["Setúbal"]),
    ("I work at Beta.", "I'm now at Acme.", "employer", ["Acme"]),
    ("I work at Beta.", "I just started a new job at Acme.", "employer", ["Acme"]),
    ("I work at Beta.", "I quit my job.", "employer", []),
    ("I work at Beta.", "I got laid off last week.", "employer", []),
    ("I work at Beta.", "I'm retired now.", "employer", []),
    ("I'm a nurse.", "I became a teacher.", "job", ["teacher"]),
    ("I'm a nurse.", "I'm no longer a nurse.", "job", []),
    ("My wife Ana loves tea.", "We broke up.", "partner", []),
    ("My boyfriend is called Tom.", "I broke up with Tom.", "partner", []),
    ("My boyfriend is called Tom.", "Tom and I split up.", "partner", []),
    ("My boyfriend is called Tom.", "I'm dating Carlos.", "partner", ["Carlos"]),
    ("My husband is called Rui.", "I'm divorced.", "partner", []),
    ("I'm 40.", "I turned 41.", "age", ["41"]),
    ("I'm 40.", "I'm 42 now.", "age", ["42"]),
    ("My dog Rex loves the beach.", "My dog Rex died.", "pet", []),
    ("My dog Rex loves the beach.", "My dog died.", "pet", []),
    ("My dog Rex loves the beach. I have a cat named Miso.", "My dog died yesterday.", "pet", ["Miso"]),
    ("I have a dog named Rex. I have a dog named Bo.", "My dog died.", "pet", ["Bo", "Rex"]),
    ("My name is Katarina.", "Actually my name is spelt Katharina.", "name", ["Katharina"]),
    ("My birthday is on May 4.", "Sorry, my birthday is on May 5.", "birthday", ["May 5"]),
    ("I'm vegan.", "I'm vegetarian now.", "diet", ["vegetarian"]),
    ("I'm vegan.", "I'm not vegan anymore.", "diet", []),
    ("I'm vegan.", "I started eating meat again.", "diet", []),
    ("I'm allergic to nuts and eggs.", "I'm no longer allergic to eggs.", "allergy", ["nuts"]),
    ("I speak Danish.", "I speak Greek.", "language", ["Danish", "Greek"]),
    ("We deploy to AWS.", "We migrated to Azure.", "cloud_provider", ["Azure"]),
    ("I have two kids.", "My daughter Mia starts school.", "child", ["Mia", "two kids"]),
]


@pytest.mark.parametrize(("first", "then", "key", "holds"), CHANGES, ids=[f"{a} {b}" for a, b, _, _ in CHANGES])
async def test_what_changed_is_closed(
    shared: AsyncMemory, user: AsyncUser, first: str, then: str, key: str, holds: list[str]
) -> None:
    await taught(shared, user, "monday", first, at=day(1))
    before = await values(user, key)
    assert before
    await taught(shared, user, "friday", then, at=day(20))
    assert await values(user, key) == holds
    assert await values(user, key, as_of=day(2)) == before, "it held until then"


async def test_nothing_ends_where_it_is_not_clear_what(shared: AsyncMemory, user: AsyncUser) -> None:
    await taught(shared, user, "monday", "I have a dog named Rex. I have a cat named Miso.", at=day(1))
    for text in ("My neighbour's dog died.", "I lost my keys.", "My hamster died.", "We broke up the concrete."):
        await taught(shared, user, "friday", text, at=day(5))
    assert await values(user, "pet") == ["Miso", "Rex"]


async def test_the_order_of_reading_makes_no_difference(shared: AsyncMemory, user: AsyncUser) -> None:
    await taught(shared, user, "friday", "We broke up.", at=day(5))
    await taught(shared, user, "monday", "My boyfriend is called Tom.", at=day(1))
    assert await values(user, "partner") == []
    assert await values(user, "partner", as_of=day(2)) == ["Tom"]
