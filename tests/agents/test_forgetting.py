"""Forgetting on request: what would go is shown first, and goes after a yes in the next message, in any process."""

from __future__ import annotations

import uuid

import pytest

from helpers.chats import say
from ltst import AsyncMemory, AsyncUser
from ltst.agents.forgetting import ALL, KEPT, MOST, NOT_KNOWN, NOT_OFFERED, UNNAMED
from ltst.agents.turns import Turns
from ltst.agents.wording import NOTHING


@pytest.fixture
def ana(plain: AsyncMemory) -> AsyncUser:
    return plain.user(f"ana-{uuid.uuid4().hex}")


async def words(user: AsyncUser, *chats: str) -> str:
    """All that is stored in some chats."""
    return "\n".join([each.content for chat in chats for each in await user.chat(chat).history()])


async def test_what_was_said_is_forgotten_after_a_yes(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "My locker code is 4417.", "monday")
    await say(recall, ana, "The locker room is cold.", "monday")
    await say(recall, ana, "What is my locker code?", "tuesday")
    offer = await say(recall, ana, "Forget my locker code")
    assert offer.reply == (
        "I would forget “My locker code is 4417.”, and the replies and requests that repeat it. "
        "Say yes and it is gone; anything else leaves all as it is."
    )
    assert "4417" in await words(ana, "monday"), "nothing is gone before the yes"
    assert (await say(recall, ana, "yes")).reply.startswith("Done")
    assert "4417" not in await words(ana, "monday", "tuesday", "today"), "neither is what quoted it"
    assert "cold" in await words(ana, "monday")
    assert "4417" not in (await say(recall, ana, "What is my locker code?", "wednesday")).reply


@pytest.mark.parametrize("then", ["no", "Nein", "The weather is fine.", "What time is it?", "yes, but not now"])
async def test_anything_else_leaves_all_as_it_is(recall: Turns, ana: AsyncUser, then: str) -> None:
    await say(recall, ana, "My locker code is 4417.", "monday")
    await ana.facts.set("locker_code", "4417")
    await say(recall, ana, "please forget my locker code")
    answer = (await say(recall, ana, then)).reply
    assert answer == KEPT or then not in ("no", "Nein")
    assert (await say(recall, ana, "yes")).reply == NOT_OFFERED, "the offer was for the next message only"
    assert await ana.facts.get("locker_code") is not None and "4417" in await words(ana, "monday")


async def test_facts_and_notes_go_after_a_yes(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("locker_code", "4417")
    await ana.facts.set("home", "Lisbon")
    note = await ana.entries.add("The locker code of Ana is 4417.")
    offer = await say(recall, ana, "Forget my locker code")
    assert "“locker code: 4417”" in offer.reply and "Lisbon" not in offer.reply
    assert {each["kind"] for each in offer.memories} == {"fact", "entry"}
    await say(recall, ana, "yes, please")
    assert await ana.facts.get("locker_code") is None and await ana.facts.get("home") is not None
    assert await ana.entries.get(str(note.entry_id)) is None


async def test_the_yes_may_come_to_another_process(plain: AsyncMemory, recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("locker_code", "4417")
    await say(recall, ana, "Forget my locker code")
    restarted = Turns(plain)
    await say(restarted, ana, "ja")
    await restarted.close()
    assert await ana.facts.get("locker_code") is None


async def test_a_yes_in_another_chat_is_no_yes(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("locker_code", "4417")
    await say(recall, ana, "Forget my locker code")
    assert (await say(recall, ana, "yes", "elsewhere")).reply == NOT_OFFERED
    assert await ana.facts.get("locker_code") is not None


async def test_a_request_that_is_repeated_forgets_once(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("locker_code", "4417")
    await say(recall, ana, "Forget my locker code")
    first = await (await recall.begin(ana, "yes", chat_id="today", key="k")).done()
    await ana.facts.set("locker_code", "5528")
    again = await (await recall.begin(ana, "yes", chat_id="today", key="k")).done()
    assert first.reply == again.reply and await ana.facts.get("locker_code") is not None


async def known(user: AsyncUser) -> list[str]:
    """All that is known by key, now and before."""
    return sorted({past.line for each in await user.facts.list() for past in await user.facts.history(each.key)})


async def test_a_value_goes_with_its_message_and_the_one_before_holds_again(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I'm Kim, I live in Leeds and my wife is called Sue.", "monday")
    await say(recall, ana, "I live in York.", "tuesday")
    offer = await say(recall, ana, "Bitte vergiss, dass ich in York wohne", "tuesday")
    assert offer.reply.startswith("I would forget “home: York”, “I live in York.”, and the replies and requests that")
    await say(recall, ana, "ja", "tuesday")
    assert await known(ana) == ["home: Leeds", "name: Kim", "partner: Sue"]
    assert "my wife is called Sue" in await words(ana, "monday")
    assert "York" not in await words(ana, "monday", "tuesday")


async def test_a_key_goes_with_all_of_its_values(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I live in Porto.", "monday")
    await say(recall, ana, "I moved to Lisbon.", "tuesday")
    offer = (await say(recall, ana, "Forget my home")).reply
    for shown in ("“home: Lisbon”", "“home: Porto”", "“I live in Porto.”", "“I moved to Lisbon.”"):
        assert shown in offer
    await say(recall, ana, "yes")
    assert await known(ana) == []
    assert not {"Porto", "Lisbon"} & {*(await words(ana, "monday", "tuesday", "today")).replace(".", " ").split()}


async def test_one_of_several_values_goes_alone(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("allergy", "peanuts", single_valued=False)
    await ana.facts.set("allergy", "penicillin", single_valued=False)
    assert "penicillin" not in (await say(recall, ana, "Forget my peanuts allergy")).reply
    await say(recall, ana, "yes")
    assert await known(ana) == ["allergy: penicillin"]


async def test_what_else_goes_with_a_message_is_shown(recall: Turns, ana: AsyncUser) -> None:
    long = "My name is Max. The weather was awful on the whole way. I have a dog called Rex."
    await say(recall, ana, long, "monday")
    offer = (await say(recall, ana, "Forget my dog.")).reply
    assert "“I have a dog called Rex.” (with the rest of that message, which also says name: Max)" in offer
    await say(recall, ana, "yes")
    assert await known(ana) == [] and await words(ana, "monday") == ""


async def test_every_message_that_says_it_is_shown(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I live in York.", "monday")
    await say(recall, ana, "We had rain again. By the way, I live in York with two cats.", "tuesday")
    offer = (await say(recall, ana, "Forget my home")).reply
    assert "“I live in York.”" in offer and "two cats" in offer
    await say(recall, ana, "yes")
    assert await known(ana) == [] and "York" not in await words(ana, "monday", "tuesday")


async def test_what_is_too_much_to_be_shown_stays(recall: Turns, ana: AsyncUser) -> None:
    for day in range(MOST + 2):
        await ana.chat(f"day-{day}").add("user", f"I live in York. It is day {day}.")
    offer = (await say(recall, ana, "Forget my home")).reply
    assert "2 more messages say it too: ask me again after that." in offer and "“home: York”" not in offer
    await say(recall, ana, "yes")
    left = [await words(ana, f"day-{day}") for day in range(MOST + 2)]
    assert len([each for each in left if each]) == 2 and await known(ana) == ["home: York"]
    assert "“home: York”" in (await say(recall, ana, "Forget my home")).reply
    await say(recall, ana, "yes")
    assert await known(ana) == []


async def test_what_repeats_it_goes_and_other_replies_stay(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I live in Leeds.", "monday")
    await say(recall, ana, "I live in York.", "monday")
    await say(recall, ana, "My name is Kim.", "monday")
    await say(recall, ana, "What do you know about me?", "tuesday")
    await say(recall, ana, "What is my name?", "tuesday")
    await say(recall, ana, "Forget that I live in York.", "tuesday")
    await say(recall, ana, "no", "tuesday")
    essay = "York is an old city in the north."
    await ana.chat("essays").add("assistant", essay)
    await ana.chat("essays").add("assistant", "You wrote: I live in York.")
    assert "York" in await words(ana, "tuesday")
    await say(recall, ana, "Forget that I live in York.")
    await say(recall, ana, "yes")
    assert "York" not in await words(ana, "monday", "tuesday", "today")
    assert await words(ana, "essays") == essay, "what does not repeat it is not its echo"
    assert "home: Leeds" in await words(ana, "monday") and "Your name is Kim." in await words(ana, "tuesday")
    assert {hit.content for hit in await ana.search("York", kinds=("message",)) if "York" in hit.content} == {essay}


async def test_what_was_told_before_what_holds_goes_too(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I live in York.", "monday")
    await say(recall, ana, "I moved to Leeds.", "tuesday")
    assert "York" in (await say(recall, ana, "Where do I live?", "wednesday")).reply
    assert "“home: York”" in (await say(recall, ana, "Forget that I live in York.")).reply
    await say(recall, ana, "yes")
    assert "York" not in await words(ana, "monday", "tuesday", "wednesday", "today")
    assert await known(ana) == ["home: Leeds"]


async def test_a_removed_request_takes_nothing_else_along(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "The tea is green.")
    await ana.facts.set("locker_code", "4417")
    offer = await say(recall, ana, "Forget my locker code")
    await ana.chat("today").remove(offer.message_id)
    await say(recall, ana, "yes")
    assert await ana.facts.get("locker_code") is None and "The tea is green." in await words(ana, "today")


async def test_what_was_said_last_can_be_pointed_to(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "The vault opens with 9931.")
    assert "“The vault opens with 9931.”" in (await say(recall, ana, "Forget that")).reply
    await say(recall, ana, "yes")
    assert "9931" not in await words(ana, "today")
    await say(recall, ana, "I live in Bonn.")
    assert "“I live in Bonn.” (which also says home: Bonn)" in (await say(recall, ana, "Forget that")).reply


async def test_what_is_not_known_cannot_be_forgotten(recall: Turns, ana: AsyncUser) -> None:
    assert (await say(recall, ana, "Forget my locker code")).reply == NOT_KNOWN
    await say(recall, ana, "The sourdough needs eleven hours.")
    assert (await say(recall, ana, "Forget my locker code")).reply == NOT_KNOWN
    assert (await say(recall, ana, "yes")).reply == NOT_OFFERED


async def test_everything_is_not_forgotten_in_a_chat(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("home", "Lisbon")
    assert (await say(recall, ana, "Forget everything you know about me")).reply == ALL
    await say(recall, ana, "yes")
    assert await ana.facts.get("home") is not None


async def test_nobody_forgets_for_another(plain: AsyncMemory, recall: Turns, ana: AsyncUser) -> None:
    bob = plain.user(f"bob-{uuid.uuid4().hex}")
    await say(recall, bob, "My locker code is 4417.")
    assert (await say(recall, ana, "Forget my locker code")).reply == NOT_KNOWN
    assert (await say(recall, ana, "What is my locker code?")).reply == NOTHING


async def test_what_is_known_of_somebody_goes_and_what_is_known_of_the_user_stays(
    recall: Turns, ana: AsyncUser
) -> None:
    await ana.facts.set("allergy", "penicillin")
    await ana.facts.set("allergy", "nuts", about="Dani")
    offer = await say(recall, ana, "Forget Dani's allergy")
    assert "“Dani: allergy: nuts”" in offer.reply and "penicillin" not in offer.reply
    await say(recall, ana, "yes")
    assert [each.line for each in await ana.facts.list()] == ["allergy: penicillin"]


async def test_everything_about_somebody_goes(recall: Turns, ana: AsyncUser) -> None:
    about = (
        "Tom is my best friend.",
        "I met Tom at the climbing gym.",
        "Tom owes me 40 euros.",
        "Tom and I like chess.",
    )
    for said in (*about, "The weather was bad."):
        await say(recall, ana, said, "monday")
    offer = (await say(recall, ana, "Forget everything about Tom")).reply
    assert all(f"“{said}”" in offer for said in about)
    await say(recall, ana, "yes")
    left = await words(ana, "monday")
    assert "Tom" not in left and "The weather was bad." in left


async def test_each_of_several_topics_goes(recall: Turns, ana: AsyncUser) -> None:
    for said in ("I saw Big Thief live in Berlin.", "I play the cello.", "I like tea."):
        await say(recall, ana, said, "monday")
    offer = (await say(recall, ana, "Forget what I said about Big Thief and the cello")).reply
    assert "“I saw Big Thief live in Berlin.”" in offer and "“I play the cello.”" in offer and "tea" not in offer
    await say(recall, ana, "yes")
    left = await words(ana, "monday")
    assert "Thief" not in left and "cello" not in left and "tea" in left


async def test_one_pet_goes_and_neither_another_nor_a_pasted_mail(recall: Turns, ana: AsyncUser) -> None:
    mail = "Here's the mail I got from my landlord:\n\nDear tenant,\nmy cat was in the yard again.\nBest, Harald"
    for said in ("My cat is called Mia.", "My hamster is called Bo.", mail):
        await say(recall, ana, said, "monday")
    offer = (await say(recall, ana, "Forget my cat")).reply
    assert "“pet: Mia”" in offer and "Bo" not in offer and "yard" not in offer
    assert "Mia" not in (await say(recall, ana, "Forget my hamster")).reply
    for asked in ("Forget the mail from my landlord", "Forget my landlord's mail"):
        assert "Here's the mail I got from my landlord" in (await say(recall, ana, asked)).reply


async def test_after_a_question_what_its_answer_told_is_meant(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "The vault opens with 9931.", "monday")
    await say(recall, ana, "Where is the lighthouse?")
    assert (await say(recall, ana, "Forget that.")).reply == UNNAMED
    await say(recall, ana, "What does the vault open with?")
    assert "“The vault opens with 9931.”" in (await say(recall, ana, "Forget that.")).reply
    await say(recall, ana, "yes")
    assert "9931" not in await words(ana, "monday", "today")
    await say(recall, ana, "I live in Bonn.")
    await say(recall, ana, "What do you know about me?")
    assert (await say(recall, ana, "Forget that.")).reply == ALL
