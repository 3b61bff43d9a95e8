"""Forgetting on request: what would go is shown first, and goes after a yes in the next message, in any process."""

from __future__ import annotations

import uuid

import pytest

from helpers.chats import say
from ltst import AsyncMemory, AsyncUser
from ltst.agents.forgetting import ALL, KEPT, NOT_KNOWN
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
        "I would forget “My locker code is 4417.”. Say yes and it is gone; anything else leaves all as it is."
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
    assert (await say(recall, ana, "yes")).reply == "All right.", "the offer was for the next message only"
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
    await say(recall, ana, "yes", "elsewhere")
    assert await ana.facts.get("locker_code") is not None


async def test_a_request_that_is_repeated_forgets_once(recall: Turns, ana: AsyncUser) -> None:
    await ana.facts.set("locker_code", "4417")
    await say(recall, ana, "Forget my locker code")
    first = await (await recall.begin(ana, "yes", chat_id="today", key="k")).done()
    await ana.facts.set("locker_code", "5528")
    again = await (await recall.begin(ana, "yes", chat_id="today", key="k")).done()
    assert first.reply == again.reply and await ana.facts.get("locker_code") is not None


async def test_a_key_goes_with_the_messages_it_was_learnt_from(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "I live in Porto.", "monday")
    await say(recall, ana, "I moved to Lisbon.", "tuesday")
    offer = await say(recall, ana, "Bitte vergiss, dass ich in Lisbon wohne")
    assert "Lisbon" in offer.reply
    await say(recall, ana, "ja")
    assert await ana.facts.get("home") is None


async def test_what_was_said_last_can_be_pointed_to(recall: Turns, ana: AsyncUser) -> None:
    await say(recall, ana, "The vault opens with 9931.")
    assert "“The vault opens with 9931.”" in (await say(recall, ana, "Forget that")).reply


async def test_what_is_not_known_cannot_be_forgotten(recall: Turns, ana: AsyncUser) -> None:
    assert (await say(recall, ana, "Forget my locker code")).reply == NOT_KNOWN
    await say(recall, ana, "The sourdough needs eleven hours.")
    assert (await say(recall, ana, "Forget my locker code")).reply == NOT_KNOWN
    assert (await say(recall, ana, "yes")).reply == "All right."


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
