"""Switches: what is off derives nothing, what is on again catches up, for everyone or for one user."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from helpers.embedders import opened
from helpers.learning import actions, day, rows, say, taught, values
from ltst import AsyncMemory, AsyncUser, Invalid, Settings
from ltst.settings import FEATURES

pytestmark = pytest.mark.asyncio(loop_scope="module")

LAKE = "We want to spend the summer holidays at the lake near Annecy with the children and a boat."


async def live(user: AsyncUser) -> None:
    """Something for each of the features."""
    await say(user, "monday", "I live in Porto.", LAKE, at=day(1))
    await say(user, "tuesday", "Always cite your sources.", LAKE, at=day(2))
    for mark in ".!":
        await user.entries.add(f"The oven in the kitchen of the lake house runs hot{mark}")


async def derived(user: AsyncUser) -> set[str]:
    """The features that something came of."""
    entries = await user.entries.list()
    found = {
        "extraction": bool(await user.facts.list() or await user.instructions.list()),
        "episodes": any(each.learned for each in entries),
        "relationships": bool(await user.sessions.related("monday")),
        "consolidation": sum(not each.learned for each in entries) == 1,
    }
    return {name for name, some in found.items() if some}


# What comes of each choice: links are found among episodes by consolidation.
CHOICES: list[tuple[set[str], set[str]]] = [
    ({*FEATURES}, {*FEATURES}),
    (set(), set()),
    ({"extraction"}, {"extraction"}),
    ({"episodes"}, {"episodes"}),
    ({"relationships"}, set()),
    ({"consolidation"}, {"consolidation"}),
    ({"episodes", "consolidation"}, {"episodes", "consolidation"}),
    ({"episodes", "consolidation", "relationships"}, {"episodes", "consolidation", "relationships"}),
]


@asynccontextmanager
async def learning(settings: Settings, learn: Any) -> AsyncIterator[AsyncMemory]:
    async with opened(replace(settings, learn=learn)) as memory:
        yield memory


class TestSettings:
    @pytest.mark.parametrize(
        ("given", "meant"),
        [
            ("all", FEATURES),
            ("ALL", FEATURES),
            ("off", ()),
            ("extraction", ("extraction",)),
            (" Extraction , episodes", ("extraction", "episodes")),
            (["episodes"], ("episodes",)),
            ("extraction,inference", ("extraction",)),
            (frozenset(FEATURES), FEATURES),
            ((), ()),
        ],
    )
    async def test_what_can_be_said(self, given: Any, meant: Collection[str]) -> None:
        assert Settings(learn=given).learn == frozenset(meant)
        if isinstance(given, str):
            assert Settings.from_environment({"LTST_LEARN": given}).learn == frozenset(meant)

    @pytest.mark.parametrize(
        "given",
        ["none", "extraction;episodes", "extraction,", "all,off", "off,extraction", ["facts"], [["x"]], None, 5, True],
    )
    async def test_what_cannot(self, given: Any) -> None:
        with pytest.raises(Invalid, match="learn must be all, off, or some of extraction, episodes"):
            Settings(learn=given)
        if isinstance(given, str):
            with pytest.raises(Invalid, match="learn must be"):
                Settings.from_environment({"LTST_LEARN": given})

    async def test_unset_means_all(self) -> None:
        assert Settings.from_environment({}).learn == frozenset(FEATURES)
        assert Settings.from_environment({"LTST_LEARN": ""}).learn == frozenset(FEATURES)

    async def test_off_means_nothing_and_on_again_catches_up(self, settings: Settings) -> None:
        async with learning(settings, "off") as memory:
            user = memory.user("ana")
            await live(user)
            await memory.settle()
            await memory.maintain()
            assert await derived(user) == set()
            assert rows(memory, user) == {"entries": 2}
            assert set((await user.learning.get()).values()) == {False}
        async with learning(settings, "all") as memory:
            await memory.settle()
            assert await derived(memory.user("ana")) == {*FEATURES}

    async def test_search_works_all_the_same(self, settings: Settings) -> None:
        async with learning(settings, "off") as memory:
            user = memory.user("ana")
            await live(user)
            (hit, *_) = await user.search("Where do I live?", kinds=["message"])
            assert hit.content == "I live in Porto."


class TestOneUser:
    @pytest.mark.parametrize(("chosen", "expected"), CHOICES)
    async def test_only_what_is_on_is_derived(
        self, shared: AsyncMemory, user: AsyncUser, chosen: set[str], expected: set[str]
    ) -> None:
        switched = await user.learning.set(**{name: name in chosen for name in FEATURES})
        assert switched == await user.learning.get() == {name: name in chosen for name in FEATURES}
        await live(user)
        await shared.settle(user.user_id)
        assert await derived(user) == expected
        if not chosen:
            assert rows(shared, user) == {"entries": 2}

    @pytest.mark.parametrize("off", FEATURES)
    async def test_on_again_it_catches_up(self, shared: AsyncMemory, user: AsyncUser, off: str) -> None:
        await user.learning.set(**{off: False})
        await live(user)
        await shared.settle(user.user_id)
        assert off not in await derived(user)
        await user.learning.set(**{off: True})
        await shared.settle(user.user_id)
        assert await derived(user) == {*FEATURES}

    async def test_catching_up_brings_back_nothing_that_was_forgotten(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await live(user)
        await shared.settle(user.user_id)
        await user.facts.forget("home")
        await user.learning.set(extraction=False)
        await user.learning.set(extraction=True)
        await shared.settle(user.user_id)
        assert await values(user, "home") == []

    async def test_switching_it_on_twice_changes_nothing(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await live(user)
        await shared.settle(user.user_id)
        before = rows(shared, user)
        for _ in range(2):
            await user.learning.set(extraction=False, relationships=False)
            await user.learning.set(extraction=True, relationships=True)
            await shared.settle(user.user_id)
        assert rows(shared, user) == before

    async def test_what_was_learnt_stays_when_it_is_switched_off(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await live(user)
        await shared.settle(user.user_id)
        before = rows(shared, user)
        await user.learning.set(**dict.fromkeys(FEATURES, False))
        await taught(shared, user, "friday", "I live in Lisbon.", LAKE, at=day(5))
        assert rows(shared, user) == before
        await user.sessions.delete("monday")
        await user.sessions.delete("tuesday")
        await shared.settle(user.user_id)
        assert rows(shared, user) == {"entries": 1}, "and goes although nothing is learnt"

    async def test_what_is_not_named_stays_as_it_is(self, user: AsyncUser) -> None:
        await user.learning.set(episodes=False)
        await user.learning.set(relationships=False)
        assert {name for name, on in (await user.learning.get()).items() if not on} == {"episodes", "relationships"}
        assert await actions(user, "learning") == ["set", "set"]

    async def test_one_users_choice_is_no_one_elses(self, shared: AsyncMemory, user: AsyncUser) -> None:
        other = shared.user(f"{user.user_id}-other")
        await user.learning.set(**dict.fromkeys(FEATURES, False))
        for each in (user, other):
            await live(each)
        await shared.settle(user.user_id)
        await shared.settle(other.user_id)
        assert (await derived(user), await derived(other)) == (set(), {*FEATURES})
        assert set((await other.learning.get()).values()) == {True}

    async def test_one_may_learn_where_nobody_else_does(self, settings: Settings) -> None:
        async with learning(settings, "off") as memory:
            user, other = memory.user("ana"), memory.user("bob")
            await user.learning.set(**dict.fromkeys(FEATURES, True))
            for each in (user, other):
                await live(each)
            await memory.settle()
            assert (await derived(user), await derived(other)) == ({*FEATURES}, set())

    async def test_it_comes_along_with_an_export(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await user.learning.set(extraction=False)
        copy = shared.user(f"{user.user_id}-copy")
        await copy.restore(await user.export())
        assert (await copy.learning.get())["extraction"] is False

    @pytest.mark.parametrize("given", [{}, {"extraction": "yes"}, {"episodes": 1}])
    async def test_bad_values_are_refused(self, user: AsyncUser, given: dict[str, Any]) -> None:
        with pytest.raises(Invalid):
            await user.learning.set(**given)
