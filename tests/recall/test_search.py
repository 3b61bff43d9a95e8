"""Search: everything a user owns, found by words, meaning, speaker and date; and nothing when nothing fits."""

from __future__ import annotations

import random
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from helpers.probes import superuser, value
from ltst import AsyncMemory, AsyncUser, Hit, Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")

ARMS = {"lexical", "window", "dense", "session_lexical", "session_dense"}
HOUR = timedelta(hours=1)
TALK = [
    "I moved to Lisbon in March.",
    "My sister plays the cello in an orchestra.",
    "The code of the garden gate is 48213.",
    "Peanuts make my throat swell up, so I never touch them.",
    "We adopted a puppy called Biscuit.",
    "I run ten kilometres every Sunday.",
    "Dr. Okonkwo looks after my teeth.",
    "The serial number of the boiler is XJ4471QZ.",
    "I paint watercolours of harbours.",
    "My flight home was cancelled because of the storm.",
    "I am a vegetarian, but I eat fish now and then.",
    "The children had two birthday parties this week.",
]


def day(year: int, month: int = 1, date: int = 1) -> datetime:
    return datetime(year, month, date, 12, tzinfo=UTC)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(module_settings: Settings) -> AsyncIterator[AsyncMemory]:
    async with AsyncMemory(settings=module_settings) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def talker(memory: AsyncMemory) -> AsyncUser:
    """Someone who has told of many things."""
    user = memory.user("talker")
    await user.chat("monday").add_many([{"role": "user", "content": content} for content in TALK])
    return user


async def told(user: AsyncUser, *contents: str, session: str = "monday", **others: Any) -> list[str]:
    """The ids of messages that the user wrote."""
    given = [{"role": "user", "content": content, **others} for content in contents]
    return [str(each.message_id) for each in await user.chat(session).add_many(given)]


async def contents(user: AsyncUser, query: str, **others: Any) -> list[str]:
    return [hit.content for hit in await user.search(query, **others)]


async def only(user: AsyncUser, query: str, **others: Any) -> Hit:
    (hit,) = await user.search(query, **others)
    return hit


class TestKinds:
    async def test_a_message(self, user: AsyncUser) -> None:
        said = await user.chat("monday").add(
            "user", "The lighthouse is white.", at=day(2023, 5), metadata={"speaker": "Caroline"}
        )
        hit = await only(user, "lighthouse")
        assert (hit.kind, hit.id, hit.content) == ("message", said.message_id, "The lighthouse is white.")
        assert (hit.session_id, hit.role, hit.speaker) == ("monday", "human", "Caroline")
        assert (hit.occurred_at, hit.sources) == (day(2023, 5), (said.message_id,))
        assert [each.message_id for each in await user.chat("monday").history()] == [hit.id]

    @pytest.mark.parametrize(
        ("role", "stored", "speaker"),
        [("user", "human", "User"), ("assistant", "ai", "Assistant"), ("system", "system", "System")],
    )
    async def test_without_a_name_the_role_is_the_speaker(
        self, user: AsyncUser, role: str, stored: str, speaker: str
    ) -> None:
        await user.chat("monday").add(role, "The lighthouse is white.")
        hit = await only(user, "lighthouse")
        assert (hit.role, hit.speaker) == (stored, speaker)

    async def test_a_name_in_the_metadata_is_the_speaker_too(self, user: AsyncUser) -> None:
        await user.chat("monday").add("tool", "The lighthouse is white.", metadata={"name": "weather_service"})
        hit = await only(user, "lighthouse")
        assert (hit.role, hit.speaker) == ("tool", "weather_service")

    async def test_a_fact(self, user: AsyncUser) -> None:
        (source,) = await told(user, "They hired me.", at=day(2022))
        fact = await user.facts.set("employer", "Acme Robotics", source_message_id=source)
        hit = await only(user, "employer", kinds=["fact"])
        assert (hit.kind, hit.id, hit.content) == ("fact", fact.fact_id, "employer: Acme Robotics")
        assert (hit.session_id, hit.role, hit.speaker) == (None, None, None)
        assert (hit.occurred_at, hit.sources) == (day(2022), (source,))

    async def test_a_fact_without_a_source_rests_on_no_message(self, user: AsyncUser) -> None:
        await user.facts.set("employer", "Acme Robotics")
        assert (await only(user, "employer")).sources == ()

    async def test_an_entry(self, user: AsyncUser) -> None:
        entry = await user.entries.add("The oven runs hot.", occurred_at=day(2021))
        hit = await only(user, "oven")
        assert (hit.kind, hit.id, hit.content) == ("entry", entry.entry_id, "The oven runs hot.")
        assert (hit.session_id, hit.role, hit.speaker, hit.sources) == (None, None, None, ())
        assert hit.occurred_at == day(2021)
        found = await user.entries.get(hit.id)
        assert found is not None
        assert found.content == hit.content

    async def test_a_document(self, user: AsyncUser) -> None:
        document = await user.documents.add("The warranty of the washing machine ends in 2031.", title="Papers")
        hit = await only(user, "warranty")
        assert (hit.kind, hit.id, hit.content) == ("document", document.document_id, document.text)
        assert (hit.session_id, hit.role, hit.speaker, hit.sources) == (None, None, None, ())
        assert hit.occurred_at == document.created_at
        found = await user.documents.get(hit.id)
        assert found is not None
        assert hit.content in found.text

    async def test_of_a_document_the_part_that_fits_is_found(self, user: AsyncUser) -> None:
        filler = "The ferry leaves at nine and the museum opens at ten. " * 60
        document = await user.documents.add(f"{filler}\n\nThe pelican nests behind the boathouse.\n\n{filler}")
        hits = await user.search("pelican", limit=1)
        assert [hit.id for hit in hits] == [document.document_id]
        assert "pelican" in hits[0].content
        assert len(hits[0].content) < len(document.text)

    async def test_all_kinds_are_found_together_and_each_alone(self, user: AsyncUser) -> None:
        await told(user, "The lighthouse is white.")
        await told(user, "Grandmother knits socks.", session="other")
        await user.facts.set("favourite building", "the lighthouse")
        await user.entries.add("A lighthouse was visited.")
        await user.documents.add("Opening hours of the lighthouse")
        everything = {hit.kind: hit for hit in await user.search("lighthouse") if "lighthouse" in hit.content}
        assert set(everything) == {"message", "fact", "entry", "document"}
        for kind, hit in everything.items():
            assert (await user.search("lighthouse", kinds=[kind]))[0].id == hit.id
        assert {hit.kind for hit in await user.search("lighthouse", kinds=("fact", "entry"))} == {"fact", "entry"}
        assert {hit.kind for hit in await user.search("lighthouse", kinds={"document"})} == {"document"}

    async def test_the_name_of_a_session_and_the_title_of_a_document_count(self, user: AsyncUser) -> None:
        await user.chat("trip", name="Weekend in Antwerp").add("user", "The hotel was small.")
        await told(user, "The hotel was large.")
        await user.documents.add("Rinse at thirty degrees.", title="Dishwasher manual")
        assert (await contents(user, "Antwerp"))[0] == "The hotel was small."
        assert (await contents(user, "dishwasher"))[0] == "Rinse at thirty degrees."


class TestScores:
    async def test_each_arm_tells_its_part(self, talker: AsyncUser) -> None:
        for hit in await talker.search("cello"):
            assert set(hit.scores) >= ARMS
            assert all(0 <= score <= 1 for score in hit.scores.values())

    @pytest.mark.parametrize("query", ["cello", "where do I live?", "what did I do last Sunday?", "my dog Biscuit"])
    async def test_the_best_comes_first_and_scores_are_from_0_to_1(self, talker: AsyncUser, query: str) -> None:
        scores = [hit.score for hit in await talker.search(query, limit=200, floor=0.0)]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)

    async def test_the_same_question_has_the_same_answer(self, talker: AsyncUser) -> None:
        first = await talker.search("music in the family", limit=50, floor=0.0)
        again = await talker.search("music in the family", limit=49, floor=0.0)
        assert again == first[:49]

    async def test_each_row_is_found_once(self, talker: AsyncUser) -> None:
        found = [hit.id for hit in await talker.search("I", limit=200, floor=0.0)]
        assert len(found) == len(set(found))


class TestMeaning:
    @pytest.mark.parametrize(
        ("question", "answer"),
        [
            ("where do I live?", TALK[0]),
            ("does anyone in the family make music?", TALK[1]),
            ("what food am I allergic to?", TALK[3]),
            ("do I have a pet?", TALK[4]),
            ("who is my dentist?", TALK[6]),
            ("do I have an artistic hobby?", TALK[8]),
            ("did bad weather disturb my travels?", TALK[9]),
            ("can I eat steak?", TALK[10]),
        ],
    )
    async def test_a_paraphrase_is_found(self, talker: AsyncUser, question: str, answer: str) -> None:
        assert answer in (await contents(talker, question))[:3]

    async def test_a_move_answers_where_someone_lives(self, talker: AsyncUser) -> None:
        hit = (await talker.search("where do I live?"))[0]
        assert (hit.content, hit.scores["lexical"]) == (TALK[0], 0.0)
        assert hit.scores["dense"] > 0.5

    @pytest.mark.parametrize("kind", ["fact", "entry", "document"])
    async def test_every_kind_is_found_by_meaning(self, user: AsyncUser, kind: str) -> None:
        await told(user, *TALK[1:6])
        await user.facts.set("employer", "a bakery in town")
        await user.entries.add("The doctor said that the ankle is broken.")
        await user.documents.add("Invoices are to be settled within thirty days.")
        asked = {"fact": "who do I work for?", "entry": "an injured leg", "document": "when must I pay a bill?"}
        assert (await user.search(asked[kind]))[0].kind == kind

    async def test_a_fact_deep_in_a_long_message(self, memory: AsyncMemory, user: AsyncUser) -> None:
        filler = [
            f"Chapter {number}. The committee discussed the budget of the department, postponed the vote on the new "
            "printers, and thanked the treasurer for the careful preparation of the tables and the charts. " * 3
            for number in range(1, 31)
        ]
        filler.insert(20, "By the way, our wedding took place on a sailing boat off the coast of Croatia.")
        (long,) = await told(user, "\n\n".join(filler))
        await told(user, *TALK)
        await memory.settle(user.user_id)
        hit = (await user.search("where did we get married?"))[0]
        assert (hit.id, hit.scores["lexical"], hit.scores["dense"]) == (long, 0.0, 1.0)

    async def test_the_parts_of_a_long_message_go_with_it(self, memory: AsyncMemory, user: AsyncUser) -> None:
        await told(user, "The committee discussed the budget of the department. " * 80)
        await memory.settle(user.user_id)
        parts = "SELECT count(*) FROM search_vectors WHERE user_id = %s"
        with superuser(memory.database_url) as connection:
            assert value(connection, parts, user.user_id) > 1
            await user.sessions.delete("monday")
            assert value(connection, parts, user.user_id) == 0


class TestEchoes:
    QUESTION = "Where do I keep the spare key?"

    async def test_what_only_asks_the_same_makes_room_for_the_answer(self, user: AsyncUser) -> None:
        await told(user, *TALK, "The spare key lies under the blue flower pot.", self.QUESTION)
        found = await contents(user, self.QUESTION)
        assert found[0] == "The spare key lies under the blue flower pot."
        assert self.QUESTION not in found

    @pytest.mark.parametrize("asked", ["where do I keep the spare key?", "Do you know where I keep that spare key?"])
    async def test_a_question_in_other_words_makes_room_too(self, user: AsyncUser, asked: str) -> None:
        await told(user, *TALK, "The spare key lies under the blue flower pot.", asked)
        found = await contents(user, self.QUESTION)
        assert found[0] == "The spare key lies under the blue flower pot."
        assert asked not in found
        assert (await contents(user, "keep spare key"))[0] == asked  # a few words to look for find it as ever

    async def test_other_questions_come_after_what_answers(self, user: AsyncUser) -> None:
        asked = ["Where is the key?", "Who has a key", "When did I lose my key?", "What do you know about keys?"]
        await told(user, "The spare key lies under the blue flower pot.", *TALK, *asked)
        found = await contents(user, self.QUESTION)
        assert found[0] == "The spare key lies under the blue flower pot."

    async def test_small_talk_is_found_by_its_words_alone(self, user: AsyncUser) -> None:
        await told(user, "The spare key lies under the blue flower pot.", "hm", "ok", "thanks!")
        assert await contents(user, "spare key") == ["The spare key lies under the blue flower pot."]
        assert "thanks!" in await contents(user, "thanks")

    async def test_it_is_found_where_nothing_answers(self, user: AsyncUser) -> None:
        await told(user, *TALK, self.QUESTION)
        assert await contents(user, self.QUESTION) == [self.QUESTION]
        assert await contents(user, self.QUESTION, floor=0.0) != []

    async def test_it_is_found_where_there_is_nothing_else(self, user: AsyncUser) -> None:
        await told(user, self.QUESTION)
        for floor in (None, 0.0):
            assert await contents(user, self.QUESTION, floor=floor) == [self.QUESTION]

    async def test_what_is_no_question_is_no_echo(self, user: AsyncUser) -> None:
        await told(user, *TALK)
        assert [(await contents(user, each))[0] for each in TALK] == TALK

    @pytest.mark.parametrize("metadata", [{}, {"retold": True}], ids=["said", "retold"])
    async def test_a_quotation_comes_after_what_it_quotes(self, user: AsyncUser, metadata: dict[str, Any]) -> None:
        quoted, quotation = "The spare key lies under the blue flower pot.", "Spare key: the spare key."
        await told(user, *TALK, quoted)
        await told(user, quotation, session="tuesday", metadata=metadata)
        best = (await contents(user, "spare key"))[0]
        assert best == (quoted if metadata else quotation)


class TestAnswers:
    async def test_what_holds_the_kind_of_answer_comes_first(self, user: AsyncUser) -> None:
        await told(user, *TALK, "I love my chickens very much.", "I feed my chickens, all 14 of them.")
        (best, *_) = await user.search("How many chickens?")
        assert best.content == "I feed my chickens, all 14 of them." and best.scores["answer"] > 0
        assert all("answer" not in hit.scores for hit in await user.search("chickens"))

    async def test_of_durations_the_users_own_words_count(self, user: AsyncUser) -> None:
        await user.chat("monday").add("assistant", "Most people practise the cello for ten years.")
        await user.chat("monday").add("user", "I have practised the cello for ten years.")
        hits = await user.search("How long have I practised the cello?")
        assert {hit.role: hit.scores["answer"] > 0 for hit in hits} == {"human": True, "ai": False}


class TestWords:
    @pytest.mark.parametrize(
        ("query", "answer"),
        [("XJ4471QZ", TALK[7]), ("xj4471qz", TALK[7]), ("48213", TALK[2]), ("Okonkwo", TALK[6]), ("Biscuit", TALK[4])],
    )
    async def test_rare_words_numbers_and_names(self, talker: AsyncUser, query: str, answer: str) -> None:
        hit = (await talker.search(query))[0]
        assert (hit.content, hit.scores["lexical"]) == (answer, 1.0)

    @pytest.mark.parametrize(
        ("query", "answer"), [("running", TALK[5]), ("party", TALK[11]), ("cancel", TALK[9]), ("PAINTINGS", TALK[8])]
    )
    async def test_other_forms_of_a_word(self, talker: AsyncUser, query: str, answer: str) -> None:
        hit = (await talker.search(query))[0]
        assert (hit.content, hit.scores["lexical"]) == (answer, 1.0)

    @pytest.mark.parametrize(
        ("sentence", "word"),
        [
            ("我昨天在上海买了一辆红色的自行车。", "自行车"),
            ("我昨天在上海买了一辆红色的自行车。", "上海"),
            ("来週、京都で友達と会う予定です。", "京都"),
            ("来週、京都で友達と会う予定です。", "友達"),
            ("新しいコンピュータを買いました。", "コンピュータ"),
            ("저는 부산에서 고양이를 키우고 있어요.", "고양이"),
            ("저는 부산에서 고양이를 키우고 있어요.", "부산"),
            ("我的編號是A1234，請記住。", "A1234"),
            ("मुझे हिन्दी फ़िल्में पसंद हैं।", "हिन्दी"),
            ("Я живу в Екатеринбурге с братом.", "братом"),
            ("אני גר בחיפה ליד הים.", "בחיפה"),
        ],
    )
    async def test_a_word_inside_a_sentence_of_any_script(self, user: AsyncUser, sentence: str, word: str) -> None:
        await told(user, sentence)
        await told(user, "明日の天気は晴れです。", "我喜歡吃米飯。", "저는 물을 마셔요.", session="tuesday")
        hit = (await user.search(word))[0]
        assert (hit.content, hit.scores["lexical"]) == (sentence, 1.0)

    @pytest.mark.parametrize("word", ["café", "cafe\u0301", "CAFÉ", "Ｃａｆé"])
    async def test_accents_however_they_are_written(self, user: AsyncUser, word: str) -> None:
        await told(user, "Nous avons mangé au café à Orléans.", *TALK[:4])
        hit = (await user.search(word))[0]
        assert (hit.content, hit.scores["lexical"]) == ("Nous avons mangé au café à Orléans.", 1.0)

    @pytest.mark.parametrize("word", ["cafe", "orleans"])
    async def test_accents_that_are_left_out(self, user: AsyncUser, word: str) -> None:
        await told(user, "Nous avons mangé au café à Orléans.", *TALK[:4])
        assert (await contents(user, word))[0] == "Nous avons mangé au café à Orléans."

    async def test_all_that_hold_the_word_are_found(self, user: AsyncUser) -> None:
        """Also the one that holds it less often than the others: it is the least of them, but not nothing."""
        said = ["The dentist is at nine on Friday.", "I went to the dentist, a new dentist."]
        for number, content in enumerate(said):
            await told(user, content, session=f"{number}")
        assert set(await contents(user, "dentist")) == set(said)

    async def test_two_that_are_alike_are_found(self, user: AsyncUser) -> None:
        """What the assistant said, too, and in a memory that holds nothing else."""
        await user.chat("one").add("user", "The lighthouse is white.")
        await user.chat("two").add("assistant", "That lighthouse was built long ago.")
        assert len(await user.search("lighthouse")) == 2

    async def test_the_answer_in_the_turn_after_its_question(self, user: AsyncUser) -> None:
        await told(user, *TALK[:4])
        chat = user.chat("tuesday")
        await chat.add("assistant", "What is the name of your parrot?")
        await chat.add("user", "Captain Flint.")
        await chat.add("assistant", "Noted.")
        await told(user, *TALK[5:], session="wednesday")
        assert "Captain Flint." in (await contents(user, "what is my parrot called?"))[:3]

    @pytest.mark.parametrize(
        "query",
        [
            "' OR '1'='1",
            "'; DROP TABLE conversation_messages; --",
            "%s %(user_id)s %%",
            "lighthouse & !white | (red <-> sea):*",
            "\\",
            "'",
            '"quoted"',
            "???",
            "…",
            "🦩🦩",
            "what is it that you have been having?",
            "\u202eesrever",
            "x" * 100_000,
            "lighthouse " * 10_000,
            " ".join(f"word{number}" for number in range(5_000)),
        ],
    )
    async def test_any_text_may_be_asked(self, talker: AsyncUser, query: str) -> None:
        assert isinstance(await talker.search(query), list)

    async def test_signs_between_the_words_make_no_difference(self, talker: AsyncUser) -> None:
        assert (await contents(talker, "'cello'; -- & | !(orchestra):*"))[0] == TALK[1]

    async def test_the_longest_message_in_a_script_without_spaces(self, user: AsyncUser) -> None:
        """A million bytes of Chinese hold more terms and places than the database takes for one row."""
        await told(user, "The lighthouse is white.")
        chosen = random.Random(7)
        page = "".join(chr(chosen.randrange(0x4E00, 0x9FA5)) for _ in range(7_000))
        await told(user, (page * 60)[:349_000], session="book")
        assert (await contents(user, "lighthouse"))[0] == "The lighthouse is white."
        assert (await user.search(page[100:104], kinds=["message"]))[0].session_id == "book"


class TestWho:
    async def test_the_speaker_whom_the_question_names(self, user: AsyncUser) -> None:
        chat = user.chat("monday")
        for name in ("Caroline", "Melanie"):
            await chat.add("user", "Painting calms me down.", metadata={"speaker": name})
        for name in ("Caroline", "Melanie"):
            hits = await user.search(f"what does {name} think of painting?")
            assert hits[0].speaker == name
            best, other = (hit.scores["speaker"] for hit in hits)
            assert best > other
            assert {hit.speaker for hit in hits} == {"Caroline", "Melanie"}

    async def test_of_two_names_none_counts_more(self, user: AsyncUser) -> None:
        chat = user.chat("monday")
        for name in ("Caroline", "Melanie"):
            await chat.add("user", "Painting calms me down.", metadata={"speaker": name})
        hits = await user.search("what do Caroline and Melanie think of painting?")
        assert len({hit.scores.get("speaker") for hit in hits}) == 1


class TestWhen:
    async def test_a_date_in_the_question_lifts_what_was_then(self, user: AsyncUser) -> None:
        for month in (1, 5, 9):
            await user.chat("diary").add("user", "I went hiking in the hills.", at=day(2023, month, 14))
        hits = await user.search("where did I go hiking last May?", now=day(2024, 3, 10))
        assert hits[0].occurred_at == day(2023, 5, 14)
        assert hits[0].scores["temporal"] == max(hit.scores["temporal"] for hit in hits) > 0
        assert len(hits) == 3, "a date lifts, it does not exclude"

    async def test_the_date_counts_from_the_time_of_asking(self, user: AsyncUser) -> None:
        await told(user, *TALK)
        await self.hike(user)

    async def test_of_messages_that_are_alike_the_date_decides(self, user: AsyncUser) -> None:
        """Also where nothing else is there: what little the vectors differ by must not weigh more."""
        await self.hike(user)

    async def hike(self, user: AsyncUser) -> None:
        for year in (2021, 2022, 2023):
            await user.chat("diary").add("user", "I went hiking in the hills.", at=day(year, 5, 14))
        for asked, expected in ((day(2022, 3), 2021), (day(2023, 3), 2022), (day(2024, 3), 2023)):
            best = (await user.search("where did I go hiking last May?", now=asked))[0]
            assert best.occurred_at == day(expected, 5, 14)

    async def test_without_a_date_nothing_is_lifted(self, user: AsyncUser) -> None:
        await told(user, "I went hiking in the hills.", at=day(2023, 5))
        assert "temporal" not in (await only(user, "hiking", now=day(2023, 6))).scores


class TestFloor:
    UNRELATED = (
        "how do I fix a flat bicycle tyre?",
        "what is the capital of Mongolia?",
        "quantum lattice gauge theory",
    )

    @pytest.mark.parametrize("query", UNRELATED)
    async def test_an_unrelated_question_finds_nothing(self, talker: AsyncUser, query: str) -> None:
        assert await talker.search(query) == []

    @pytest.mark.parametrize("query", UNRELATED)
    async def test_without_a_floor_the_nearest_is_found(self, talker: AsyncUser, query: str) -> None:
        assert await talker.search(query, floor=0.0)

    async def test_a_floor_of_one_lets_nothing_pass(self, talker: AsyncUser) -> None:
        assert await talker.search("cello", floor=1.0) == []

    async def test_the_best_reaches_the_floor(self, talker: AsyncUser) -> None:
        best = (await talker.search("cello"))[0].score
        assert (await talker.search("cello", floor=best - 0.01))[0].score == pytest.approx(best)
        assert await talker.search("cello", floor=best + 0.01) == []

    async def test_nothing_is_found_where_nothing_is(self, user: AsyncUser) -> None:
        assert await user.search("anything") == []
        assert await user.search("anything", floor=0.0) == []


class TestLimit:
    @pytest.mark.parametrize("limit", [1, 2, 10, 199, 200])
    async def test_as_many_as_were_asked_for(self, memory: AsyncMemory, limit: int) -> None:
        user = memory.user("gardener")
        if not await user.sessions.get("monday"):
            await told(user, *["I watered the garden."] * 230, at=day(2024))
        assert len(await user.search("garden", limit=limit)) == limit


class TestGone:
    async def test_what_a_fact_was_before(self, user: AsyncUser) -> None:
        await user.facts.set("home", "Porto")
        await user.facts.set("home", "Lisbon")
        assert await contents(user, "home") == ["home: Lisbon"]

    async def test_a_rejected_fact_and_the_one_that_holds_again(self, user: AsyncUser) -> None:
        await user.facts.set("home", "Porto")
        await user.facts.set("home", "Lisbon")
        assert await contents(user, "home") == ["home: Lisbon"]
        await user.facts.reject("home", "Lisbon")
        assert await contents(user, "home") == ["home: Porto"]
        await user.facts.reject("home", "Porto")
        assert await user.search("home", floor=0.0) == []

    async def test_a_value_that_was_rejected_beforehand(self, user: AsyncUser) -> None:
        await user.facts.reject("home", "Madrid")
        assert await user.search("home Madrid", floor=0.0) == []

    async def test_a_fact_holds_at_the_time_of_asking(self, user: AsyncUser) -> None:
        await user.facts.set("home", "Porto", valid_from=day(2020))
        await user.facts.set("home", "Lisbon", valid_from=day(2022))
        await user.facts.set("home", "Paris", valid_from=datetime.now(UTC) + 1000 * HOUR)
        assert await contents(user, "home") == ["home: Lisbon"]
        assert await contents(user, "home", now=day(2021)) == ["home: Porto"]
        assert await contents(user, "home", now=day(2019), floor=0.0) == []
        assert await contents(user, "home", now=datetime.now(UTC) + 2000 * HOUR) == ["home: Paris"]

    async def test_an_expired_entry(self, user: AsyncUser) -> None:
        await user.entries.add("The parcel comes on Friday.", expires_at=datetime.now(UTC) - HOUR)
        assert await user.search("parcel", floor=0.0) == []
        await user.entries.add("The parcel is at the door.", expires_at=datetime.now(UTC) + HOUR)
        assert await contents(user, "parcel") == ["The parcel is at the door."]

    async def test_what_expires_between_two_searches(self, memory: AsyncMemory, user: AsyncUser) -> None:
        entry = await user.entries.add("The parcel comes on Friday.", expires_at=datetime.now(UTC) + HOUR)
        assert len(await user.search("parcel")) == 1
        with superuser(memory.database_url) as connection:
            expire = "UPDATE memory_entries SET expires_at = now() - interval '1 s' WHERE entry_id = %s"
            connection.execute(expire, (entry.entry_id,))
        assert await user.search("parcel", floor=0.0) == []

    async def test_what_was_deleted_is_gone_at_once(self, user: AsyncUser) -> None:
        await told(user, "The lighthouse is white.")
        await told(user, "Grandmother knits socks.", session="other")
        await user.facts.set("building", "lighthouse")
        entry = await user.entries.add("A lighthouse was visited.")
        document = await user.documents.add("Opening hours of the lighthouse")
        left = {"message", "fact", "entry", "document"}
        removals: dict[str, Callable[[], Awaitable[bool]]] = {
            "message": lambda: user.sessions.delete("monday"),
            "fact": lambda: user.facts.forget("building"),
            "entry": lambda: user.entries.forget(str(entry.entry_id)),
            "document": lambda: user.documents.forget(document.document_id),
        }
        for kind, remove in removals.items():
            hits = await user.search("lighthouse")
            assert {hit.kind for hit in hits if "lighthouse" in hit.content} == left
            assert await remove()
            left -= {kind}
        assert not [each for each in await contents(user, "lighthouse", floor=0.0) if "lighthouse" in each]

    async def test_an_erased_user_has_nothing(self, user: AsyncUser) -> None:
        await told(user, "The lighthouse is white.")
        assert await user.search("lighthouse")
        await user.erase()
        assert await user.search("lighthouse", floor=0.0) == []
        await told(user, "The harbour is blue.")
        assert await contents(user, "lighthouse harbour") == ["The harbour is blue."]


class TestSessions:
    async def sessions_found(self, user: AsyncUser, session_id: str) -> set[str | None]:
        return {hit.session_id for hit in await user.search("lighthouse", session_id=session_id)}

    async def furnished(self, user: AsyncUser, names: Sequence[str]) -> None:
        for name in names:
            await told(user, f"The lighthouse of {name} is white.", session=name)

    async def test_one_session_and_those_related_to_it(self, user: AsyncUser) -> None:
        await self.furnished(user, ["one", "two", "three", "four"])
        assert await self.sessions_found(user, "one") == {"one"}
        await user.sessions.link("one", "two", "continuation")
        assert await self.sessions_found(user, "one") == {"one", "two"}
        assert await self.sessions_found(user, "two") == {"one", "two"}
        await user.sessions.link("three", "one", "reference")
        assert await self.sessions_found(user, "one") == {"one", "two", "three"}
        assert await self.sessions_found(user, "two") == {"one", "two"}, "near means next to, not in reach"
        assert await self.sessions_found(user, "four") == {"four"}

    async def test_what_belongs_to_no_session_is_not_in_one(self, user: AsyncUser) -> None:
        await self.furnished(user, ["one"])
        await user.facts.set("building", "lighthouse")
        await user.entries.add("A lighthouse was visited.")
        await user.documents.add("Opening hours of the lighthouse")
        assert [hit.kind for hit in await user.search("lighthouse", session_id="one")] == ["message"]

    async def test_a_session_of_nobody_or_of_someone_else(self, memory: AsyncMemory, user: AsyncUser) -> None:
        await self.furnished(user, ["one"])
        other = memory.user(f"user-{uuid.uuid4().hex}")
        await self.furnished(other, ["theirs"])
        for session_id in ("nobody's", "theirs"):
            assert await user.search("lighthouse", session_id=session_id, floor=0.0) == []

    async def test_what_a_fork_copied_is_found_once(self, user: AsyncUser) -> None:
        await self.furnished(user, ["one"])
        fork = await user.chat("one").fork(session_id="branch")
        await fork.add("user", "The lighthouse of the branch is red.")
        found = {hit.content: hit.session_id for hit in await user.search("lighthouse")}
        assert found == {"The lighthouse of one is white.": "one", "The lighthouse of the branch is red.": "branch"}
        assert len(await user.search("lighthouse")) == 2

    async def test_what_was_said_twice_is_found_twice(self, user: AsyncUser) -> None:
        at = datetime(2026, 3, 1, tzinfo=UTC)
        for name in ("one", "two"):
            chat = user.chat(name)
            await chat.add_many([{"role": "user", "content": "The lighthouse is white.", "at": at}] * 2)
        assert len(await user.search("lighthouse")) >= 2
        hits = await user.search("lighthouse", session_id="one")
        assert len({hit.id for hit in hits}) == 2

    async def test_a_chat_searches_its_own_messages(self, user: AsyncUser) -> None:
        await self.furnished(user, ["one", "two"])
        await user.sessions.link("one", "two")
        found = await user.chat("one").search("lighthouse")
        assert [message.content for message, _ in found] == ["The lighthouse of one is white."]
        assert all(0 <= relevance <= 1 for _, relevance in found)

    @pytest.mark.parametrize("limit", [1, 3])
    async def test_related_sessions_take_no_place_in_a_chats_own_search(self, user: AsyncUser, limit: int) -> None:
        await told(user, *["The lighthouse is white."] * limit, session="one")
        await user.chat("one").fork(session_id="branch")
        for name in ("one", "branch"):
            found = await user.chat(name).search("lighthouse", limit=limit)
            assert [message.session_id for message, _ in found] == [name] * limit

    async def test_the_threshold_of_a_chats_search(self, user: AsyncUser) -> None:
        await told(user, *TALK)
        everything = await user.chat("monday").search("cello orchestra", limit=100)
        assert len(everything) > 1
        least = everything[1][1]
        assert await user.chat("monday").search("cello orchestra", limit=100, threshold=least) == [
            pair for pair in everything if pair[1] >= least
        ]


async def test_a_document_from_a_file(user: AsyncUser, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("The pelican nests behind the boathouse.", encoding="utf-8")
    document = await user.documents.add(file)
    assert (await only(user, "pelican")).id == document.document_id
    assert (await only(user, "notes")).id == document.document_id, "by its name"
