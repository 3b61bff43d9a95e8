"""Consolidation: what says the same is one, what matters is known, and of what is too much the least goes."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from helpers.embedders import opened
from helpers.learning import actions, day, run, say, taught
from ltst import AsyncMemory, AsyncUser, MemoryEntry, Settings
from ltst.retelling.composing import says_the_same
from ltst.retelling.importance import importance

pytestmark = pytest.mark.asyncio(loop_scope="module")

OVEN = "The oven in the kitchen of the lake house runs hot"


async def kept(memory: AsyncMemory, user: AsyncUser, *contents: str, **more: Any) -> list[MemoryEntry]:
    """The entries that are left of these, the earliest first."""
    for content in contents:
        await user.entries.add(content, **more)
    await memory.settle(user.user_id)
    return sorted(await user.entries.list(), key=lambda each: str(each.created_at))


class TestMerging:
    async def test_what_says_the_same_is_one_and_nothing_is_lost(self, shared: AsyncMemory, user: AsyncUser) -> None:
        first = await user.entries.add(
            f"{OVEN}.", importance=0.2, occurred_at=day(1), metadata={"sources": ["a"], "x": 1}
        )
        other = await user.entries.add(f"{OVEN}!", importance=0.7, occurred_at=day(2), metadata={"sources": ["b", "a"]})
        third = await user.entries.add(f"{OVEN} …", importance=0.4, occurred_at=day(3), metadata={"x": 2, "y": 3})
        (entry,) = await kept(shared, user)
        assert (entry.entry_id, entry.content, entry.occurred_at) == (first.entry_id, f"{OVEN}.", day(1))
        assert entry.importance_score == 0.7
        assert entry.metadata["sources"] == ["a", "b"]
        assert (entry.metadata["x"], entry.metadata["y"]) == (1, 3)
        assert entry.metadata["merged"] == [
            {"entry_id": other.entry_id, "content": other.content, "occurred_at": day(2).isoformat()},
            {"entry_id": third.entry_id, "content": third.content, "occurred_at": day(3).isoformat()},
        ]
        assert (await actions(user, "entry")).count("merge") == 2

    async def test_it_is_done_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (before,) = await kept(shared, user, f"{OVEN}.", f"{OVEN}!")
        (after,) = await kept(shared, user)
        assert after == before

    async def test_of_two_that_expire_the_later_counts(self, shared: AsyncMemory, user: AsyncUser) -> None:
        soon, late = (datetime.now(UTC) + timedelta(days=number) for number in (1, 9))
        await user.entries.add(f"{OVEN}.", expires_at=soon)
        (entry,) = await kept(shared, user, f"{OVEN}!", expires_at=late)
        assert entry.expires_at == late
        (entry,) = await kept(shared, user, f"{OVEN} !")
        assert entry.expires_at is None

    @pytest.mark.parametrize(
        "other",
        [
            "The oven in the kitchen of the lake house runs hot at 230",
            "The oven in the kitchen of the lake house never runs hot",
            "The oven in the kitchen of the lake house doesn't run hot",
            "The fridge in the cellar of the town flat runs hot",
            "The car in the garage behind the lake house runs well",
        ],
    )
    async def test_what_says_something_else_stays(self, shared: AsyncMemory, user: AsyncUser, other: str) -> None:
        assert len(await kept(shared, user, f"{OVEN}.", other)) == 2

    async def test_numbers_make_a_difference(self, shared: AsyncMemory, user: AsyncUser) -> None:
        texts = [f"The rent of the house by the lake near Annecy is {rent} euros a month." for rent in (900, 910, 9.1)]
        assert len(await kept(shared, user, *texts)) == 3

    async def test_so_does_the_type(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await user.entries.add(f"{OVEN}.", type="episodic")
        assert len(await kept(shared, user, f"{OVEN}!")) == 2

    async def test_and_the_user(self, shared: AsyncMemory, user: AsyncUser) -> None:
        other = shared.user(f"{user.user_id}-other")
        assert len(await kept(shared, user, f"{OVEN}.")) == 1
        assert len(await kept(shared, other, f"{OVEN}!")) == 1

    @pytest.mark.parametrize(
        ("one", "same"),
        [
            ({}, True),
            ({"session_id": "other"}, False),
            ({"learned": False}, False),
            ({"metadata": {"trust": "low"}}, False),
            ({"metadata": {"trust": "high"}}, True),
            ({"content": f"{OVEN} at 9"}, False),
            ({"content": f"{OVEN}, not"}, False),
            ({"content": OVEN.upper()}, True),
        ],
    )
    async def test_two_entries_that_can_stand_for_each_other(self, one: dict[str, Any], same: bool) -> None:
        entry = MemoryEntry(OVEN, session_id="monday", learned=True)
        assert says_the_same(replace(entry, **one), entry) is same
        assert says_the_same(entry, replace(entry, **one)) is same

    async def test_two_conversations_stay_two(self, shared: AsyncMemory, user: AsyncUser) -> None:
        text = "We talked about the oven in the kitchen of the house by the lake, which runs hot."
        await taught(shared, user, "monday", text, at=day(1))
        await taught(shared, user, "tuesday", text, at=day(2))
        assert sorted(str(each.session_id) for each in await user.entries.list()) == ["monday", "tuesday"]

    async def test_an_episode_told_twice_in_one_conversation_tells_of_both_times(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        text = "We talked about the oven in the kitchen of the house by the lake, which runs hot"
        await taught(shared, user, "monday", f"{text}.", at=day(1))
        said = await taught(shared, user, "monday", f"{text}!", at=day(2))
        (entry,) = await user.entries.list()
        assert entry.metadata["messages"] == [1, 2]
        assert len(entry.metadata["sources"]) == 2
        run(shared, "DELETE FROM conversation_messages WHERE message_id = %s", said[0])
        await shared.settle(user.user_id)
        (entry,) = await user.entries.list()
        assert (entry.metadata["messages"], "merged" in entry.metadata) == ([1, 1], False)


class TestImportance:
    async def test_messages_count_by_their_words(self, shared: AsyncMemory, user: AsyncUser) -> None:
        texts = ["ok", "I live with my brother Tom in Annecy since 12 May 2019.", "What is that?"]
        await taught(shared, user, "monday", *texts, at=day(1))
        weights = [importance(text, "human") for text in texts]
        assert 0 < weights[0] <= weights[2] < weights[1] <= 1
        assert (await user.sessions.summary("monday")).average_relevance == pytest.approx(sum(weights) / 3)

    async def test_one_that_was_given_stays(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (said,) = await say(user, "monday", "ok", at=day(1))
        await user.chat("monday").store(replace(said, message_index=None, relevance_score=0.77))
        await shared.settle(user.user_id)
        assert [each.relevance_score for each in await user.chat("monday").history()] == [0, 0.77]
        average = (await user.sessions.summary("monday")).average_relevance
        assert average == pytest.approx((importance("ok", "human") + 0.77) / 2)

    async def test_a_conversation_is_as_relevant_as_the_best_in_it(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(
            shared, user, "weighty", *["I decided: my wedding with Tom is on 12 May 2026 in Annecy."] * 5, at=day(1)
        )
        await taught(shared, user, "idle", *["hm, that may well be so or else it may not"] * 5, at=day(1))
        weighty, idle = [await user.sessions.get(name) for name in ("weighty", "idle")]
        assert weighty is not None
        assert idle is not None
        assert 0 < idle.relevance_score < weighty.relevance_score <= 1

    @pytest.mark.parametrize(
        ("less", "more"),
        [
            ("Sounds good.", "It is on 12 May."),
            ("The house is nice and large.", "The house in Annecy belongs to Tom."),
            ("We could think about it some day.", "We decided to sign it."),
            ("Is it far from here to the lake?", "It is far from here to the lake."),
            ("They sell bread at the corner.", "I work at the corner."),
        ],
    )
    async def test_what_matters_more_has_more(self, less: str, more: str) -> None:
        assert 0 < importance(less) < importance(more) <= 1

    async def test_an_assistant_does_not_speak_of_itself(self) -> None:
        assert importance("I am sure that I like it.", "ai") < importance("I am sure that I like it.", "human")

    async def test_an_episode_has_its_own(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(
            shared, user, "monday", "I decided that my wedding with Tom will be in Annecy on 12 May.", at=day(1)
        )
        (episode,) = await user.entries.list()
        assert episode.importance_score == importance(episode.content)


class TestPruning:
    async def test_of_too_many_episodes_the_least_important_go(self, settings: Settings) -> None:
        weighty = "I decided that my wedding with {0} will be in Annecy on 12 May 2026, remember it."
        light = "hm, that may well be so or else it may not be so at all in the {0} end"
        async with opened(replace(settings, episode_budget=2)) as memory:
            user, other = memory.user("ana"), memory.user("bob")
            written = [await user.entries.add(f"{OVEN} {number}", importance=0.01) for number in range(3)]
            for number, name in enumerate(("Tom", "Kim")):
                await say(user, f"weighty{number}", weighty.format(name), at=day(number))
            for number, word in enumerate(("bitter", "sweet", "very")):
                await say(user, f"light{number}", light.format(word), at=day(number))
            await say(other, "light", light.format("other"), at=day(0))
            await memory.settle()
            assert len(await user.entries.list()) == 8
            pruned = await memory.maintain()
            left = await user.entries.list()
            assert pruned["entries_pruned"] == 3
            assert {each.session_id for each in left if each.learned} == {"weighty0", "weighty1"}
            assert {each.entry_id for each in left if not each.learned} == {each.entry_id for each in written}
            assert (await actions(user, "entry")).count("prune") == 3
            assert len(await other.entries.list()) == 1
            assert (
                sum(
                    [
                        (await user.sessions.summary(each.session_id)).message_count
                        for each in await user.sessions.list()
                    ]
                )
                == 5
            )
            await memory.settle()
            assert len(await user.entries.list()) == 5, "what was pruned is not told again"

    async def test_what_is_used_stays_longer(self, settings: Settings) -> None:
        light = "hm, that may well be so or else it may not be so at all in the {0} end"
        async with opened(replace(settings, episode_budget=1)) as memory:
            user = memory.user("ana")
            for number, word in enumerate(("bitter", "sweet", "very")):
                await say(user, word, light.format(word), at=day(number))
            await memory.settle()
            context = await user.chat("new").context("the bitter end", max_tokens=4000)
            await memory.stats()
            shown = {each.session_id: each.usage_count for each in await user.entries.list()}
            assert shown["bitter"] == 1
            told = {*context.sources}
            for each in await user.entries.list():
                assert not each.usage_count or {*each.metadata["sources"]} <= told, "itself, or all of its messages"
            run(memory, "UPDATE memory_entries SET usage_count = 9 WHERE session_id = 'bitter'")
            await memory.maintain()
            (left,) = await user.entries.list()
            assert left.session_id == "bitter"

    async def test_of_too_many_contexts_the_least_relevant_go(
        self, settings: Settings, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("ltst.handles.upkeep.CONTEXTS_PER_SESSION", 2)
        async with opened(settings) as memory:
            user = memory.user("ana")
            for session in ("monday", "tuesday"):
                for number in range(4):
                    await user.chat(session).contexts.set("project", f"k{number}", "value", relevance=number / 10)
            assert (await memory.maintain())["contexts_pruned"] == 4
            for session in ("monday", "tuesday"):
                left = await user.chat(session).contexts.list()
                assert [each.context_key for each in left] == ["k2", "k3"]
            assert (await actions(user, "context")).count("prune") == 4
