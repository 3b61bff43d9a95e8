"""Episodes: conversations that rest are told, long ones are summarised, and what belongs together is linked."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from helpers.embedders import opened
from helpers.language_server import Asked, LanguageServer, Status
from helpers.learning import actions, day, rows, run, say, taught
from helpers.probes import cloned
from ltst import AsyncMemory, AsyncUser, ConversationSession, MemoryEntry, Settings
from ltst.retelling.episodes import EPISODE_TOKENS, READ

pytestmark = pytest.mark.asyncio(loop_scope="module")

LAKE = (
    "We want to spend the summer holidays at the lake near Annecy with the children.",
    "I booked a wooden house with a boat for the last two weeks of July.",
    "The train to Annecy leaves Lyon at 9:40 and takes two hours.",
)
LAKE_AGAIN = (
    "About the summer holidays at the lake near Annecy: the children want a second boat.",
    "Can the wooden house near Annecy have us for the last three weeks of July?",
)
BREAD = (
    "My sourdough bread stays flat however long the dough rests in the cold kitchen.",
    "Should rye flour get more water than wheat flour, or less salt perhaps?",
)
FEW_TOKENS = 300


async def episodes(user: AsyncUser, session_id: str | None = None) -> list[MemoryEntry]:
    """The episodes, the earliest first."""
    found = [each for each in await user.entries.list("episodic", limit=1000) if each.learned]
    return sorted((each for each in found if session_id in (None, each.session_id)), key=first)


def first(episode: MemoryEntry) -> int:
    return int(episode.metadata["messages"][0])


def progress(memory: AsyncMemory, user: AsyncUser, session_id: str = "monday") -> tuple[int, str | None]:
    """Up to where the running summary tells, and the summary."""
    columns = "SELECT summarised_index, context_summary FROM conversation_sessions"
    (row,) = run(memory, f"{columns} WHERE user_id = %s AND session_id = %s", user.user_id, session_id)
    return row[0], row[1]


@asynccontextmanager
async def memory_with(server: Any, template: str, home: Path, **settings: Any) -> AsyncIterator[AsyncMemory]:
    with cloned(server, template) as url:
        async with opened(Settings(worker=False, database_url=url, home=home, **settings)) as memory:
            yield memory


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def brief(server: Any, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[AsyncMemory]:
    """A memory in which a conversation is soon too long."""
    home = tmp_path_factory.mktemp("home")
    async with memory_with(server, template, home, summary_tokens=FEW_TOKENS) as memory:
        yield memory


class TestEpisodes:
    async def test_a_conversation_is_told_once_it_rests(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", *LAKE)
        assert await episodes(user) == []
        await user.sessions.touch("monday", at=datetime.now(UTC) - timedelta(minutes=29))
        await shared.settle(user.user_id)
        assert await episodes(user) == []
        await user.sessions.touch("monday", at=datetime.now(UTC) - timedelta(minutes=31))
        await shared.settle(user.user_id)
        assert len(await episodes(user)) == 1

    async def test_how_long_it_must_rest_can_be_set(self, server: Any, template: str, tmp_path: Path) -> None:
        async with memory_with(server, template, tmp_path, idle_after=120) as memory:
            user = memory.user("ana")
            for seconds, told in ((60, 0), (180, 1)):
                await say(user, f"{seconds} s ago", *LAKE)
                await user.sessions.touch(f"{seconds} s ago", at=datetime.now(UTC) - timedelta(seconds=seconds))
                await memory.settle()
                assert len(await episodes(user)) == told

    async def test_one_of_the_past_is_told_at_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        said = await taught(shared, user, "monday", *LAKE, at=day(1), agent="coach")
        (episode,) = await episodes(user)
        assert (episode.session_id, episode.agent_name, episode.source) == ("monday", "coach", "conversation")
        assert (episode.occurred_at, episode.memory_type, episode.expires_at) == (day(1), "episodic", None)
        assert episode.metadata["messages"] == [1, 3]
        assert set(episode.metadata["sources"]) <= set(said)
        assert episode.metadata["sources"]
        assert "Annecy" in episode.metadata["topics"]
        assert 0 < episode.importance_score <= 1
        assert await actions(user, "entry") == ["learn"]
        (hit,) = await user.search("holidays at the lake", kinds=["entry"])
        assert (hit.id, hit.session_id, set(hit.sources)) == (
            episode.entry_id, "monday", set(episode.metadata["sources"])
        )  # fmt: skip

    async def test_it_is_made_of_what_was_said(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", *LAKE, at=day(1))
        (episode,) = await episodes(user)
        told = [line for line in episode.content.splitlines() if not line.startswith("About ")]
        said = " ".join(LAKE)
        for line in told:
            for sentence in line.removeprefix("user: ").removeprefix("Decided: ").split(". "):
                assert sentence.strip(".") in said
        assert len(episode.content) / 4 < 2 * EPISODE_TOKENS

    async def test_of_nearly_nothing_nothing_is_told(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Hello!", "Thanks, bye.", at=day(1))
        await taught(shared, user, "tuesday", *LAKE, at=day(1), role="tool")
        assert (await episodes(user), rows(shared, user)) == ([], {})

    async def test_once_told_it_is_not_told_again(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", *LAKE, at=day(1))
        before = await episodes(user)
        await shared.settle(user.user_id)
        await user.sessions.touch("monday", at=day(2))
        await shared.settle(user.user_id)
        assert await episodes(user) == before

    async def test_one_that_goes_on_gets_a_second_one(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", *LAKE, at=day(1))
        await taught(shared, user, "monday", *BREAD, at=day(3))
        one, two = await episodes(user)
        assert (one.metadata["messages"], two.metadata["messages"]) == ([1, 3], [4, 5])
        assert (one.occurred_at, two.occurred_at) == (day(1), day(3))
        assert "Annecy" not in two.content
        assert await user.sessions.related("monday") == [], "not with itself"

    async def test_a_long_one_is_told_in_portions(self, shared: AsyncMemory, user: AsyncUser) -> None:
        texts = [f"Chapter {number} of the voyage is about island {number}. " * 20 for number in range(30)]
        await taught(shared, user, "monday", *texts, at=day(1))
        found = await episodes(user)
        ranges = [each.metadata["messages"] for each in found]
        assert len(found) >= 3
        assert (ranges[0][0], ranges[-1][1]) == (1, 30)
        assert all(one[1] + 1 == two[0] for one, two in itertools.pairwise(ranges))

    async def test_one_with_more_messages_than_are_read_at_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        texts = [f"Step {number} leads from rock {number} to the river below." for number in range(READ + 150)]
        async with asyncio.timeout(120):
            await taught(shared, user, "monday", *texts, at=day(1))
        ranges = [each.metadata["messages"] for each in await episodes(user)]
        assert (ranges[0][0], ranges[-1][1]) == (1, READ + 150)
        assert all(one[1] + 1 == two[0] for one, two in itertools.pairwise(ranges))

    async def test_what_is_gone_is_told_anew_without_it(self, shared: AsyncMemory, user: AsyncUser) -> None:
        said = await taught(shared, user, "monday", *LAKE, *BREAD, at=day(1))
        run(shared, "DELETE FROM conversation_messages WHERE message_id = ANY(%s::uuid[])", said[:3])
        assert await episodes(user) == []
        await shared.settle(user.user_id)
        (episode,) = await episodes(user)
        assert episode.metadata["messages"] == [4, 5]
        assert "Annecy" not in episode.content
        assert "unlearn" in await actions(user, "entry")

    async def test_an_earlier_episode_stays_when_a_later_message_goes(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await taught(shared, user, "monday", *LAKE, at=day(1))
        said = await taught(shared, user, "monday", *BREAD, at=day(3))
        one, _ = await episodes(user)
        run(shared, "DELETE FROM conversation_messages WHERE message_id = %s", said[0])
        await shared.settle(user.user_id)
        kept, told = await episodes(user)
        assert (kept, told.metadata["messages"]) == (one, [5, 5])


class TestRunningSummary:
    async def test_a_long_conversation_is_summarised_though_it_goes_on(self, brief: AsyncMemory) -> None:
        user = brief.user("goes-on")
        await taught(brief, user, "monday", *LAKE)
        assert progress(brief, user) == (0, None)
        await taught(brief, user, "monday", *LAKE_AGAIN * 8)
        index, summary = progress(brief, user)
        assert 0 < index < 19
        assert summary
        assert "Annecy" in summary
        assert await episodes(user) == [], "it does not rest"

    async def test_the_older_half_is_told_and_the_newer_shown_and_nothing_is_missing(self, brief: AsyncMemory) -> None:
        user = brief.user("halves")
        texts = [f"Stop {number} of the journey is the village number {number} by the sea." for number in range(40)]
        await taught(brief, user, "monday", *texts)
        index, summary = progress(brief, user)
        assert 0 < index < 40
        assert summary
        context = await user.chat("monday").context(strategy="sliding_window_summary", max_tokens=8000)
        shown = [each["content"] for each in context.messages if each["role"] == "user"]
        assert shown == texts[index:]
        assert [each.name for each in context.sections][:1] == ["summary"]
        assert summary.splitlines()[0].removeprefix("user: ")[:20] in context.messages[0]["content"]

    async def test_none_is_missing_however_short_and_many_they_are(self, brief: AsyncMemory) -> None:
        user = brief.user("many")
        texts = [f"no {number}" for number in range(140)]  # fewer tokens than are summarised, more than a window
        await taught(brief, user, "monday", *texts)
        index, _ = progress(brief, user)
        context = await user.chat("monday").context(strategy="sliding_window_summary", max_tokens=60_000)
        assert [each["content"] for each in context.messages if each["role"] == "user"] == texts[index:]

    async def test_a_window_that_is_not_whole_is_introduced_by_it(self, brief: AsyncMemory) -> None:
        user = brief.user("window")
        await taught(brief, user, "monday", *[f"Village {number} by the sea is my stop." for number in range(45)])
        index, summary = progress(brief, user)
        assert index
        whole = await user.chat("monday").context(max_tokens=60_000)
        assert "summary" not in [each.name for each in whole.sections], "all of it is shown"
        await taught(brief, user, "monday", *[f"Then village {number} by the river." for number in range(20)])
        _, summary = progress(brief, user)
        context = await user.chat("monday").context(max_tokens=60_000)
        assert summary
        (told,) = [each.text for each in context.sections if each.name == "summary"]
        assert summary.splitlines()[0] in told
        assert len([each for each in context.messages if each["role"] == "user"]) == 50

    async def test_it_stays_short_and_keeps_what_came_first(self, brief: AsyncMemory) -> None:
        user = brief.user("short")
        for number in range(8):
            texts = [f"Annecy {number}: the boat number {number}{each} costs {each} euros." for each in range(20)]
            await taught(brief, user, "monday", *texts)
        index, summary = progress(brief, user)
        assert index >= 140
        assert summary
        assert len(summary) / 4 <= 320

    async def test_very_many_tiny_messages_come_to_an_end(self, server: Any, template: str, tmp_path: Path) -> None:
        """So many are read at once that they have fewer tokens than are worth a summary."""
        async with memory_with(server, template, tmp_path, summary_tokens=READ + 100) as memory:
            user = memory.user("tiny")
            async with asyncio.timeout(120):
                await taught(memory, user, "monday", *["a"] * (2 * READ + 100))
            assert progress(memory, user)[0] > 0

    async def test_one_huge_message_after_others_are_gone_comes_to_an_end(self, brief: AsyncMemory) -> None:
        user = brief.user("huge")
        await taught(brief, user, "monday", *LAKE)
        run(brief, "DELETE FROM conversation_messages WHERE user_id = 'huge'")
        async with asyncio.timeout(120):
            await taught(brief, user, "monday", "The lake is large. " * 200)
        assert progress(brief, user) == (0, None)

    async def test_it_goes_with_the_messages(self, brief: AsyncMemory) -> None:
        user = brief.user("gone")
        said = await taught(brief, user, "monday", *LAKE, *BREAD * 12)
        assert "Annecy" in str(progress(brief, user)[1])
        run(brief, "DELETE FROM conversation_messages WHERE message_id = ANY(%s::uuid[])", said[:3])
        assert progress(brief, user) == (0, None)
        await brief.settle(user.user_id)
        index, summary = progress(brief, user)
        assert index > 3
        assert "Annecy" not in str(summary)

    async def test_a_fork_does_not_know_what_it_did_not_copy(self, brief: AsyncMemory) -> None:
        user = brief.user("forked")
        await taught(brief, user, "monday", *BREAD, *LAKE * 10)
        assert "Annecy" in str(progress(brief, user)[1])
        fork = await user.chat("monday").fork(at=2)
        await brief.settle(user.user_id)
        assert progress(brief, user, fork.session_id) == (0, None)
        assert "Annecy" not in (await fork.context()).text

    async def test_one_that_was_set_by_hand_is_shown_and_forked(self, brief: AsyncMemory) -> None:
        user = brief.user("written")
        await user.sessions.put(ConversationSession("monday", "written", context_summary="They spoke of bread."))
        await taught(brief, user, "monday", *LAKE)
        assert "They spoke of bread." in (await user.chat("monday").context()).text
        fork = await user.chat("monday").fork(at=2)
        assert "They spoke of bread." in (await fork.context()).text
        await user.learning.restart()
        assert progress(brief, user) == (0, "They spoke of bread.")


class TestByAModel:
    GOOD = "The user plans summer holidays at the lake near Annecy in July and booked a wooden house with a boat."

    def answering(self, summary: Any) -> Any:
        return lambda asked: summary if asked.format is None else {"claims": []}

    @asynccontextmanager
    async def helped(
        self, server: Any, template: str, home: Path, language: LanguageServer
    ) -> AsyncIterator[AsyncMemory]:
        model = {"llm_model": "scripted", "llm_base_url": language.url}
        async with memory_with(server, template, home, summary_tokens=FEW_TOKENS, **model) as memory:
            yield memory

    async def test_its_words_are_used_if_they_are_borne_out(
        self, server: Any, template: str, tmp_path: Path, language: LanguageServer
    ) -> None:
        cases: dict[str, tuple[Any, bool]] = {
            "good": (self.GOOD, True),
            "hallucinated": ("The user plans holidays at the lake near Geneva with Mallory for 5000 francs.", False),
            "empty": ("", False),
            "chatter": ("I'm sorry, as a language model it is not possible for me to help.", False),
        }
        async with self.helped(server, template, tmp_path, language) as memory:
            for name, (answer, used) in cases.items():
                language.otherwise = self.answering(answer)
                user = memory.user(name)
                await taught(memory, user, "monday", *LAKE * 8, at=day(1))
                told = await episodes(user)
                assert told
                assert all((self.GOOD in each.content) == used for each in told), name
                index, summary = progress(memory, user)
                assert index
                assert (self.GOOD in str(summary)) == used, name
                assert not [word for word in ("Mallory", "5000", "sorry") if word in str(summary) + told[0].content]
                assert "Annecy" in str(summary)
                assert all(each.metadata["messages"] for each in told)

    async def test_without_an_answer_the_words_that_were_said_do(
        self, server: Any, template: str, tmp_path: Path, language: LanguageServer
    ) -> None:
        def broken(asked: Asked) -> Any:
            return Status(400, {"error": {"message": "no"}}) if asked.format is None else {"claims": []}

        language.otherwise = broken
        async with self.helped(server, template, tmp_path, language) as memory:
            user = memory.user("ana")
            await taught(memory, user, "monday", *LAKE, at=day(1))
            (episode,) = await episodes(user)
            assert "Annecy" in episode.content


class TestRelationships:
    async def test_one_that_goes_on_with_another_is_a_continuation(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "later", *LAKE_AGAIN, at=day(2))
        await taught(shared, user, "earlier", *LAKE, at=day(1))
        (link,) = await user.sessions.related("later")
        assert (link.source_session_id, link.target_session_id) == ("earlier", "later")
        assert link.relationship_type == "continuation"
        assert 0.6 <= link.similarity_score <= 1
        assert link.similarity_score < link.relationship_strength <= 1
        assert "Annecy" in link.metadata["shared"]
        assert await actions(user, "relationship") == ["learn"]
        assert await user.sessions.related("earlier") == [link]

    async def test_much_later_it_is_related(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "earlier", *LAKE, at=day(1))
        await taught(shared, user, "later", *LAKE_AGAIN, at=day(60))
        (link,) = await user.sessions.related("later")
        assert link.relationship_type == "related"

    async def test_with_another_agent_too(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "earlier", *LAKE, at=day(1), agent="coach")
        await taught(shared, user, "later", *LAKE_AGAIN, at=day(2), agent="critic")
        (link,) = await user.sessions.related("later")
        assert link.relationship_type == "related"

    async def test_what_has_nothing_in_common_is_not_linked(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "lake", *LAKE, at=day(1))
        await taught(shared, user, "bread", *BREAD, at=day(1.5))
        assert await user.sessions.related("lake") == []

    async def test_a_search_in_one_finds_what_the_other_said(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "earlier", *LAKE, at=day(1))
        await taught(shared, user, "later", *LAKE_AGAIN, at=day(2))
        await taught(shared, user, "bread", *BREAD, "The train to the bakery leaves at 9:40.", at=day(2))
        hits = await user.search("When does the train leave Lyon?", session_id="later", kinds=["message"], limit=50)
        assert {hit.session_id for hit in hits} <= {"earlier", "later"}
        assert hits[0].content == LAKE[2]

    async def test_a_link_that_was_set_is_not_doubled(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await say(user, "earlier", *LAKE, at=day(1))
        await say(user, "later", *LAKE_AGAIN, at=day(2))
        written = await user.sessions.link("later", "earlier", "reference", strength=0.3)
        await shared.settle(user.user_id)
        assert await user.sessions.related("later") == [written]

    async def test_a_link_that_is_confirmed_by_hand_stays(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "earlier", *LAKE, at=day(1))
        await taught(shared, user, "later", *LAKE_AGAIN, at=day(2))
        await user.sessions.link("earlier", "later", "continuation", strength=0.9)
        await user.learning.restart()
        (link,) = await user.sessions.related("later")
        assert link.relationship_strength == 0.9

    async def test_relearning_finds_it_again_and_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "earlier", *LAKE, at=day(1))
        await taught(shared, user, "later", *LAKE_AGAIN, at=day(2))
        (before,) = await user.sessions.related("later")
        await user.learning.restart()
        assert await user.sessions.related("later") == []
        await shared.settle(user.user_id)
        (again,) = await user.sessions.related("later")
        assert (again.relationship_type, again.source_session_id) == ("continuation", "earlier")
        assert again.similarity_score == pytest.approx(before.similarity_score)

    async def test_a_fork_is_linked_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", *LAKE, at=day(1))
        await user.chat("monday").fork(session_id="fork")
        await user.sessions.touch("fork", at=day(2))
        await shared.settle(user.user_id)
        assert len(await episodes(user)) == 2
        (link,) = await user.sessions.related("monday")
        assert link.relationship_type == "fork"
