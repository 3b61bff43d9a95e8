"""Facts that were learnt: with source and times, corrected for good, and gone with what said them."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from langchain_postgres import PostgresChatMessageHistory

import ltst
from helpers.embedders import opened
from helpers.language_server import LanguageServer
from helpers.learning import actions, day, rows, run, say, taught, timeline, values
from helpers.probes import cloned, holding, superuser
from ltst import AsyncMemory, AsyncUser, Fact, Settings
from ltst.support.text import normalised

pytestmark = pytest.mark.asyncio(loop_scope="module")

LOST = str(uuid.UUID(int=7))  # a conversation's id as LangChain has them


def told(facts: list[Fact]) -> list[tuple[Any, ...]]:
    """All that relearning must give again."""
    return sorted(
        (each.key, each.value, each.valid_from, str(each.valid_to), str(each.source_message_id), each.confidence)
        for each in facts
    )


async def everything(user: AsyncUser) -> list[tuple[Any, ...]]:
    keys = {row["fact_key"] for row in (await user.export())["facts"]}
    return told([fact for key in sorted(keys) for fact in await user.facts.history(key)])


class TestLearning:
    async def test_a_fact_has_its_source_and_its_times(self, shared: AsyncMemory, user: AsyncUser) -> None:
        before = datetime.now(UTC)
        (source,) = await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        fact = await user.facts.get("home")
        assert fact is not None
        assert (fact.value, fact.source_message_id, fact.valid_from, fact.valid_to) == ("Porto", source, day(1), None)
        assert before <= fact.recorded_at <= datetime.now(UTC)
        assert fact.learned
        assert 0 < fact.confidence < 1

    async def test_it_holds_from_when_it_is_said_to_begin(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I moved to Lisbon in March 2024.", at=day(1))
        fact = await user.facts.get("home")
        assert fact is not None
        assert (fact.value, f"{fact.valid_from:%Y-%m}") == ("Lisbon", "2024-03")
        assert await values(user, "home", as_of=datetime(2024, 1, 1, tzinfo=UTC)) == []
        assert await values(user, "home", as_of=datetime(2024, 6, 1, tzinfo=UTC)) == ["Lisbon"]

    async def test_said_again_it_is_surer_and_still_one(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (first,) = await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        once = await user.facts.get("home")
        await taught(shared, user, "tuesday", "I live in Porto.", at=day(2))
        await taught(shared, user, "tuesday", "By the way, I live in Porto.", at=day(3))
        (again,) = await user.facts.history("home")
        assert once is not None
        assert (again.fact_id, again.source_message_id, again.valid_from) == (once.fact_id, first, day(1))
        assert once.confidence < again.confidence < 1

    async def test_a_correction_closes_what_was_said_before(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        await taught(shared, user, "tuesday", "I moved to Lisbon.", at=day(9))
        assert await timeline(user, "home") == [("Porto", day(1), day(9)), ("Lisbon", day(9), None)]
        earlier, later = await user.facts.history("home")
        assert earlier.superseded_by == later.fact_id
        assert await values(user, "home", as_of=day(5)) == ["Porto"]
        assert await values(user, "home", as_of=day(0)) == []
        assert await values(user, "home") == ["Lisbon"]

    async def test_an_ending_leaves_nothing(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I work at Acme.", at=day(1))
        await taught(shared, user, "tuesday", "I left Acme.", at=day(9))
        assert await timeline(user, "employer") == [("Acme", day(1), day(9))]
        assert await values(user, "employer") == []
        assert await values(user, "employer", as_of=day(5)) == ["Acme"]

    async def test_several_values_hold_beside_each_other(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I speak Danish and Polish.", at=day(1))
        await taught(shared, user, "tuesday", "I'm allergic to peanuts.", at=day(2))
        assert await values(user, "language") == ["Danish", "Polish"]
        assert await values(user, "allergy") == ["peanuts"]

    async def test_of_two_said_at_one_moment_the_later_word_counts(self, shared: AsyncMemory, user: AsyncUser) -> None:
        for turn in range(6):
            texts = ["I live in Porto.", "I moved to Lisbon.", "I moved to Braga."]
            await user.chat(f"s{turn}").add_many([{"role": "user", "content": each, "at": day(turn)} for each in texts])
        await shared.settle(user.user_id)
        for turn in range(6):
            assert await values(user, "home", as_of=day(turn + 0.5)) == ["Braga"]

    async def test_strange_metadata_keeps_nothing_from_being_learnt(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I live in Porto.", at=day(1), metadata={"source": ["a"], "trust": {}})
        assert await values(user, "home") == ["Porto"]


class TestNames:
    DOGS = "We have two dogs, Rex and Bello."

    @pytest.mark.parametrize("gone", ["Rex died yesterday.", "Sadly, Rex is dead.", "We had to put Rex down today."])
    async def test_whoever_dies_by_name_is_no_longer_there(
        self, shared: AsyncMemory, user: AsyncUser, gone: str
    ) -> None:
        await taught(shared, user, "monday", self.DOGS, at=day(1))
        await taught(shared, user, "tuesday", gone, at=day(9))
        assert await values(user, "pet", as_of=day(7)) == ["Bello", "Rex"]
        assert await values(user, "pet") == ["Bello"]

    async def test_even_if_both_are_said_at_once(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", self.DOGS, "My son is called Max.", "Rex died today.", at=day(1))
        assert await values(user, "pet") == ["Bello"]
        assert await values(user, "child") == ["Max"]
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await values(user, "pet") == ["Bello"]

    async def test_a_first_name_is_enough(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "My husband is called Jonas Brandt.", "Jonas died on Friday.", at=day(9))
        assert await values(user, "partner") == []

    async def test_a_stranger_or_a_name_that_two_have_ends_nothing(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", self.DOGS, "My son is called Rex.", at=day(1))
        await taught(shared, user, "tuesday", "Rex died yesterday.", "Elvis died yesterday.", at=day(9))
        assert (await values(user, "pet"), await values(user, "child")) == (["Bello", "Rex"], ["Rex"])
        assert rows(shared, user)["claims"] == 3

    async def test_with_the_words_the_end_goes(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", self.DOGS, at=day(1))
        (gone,) = await taught(shared, user, "tuesday", "Rex died yesterday.", at=day(9))
        await user.chat("tuesday").replace(gone, "Bello died yesterday.")
        await shared.settle(user.user_id)
        assert await values(user, "pet") == ["Rex"]
        await user.chat("tuesday").remove(gone)
        assert await values(user, "pet") == ["Bello", "Rex"]

    async def test_a_longer_form_of_a_name_is_no_change(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "My husband Jonas loves sushi.", at=day(1))
        await taught(shared, user, "tuesday", "My husband's name is Jonas Brandt.", at=day(9))
        await taught(shared, user, "wednesday", "My husband Jonas is ill.", at=day(12))
        assert await timeline(user, "partner") == [("Jonas Brandt", day(1), None)]
        assert len(await user.facts.history("partner")) == 1

    async def test_nor_is_a_birthday_without_its_year(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I was born on 14 March 1988.", at=day(1))
        await taught(shared, user, "tuesday", "My birthday is on March 14.", at=day(9))
        assert await timeline(user, "birthday") == [("14 March 1988", day(1), None)]

    async def test_another_name_is_one(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "My husband is called Jon.", at=day(1))
        await taught(shared, user, "tuesday", "My husband is called Jonas.", at=day(9))
        assert [value for value, *_ in await timeline(user, "partner")] == ["Jon", "Jonas"]

    async def test_two_who_are_named_together_stay_two(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "We have two dogs, Rex and Rex Junior.", at=day(1))
        assert await values(user, "pet") == ["Rex", "Rex Junior"]

    async def test_a_shorter_name_may_correct_a_longer_one(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "My wife is called Anna Maria.", "No, her name is Anna.", at=day(1))
        assert await values(user, "partner") == ["Anna"]


class TestPlans:
    async def test_an_employer_to_come_holds_from_that_day_on(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I work at Acme.", "I'm starting at Trivago on June 1.", at=day(1))
        first = datetime(2025, 6, 1, tzinfo=UTC)
        assert await timeline(user, "employer") == [("Acme", day(1), first), ("Trivago", first, None)]
        assert await values(user, "employer", as_of=day(20)) == ["Acme"]
        assert await values(user, "employer") == ["Trivago"]

    async def test_diets_change(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I'm vegetarian and allergic to peanuts.", at=day(1))
        await taught(shared, user, "tuesday", "I'm fully vegan now.", at=day(9))
        assert await timeline(user, "diet") == [("vegetarian", day(1), day(9)), ("vegan", day(9), None)]
        assert await values(user, "allergy") == ["peanuts"]


class TestByHand:
    async def test_what_was_set_is_not_moved_by_what_was_said_of_an_earlier_time(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        written = await user.facts.set("home", "Porto", valid_from=day(20))
        await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        assert await timeline(user, "home") == [("Porto", day(1), day(20)), ("Porto", day(20), None)]
        await user.sessions.delete("monday")
        assert await user.facts.history("home") == [written]

    async def test_nor_by_another_value(self, shared: AsyncMemory, user: AsyncUser) -> None:
        written = await user.facts.set("home", "Braga", valid_from=day(20))
        await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        await taught(shared, user, "tuesday", "I moved to Lisbon.", at=day(30))
        found = {each.fact_id: each for each in await user.facts.history("home")}[written.fact_id]
        assert (found.valid_from, found.learned, found.rejected_at) == (day(20), False, None)
        await user.sessions.delete("tuesday")
        await user.sessions.delete("monday")
        assert await user.facts.history("home") == [written]

    async def test_it_survives_its_source_and_relearning(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (source,) = await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        await user.facts.set("home", "Porto", confidence=0.5, source_message_id=source)
        await user.facts.set("birthplace", "Faro", source_message_id=source)
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await values(user, "home") == ["Porto"]
        await user.sessions.delete("monday")
        assert (await values(user, "home"), await values(user, "birthplace")) == (["Porto"], ["Faro"])

    async def test_what_was_learnt_can_be_ended(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I work at Acme.", at=day(1))
        (ended,) = await user.facts.end("employer", at=day(9))
        assert (ended.value, ended.valid_to, ended.ended_at) == ("Acme", day(9), day(9))
        assert await values(user, "employer") == []
        await taught(shared, user, "monday", "My name is Vera.", at=day(2))
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await timeline(user, "employer") == [("Acme", day(1), day(9))]

    async def test_one_of_several_can_be_ended_and_one_can_be_ended_now(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await taught(shared, user, "monday", "I speak Danish and Polish.", at=day(1))
        assert [each.value for each in await user.facts.end("language", "danish ")] == ["Danish"]
        assert await values(user, "language") == ["Polish"]
        assert await values(user, "language", as_of=day(5)) == ["Danish", "Polish"]
        assert await user.facts.end("language", "Greek") == []
        assert await user.facts.end("unknown") == []

    async def test_after_an_end_it_may_be_said_again(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I work at Acme.", at=day(1))
        await user.facts.end("employer", at=day(9))
        await taught(shared, user, "monday", "I work at Acme.")
        assert await values(user, "employer") == ["Acme"]
        assert len(await timeline(user, "employer")) == 2

    async def test_several_values_can_be_set(self, shared: AsyncMemory, user: AsyncUser) -> None:
        for city in ("Porto", "Lisbon"):
            await user.facts.set("office", city, single_valued=False)
        assert await values(user, "office") == ["Lisbon", "Porto"]
        await user.facts.set("language", "Greek", single_valued=False)
        await taught(shared, user, "monday", "I speak Danish and Polish.", at=day(1))
        assert await values(user, "language") == ["Danish", "Greek", "Polish"]


async def rejected_for_good(user: AsyncUser, key: str = "home", value: str = "Paris") -> bool:
    """Nothing that holds or held says it, and neither do the profile, a search and a prompt."""
    known = [fact for fact in await user.facts.history(key) if normalised(fact.value) == normalised(value)]
    hits = await user.search(f"{key} {value}", kinds=["fact"])
    context = await user.chat("asked").context(f"{key} {value}")
    shown = [section.text for section in context.sections if section.name == "facts"]
    return (
        bool(known)
        and all(fact.rejected_at is not None for fact in known)
        and all(each["value"].lower() != value.lower() for each in (await user.profile())["facts"])
        and not [hit for hit in hits if value.lower() in hit.content.lower()]
        and not [text for text in shown if value.lower() in text.lower()]
    )


class TestRejected:
    @pytest_asyncio.fixture(loop_scope="module")
    async def corrected(self, shared: AsyncMemory, user: AsyncUser) -> AsyncIterator[AsyncUser]:
        """Somebody who lives in Porto, and of whom Paris was learnt by mistake."""
        await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        await taught(shared, user, "tuesday", "I moved to Paris.", at=day(2))
        await user.facts.reject("home", "Paris")
        assert await values(user, "home") == ["Porto"]
        yield user
        await shared.settle(user.user_id)
        assert await rejected_for_good(user)
        assert await values(user, "home") == ["Porto"]

    @pytest.mark.parametrize(
        "text", ["I live in Paris.", "I moved to paris.", "I live in PARIS.", "I moved to  Paris ."]
    )
    async def test_by_what_is_said_later(self, shared: AsyncMemory, corrected: AsyncUser, text: str) -> None:
        await taught(shared, corrected, "wednesday", text, at=day(3))

    async def test_by_relearning(self, shared: AsyncMemory, corrected: AsyncUser) -> None:
        await corrected.learning.restart()
        await shared.settle(corrected.user_id)

    async def test_by_a_fork(self, shared: AsyncMemory, corrected: AsyncUser) -> None:
        await corrected.chat("tuesday").fork()
        await shared.settle(corrected.user_id)

    async def test_by_imported_messages(self, shared: AsyncMemory, corrected: AsyncUser) -> None:
        other = shared.user(f"other-{uuid.uuid4().hex}")
        await taught(shared, other, "elsewhere", "I moved to Paris.", "I live in Paris!", at=day(5))
        document = await other.export()
        await corrected.restore({key: document[key] for key in ("format", "version", "sessions", "messages")})
        run(shared, "UPDATE conversation_sessions SET learned_index = 0 WHERE user_id = %s", corrected.user_id)

    async def test_by_an_older_export(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        await taught(shared, user, "tuesday", "I moved to Paris.", at=day(2))
        document = json.loads(json.dumps(await user.export()))
        await user.facts.reject("home", "Paris")
        await user.restore(document)
        assert await rejected_for_good(user)
        corrected = shared.user(f"corrected-{uuid.uuid4().hex}")
        await corrected.facts.reject("home", " PARIS")
        await corrected.restore(document)
        for each in (user, corrected):
            await shared.settle(each.user_id)
            await each.learning.restart()
            await shared.settle(each.user_id)
            assert await rejected_for_good(each)
            assert await values(each, "home") == ["Porto"]

    @pytest.mark.parametrize("value", ["Paris", "paris", " PARIS\n"])
    async def test_by_hand(self, corrected: AsyncUser, value: str) -> None:
        with pytest.raises(ltst.Conflict, match="rejected"):
            await corrected.facts.set("home", value)
        with pytest.raises(ltst.Conflict, match="rejected"):
            await corrected.facts.set("home", value, valid_from=day(-100), single_valued=False)

    async def test_by_deleting_and_maintaining(self, shared: AsyncMemory, corrected: AsyncUser) -> None:
        await corrected.sessions.delete("tuesday")
        await shared.maintain()
        await taught(shared, corrected, "friday", "I live in Paris.", at=day(6))

    async def test_by_switching(self, shared: AsyncMemory, corrected: AsyncUser) -> None:
        await corrected.learning.set(extraction=False, relationships=False)
        await say(corrected, "friday", "I live in Paris.", at=day(6))
        await corrected.learning.set(extraction=True, relationships=True)
        await shared.settle(corrected.user_id)

    async def test_by_an_entry_that_consolidation_merges(self, shared: AsyncMemory, corrected: AsyncUser) -> None:
        for text in ("The user lives in Paris.", "The user lives in Paris!", "the user lives in Paris"):
            await corrected.entries.add(text)
        await shared.settle(corrected.user_id)
        assert await values(corrected, "home") == ["Porto"]

    async def test_beforehand(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await user.facts.reject("home", "Paris")
        await user.facts.reject("language", "Danish")
        await taught(shared, user, "monday", "I live in Paris. I speak Danish and Polish.", at=day(1))
        assert await rejected_for_good(user)
        assert await values(user, "language") == ["Polish"]

    async def test_one_key_alone(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await user.facts.reject("hometown", "Paris")
        await taught(shared, user, "monday", "I live in Paris.", at=day(1))
        assert await values(user, "home") == ["Paris"]

    async def test_until_the_key_is_forgotten(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I moved to Paris.", at=day(2))
        await user.facts.reject("home", "Paris")
        assert await user.facts.forget("home") is True
        await shared.settle(user.user_id)
        assert await user.facts.history("home") == []
        assert "claims" not in rows(shared, user)
        await taught(shared, user, "tuesday", "I live in Paris.", at=day(3))
        assert await timeline(user, "home") == [("Paris", day(3), None)]


class TestByAModel:
    async def test_what_was_rejected_stays_so(
        self, server: Any, template: str, tmp_path: Any, language: LanguageServer
    ) -> None:
        claim = {"turn": 1, "key": "home", "change": "holds", "explicit": True, "confidence": 0.9}
        language.otherwise = {"claims": [{**claim, "value": "Paris"}, {**claim, "value": " paris "}]}
        with cloned(server, template) as url:
            settings = Settings(
                worker=False, database_url=url, home=tmp_path, llm_model="scripted", llm_base_url=language.url
            )
            async with opened(settings) as memory:
                accepting, refusing = memory.user("accepting"), memory.user("refusing")
                await refusing.facts.reject("home", "Paris")
                for user in (accepting, refusing):
                    await taught(memory, user, "monday", "Paris has been my home lately.", at=day(1))
                    await user.learning.restart()
                    await memory.settle(user.user_id)
                assert await values(accepting, "home") == ["Paris"], "the model is heard"
                assert await rejected_for_good(refusing)
                assert {each.system for each in language.asked}


async def lived(memory: AsyncMemory, user: AsyncUser) -> None:
    """Two conversations that share some of what they say."""
    kept = [
        "I live in Porto and my name is Vera, and that is how it has been for a long while now.",
        "I'm allergic to peanuts.",
        "Please keep your answers short.",
        "Always cite your sources.",
    ]
    lost = [
        "I live in Porto, as I may have told you some time ago already.",
        "I moved to Lisbon.",
        "I'm allergic to eggs and nuts.",
        "I prefer dark mode.",
        "Please keep your answers detailed.",
        "Always end with a joke.",
        "Vera and the others from Acme will meet me in Lisbon on 12 May 2025.",
    ]
    await say(user, "kept", *kept, at=day(1), agent="coach")
    await say(user, LOST, *lost, at=day(2), agent="coach")
    await user.chat(LOST).add("user", "All of it is long. " * 900, at=day(2.5))
    await memory.settle(user.user_id)


async def by_hand(memory: AsyncMemory, user: AsyncUser) -> None:
    await user.sessions.delete(LOST)


async def by_retention(memory: AsyncMemory, user: AsyncUser) -> None:
    await user.retention.set(delete_after=timedelta(days=30))
    await user.sessions.touch("kept", at=datetime.now(UTC))
    assert (await memory.maintain())["sessions_deleted"] == 1


async def through_langchain(memory: AsyncMemory, user: AsyncUser) -> None:
    with psycopg.connect(memory.database_url) as connection:
        connection.execute("SET ROLE ltst_user")
        connection.execute("SELECT set_config('ltst.user_id', %s, false)", (user.user_id,))
        connection.commit()
        PostgresChatMessageHistory("chat_message_history", LOST, sync_connection=connection).clear()


async def by_sql(memory: AsyncMemory, user: AsyncUser) -> None:
    run(memory, "DELETE FROM conversation_messages WHERE user_id = %s AND session_id = %s", user.user_id, LOST)


WAYS: list[Callable[[AsyncMemory, AsyncUser], Any]] = [by_hand, by_retention, through_langchain, by_sql]


class TestGone:
    @pytest.mark.parametrize("way", WAYS)
    async def test_what_only_one_conversation_said_goes_with_it(
        self, shared: AsyncMemory, user: AsyncUser, way: Callable[[AsyncMemory, AsyncUser], Any]
    ) -> None:
        other = shared.user(f"alone-{uuid.uuid4().hex}")
        await lived(shared, user)
        assert (await values(user, "home"), await values(user, "allergy")) == (["Lisbon"], ["eggs", "nuts", "peanuts"])
        assert {each.session_id for each in await user.entries.list("episodic")} == {"kept", LOST}
        assert await user.sessions.related("kept")
        await way(shared, user)
        await shared.settle(user.user_id)
        # As if the other conversation had never been.
        await say(
            other, "kept", *[each.content for each in await user.chat("kept").history()], at=day(1), agent="coach"
        )
        await shared.settle(other.user_id)
        assert [each[:4] + each[5:] for each in told(await user.facts.list())] == [
            each[:4] + each[5:] for each in told(await other.facts.list())
        ]
        assert await timeline(user, "home") == [("Porto", day(1), None)]
        assert [(each.key, each.value, each.confidence_score) for each in await user.preferences.list()] == [
            ("answer_length", "short", 0.9)
        ]
        assert [each.content for each in await user.instructions.history("coach")] == ["Always cite your sources"]
        assert (await user.instructions.get("coach")) is not None
        assert rows(shared, user) == rows(shared, other)
        assert not run(
            shared,
            "SELECT context_summary FROM conversation_sessions WHERE user_id = %s AND context_summary IS NOT NULL",
            user.user_id,
        )
        left = json.dumps(await user.export())
        assert not [word for word in ("Lisbon", "eggs", "joke", "dark mode") if word in left]

    @pytest.mark.parametrize("way", WAYS)
    async def test_the_ledger_tells_it(
        self, shared: AsyncMemory, user: AsyncUser, way: Callable[[AsyncMemory, AsyncUser], Any]
    ) -> None:
        await lived(shared, user)
        await way(shared, user)
        await shared.settle(user.user_id)
        for noun in ("fact", "preference", "instruction"):
            assert "unlearn" in await actions(user, noun), noun
        # With a conversation goes all that hangs on it, told in one.
        gone = "delete" in await actions(user, "session")
        for noun in ("entry", "relationship"):
            assert gone or "unlearn" in await actions(user, noun), noun

    async def test_what_a_later_word_closed_is_open_again(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I live in Porto. I work at Acme.", at=day(1))
        await taught(shared, user, "tuesday", "I moved to Lisbon. I left Acme.", at=day(2))
        await user.sessions.delete("tuesday")
        assert (await values(user, "home"), await values(user, "employer")) == (["Porto"], ["Acme"])

    async def test_a_fork_keeps_what_it_copied(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I live in Porto.", at=day(1))
        before = await user.facts.get("home")
        fork = await user.chat("monday").fork()
        await shared.settle(user.user_id)
        copied = await user.facts.get("home")
        await user.sessions.delete("monday")
        after = await user.facts.get("home")
        assert before is not None
        assert copied is not None
        assert after is not None
        assert before.confidence == copied.confidence == after.confidence, "a copy is not a second word"
        assert (after.value, after.valid_from) == ("Porto", day(1))
        await user.sessions.delete(fork.session_id)
        assert await user.facts.list() == []

    async def test_one_message_alone(self, shared: AsyncMemory, user: AsyncUser) -> None:
        first, _ = await taught(shared, user, "monday", "I live in Porto.", "I'm allergic to peanuts.", at=day(1))
        run(shared, "DELETE FROM conversation_messages WHERE message_id = %s", first)
        assert (await values(user, "home"), await values(user, "allergy")) == ([], ["peanuts"])
        await shared.settle(user.user_id)
        assert rows(shared, user) == {"claims": 1, "facts": 1}

    async def test_an_erased_user_leaves_nothing(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await lived(shared, user)
        await user.facts.reject("home", "Atlantis")
        await user.learning.set(relationships=False)
        receipt = await user.erase()
        assert receipt.removed["claims"] > 0
        assert not any(receipt.remaining.values())
        assert rows(shared, user) == {}
        await shared.settle()
        with superuser(shared.database_url) as connection:
            assert holding(connection, user.user_id) == set()


class TestAnew:
    async def test_relearning_gives_the_same(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await lived(shared, user)
        before, wishes = await everything(user), [each.value for each in await user.preferences.list()]
        told_before = sorted(each.content for each in await user.entries.list())
        summaries = run(
            shared, "SELECT context_summary FROM conversation_sessions WHERE user_id = %s ORDER BY 1", user.user_id
        )
        assert before
        assert any(text for (text,) in summaries)
        assert await user.learning.restart() == 2
        assert await user.facts.list() == []
        await shared.settle(user.user_id)
        assert await everything(user) == before
        assert [each.value for each in await user.preferences.list()] == wishes
        assert sorted(each.content for each in await user.entries.list()) == told_before
        assert (await user.instructions.get("coach")).content.splitlines() == [  # type: ignore[union-attr]
            "Always cite your sources",
            "Always end with a joke",
        ]
        assert summaries == run(
            shared, "SELECT context_summary FROM conversation_sessions WHERE user_id = %s ORDER BY 1", user.user_id
        )

    async def test_the_order_of_learning_makes_no_difference(self, shared: AsyncMemory) -> None:
        said = {
            "one": (1, ["I live in porto.", "I work at Acme."]),
            "two": (2, ["I live in Porto.", "I moved to Lisbon."]),
            "three": (3, ["I left Acme.", "I live in LISBON.", "My hobbies are Chess and pottery."]),
            "four": (4, ["I moved to Braga.", "I speak Danish and Polish."]),
        }
        found = []
        for order in (
            ["one", "two", "three", "four"],
            ["four", "three", "two", "one"],
            ["three", "one", "four", "two"],
        ):
            user = shared.user(f"user-{uuid.uuid4().hex}")
            for name in order:
                number, texts = said[name]
                await taught(shared, user, name, *texts, at=day(number))
            texts_of = {each.message_id: each.content for name in order for each in await user.chat(name).history()}
            found.append([(*each[:4], texts_of[each[4]], each[5]) for each in await everything(user)])
        assert found[0] == found[1] == found[2]

    async def test_a_round_trip_keeps_what_was_learnt(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await lived(shared, user)
        await user.facts.reject("home", "Lisbon")
        await user.facts.set("shoe size", "39")
        document = json.loads(json.dumps(await user.export()))
        copy = shared.user(f"copy-{uuid.uuid4().hex}")
        await copy.restore(document)
        again = json.loads(json.dumps(await copy.export()))
        for noun in ("claims", "facts", "preferences", "instructions", "entries", "relationships", "sessions"):
            assert again[noun] == document[noun], noun
        await shared.settle(copy.user_id)
        assert await everything(copy) == await everything(user)
        assert rows(shared, copy) == rows(shared, user)
        await copy.sessions.delete("kept")
        await copy.sessions.delete(LOST)
        assert [(each.key, each.value) for each in await copy.facts.list()] == [("shoe size", "39")]
        assert rows(shared, copy) == {"facts": 2}, "what was set, and what was rejected"
