"""Forgetting on request: what would go is quoted first, and goes when the next message of the chat is a yes.

What was offered stands in the metadata of the reply that offered it, so that any process can carry it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ltst.agents import intents, wording
from ltst.agents.known import is_about
from ltst.agents.memories import Memory, plain, plain_fact, plain_message
from ltst.agents.passages import Question, answering, covered, rarity
from ltst.agents.wording import Reply
from ltst.errors import NotFound
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage, Fact, Hit

OFFERED = "forget"  # under this key of a reply's metadata
NOT_KNOWN = "There is nothing to forget: you never told me that."
ALL = "That is all that I know of you: `ltst erase` or POST /v1/erase removes it; I do not do that in a chat."
KEPT = "All right, I keep it."
DONE = "Done: I have forgotten it."

SEARCHED = 40
RECENT = 8
# No more is offered than can be read: what is not shown must not go.
MOST = 8
KINDS = ("message", "entry")
# How much of what is to be forgotten a memory must hold.
SHARE = 0.75


async def offer(user: AsyncUser, message: ConversationMessage, topic: str, best: Sequence[Hit]) -> Reply:
    """Say what would be forgotten; `best` is what would be told of it if it were asked for."""
    if intents.is_everything(topic):
        return Reply(ALL)
    if not topic:
        return await _offer_last(user, message)
    await user.learning.catch_up()
    facts, hits = await _facts(user, topic), await _saying(user, message, topic, best)
    if not facts and not hits:
        return Reply(NOT_KNOWN)
    passages = _passages(topic, hits)
    sources = [*(source for hit in hits for source in hit.sources), *await _sources(user, facts)]
    wanted = {
        "messages": await _places(user, [*sources, *await _echoes(user, passages)]),
        "facts": [(each.key, each.about) for each in facts],
        "entries": [hit.id for hit in hits if hit.kind == "entry" and not hit.sources],
    }
    memories: list[Memory] = [*map(plain_fact, facts), *map(plain, hits)]
    return Reply(_offering(passages, facts), tuple(memories), {OFFERED: wanted})


async def offered(user: AsyncUser, message: ConversationMessage) -> ConversationMessage | None:
    """Returns the reply right before a message, if it offered to forget something."""
    last = (await _earlier(user, message))[-1:]
    return next((each for each in last if each.role == "ai" and isinstance(each.metadata.get(OFFERED), Mapping)), None)


async def carry_out(user: AsyncUser, offer: ConversationMessage) -> Reply:
    """Forget what a reply offered, and the reply itself with the request, since both say it."""
    wanted: Mapping[str, Any] = offer.metadata[OFFERED]
    for key, about in wanted.get("facts") or ():
        await user.facts.forget(str(key), about=str(about))
    for entry_id in wanted.get("entries") or ():
        await user.entries.forget(str(entry_id))
    said = [(str(place), str(message_id)) for place, message_id in wanted.get("messages") or ()]
    own = [(offer.session_id, each) for each in (offer.parent_message_id, offer.message_id) if each]
    for session_id, message_id in (*said, *own):
        with suppress(NotFound):  # somebody else removed it meanwhile
            await user.chat(session_id).remove(message_id)
    return Reply(DONE)


async def _facts(user: AsyncUser, topic: str) -> list[Fact]:
    """Returns the facts that are what is to be forgotten."""
    question = Question.of(topic)
    return [each for each in await user.facts.list() if is_about(question, each)]


async def _saying(user: AsyncUser, message: ConversationMessage, topic: str, best: Sequence[Hit]) -> list[Hit]:
    """Returns what says it: what holds nearly all of its words, and what would be told if it were asked for."""
    question = Question.of(topic)
    found = await user.search(topic, kinds=KINDS, limit=SEARCHED, without=message.content)
    weights = rarity(question, [hit.content for hit in found])
    telling = [hit for hit in found if _states(hit) and covered(question, hit.content, weights) >= SHARE]
    known = {hit.id for hit in telling}
    return [*telling, *(hit for hit in best[:1] if hit.kind in KINDS and hit.id not in known)][:MOST]


def _states(hit: Hit) -> bool:
    asks = intents.is_question(hit.content) or intents.to_forget(hit.content) is not None
    return not asks and not wording.is_own(hit)


async def _offer_last(user: AsyncUser, message: ConversationMessage) -> Reply:
    """Offer to forget what the user said before, in the same chat."""
    said = [each for each in await _earlier(user, message) if each.role == "human"]
    if not said:
        return Reply(NOT_KNOWN)
    passages = [said[-1].content]
    ids = [str(said[-1].message_id), *await _echoes(user, passages)]
    wanted = {"messages": await _places(user, ids), "facts": [], "entries": []}
    return Reply(_offering(passages, ()), (plain_message(said[-1]),), {OFFERED: wanted})


async def _earlier(user: AsyncUser, message: ConversationMessage) -> list[ConversationMessage]:
    """Returns the turns of a chat right before a message."""
    recent = await user.chat(message.session_id).window(RECENT)
    return [each for each in recent if (each.message_index or 0) < (message.message_index or 0)]


async def _sources(user: AsyncUser, facts: Sequence[Fact]) -> list[str]:
    """Returns the messages that some facts, and what held before them, rest on."""
    history = [each for fact in facts for each in await user.facts.history(fact.key, about=fact.about)]
    return [each.source_message_id for each in history if each.source_message_id]


async def _echoes(user: AsyncUser, passages: Sequence[str]) -> list[str]:
    """Returns the replies that quote what is to be forgotten."""
    found = [hit for each in passages for hit in await user.search(each, kinds=("message",), limit=SEARCHED)]
    quotes = [wording.quotable(each) for each in passages]
    return [hit.id for hit in found if hit.role == "ai" and any(quote in hit.content for quote in quotes)]


async def _places(user: AsyncUser, ids: Sequence[str]) -> list[tuple[str, str]]:
    """Messages, each once, with the chat that it stands in."""
    found = [await user.message(each) for each in dict.fromkeys(ids)]
    return [(each.session_id, str(each.message_id)) for each in found if each is not None]


def _passages(topic: str, hits: Sequence[Hit]) -> list[str]:
    question = Question.of(topic)
    weights = rarity(question, [hit.content for hit in hits])
    return [answering(question, hit.content, weights) for hit in hits]


def _offering(passages: Sequence[str], facts: Sequence[Fact]) -> str:
    told = [wording.quoted(f"{wording.spoken(each.label)}: {each.value}") for each in facts]
    told += [wording.quoted(each) for each in passages]
    return f"{wording.OFFER} {', '.join(told)}. Say yes and it is gone; anything else leaves all as it is."
