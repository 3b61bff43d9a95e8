"""Answers without a language model: a question is answered by quoting what is remembered, a statement is noted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from ltst.agents import forgetting, intents, known, wording
from ltst.agents.evidence import MOST, Evidence, asked_already, choose, is_version, past, renewed, replied, resting_on
from ltst.agents.memories import Memory, distinct, plain, plain_fact, plain_message, plain_preference
from ltst.agents.passages import Question, answering, sentences
from ltst.agents.wording import KNOWN, NOTED, NOTHING, Reply
from ltst.memory import AsyncUser
from ltst.records import ME, ConversationMessage, Fact, Hit
from ltst.support.terms import terms

SEARCHED = 30
LISTED = 12
TITLED = 1000
OTHERS = ("message", "entry", "document")
# So few words may need the turn before them to be understood.
TERSE_WORDS = 8


async def answer(user: AsyncUser, message: ConversationMessage) -> Reply:
    """Say what there is to say to a message that is stored already."""
    text = message.content
    if (reply := await _decided(user, message)) is not None:
        return reply
    if (polite := intents.courtesy(text)) is not None:
        return Reply(polite)
    if (topic := intents.to_forget(text)) is not None:
        best = await _chosen(user, Question.of(topic), message) if topic else []
        return await forgetting.offer(user, message, topic, [each.hit for each in best])
    if not (intents.is_question(text) or intents.is_lookup(text)):
        return await _noted(user, message)
    if intents.ABOUT_ME.search(text) and (everything := await _everything(user)):
        return everything
    return await _answered(user, message)


async def _decided(user: AsyncUser, message: ConversationMessage) -> Reply | None:
    """Returns what comes of a yes or a no to an offer to forget something; None where there is none."""
    agreed, refused = intents.agrees(message.content), intents.refuses(message.content)
    if not agreed and not refused:
        return None
    offer = await forgetting.offered(user, message)
    if offer is None:
        return None
    return await forgetting.carry_out(user, offer) if agreed else Reply(forgetting.KEPT)


async def _noted(user: AsyncUser, message: ConversationMessage) -> Reply:
    """Returns what was learnt from a message that is stored already, so that the user can correct it."""
    await user.learning.catch_up(message.session_id)
    memories = [*map(plain_fact, await user.facts.list()), *map(plain_preference, await user.preferences.list())]
    new = [each for each in memories if message.message_id in each["sources"]]
    told = "; ".join(each["content"] for each in new)
    return Reply(f"{NOTED} I now know: {told}." if new else NOTED, tuple(new))


async def _everything(user: AsyncUser) -> Reply | None:
    """Returns everything that is known by key, newest first; None where nothing is known."""
    await user.learning.catch_up()
    facts, preferences = await user.facts.list(about=ME), await user.preferences.list()
    keys = [each.key for each in facts]
    lines = [
        (each.valid_from, wording.fact_sentence(each, alone=keys.count(each.key) == 1), plain_fact(each))
        for each in facts
    ]
    lines += [(each.updated_at, wording.preference_sentence(each), plain_preference(each)) for each in preferences]
    latest = sorted(lines, key=lambda line: line[0], reverse=True)[:LISTED]
    if not latest:
        return None
    told = "\n".join([KNOWN, *(f"- {sentence}" for _, sentence, _ in latest)])
    return Reply(told, tuple(memory for *_, memory in latest))


async def _answered(user: AsyncUser, message: ConversationMessage) -> Reply:
    """Returns the facts that a question asks for, then quotes the best memories, those that hold now first."""
    question = Question.of(message.content)
    told, facts = await known.told(user, question, _now(message))
    chosen = await _chosen(user, question, message)
    if chosen and past(question.text, _now(message)) is None and not intents.FORMERLY.search(question.text):
        chosen = await _up_to_date(user, question, message, chosen)
    chosen = await _beside(user, question, facts, chosen)
    memories: list[Memory] = [*map(plain_fact, facts), *(plain(each.hit) for each in chosen)]
    titles = await _titles(user, chosen)
    for each in chosen:
        before = await _before(user, question, each) if each.hit.kind == "message" else None
        told.append(_quotation(_lead(question, chosen[0], each, titles), each, before, question))
        memories += [plain_message(before)] if before is not None else []
    return Reply(" ".join(told) or NOTHING, tuple(distinct(memories)))


def _now(message: ConversationMessage) -> datetime:
    return message.timestamp or datetime.now(UTC)


async def _chosen(user: AsyncUser, question: Question, message: ConversationMessage) -> list[Evidence]:
    found = await user.search(question.text, kinds=OTHERS, limit=SEARCHED, without=message.content)
    found = [hit for hit in found if hit.id != message.message_id]
    chosen = choose(question, found, _now(message))
    reply = await _reply_to(user, question, found)
    return chosen if reply is None else [reply, *(each for each in chosen if each.hit.id != reply.hit.id)][:MOST]


async def _reply_to(user: AsyncUser, question: Question, found: Sequence[Hit]) -> Evidence | None:
    """Returns what the user replied when an assistant asked the same."""
    asked = asked_already(question, found)
    turn = None if asked is None else await user.message(asked.id)
    if asked is None or turn is None or not turn.message_index:
        return None
    around = await user.chat(turn.session_id).history(limit=3, offset=max(0, turn.message_index - 2))
    later = [each for each in around if (each.message_index or 0) > turn.message_index][:1]
    replies = [each for each in later if each.role == "human" and not intents.is_question(each.content)]
    return replied(question, asked, replies[0]) if replies else None


async def _up_to_date(
    user: AsyncUser, question: Question, message: ConversationMessage, chosen: list[Evidence]
) -> list[Evidence]:
    """Look by the words of the best for what was said of it since, which holds."""
    strongest = max(chosen, key=lambda each: each.strength)
    if strongest.hit.kind != "message" or strongest.hit.role != "human":
        return chosen
    found = await user.search(strongest.passage, kinds=("message",), limit=SEARCHED, without=message.content)
    return renewed(question, chosen, [hit for hit in found if hit.id != message.message_id])


async def _beside(user: AsyncUser, question: Question, facts: Sequence[Fact], chosen: list[Evidence]) -> list[Evidence]:
    """Returns what is quoted beside a fact that has one value: the words that it rests on, and what was said since."""
    if len(facts) != 1 or not facts[0].single_valued or intents.FORMERLY.search(question.text):
        return chosen
    source = await user.message(facts[0].source_message_id) if facts[0].source_message_id else None
    since = (source.timestamp if source else None) or facts[0].valid_from
    later = [each for each in chosen if each.date > since.timestamp()]
    return [*([resting_on(question, source)] if source else []), *later]


async def _titles(user: AsyncUser, chosen: Sequence[Evidence]) -> dict[str, str]:
    """Returns what the quoted documents are called; one among very many may go by its id."""
    if not any(each.hit.kind == "document" for each in chosen):
        return {}
    return {each.document_id: each.title for each in await user.documents.list(limit=TITLED) if each.title}


def _lead(question: Question, first: Evidence, each: Evidence, titles: Mapping[str, str]) -> str:
    """Returns what stands before a quote: whole for the first, and short for the user's other words."""
    if each is first or not wording.is_the_users(each.hit) or each.hit.occurred_at is None:
        return wording.attribution(each.hit, titles)
    on = wording.day(each.hit.occurred_at)
    if intents.SEVERAL.search(question.text) or not is_version(question, first, each):
        return f"Also ({on})"
    return f"Before that ({on})" if each.date < first.date else f"Later ({on})"


async def _before(user: AsyncUser, question: Question, each: Evidence) -> ConversationMessage | None:
    """Returns the turn that a short message answers or continues, if it shares no word with the question."""
    if each.hit.role != "human" or each.shared or len(each.passage.split()) > TERSE_WORDS:
        return None
    message = await user.message(each.hit.id)
    if message is None or not message.message_index:
        return None
    around = await user.chat(message.session_id).history(limit=3, offset=max(0, message.message_index - 3))
    earlier = [turn for turn in around if (turn.message_index or 0) < message.message_index]
    asked = next(
        (turn for turn in earlier[-1:] if turn.role == "ai" and intents.QUESTION_MARK.search(turn.content)), None
    )
    spoken = [turn for turn in earlier if turn.role == "human" and question.terms & set(terms(turn.content))]
    return asked or (spoken[-1] if spoken else None)


def _quotation(lead: str, each: Evidence, before: ConversationMessage | None, question: Question) -> str:
    quote = wording.ended(wording.quoted(each.passage))
    if before is None:
        return f"{lead}: {quote}"
    if before.role == "ai":
        asked = [part for part in sentences(before.content) if intents.QUESTION_MARK.search(part)]
        return f"{lead}, when asked {wording.quoted(asked[-1])}: {quote}"
    said = answering(question, before.content, dict.fromkeys(question.terms, 1.0))
    return f"{lead}: {wording.quoted(said)}, then {quote}"
