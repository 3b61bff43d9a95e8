"""Messages that are removed or say something else: nothing stays of what they said, and the rest is as it would be."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import psycopg
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_postgres import PostgresChatMessageHistory

import ltst
from helpers.embedders import opened
from helpers.language_server import LanguageServer
from helpers.learning import actions, day, rows, run, taught, timeline, values
from helpers.probes import cloned, holding, superuser
from ltst import AsyncMemory, AsyncUser, ConversationMessage, Settings
from ltst.handles.learning import rules
from ltst.langchain import LtstChatMessageHistory
from ltst.learn import listen as listen_work
from ltst.learn.listen import listen, listen_again
from ltst.retelling import episodes as episode_work
from ltst.retelling.episodes import tell
from ltst.rooms import work
from ltst.rooms.work import LeaseLost

pytestmark = pytest.mark.asyncio(loop_scope="module")

STORY = (
    "We want to spend the summer holidays at the lake near Annecy with the children.",
    "The zebrawood table of the wooden house by the lake was made by Mr Quillfeather.",
    "The train to Annecy leaves Lyon at 9:40 and takes two hours.",
)


def words_left(memory: AsyncMemory, *words: str) -> set[str]:
    with superuser(memory.database_url) as connection:
        return set().union(*(holding(connection, word) for word in words))


async def episodes(user: AsyncUser) -> list[str]:
    return [each.content for each in await user.entries.list("episodic", limit=1000) if each.learned]


async def removed(user: AsyncUser, session_id: str, message_id: str) -> None:
    await user.chat(session_id).remove(message_id)


async def replaced(user: AsyncUser, session_id: str, message_id: str) -> None:
    await user.chat(session_id).replace(message_id, "Nothing of the kind.")


async def with_its_conversation(user: AsyncUser, session_id: str, message_id: str) -> None:
    await user.sessions.delete(session_id)


CHANGES = [removed, replaced]


class TestNothingIsLeft:
    @pytest.mark.parametrize("change", CHANGES)
    async def test_of_its_words_in_any_table(self, server: Any, template: str, tmp_path: Path, change: Any) -> None:
        with cloned(server, template) as url:
            settings = Settings(worker=False, database_url=url, home=tmp_path, summary_tokens=200)
            async with opened(settings) as memory:
                user = memory.user("alice")
                own = (
                    "My name is Quillfeather and I live in Zebrawood. Call me Quillfeather. Always quote Quillfeather."
                )
                said = await taught(memory, user, "monday", STORY[0], own, STORY[2], *STORY[::2] * 10, at=day(1))
                assert (await user.facts.get("home")).value == "Zebrawood"  # type: ignore[union-attr]
                assert await user.search("who is Quillfeather?")
                await user.chat("monday").context("Quillfeather")
                told = words_left(memory, "Quillfeather", "quillfeath", "Zebrawood", "zebrawood")
                assert {"memory_entries.content", "search_terms.term", "user_facts.fact_value"} <= told
                await change(user, "monday", said[1])
                assert words_left(memory, "Quillfeather", "quillfeath", "Zebrawood", "zebrawood") == set()
                await memory.settle()
                assert words_left(memory, "Quillfeather", "quillfeath", "Zebrawood", "zebrawood") == set()
                assert await episodes(user)

    @pytest.mark.parametrize("change", CHANGES)
    async def test_it_is_as_if_it_had_never_said_it(self, shared: AsyncMemory, user: AsyncUser, change: Any) -> None:
        texts = [STORY[0], "I live in Porto.", "I moved to Lisbon.", "Please keep your answers short."]
        other = shared.user(f"{user.user_id}-other")
        said = await taught(shared, user, "monday", *texts, at=day(1), agent="coach")
        await change(user, "monday", said[2])
        await shared.settle(user.user_id)
        kept = [texts[0], texts[1], *(["Nothing of the kind."] if change is replaced else []), texts[3]]
        await taught(shared, other, "monday", *kept, at=day(1), agent="coach")
        assert rows(shared, user) == rows(shared, other)
        assert await values(user, "home") == ["Porto"]
        assert [each.value for each in await user.facts.list()] == [each.value for each in await other.facts.list()]


class TestWhatWasLearnt:
    @pytest.mark.parametrize("change", CHANGES)
    async def test_what_it_had_replaced_holds_again_at_once(
        self, shared: AsyncMemory, user: AsyncUser, change: Any
    ) -> None:
        await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        (later,) = await taught(shared, user, "monday", "I moved to Lisbon.", at=day(2))
        assert await values(user, "home") == ["Lisbon"]
        await change(user, "monday", later)
        assert await timeline(user, "home") == [("Porto", day(1), None)]
        assert "unlearn" in await actions(user, "fact")

    @pytest.mark.parametrize("change", [*CHANGES, with_its_conversation])
    async def test_what_another_said_too_stays_and_is_less_sure(
        self, shared: AsyncMemory, user: AsyncUser, change: Any
    ) -> None:
        (first,) = await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        (second,) = await taught(shared, user, "tuesday", "I live in Porto.", at=day(2))
        before = await user.facts.get("home")
        await change(user, "monday", first)
        after = await user.facts.get("home")
        assert before is not None
        assert after is not None
        assert (after.value, after.valid_from, after.source_message_id) == ("Porto", day(2), second)
        assert after.confidence < before.confidence

    async def test_a_wish_that_it_had_overruled_is_back_at_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Please keep your answers short.", at=day(1))
        (later,) = await taught(shared, user, "monday", "Please keep your answers detailed.", at=day(2))
        assert (await user.preferences.get("answer_length")).preference_value == "detailed"  # type: ignore[union-attr]
        await user.chat("monday").remove(later)
        assert (await user.preferences.get("answer_length")).preference_value == "short"  # type: ignore[union-attr]

    async def test_an_instruction_loses_its_line_at_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        said = await taught(
            shared, user, "monday", "Always cite your sources.", "Always end with a joke.", at=day(1), agent="coach"
        )
        await user.chat("monday").remove(said[1])
        instruction = await user.instructions.get("coach")
        assert instruction is not None
        assert instruction.content == "Always cite your sources"

    async def test_what_was_set_by_hand_stays(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (said,) = await taught(shared, user, "monday", "We met in the old town.", at=day(1))
        await user.facts.set("city", "Porto", source_message_id=said)
        await user.chat("monday").remove(said)
        fact = await user.facts.get("city")
        assert fact is not None
        assert (fact.value, fact.source_message_id) == ("Porto", None)

    async def test_the_new_words_are_learnt_from(self, shared: AsyncMemory, user: AsyncUser) -> None:
        said = await taught(shared, user, "monday", "I live in Porto.", "It rains.", at=day(1))
        await user.chat("monday").replace(said[0], "I live in Lisbon.")
        assert await values(user, "home") == []
        await shared.settle(user.user_id)
        fact = await user.facts.get("home")
        assert fact is not None
        assert (fact.value, fact.source_message_id, fact.valid_from) == ("Lisbon", said[0], day(1))
        assert run(shared, "SELECT count(*) FROM derived_work WHERE user_id = %s", user.user_id) == [(0,)]

    async def test_so_they_are_by_whoever_only_catches_up(self, shared: AsyncMemory, user: AsyncUser) -> None:
        said = await taught(shared, user, "monday", "It rains.", at=day(1))
        await user.chat("monday").replace(said[0], "I live in Lisbon.")
        assert await user.learning.catch_up() == 1
        assert await values(user, "home") == ["Lisbon"]
        assert await user.learning.catch_up() == 0

    async def test_what_was_forgotten_of_other_messages_does_not_come_back(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        said = await taught(shared, user, "monday", "It rains.", "I live in Porto.", at=day(1))
        await user.facts.forget("home")
        await user.chat("monday").replace(said[0], "My name is Vera.")
        await shared.settle(user.user_id)
        assert (await values(user, "home"), await values(user, "name")) == ([], ["Vera"])

    async def test_words_that_are_nobodys_own_teach_nothing(self, shared: AsyncMemory, user: AsyncUser) -> None:
        said = await taught(shared, user, "monday", "I live in Porto.", "It rains.", at=day(1))
        chat = user.chat("monday")
        await chat.replace(said[0], "I live in Porto.", metadata={"trust": "low"})
        await chat.replace(said[1], "I live in Lisbon.", metadata={"source": "web"})
        await shared.settle(user.user_id)
        assert await values(user, "home") == []

    async def test_nor_do_those_of_another_who_writes_here(self, shared: AsyncMemory, user: AsyncUser) -> None:
        chat = user.chat("monday")
        await chat.add("user", "Hello everyone.", metadata={"speaker": user.user_id}, at=day(1))
        stored = await chat.add("user", "It rains.", metadata={"speaker": "bob"}, at=day(2))
        await shared.settle(user.user_id)
        await chat.replace(str(stored.message_id), "I live in Lisbon.")
        await shared.settle(user.user_id)
        assert await values(user, "home") == []

    async def test_while_nothing_is_to_be_learnt_it_waits(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (said,) = await taught(shared, user, "monday", "It rains.", at=day(1))
        await user.learning.set(extraction=False)
        await user.chat("monday").replace(said, "I live in Lisbon.")
        await shared.settle(user.user_id)
        assert await values(user, "home") == []
        await user.learning.set(extraction=True)
        await shared.settle(user.user_id)
        assert await values(user, "home") == ["Lisbon"]


class TestWhatWasTold:
    @pytest.mark.parametrize("change", CHANGES)
    async def test_the_episode_is_told_anew(self, shared: AsyncMemory, user: AsyncUser, change: Any) -> None:
        said = await taught(shared, user, "monday", *STORY, at=day(1))
        assert "Quillfeather" in "".join(await episodes(user))
        await change(user, "monday", said[1])
        assert await episodes(user) == []
        await shared.settle(user.user_id)
        (episode,) = await episodes(user)
        assert "Annecy" in episode
        assert "Quillfeather" not in episode

    async def test_words_that_make_a_conversation_worth_telling(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (said,) = await taught(shared, user, "monday", "Hello.", at=day(1))
        assert await episodes(user) == []
        await user.chat("monday").replace(said, STORY[1])
        await shared.settle(user.user_id)
        (episode,) = await episodes(user)
        assert "Quillfeather" in episode

    async def test_vectors_and_importance_are_of_the_new_words(self, shared: AsyncMemory, user: AsyncUser) -> None:
        async def vector_and_relevance() -> tuple[list[float] | None, float | None]:
            (message,) = await user.chat("monday").history()
            return message.embedding, (await user.sessions.summary("monday")).average_relevance

        (said,) = await taught(shared, user, "monday", STORY[1], at=day(1))
        before = await vector_and_relevance()
        await user.chat("monday").replace(said, "ok")
        assert await vector_and_relevance() == (None, 0)
        await shared.settle(user.user_id)
        vector, relevance = await vector_and_relevance()
        assert vector not in (None, before[0])
        assert 0 < relevance < before[1]


class TestByAModel:
    async def test_it_reads_the_one_message_again(
        self, server: Any, template: str, tmp_path: Path, language: LanguageServer
    ) -> None:
        shown: list[list[str]] = []

        def answer(asked: Any) -> Any:
            if asked.format is None:
                return ""
            turns = asked.data["turns"]
            shown.append([each["text"] for each in turns])
            claim = {"key": "home", "change": "holds", "explicit": True, "confidence": 0.9}
            towns = [(each["id"], town) for each in turns for town in ("Paris", "Oslo") if town in each["text"]]
            return {"claims": [{**claim, "turn": turn, "value": town} for turn, town in towns]}

        language.otherwise = answer
        with cloned(server, template) as url:
            model = {"llm_model": "scripted", "llm_base_url": language.url}
            async with opened(Settings(worker=False, database_url=url, home=tmp_path, **model)) as memory:
                user = memory.user("alice")
                texts = ["Hello there.", "Paris has been my home lately.", "It rains."]
                said = await taught(memory, user, "monday", *texts, at=day(1))
                assert (await values(user, "home"), len(shown)) == (["Paris"], 1)
                await user.chat("monday").replace(said[1], "Oslo has been my home lately.")
                assert await values(user, "home") == []
                await memory.settle()
                assert await values(user, "home") == ["Oslo"]
                assert shown[1:] == [["Hello there.", "Oslo has been my home lately."]]


class TestAtTheSameTime:
    """Whoever reads the old words while they are changed writes nothing of them."""

    @pytest.mark.parametrize("change", CHANGES)
    async def test_learning(
        self, shared: AsyncMemory, user: AsyncUser, change: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        stored = await user.chat("monday").add("user", "I live in Porto.", at=day(1))
        database, goes = shared._core.database, rules(shared._core)
        (lease,) = await work.claim_sessions(database.user(user.user_id), goes, user.user_id, "learn", 1)
        await _meanwhile(
            monkeypatch, listen_work, "_read_messages", lambda: change(user, "monday", str(stored.message_id))
        )
        with pytest.raises(LeaseLost):
            await listen(database, lease, limits=goes.limits)
        assert "claims" not in rows(shared, user)
        await shared.settle(user.user_id)
        assert await user.facts.history("home") == []

    async def test_reading_one_again(
        self, shared: AsyncMemory, user: AsyncUser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (said,) = await taught(shared, user, "monday", "It rains.", at=day(1))
        await user.chat("monday").replace(said, "I live in Porto.")
        database, goes = shared._core.database, rules(shared._core)
        (lease,) = await work.claim(database.user(user.user_id), goes, user.user_id, work.READ, said)
        await _meanwhile(monkeypatch, listen_work, "_read_messages", lambda: replaced(user, "monday", said))
        with pytest.raises(LeaseLost):
            await listen_again(database, lease, limits=goes.limits)
        await shared.settle(user.user_id)
        assert "claims" not in rows(shared, user)

    @pytest.mark.parametrize("change", CHANGES)
    async def test_telling(
        self, shared: AsyncMemory, user: AsyncUser, change: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await user.learning.set(episodes=False)
        said = await taught(shared, user, "monday", *STORY, at=day(1))
        database, goes = shared._core.database, rules(shared._core)
        (lease,) = await work.claim_sessions(database.user(user.user_id), goes, user.user_id, "episode", 1)
        await _meanwhile(monkeypatch, episode_work, "_new_episodes", lambda: change(user, "monday", said[1]))
        with pytest.raises(LeaseLost):
            await tell(database, lease, goes)
        assert await episodes(user) == []

    async def test_many_who_remove_and_replace_and_add_get_along(self, shared: AsyncMemory, user: AsyncUser) -> None:
        chat = user.chat("monday")
        stored = [await chat.add("user", f"I like fruit number {number}.") for number in range(12)]
        await asyncio.gather(
            *(chat.remove(str(each.message_id)) for each in stored[:4]),
            *(chat.replace(str(each.message_id), f"I live in Town {at}.") for at, each in enumerate(stored[4:8])),
            *(chat.add("user", f"More {number}") for number in range(4)),
            shared.settle(user.user_id),
        )
        await shared.settle(user.user_id)
        found = await chat.history()
        assert [each.message_index for each in found] == [*range(5, 17)]
        session = await user.sessions.get("monday")
        assert session is not None
        assert session.session_length == 12

    @pytest.mark.parametrize("change", CHANGES)
    async def test_what_fails_on_the_way_changes_nothing(
        self, shared: AsyncMemory, user: AsyncUser, change: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said = await taught(shared, user, "monday", *STORY, "I live in Porto.", at=day(1))
        before = await user.export(), await user.events.list(limit=1000)

        async def fail(*_: Any) -> None:
            raise RuntimeError("the machine went down")

        with monkeypatch.context() as patch:
            patch.setattr("ltst.handles.chats.weigh", fail)
            with pytest.raises(RuntimeError):
                await change(user, "monday", said[3])
        assert (await user.export(), await user.events.list(limit=1000)) == before
        assert (await user.search("Porto"))[0].content


class TestBesides:
    async def test_an_export_is_restored_with_its_gaps(self, shared: AsyncMemory, user: AsyncUser) -> None:
        said = await taught(shared, user, "monday", *STORY, at=day(1))
        chat = user.chat("monday")
        await chat.remove(said[0])
        await chat.remove(said[2])
        other = shared.user(f"{user.user_id}-other")
        await other.restore(await user.export())
        assert [each.message_index for each in await other.chat("monday").history()] == [2]
        assert (await other.chat("monday").add("user", "next")).message_index == 4

    async def test_the_view_of_langchain_shows_the_new_words(self, shared: AsyncMemory, user: AsyncUser) -> None:
        history = LtstChatMessageHistory(user, "00000000-0000-0000-0000-000000000007")
        blocks: Any = [{"type": "text", "text": "The zebrawood table."}]
        await history.aadd_messages([HumanMessage(content=blocks), AIMessage("Made of palisander.")])
        first, second = await user.chat("00000000-0000-0000-0000-000000000007").history()
        chat = user.chat(first.session_id)
        await chat.replace(str(first.message_id), "The oak table.")
        await chat.remove(str(second.message_id))
        assert [each.content for each in await history.aget_messages()] == ["The oak table."]
        with psycopg.connect(shared.database_url) as connection:
            connection.execute("SET ROLE ltst_user")
            connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user.user_id,))
            connection.commit()
            named = ("chat_message_history", first.session_id)
            shown = PostgresChatMessageHistory(*named, sync_connection=connection)
            assert [each.content for each in shown.messages] == ["The oak table."]
        assert words_left(shared, "zebrawood", "palisander") & {"conversation_messages.metadata"} == set()

    async def test_a_row_that_is_rewritten_by_hand_is_forgotten_too(self, shared: AsyncMemory, user: AsyncUser) -> None:
        said = await taught(shared, user, "monday", "I live in Porto.", STORY[1], at=day(1))
        run(shared, "UPDATE conversation_messages SET content = 'I live in Lisbon.' WHERE message_id = %s", said[0])
        assert await user.facts.history("home") == []
        await shared.settle(user.user_id)
        assert await values(user, "home") == ["Lisbon"]
        assert "Porto" not in "".join(await episodes(user))

    async def test_windows_in_a_cache_lose_it(self, settings: Settings) -> None:
        cache = ltst.ProcessWindowCache()
        async with AsyncMemory(settings=settings, window_cache=cache) as memory:
            chat = memory.user("alice").chat("monday")
            first, second = await chat.add("user", "one"), await chat.add("user", "two")
            for _ in range(2):
                assert len(await chat.window()) == 2
            await chat.replace(str(first.message_id), "three")
            assert len(cache) == 0
            assert [each.content for each in await chat.window()] == ["three", "two"]
            await chat.remove(str(second.message_id))
            assert [each.content for each in await chat.window()] == ["three"]

    async def test_the_next_after_a_removed_one_is_counted_on_by_whoever_stores(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        chat = user.chat("monday")
        stored = await chat.add("user", "one")
        await chat.remove(str(stored.message_id))
        with pytest.raises(ltst.Conflict):
            await chat.store(ConversationMessage("monday", "user", "two", message_index=1))
        assert (await chat.store(ConversationMessage("monday", "user", "two", message_index=2))).message_index == 2


async def _meanwhile(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, deed: Any) -> None:
    """Do something right after a step of the work has read what it needs."""
    step = getattr(module, name)

    async def then(*arguments: Any, **named: Any) -> Any:
        found = await step(*arguments, **named)
        await deed()
        return found

    monkeypatch.setattr(module, name, then)
