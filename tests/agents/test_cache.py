"""Executors kept ready: how long, how many, and when one no longer fits."""

from __future__ import annotations

import uuid
from dataclasses import replace

import pytest

from helpers.embedders import opened
from ltst import AsyncMemory, AsyncUser, Settings
from ltst.agents.cache import Executors
from ltst.agents.loader import Agent

COACH = Agent("coach", model="none")


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def executors(settings: Settings, clock: Clock) -> Executors:
    return Executors(replace(settings, executors=3, executor_ttl=60), clock=clock)


@pytest.fixture
def ana(plain: AsyncMemory) -> AsyncUser:
    return plain.user(f"ana-{uuid.uuid4().hex}")


async def test_one_for_each_user_and_agent(executors: Executors, plain: AsyncMemory, ana: AsyncUser) -> None:
    first = await executors.get(ana, COACH)
    assert await executors.get(plain.user(ana.user_id), COACH) is first
    assert await executors.get(ana, replace(COACH, name="other")) is not first
    assert await executors.get(plain.user("bob"), COACH) is not first
    stats = executors.stats()
    assert (stats.created, stats.hits, stats.live, sum(stats.evicted.values())) == (3, 1, 3, 0)


async def test_it_is_let_go_when_it_was_not_used_for_a_while(
    executors: Executors, ana: AsyncUser, clock: Clock
) -> None:
    first = await executors.get(ana, COACH)
    clock.now += 59
    assert await executors.get(ana, COACH) is first
    clock.now += 59
    assert await executors.get(ana, COACH) is first, "each use counts anew"
    clock.now += 60
    assert executors.stats().live == 0
    assert await executors.get(ana, COACH) is not first
    stats = executors.stats()
    assert stats.evicted["expired"] == 1 and stats.lifetime_sum == 178
    assert stats.lifetimes == {1: 0, 10: 0, 60: 0, 600: 1, 3600: 1, float("inf"): 1}


async def test_the_least_lately_used_goes_first(executors: Executors, plain: AsyncMemory) -> None:
    a, b, c, d = (plain.user(name) for name in "abcd")
    kept = [await executors.get(user, COACH) for user in (a, b, c)]
    await executors.get(a, COACH)
    await executors.get(d, COACH)
    assert await executors.get(a, COACH) is kept[0] and await executors.get(c, COACH) is kept[2]
    assert executors.stats().evicted["size"] == 1 and executors.stats().live == 3
    assert await executors.get(b, COACH) is not kept[1]


async def test_new_instructions_from_another_process(executors: Executors, settings: Settings, ana: AsyncUser) -> None:
    first = await executors.get(ana, COACH)
    async with opened(settings) as elsewhere:
        other = elsewhere.user(ana.user_id).instructions
        await other.set("coach", "Answer in rhymes.")
        second = await executors.get(ana, COACH)
        assert second is not first and second.instruction is not None and second.instruction.version == 1
        await other.set("coach", "Answer in prose.")
        third = await executors.get(ana, COACH)
        assert third.instruction is not None and third.instruction.content == "Answer in prose."
        await other.set("another agent", "Be brief.")
        await elsewhere.user("bob").instructions.set("coach", "Be brief.")
        assert await executors.get(ana, COACH) is third
        await other.forget("coach")
        assert (await executors.get(ana, COACH)).instruction is None
        await other.set("coach", "Answer in rhymes.")
        fifth = await executors.get(ana, COACH)
        assert fifth.instruction is not None and fifth.instruction.content == "Answer in rhymes."
    assert executors.stats().evicted["instructions"] == 4


async def test_a_changed_agent(executors: Executors, ana: AsyncUser) -> None:
    first = await executors.get(ana, COACH)
    assert await executors.get(ana, replace(COACH)) is first, "the same content is the same agent"
    second = await executors.get(ana, replace(COACH, window=7))
    assert second.agent.window == 7 and executors.stats().evicted["agent"] == 1


async def test_closing_lets_go_of_all(executors: Executors, ana: AsyncUser) -> None:
    await executors.get(ana, COACH)
    executors.close()
    assert executors.stats().live == 0 and executors.stats().evicted["closed"] == 1


def test_the_settings_are_checked() -> None:
    given = Settings.from_environment({"LTST_EXECUTORS": "5", "LTST_EXECUTOR_TTL": "1.5"})
    assert (given.executors, given.executor_ttl) == (5, 1.5)
    for wrong in ({"executors": 0}, {"executor_ttl": 0}, {"executor_ttl": float("nan")}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Settings(**wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="LTST_EXECUTORS must be a whole number"):
        Settings.from_environment({"LTST_EXECUTORS": "many"})
