"""Answers without a language model: quotes memories to answer questions, and acknowledges statements."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

from ltst.agents import days, forgetting, intents, known, wording
from ltst.agents.evidence import (
    MOST,
    Evidence,
    asked_already,
    choose,
    distinct_words,
    is_version,
    replied,
    resting_on,
)
from ltst.agents.memories import Memory, distinct, plain, plain_fact, plain_message, plain_preference
from ltst.agents.parts import Parts, parts
from ltst.agents.passages import UserQuestion, answering, sentences, words
from ltst.agents.people import introduced, is_meant, is_of_somebody, is_of_user, speaks_on
from ltst.agents.wording import KNOWN, NOTED, NOTHING, UNANSWERED, Reply
from ltst.handles import viewing
from ltst.handles.forgetting import FactValue, saying, told_in
from ltst.memory import AsyncUser
from ltst.records import ME, ConversationMessage, Fact, Hit
from ltst.support.questions import is_marked

SEARCHED = 30
LISTED = 12
PATIENCE = 2.0  # seconds
MENDED_WITHIN = 600  # seconds
TITLED = 1000
OTHERS = ("message", "entry", "document")
# Messages this short may need the turn before them to be understood.
TERSE_WORDS = 8
# Words for a time that is over.
BYGONE = re.compile(r"\b(?:lived|used to|until|till|formerly|previously|früher|damals|wohnte)\b", re.IGNORECASE)
# How many hits with pronouns to resolve, and in how many turns before each.
FOLLOWED, TURNS = 8, 6


async def answer(user: AsyncUser, message: ConversationMessage) -> Reply:
    """Returns the reply to a message that is already stored."""
    text = message.content
    if (reply := await _carry_out_decision(user, message)) is not None:
        return reply
    if (plain := intents.courtesy(text) or _without_memory(text, message)) is not None:
        return Reply(plain)
    if (topic := intents.to_forget(text)) is not None:
        return await forgetting.offer(user, message, topic, lambda about: _find_best(user, message, about))
    said = parts(text)
    asked = text if intents.is_lookup(text) else said.asked
    if not asked:
        return await _acknowledge(user, message)
    if said.told and asked != text:
        return await _answer_both(user, message, said)
    answer = await _answer_to(user, message, asked if said.pasted else text)
    if answer.text != NOTHING:
        return answer
    # "Could you call me Bo?" asks for nothing that is known, and tells what is wanted.
    noted = await _acknowledge(user, message)
    return answer if noted.text == NOTED else noted


def _without_memory(text: str, message: ConversationMessage) -> str | None:
    """Returns the answer to a question that no memory answers: what this agent can do, how it is, what day it is."""
    return (
        intents.capabilities(text)
        or intents.company(text)
        or (wording.clock(_time_of(message)) if intents.asks_for_today(text) else None)
    )


async def _find_best(user: AsyncUser, message: ConversationMessage, topic: str) -> list[Hit]:
    """Returns the hits that would answer a question about a topic."""
    return [each.hit for each in await _choose_evidence(user, UserQuestion.of(topic), message)]


async def _answer_both(user: AsyncUser, message: ConversationMessage, said: Parts) -> Reply:
    """Returns the reply to a message that tells something and asks something."""
    noted = await _acknowledge(user, message)
    # "Her" or "there" is somebody or somewhere of the part that tells.
    text = message.content if speaks_on(said.asked) else said.asked
    answer = await _answer_to(user, message, text, said.asked)
    told = UNANSWERED if answer.text == NOTHING else answer.text
    return Reply(f"{noted.text} {told}", tuple(distinct([*noted.memories, *answer.memories])))


async def _answer_to(user: AsyncUser, message: ConversationMessage, text: str, asked: str | None = None) -> Reply:
    """Returns the answer to a question; `asked` is the part of it of which an answer must hold a word."""
    if (plain := _without_memory(asked or text, message)) is not None:
        return Reply(plain)
    if intents.ABOUT_ME.search(asked or text) and (everything := await _list_everything(user)):
        return everything
    return await _answer_question(user, message, text, asked)


async def _carry_out_decision(user: AsyncUser, message: ConversationMessage) -> Reply | None:
    """Returns the reply to a yes, or to a no after an offer to forget something; None otherwise."""
    agreed, refused = intents.agrees(message.content), intents.refuses(message.content)
    if not agreed and not refused:
        return None
    offer = await forgetting.offered(user, message)
    if offer is None:
        return Reply(forgetting.NOT_OFFERED) if agreed and not intents.takes_note(message.content) else None
    return await forgetting.carry_out(user, offer) if agreed else Reply(forgetting.KEPT)


async def _acknowledge(user: AsyncUser, message: ConversationMessage) -> Reply:
    """Returns an acknowledgement that lists what was learned from a stored message, so that the user can correct it."""
    await user.learning.catch_up(message.session_id)
    facts = [each for each in await user.facts.list() if each.source_message_id == message.message_id]
    preferences = [plain_preference(each) for each in await user.preferences.list()]
    new = [*map(plain_fact, await known.as_said(user, facts))]
    new += [each for each in preferences if message.message_id in each["sources"]]
    learnt = [str(each["content"]) for each in new]
    heard = await told_in(user._desk, [str(message.message_id)])
    learnt += [f"instruction: {each.claim_value}".rstrip(".") for each in heard if each.noun == "instruction"]
    return Reply(f"{NOTED} I now know: {'; '.join(learnt)}." if learnt else NOTED, tuple(new))


async def _list_everything(user: AsyncUser) -> Reply | None:
    """Returns a list of the newest facts, preferences and instructions, or None if there are none."""
    await user.learning.catch_up()
    facts = await known.as_said(user, await user.facts.list(about=ME))
    preferences = await user.preferences.list()
    lines = [
        (max(each.valid_from for each in said), sentence, [*map(plain_fact, said)])
        for sentence, said in wording.fact_sentences(facts)
    ]
    lines += [(each.updated_at, wording.preference_sentence(each), [plain_preference(each)]) for each in preferences]
    lines += [
        (each.updated_at, wording.instruction_sentence(each.content), list[Memory]())
        for each in await user.instructions.list()
        if each.active
    ]
    latest = sorted(lines, key=lambda line: line[0], reverse=True)[:LISTED]
    if not latest:
        return None
    more = [f"- And {len(lines) - LISTED} more: ask me about them."] if len(lines) > LISTED else []
    text = "\n".join([KNOWN, *(f"- {sentence}" for _, sentence, _ in latest), *more])
    return Reply(text, tuple(memory for *_, memories in latest for memory in memories))


async def _answer_question(user: AsyncUser, message: ConversationMessage, text: str, asked: str | None) -> Reply:
    """Returns the facts that a question asks for, followed by quotes of the best memories, current ones first."""
    await _caught_up(user)
    now = _time_of(message)
    question = await known.regarding(user, UserQuestion.of(text), now)
    if (of_time := await days.answer(user, question, now)) is not None:
        return of_time
    facts = await known.asked_for(user, question, now)
    chosen = await _choose_evidence(user, question, message)
    if asked is not None:
        chosen = [each for each in chosen if each.shared & UserQuestion.of(asked).terms]
    chosen = distinct_words(
        await _beside_fact(user, question, facts, chosen) if facts else await _with_corrections(user, question, chosen)
    )
    several = intents.SEVERAL.search(text) is not None or any(not each.single_valued for each in facts)
    sentences = await known.sentences(user, facts, question, now, bool(chosen))
    memories: list[Memory] = [*map(plain_fact, facts), *(plain(each.hit) for each in chosen)]
    titles = await _titles(user, chosen)
    for each in chosen:
        before = await _previous_turn(user, question, each) if each.hit.kind == "message" else None
        if before is not None and before.role == "human" and any(before.message_id == other.hit.id for other in chosen):
            before = None
        sentences.append(_quotation(_lead(question, chosen[0], each, titles, several), each, before, question))
        memories += [plain_message(before)] if before is not None else []
    return Reply(" ".join(sentences) or NOTHING, tuple(distinct(memories)))


async def _caught_up(user: AsyncUser) -> None:
    """Learns what was said a moment ago; what takes longer than a reader waits is left to the worker."""
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE):
            await user.learning.catch_up()


def _time_of(message: ConversationMessage) -> datetime:
    return message.timestamp or datetime.now(UTC)


async def _choose_evidence(user: AsyncUser, question: UserQuestion, message: ConversationMessage) -> list[Evidence]:
    found = await user.search(question.text, kinds=OTHERS, limit=SEARCHED, without=message.content)
    found = [hit for hit in found if hit.id != message.message_id]
    chosen = choose(question, await _only_about_people(user, question, found), _time_of(message))
    if not chosen and question.people and not question.personal:
        # "Lottie can't have penicillin" may be about the daughter although nothing calls her that.
        chosen = choose(
            question,
            [hit for hit in found if speaks_on(hit.content) and is_of_somebody(hit.content)],
            _time_of(message),
        )
    reply = await _reply_to(user, question, found)
    return chosen if reply is None else [reply, *(each for each in chosen if each.hit.id != reply.hit.id)][:MOST]


async def _only_about_people(user: AsyncUser, question: UserQuestion, found: Sequence[Hit]) -> list[Hit]:
    """Returns the hits about the people in a question, by their words, their speaker or the turns before them."""
    question = replace(question, people=introduced(question.people, [hit.content for hit in found]))
    kept, followed = list[Hit](), 0
    for hit in found:
        if question.concerns(hit.content) or any(each.is_in(hit.speaker or "") for each in question.people):
            kept.append(hit)
        elif question.people and hit.role == "human" and speaks_on(hit.content) and followed < FOLLOWED:
            followed += 1
            before = await _earlier(user, hit.id, TURNS)
            kept += [hit] if is_meant(question.people, [turn.content for turn in before]) else []
    return kept


async def _earlier(user: AsyncUser, message_id: str, most: int) -> list[ConversationMessage]:
    """Returns up to `most` turns just before a message."""
    message = await user.message(message_id)
    if message is None or not message.message_index:
        return []
    first = message.message_index - most
    around = await viewing.following(user._desk, message.session_id, first - 1, most)
    return [turn for turn in around if (turn.message_index or 0) < message.message_index]


async def _reply_to(user: AsyncUser, question: UserQuestion, found: Sequence[Hit]) -> Evidence | None:
    """Returns what the user replied when an assistant asked the same question."""
    asked = asked_already(question, found)
    turn = None if asked is None else await user.message(asked.id)
    if asked is None or turn is None or not turn.message_index:
        return None
    later = await viewing.following(user._desk, turn.session_id, turn.message_index, 1)
    replies = [each for each in later if each.role == "human" and parts(each.content).told]
    return replied(question, asked, replies[0]) if replies else None


async def _with_corrections(user: AsyncUser, question: UserQuestion, chosen: Sequence[Evidence]) -> list[Evidence]:
    """Returns the evidence with each correction that the user made just after it before it."""
    mended = list[Evidence]()
    for each in chosen:
        correction = await _correction(user, question, each) if wording.is_the_users(each.hit) else None
        mended += [each] if correction is None else [correction, replace(each, corrected=True)]
    return [*{each.hit.id: each for each in reversed(mended)}.values()][::-1]


async def _correction(user: AsyncUser, question: UserQuestion, each: Evidence) -> Evidence | None:
    """Returns the user's next message as evidence if it corrects this one, as "Sorry, I meant Tuesday" does."""
    message = await user.message(each.hit.id)
    if message is None or not message.message_index or each.hit.occurred_at is None:
        return None
    later = await viewing.following(user._desk, message.session_id, message.message_index, 2)
    said = next((turn for turn in later if turn.role == "human"), None)
    if said is None or not intents.corrects(said.content, question.shapes):
        return None
    found = resting_on(question, said)
    return found if 0 <= found.date - each.date < MENDED_WITHIN else None


async def _beside_fact(
    user: AsyncUser, question: UserQuestion, facts: Sequence[Fact], chosen: list[Evidence]
) -> list[Evidence]:
    """Returns what to quote beside a single-valued fact: the message it was learned from, and what was said since."""
    if facts and all(map(wording.is_over, facts)):
        ids = [each for fact in facts for each in await saying(user._desk, FactValue(fact.key, fact.about, fact.value))]
        messages = [each for each in (await viewing.messages_by_id(user._desk, ids)).values() if each.role == "human"]
        last = max(messages, key=lambda each: each.timestamp or facts[0].valid_from, default=None)
        return [resting_on(question, last)] if last else chosen
    if len(facts) != 1 or not facts[0].single_valued:
        return chosen
    if intents.FORMERLY.search(question.text):
        return [each for each in chosen if intents.OVER.search(each.passage)]
    source = await user.message(facts[0].source_message_id) if facts[0].source_message_id else None
    since = (source.timestamp if source else None) or facts[0].valid_from
    later = [each for each in chosen if each.date > since.timestamp() and _adds_to_fact(question, each)]
    # The sentence that holds the value is quoted, whatever words the question has for it.
    naming = replace(question, terms=question.terms | words(facts[0].value))
    return [*([resting_on(naming, source)] if source else []), *later]


def _adds_to_fact(question: UserQuestion, each: Evidence) -> bool:
    """Returns whether a later passage adds to a current fact: same topic, same person, and not about the past."""
    if question.of_user and not is_of_user(each.passage):
        return False
    return (
        bool(each.shared & question.topic) and question.concerns(each.hit.content) and not BYGONE.search(each.passage)
    )


async def _titles(user: AsyncUser, chosen: Sequence[Evidence]) -> dict[str, str]:
    """Returns the titles of quoted documents; beyond the first documents the id is shown instead."""
    if not any(each.hit.kind == "document" for each in chosen):
        return {}
    return {each.document_id: each.title for each in await user.documents.list(limit=TITLED) if each.title}


def _lead(question: UserQuestion, first: Evidence, each: Evidence, titles: Mapping[str, str], several: bool) -> str:
    """Returns the words before a quote: a full attribution for the first, a short one for the user's further words."""
    if each.pasted:
        return wording.pasted(each.hit)
    if each is first or not wording.is_the_users(each.hit) or each.hit.occurred_at is None:
        return wording.attribution(each.hit, titles)
    on = wording.day(each.hit.occurred_at)
    if not each.corrected and (several or not is_version(question, first, each)):
        return f"Also ({on})"
    return f"Before that ({on})" if each.corrected or each.date < first.date else f"Later ({on})"


async def _previous_turn(user: AsyncUser, question: UserQuestion, each: Evidence) -> ConversationMessage | None:
    """Returns the turn that a short message answers or continues, if the message shares no word with the question."""
    if each.hit.role != "human" or each.shared or len(each.passage.split()) > TERSE_WORDS:
        return None
    earlier = await _earlier(user, each.hit.id, 3)
    asked = next((turn for turn in earlier[-1:] if turn.role == "ai" and is_marked(turn.content)), None)
    spoken = [
        turn
        for turn in earlier
        if turn.role == "human" and question.terms & words(turn.content) and question.concerns(turn.content)
    ]
    return asked or (spoken[-1] if spoken else None)


def _quotation(lead: str, each: Evidence, before: ConversationMessage | None, question: UserQuestion) -> str:
    quote = wording.ended(wording.quoted(each.passage))
    if before is None:
        return f"{lead}: {quote}"
    if before.role == "ai":
        asked = [part for part in sentences(before.content) if is_marked(part)]
        return f"{lead}, when asked {wording.quoted(asked[-1])}: {quote}"
    said = answering(question, parts(before.content).told or before.content, dict.fromkeys(question.terms, 1.0))
    return f"{lead}: {wording.quoted(said)}, then {quote}"
