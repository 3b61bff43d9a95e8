"""Wishes: preferences and instructions that were learnt, against those that were set by hand."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.embedders import opened
from helpers.language_server import LanguageServer
from helpers.learning import actions, day, rows, run, say, taught
from helpers.probes import cloned
from ltst import AsyncMemory, AsyncUser, Settings, UserPreference
from ltst.db.pool import user_scope
from ltst.learn.weigh import weigh
from ltst.recall.context import parse
from ltst.records import Claim
from ltst.rooms import claims
from ltst.rooms.claims import SourcedClaim

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHORT = "Please keep your answers short."
LIKED = "I like short answers."
ONCE = ("Shorter, please.", "Give me that in brief.", "That is too long.", "Tell me more.", "Please be concise.")


async def wished(user: AsyncUser, key: str = "answer_length") -> UserPreference | None:
    return {each.key: each for each in await user.preferences.list()}.get(key)


async def wish(user: AsyncUser, key: str = "answer_length") -> tuple[str, str] | None:
    """The value and how it is known."""
    found = await wished(user, key)
    return (found.value, found.source) if found else None


async def told(user: AsyncUser, agent: str = "coach") -> list[str]:
    """What an agent is told, line by line."""
    found = await user.instructions.get(agent)
    return found.content.splitlines() if found else []


async def heard(memory: AsyncMemory, user: AsyncUser, session_id: str, claim: Claim) -> None:
    """Note what a reader heard in a message, as that something is not wanted any more."""
    (message,) = await say(user, session_id, "I changed my mind.")
    await memory.settle(user.user_id)
    async with memory._core.database.transaction(user_scope(user.user_id)) as tx:
        assert message.timestamp is not None
        said = SourcedClaim(str(message.message_id), message.timestamp, claim)
        await weigh(tx, await claims.add(tx, [said], reader="model"))


class TestPreferences:
    async def test_what_is_asked_for_is_explicit(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (source,) = await taught(shared, user, "monday", SHORT, at=day(1))
        found = await wished(user)
        assert found is not None
        assert (found.value, found.source, found.preference_type) == ("short", "explicit", "communication")
        assert found.learned
        assert found.metadata["sources"] == [source]
        assert found.confidence_score == 0.9

    async def test_what_is_asked_for_once_is_no_wish_however_often(self, shared: AsyncMemory, user: AsyncUser) -> None:
        for number in range(3):
            await taught(shared, user, f"s{number}", *ONCE, at=day(number))
        assert "claims" not in rows(shared, user)
        assert await wish(user) is None

    @pytest.mark.parametrize(
        ("first", "then", "key", "value"),
        [
            ("Keep it short from now on.", "Be more detailed from now on.", "answer_length", "more detailed"),
            ("Always answer in French.", "From now on reply in German again.", "answer_language", "German"),
            ("Please stop using emojis.", "Always use emojis again.", "emojis", "emojis"),
            ("I prefer dark mode.", "I prefer light mode.", "theme", "light mode"),
            ("Please call me Annie.", "Actually, call me Anna.", "address_as", "Anna"),
            ("Use metric units by default.", "From now on use imperial units.", "units", "imperial"),
        ],
    )
    async def test_a_later_wish_on_the_same_matter_takes_its_place(
        self, shared: AsyncMemory, user: AsyncUser, first: str, then: str, key: str, value: str
    ) -> None:
        await taught(shared, user, "monday", first, at=day(1))
        assert await wished(user, key)
        await taught(shared, user, "tuesday", then, at=day(2))
        assert [(each.key, each.value) for each in await user.preferences.list()] == [(key, value)]

    async def test_explicit_beats_learned_in_any_order(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Please keep your answers detailed.", at=day(1))
        said = Claim("preference", "answer_length", "short", details={"type": "communication", "explicit": False})
        await heard(shared, user, "tuesday", said)
        assert await wish(user) == ("detailed", "explicit")
        await user.sessions.delete("monday")
        assert await wish(user) == ("short", "learned")
        await user.sessions.delete("tuesday")
        assert await wish(user) is None

    async def test_what_an_earlier_version_took_for_a_hint_counts_no_more(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        hint = Claim("preference", "answer_length", "short", details={"explicit": False, "hint": True})
        for number in range(3):
            await heard(shared, user, f"s{number}", hint)
        assert await wish(user) is None

    async def test_of_two_alike_the_later_counts_and_said_again_it_is_surer(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await taught(shared, user, "tuesday", SHORT, at=day(2))
        await taught(shared, user, "monday", "Please keep your answers detailed.", at=day(1))
        assert await wish(user) == ("short", "explicit")
        once = await wished(user)
        await taught(shared, user, "friday", SHORT, at=day(5))
        again = await wished(user)
        assert once is not None
        assert again is not None
        assert (again.preference_id, len(rows(shared, user))) == (once.preference_id, 2)
        assert once.confidence_score < again.confidence_score < 1

    async def test_what_was_set_by_hand_stands_against_what_was_said_before(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        written = await user.preferences.set("answer_length", "medium")
        await taught(shared, user, "monday", SHORT, at=day(1))
        await taught(shared, user, "tuesday", LIKED, *ONCE, at=day(2))
        assert await wished(user) == written

    async def test_what_is_asked_for_later_takes_its_place_and_gives_it_back(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        written = await user.preferences.set("answer_length", "medium", type="communication", confidence=0.8)
        await taught(shared, user, "monday", SHORT)
        assert await wish(user) == ("short", "explicit")
        await user.learning.restart()
        assert (await wished(user)) is not None
        await shared.settle(user.user_id)
        assert await wish(user) == ("short", "explicit")
        await user.sessions.delete("monday")
        back = await wished(user)
        assert back is not None
        assert (back.value, back.source, back.confidence_score, back.learned) == ("medium", "explicit", 0.8, False)
        assert back.preference_id == written.preference_id

    async def test_setting_it_again_is_the_last_word(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", SHORT)
        await user.preferences.set("answer_length", "medium")
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await wish(user) == ("medium", "explicit")
        await user.sessions.delete("monday")
        assert await wish(user) == ("medium", "explicit")

    async def test_what_the_application_inferred_yields_to_what_the_user_says(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await user.preferences.set("answer_length", "medium", source="inferred", confidence=0.5)
        await taught(shared, user, "monday", LIKED, at=day(1))
        assert await wish(user) == ("short", "explicit")

    async def test_what_is_forgotten_is_gone_until_it_is_said_again(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", SHORT, at=day(1))
        assert await user.preferences.forget("answer_length") is True
        await shared.settle(user.user_id)
        assert (await wish(user), rows(shared, user)) == (None, {})
        await taught(shared, user, "monday", SHORT, at=day(2))
        assert await wish(user) == ("short", "explicit")

    async def test_what_is_taken_back_is_gone(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", SHORT, at=day(1))
        await heard(shared, user, "tuesday", Claim("preference", "answer_length", "Short", "ends"))
        assert await wish(user) is None
        assert "unlearn" in await actions(user, "preference")
        await taught(shared, user, "wednesday", SHORT)
        assert await wish(user) == ("short", "explicit")

    async def test_a_sensitive_one_is_left_alone(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await user.preferences.set("answer_length", "secret", sensitive=True)
        await taught(shared, user, "monday", SHORT)
        await user.sessions.delete("monday")
        found = await wished(user)
        assert found is not None
        assert (found.value, found.sensitive, found.learned) == ("secret", True, False)

    async def test_what_one_user_wants_is_nothing_to_another(self, shared: AsyncMemory, user: AsyncUser) -> None:
        other = shared.user(f"{user.user_id}-other")
        await taught(shared, user, "monday", SHORT, at=day(1))
        await taught(shared, other, "monday", "Please keep your answers detailed.", at=day(1))
        assert (await wish(user), await wish(other)) == (("short", "explicit"), ("detailed", "explicit"))

    async def test_being_shown_counts_as_a_use(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", SHORT, at=day(1))
        await user.preferences.set("about", "a long story " * 500)
        for _ in range(3):
            context = await user.chat("tuesday").context("Hello?", max_tokens=400)
        assert "] answer_length: " in context.text
        await user.chat("tuesday").context("Hello?", max_tokens=17)
        await shared.stats()
        used = {each.key: (each.usage_count, each.last_used is None) for each in await user.preferences.list()}
        assert used["answer_length"] == (3, False)
        assert used["about"] == (3 if "] about: " in context.text else 0, "] about: " not in context.text)

    async def test_using_it_changes_nothing_else(self, shared: AsyncMemory, user: AsyncUser) -> None:
        before = await user.preferences.set("answer_length", "medium")
        await user.chat("tuesday").context("Hello?")
        await shared.stats()
        after = await wished(user)
        assert after is not None
        assert replace(after, usage_count=0, last_used=None) == before


class TestInstructions:
    async def test_each_is_a_version_and_the_latest_is_active(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Always cite your sources.", at=day(1), agent="coach")
        await taught(shared, user, "tuesday", "Always end with a joke.", at=day(2), agent="coach")
        found = await user.instructions.history("coach")
        assert [(each.version, each.content, each.active, each.learned) for each in found] == [
            (1, "Always cite your sources", False, True),
            (2, "Always cite your sources\nAlways end with a joke", True, True),
        ]
        assert await actions(user, "instruction") == ["learn", "learn"]

    async def test_said_again_it_stands_there_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        for number, text in enumerate(("Always cite your sources.", "always cite your Sources!")):
            await taught(shared, user, f"s{number}", text, at=day(number), agent="coach")
        assert len(await told(user)) == 1
        assert len(await user.instructions.history("coach")) <= 2

    async def test_a_condition_stays_a_part_of_it(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "When I ask about code, keep it short.", at=day(1), agent="coach")
        assert await told(user) == ["When I ask about code, keep it short"]
        assert await wish(user) is None

    async def test_a_later_one_under_the_same_condition_takes_its_place(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await taught(shared, user, "monday", "When I ask about code, keep it short.", at=day(1), agent="coach")
        await taught(shared, user, "tuesday", "Always be brief when I ask about art.", at=day(2), agent="coach")
        await taught(shared, user, "friday", "Whenever I ask about code, be more detailed.", at=day(5), agent="coach")
        assert await told(user) == [
            "Always be brief when I ask about art",
            "Whenever I ask about code, be more detailed",
        ]

    async def test_one_agent_is_told_nothing_that_is_for_another(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Always end with a joke.", at=day(1), agent="coach")
        await taught(shared, user, "tuesday", "Always cite your sources.", at=day(1), agent="critic")
        await taught(shared, user, "wednesday", "Always show the code first.", at=day(1))
        assert await told(user, "coach") == ["Always end with a joke"]
        assert await told(user, "critic") == ["Always cite your sources"]
        assert await told(user, "default") == ["Always show the code first"]
        for agent, line in (("coach", "a joke"), ("critic", "cite"), (None, "code first")):
            context = await user.chat("new", agent=agent).context("Hello?")
            (shown,) = [each for each in parse(context.text) if context.sources[each.reference].kind == "instruction"]
            assert line in shown.content
            assert not [section for section in context.sections if section.name == "instructions"], "it is quoted"

    async def test_a_conversation_remembers_its_agent(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Always end with a joke.", at=day(1), agent="coach")
        await taught(shared, user, "monday", "Always cite your sources.", at=day(2))
        assert await told(user) == ["Always end with a joke", "Always cite your sources"]
        for session_id, lines in (("monday", 2), ("new", 0)):
            context = await user.chat(session_id).context("Hello?")
            kinds = [context.sources[each.reference].kind for each in parse(context.text)]
            assert kinds.count("instruction") == lines

    async def test_what_is_set_by_hand_takes_the_place_of_what_was_learnt(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await taught(shared, user, "monday", "Always end with a joke.", agent="coach")
        await user.instructions.set("coach", "Be kind.")
        await shared.settle(user.user_id)
        assert await told(user) == ["Be kind."]
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await told(user) == ["Be kind."]

    async def test_what_is_learnt_later_comes_after_it(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Always end with a joke.", agent="coach")
        written = await user.instructions.set("coach", "Be kind.")
        await taught(shared, user, "tuesday", "Always cite your sources.", agent="coach")
        assert await told(user) == ["Be kind.", "Always cite your sources"]
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await told(user) == ["Be kind.", "Always cite your sources"]
        await user.sessions.delete("tuesday")
        back = await user.instructions.get("coach")
        assert back is not None
        assert (back.id, back.content, back.learned) == (written.id, "Be kind.", False)
        assert [each.content for each in await user.instructions.history("coach")] == ["Be kind."]

    async def test_what_is_said_already_is_not_said_twice(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await user.instructions.set("coach", "Be kind. Always cite your sources, please.")
        await taught(shared, user, "monday", "Always cite your sources.", agent="coach")
        assert len(await user.instructions.history("coach")) == 1

    async def test_what_is_taken_back_is_gone(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Always end with a joke.", at=day(1), agent="coach")
        end = Claim("instruction", "coach", "always end with a joke", "ends")
        await heard(shared, user, "tuesday", end)
        assert await told(user) == []
        assert await actions(user, "instruction") == ["learn", "unlearn"]

    async def test_what_is_forgotten_is_gone_with_its_versions(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "Always end with a joke.", at=day(1), agent="coach")
        assert await user.instructions.forget("coach") is True
        await shared.settle(user.user_id)
        assert rows(shared, user) == {"statements": 1}, "the message stays, and what it states"

    async def test_two_conversations_at_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        texts = ["Always end with a joke.", "Always cite your sources.", "Always show the code first."]
        for number, text in enumerate(texts):
            await say(user, f"s{number}", text, at=day(number), agent="coach")
        await asyncio.gather(*(shared.settle(user.user_id) for _ in range(3)))
        assert await told(user) == [each.rstrip(".") for each in texts]
        assert run(shared, "SELECT count(*) FROM derived_work WHERE user_id = %s", user.user_id) == [(0,)]


class TestByAModel:
    async def test_what_it_reads_is_weighed_like_the_rest(
        self, server: Any, template: str, tmp_path: Path, language: LanguageServer
    ) -> None:
        claim = {"turn": 1, "key": "answer_length", "value": "short", "explicit": True, "confidence": 0.8}
        language.otherwise = {"claims": []}
        with cloned(server, template) as url:
            settings = Settings(
                worker=False, database_url=url, home=tmp_path, llm_model="scripted", llm_base_url=language.url
            )
            async with opened(settings) as memory:
                user = memory.user("ana")
                language.script = [{"claims": [{**claim, "change": "holds"}]}]
                await taught(memory, user, "monday", "Could you make short answers your habit with me?", at=day(1))
                held = await wish(user)
                language.script = [{"claims": [{**claim, "change": "ends"}]}]
                await taught(memory, user, "tuesday", "I am done with short answers.", at=day(2))
                assert held == ("short", "explicit")
                assert await wish(user) is None
