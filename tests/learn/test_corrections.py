"""Corrections: a value right after a wrong one takes its place, and the wrong one never held; in doubt nothing does."""

from __future__ import annotations

from datetime import timedelta

import pytest

from helpers.learning import day, say, taught, timeline, values
from ltst import AsyncMemory, AsyncUser
from ltst.learn import listen
from ltst.learn.extract import claims_after
from ltst.records import EarlierMessage

HOME = "I live in Berlin."

# What is said, what corrects it, a key and its value.
CORRECTIONS = [
    (HOME, "Actually it's Hamburg.", "home", "Hamburg"),
    (HOME, "Actually, it’s Hamburg 😅", "home", "Hamburg"),
    (HOME, "No, I meant Munich.", "home", "Munich"),
    (HOME, "Sorry, I meant Porto.", "home", "Porto"),
    (HOME, "Oops, I meant to say New York City!", "home", "New York City"),
    (HOME, "No wait, it's Bremerhaven.", "home", "Bremerhaven"),
    (HOME, "No, Hamburg.", "home", "Hamburg"),
    (HOME, "Hamburg, sorry.", "home", "Hamburg"),
    (HOME, "Make that Uelzen.", "home", "Uelzen"),
    (HOME, "Scratch that, Uelzen", "home", "Uelzen"),
    (HOME, "Correction: Uelzen", "home", "Uelzen"),
    (HOME, "It's York, not Berlin.", "home", "York"),
    (HOME, "Actually, it's York, not Berlin.", "home", "York"),
    (HOME, "It's not Berlin, it's York.", "home", "York"),
    (HOME, "Not Berlin but York.", "home", "York"),
    (HOME, "Nein, ich meinte Hamburg.", "home", "Hamburg"),
    (HOME, "Nicht Berlin, sondern Hamburg.", "home", "Hamburg"),
    ("I moved to Berlin last month.", "Actually it's Hamburg.", "home", "Hamburg"),
    ("I live in Leeds and work at Acme.", "Actually, it's York, not Leeds.", "home", "York"),
    ("My cat is called Lena.", "No, her name is Luna.", "pet", "Luna"),
    ("My cat is called Lena.", "Sorry, I meant Luna.", "pet", "Luna"),
    ("My wife is called Anna.", "No, her name is Hanna.", "partner", "Hanna"),
    ("My name is Jon.", "Actually it's John.", "name", "John"),
    ("I'm 34 years old.", "Sorry, 35.", "age", "35"),
    ("I work at Acme.", "I meant Acne.", "employer", "Acne"),
    ("I'm a nurse.", "Sorry, I meant a teacher.", "job", "teacher"),
    ("I'm vegan.", "Actually vegetarian.", "diet", "vegetarian"),
    ("My birthday is May 3.", "Actually it's May 4.", "birthday", "May 4"),
    ("I'm allergic to peanuts.", "Sorry, I meant walnuts.", "allergy", "walnuts"),
    ("I live in Cologne.", "Actually it's Bonn. Cologne is where I work.", "home", "Bonn"),
    (
        HOME,
        "Sorry, I meant Porto. My head is not with me today, it was a very long week at the office.",
        "home",
        "Porto",
    ),
]
# What is said, and what corrects nothing of it.
NONE = [
    *((HOME, each) for each in ("No, thanks.", "No. Thanks.", "No, Thanks", "Sorry, Claude.", "No problem.")),
    *((HOME, each) for each in ("Actually it's fine.", "No, it's OK.", "Actually it's Monday.", "I meant it.")),
    *((HOME, each) for each in ("Hamburg", "It's Hamburg.", "Actually it's Berlin.", "It's York, not Leeds.")),
    *((HOME, each) for each in ("No, her name is Luna.", "No, it's 5.", "Actually it's Python.", "No, not Hamburg.")),
    *((HOME, each) for each in ("Actually, what about Hamburg?", "Is it Hamburg, sorry?", "No, ask Tom.")),
    *((HOME, each) for each in ("Sorry. Claude is great.", "Actually it's fine. Hamburg is nice.")),
    (HOME, "The weather is fine. Actually it's Hamburg."),
    *((HOME, each) for each in ("I meant Hamburg and Munich.", "Actually it's Hamburg or Munich.")),
    (HOME, "Actually it's Hamburg that everybody likes best, which I never understood at all, do you?"),
    ("I live in Berlin and work at Acme.", "Actually it's Hamburg."),
    ("I live in Berlin. Keep your answers short from now on.", "Actually it's Hamburg."),
    ("I speak Danish and Polish.", "I meant Czech."),
    ("I have a cat.", "Actually, her name is Luna."),
    ("I'm 34.", "Actually it's Hamburg."),
    ("I'm a nurse.", "Actually it's Hamburg."),
    ("Do I live in Berlin?", "Actually it's Hamburg."),
    ("My sister lives in Berlin.", "Actually it's Hamburg."),
    ("I live in Berlin." + " The weather is fine." * 20, "Actually it's Hamburg."),
]


def read(first: str, then: str, before: str = "") -> list[tuple[str, str]]:
    found = claims_after(then, day(1), before, [EarlierMessage("first", first)])
    return [(each.key, each.value) for each in found]


@pytest.mark.parametrize(("first", "then", "key", "value"), CORRECTIONS, ids=[f"{a} {b}" for a, b, *_ in CORRECTIONS])
def test_a_value_alone_corrects_what_was_just_said(first: str, then: str, key: str, value: str) -> None:
    assert read(first, then) == [(key, value)]


@pytest.mark.parametrize(("first", "then"), NONE, ids=[f"{a[:40]} {b}" for a, b in NONE])
def test_in_doubt_nothing_is_corrected(first: str, then: str) -> None:
    assert read(first, then) == []


def test_what_else_is_said_is_read_too() -> None:
    found = read("I live in Cologne.", "Actually it's Bonn. I work at Acme.")
    assert found == [("home", "Bonn"), ("employer", "Acme")]
    assert read(HOME, "Actually it's Bonn. I live in Ulm.") == [("home", "Ulm")]


def test_what_may_answer_a_question_of_the_agent_corrects_nothing() -> None:
    asked = "Nice! Which city do you want to see next?"
    assert read(HOME, "Actually it's Hamburg.", asked) == []
    assert read(HOME, "I meant Hamburg.", asked) == [("home", "Hamburg")]


@pytest.mark.asyncio(loop_scope="module")
class TestLearnt:
    async def test_the_wrong_value_never_held(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "sunday", "I live in Rome.", at=day(0))
        first, second = await taught(shared, user, "monday", HOME, "Actually it's Hamburg.", at=day(1))
        assert await timeline(user) == [("Rome", day(0), day(1)), ("Hamburg", day(1), None)]
        home = await user.facts.get("home")
        assert home is not None and home.source_message_id == second
        assert home.metadata == {}, "how it was said is the claim's own affair"
        wrong = next(each for each in await user.facts.history("home") if each.value == "Berlin")
        assert (wrong.valid_from, wrong.valid_to, wrong.source_message_id) == (day(1), day(1), first)

    async def test_a_correction_is_corrected(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", HOME, "Actually it's Hamburg.", "No, I meant Munich.", at=day(1))
        assert await timeline(user) == [("Munich", day(1), None)]

    async def test_of_several_values_only_the_wrong_one_goes(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "sunday", "I have a dog named Rex.", at=day(0))
        await taught(shared, user, "monday", "My cat is called Lena.", "No, her name is Luna.", at=day(1))
        assert await values(user, "pet") == ["Luna", "Rex"]
        assert [value for value, *_ in await timeline(user, "pet")] == ["Rex", "Luna"]
        luna = next(each for each in await user.facts.list() if each.value == "Luna")
        assert luna.metadata == {"species": "cat"}

    @pytest.mark.parametrize("then", ["No, I live in Porto.", "Actually, I live in Porto, not Berlin."])
    async def test_a_whole_sentence_corrects_too(self, shared: AsyncMemory, user: AsyncUser, then: str) -> None:
        await taught(shared, user, "monday", HOME, then, at=day(1))
        assert await timeline(user) == [("Porto", day(1), None)]

    async def test_what_is_called_wrong_never_held_however_long_ago_it_was_said(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await taught(shared, user, "monday", HOME, at=day(1))
        await taught(shared, user, "tuesday", "Where do I live?", "No, that's wrong, I live in Porto.", at=day(9))
        assert await timeline(user) == [("Porto", day(1), None)]

    async def test_a_move_is_none(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", HOME, "No wait, I moved to Porto.", at=day(1))
        assert [value for value, *_ in await timeline(user)] == ["Berlin", "Porto"]

    async def test_what_was_set_by_hand_stays(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await user.facts.set("home", "Rome", valid_from=day(0))
        await taught(shared, user, "monday", HOME, "No, that's wrong, I live in Porto.", at=day(1))
        assert (await timeline(user))[0] == ("Rome", day(0), day(1))

    async def test_only_the_next_message_of_the_same_day_and_conversation_corrects(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await taught(shared, user, "monday", HOME, "What a day.", "Actually it's Hamburg.", at=day(1))
        await taught(shared, user, "tuesday", "Actually it's Hamburg.", at=day(1) + timedelta(minutes=5))
        await taught(shared, user, "wednesday", HOME, at=day(2))
        await taught(shared, user, "wednesday", "Actually it's Hamburg.", at=day(4))
        assert await values(user, "home") == ["Berlin"]

    async def test_the_words_of_others_in_between_are_not_corrected(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await say(user, "monday", HOME, at=day(1))
        await say(user, "monday", "I live in Oslo.", at=day(1.1), metadata={"speaker": "bob"})
        await taught(shared, user, "monday", "Actually it's Hamburg.", at=day(1.2), metadata={"speaker": user.user_id})
        assert "Hamburg" not in await values(user, "home")

    @pytest.mark.parametrize("batch", [1, 2, 3, 200])
    async def test_it_is_the_same_however_much_is_read_at_once(
        self, shared: AsyncMemory, user: AsyncUser, monkeypatch: pytest.MonkeyPatch, batch: int
    ) -> None:
        monkeypatch.setattr(listen, "BATCH", batch)
        for text in (HOME, "Actually it's Hamburg.", "No, I meant Munich."):
            await say(user, "monday", text, at=day(1))
            await say(user, "monday", "I see.", at=day(1), role="assistant")
        await shared.settle(user.user_id)
        assert await timeline(user) == [("Munich", day(1), None)]

    async def test_learnt_anew_it_is_the_same(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I live in Rome.", HOME, "Actually it's Hamburg.", at=day(1))
        before = await timeline(user)
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert await timeline(user) == before
        assert [value for value, *_ in before] == ["Rome", "Hamburg"]

    async def test_with_what_it_corrects_it_goes(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "sunday", "I live in Rome.", at=day(0))
        said = await taught(shared, user, "monday", HOME, "Actually it's Hamburg.", "I meant Munich.", at=day(1))
        await user.chat("monday").remove(said[0])
        assert await timeline(user) == [("Rome", day(0), None)]

    async def test_what_it_corrects_may_say_something_else(self, shared: AsyncMemory, user: AsyncUser) -> None:
        first, _ = await taught(shared, user, "monday", HOME, "Actually it's Hamburg.", at=day(1))
        await user.chat("monday").replace(first, "I live in Bremen.")
        await shared.settle(user.user_id)
        assert await timeline(user) == [("Hamburg", day(1), None)]
        await user.chat("monday").replace(first, "I work at Acme.")
        await shared.settle(user.user_id)
        assert await timeline(user) == []

    async def test_taken_back_it_leaves_what_it_had_corrected(self, shared: AsyncMemory, user: AsyncUser) -> None:
        _, second = await taught(shared, user, "monday", HOME, "Actually it's Hamburg.", at=day(1))
        await user.chat("monday").remove(second)
        assert await timeline(user) == [("Berlin", day(1), None)]
