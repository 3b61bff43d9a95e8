"""Forgetting on request: what would go is quoted first, and goes when the next message of the chat is a yes.

What was offered stands in the metadata of the reply that offered it, so that any process can carry it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ltst.agents import intents, wording
from ltst.agents.memories import Memory, plain, plain_fact
from ltst.agents.passages import Question, answering, covered, rarity, sentences
from ltst.agents.replies import Reply
from ltst.errors import NotFound
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage, Fact, Hit

OFFERED = "forget"  # under this key of a reply's metadata
NOT_KNOWN = "There is nothing to forget: you never told me that."
ALL = "That is everything that I know of you: `ltst erase` removes it, or DELETE /v1/user; I do not do that in a chat."
KEPT = "All right, I keep it."
DONE = "Done: I have forgotten it."
PARTLY = "Done: I have forgotten what I learnt from it. What you said stays in its chat, which can be deleted."

SEARCHED = 40
# No more is offered than can be read: what is not shown must not go.
MOST = 8
KINDS = ("message", "entry")
# How much of what is to be forgotten a memory must hold.
SHARE = 0.75


async def offer(user: AsyncUser, message: ConversationMessage, topic: str, best: Sequence[Hit]) -> Reply:
    """Say what would be forgotten; `best` is what would be told of it if it were asked for."""
    if intents.is_everything(topic):
        return Reply(ALL)
    await user.learning.catch_up()
    if topic:
        facts = await _facts(user, topic)
        hits = await _saying(user, message, topic, best)
    else:
        facts, hits = [], []
    last = None if topic else await _said_last(user, message)
    passages = [last.content] if last else _passages(topic, hits)
    if not passages and not facts:
        return Reply(NOT_KNOWN)
    offered = {
        "messages": await _messages(user, hits, facts, last),
        "facts": [each.key for each in facts],
        "entries": [hit.id for hit in hits if hit.kind == "entry" and not hit.sources],
    }
    memories: list[Memory] = [*map(plain_fact, facts), *map(plain, hits)]
    return Reply(_offering(passages, facts), tuple(memories), {OFFERED: offered})


async def offered(user: AsyncUser, message: ConversationMessage) -> ConversationMessage | None:
    """Return the reply right before a message, if it offered to forget something."""
    recent = await user.chat(message.session_id).window(6)
    earlier = [each for each in recent if (each.message_index or 0) < (message.message_index or 0)]
    last = earlier[-1] if earlier else None
    return last if last is not None and last.role == "ai" and isinstance(last.metadata.get(OFFERED), Mapping) else None


async def carry_out(user: AsyncUser, offer: ConversationMessage) -> Reply:
    """Forget what a reply offered, and the reply itself with the request, since both say it."""
    wanted: Mapping[str, Any] = offer.metadata[OFFERED]
    for key in wanted.get("facts") or ():
        await user.facts.forget(str(key))
    for entry_id in wanted.get("entries") or ():
        await user.entries.forget(str(entry_id))
    said = [(str(place), str(message_id)) for place, message_id in wanted.get("messages") or ()]
    own = [(offer.session_id, each) for each in (offer.parent_message_id, offer.message_id) if each]
    whole = [await _remove(user, *each) for each in (*said, *own)]
    return Reply(DONE if all(whole) else PARTLY)


async def _remove(user: AsyncUser, session_id: str, message_id: str) -> bool:
    """Remove a message and all that rests on it; whether it is gone."""
    remove = getattr(user.chat(session_id), "remove", None)
    if remove is None:
        return False
    with suppress(NotFound):  # somebody else removed it meanwhile
        await remove(message_id)
    return True


async def _facts(user: AsyncUser, topic: str) -> list[Fact]:
    """The facts whose key or value is what is to be forgotten."""
    question = Question.of(topic)
    known = await user.facts.list()
    weights = dict.fromkeys(question.terms, 1.0)
    return [each for each in known if covered(question, f"{each.key.replace('_', ' ')} {each.value}", weights) >= SHARE]


async def _saying(user: AsyncUser, message: ConversationMessage, topic: str, best: Sequence[Hit]) -> list[Hit]:
    """What says it: what holds nearly all of its words, and what would be told if it were asked for."""
    question = Question.of(topic)
    found = await user.search(topic, kinds=KINDS, limit=SEARCHED, without=message.content)
    weights = rarity(question, [hit.content for hit in found])
    telling = [hit for hit in found if _states(hit) and covered(question, hit.content, weights) >= SHARE]
    known = {hit.id for hit in telling}
    return [*telling, *(hit for hit in best[:1] if hit.kind in KINDS and hit.id not in known)][:MOST]


def _states(hit: Hit) -> bool:
    return not intents.is_question(hit.content) and intents.to_forget(hit.content) is None and not hit.scores.get("retold")


async def _said_last(user: AsyncUser, message: ConversationMessage) -> ConversationMessage | None:
    """What the user said before, in the same chat."""
    recent = await user.chat(message.session_id).window(8)
    earlier = [each for each in recent if each.role == "human" and (each.message_index or 0) < (message.message_index or 0)]
    return earlier[-1] if earlier else None


async def _messages(
    user: AsyncUser, hits: Sequence[Hit], facts: Sequence[Fact], last: ConversationMessage | None
) -> list[tuple[str, str]]:
    """The messages that go, each with its chat: those that say it, and those that the facts rest on."""
    ids = dict.fromkeys(source for hit in hits for source in hit.sources)
    for fact in facts:
        history = await user.facts.history(fact.key)
        ids |= dict.fromkeys(each.source_message_id for each in history if each.source_message_id)
    if last is not None and last.message_id:
        ids[last.message_id] = None
    found = [await user.message(each) for each in ids]
    return [(each.session_id, str(each.message_id)) for each in found if each is not None]


def _passages(topic: str, hits: Sequence[Hit]) -> list[str]:
    question = Question.of(topic)
    weights = rarity(question, [hit.content for hit in hits])
    return [answering(question, hit.content, weights) for hit in hits]


def _offering(passages: Sequence[str], facts: Sequence[Fact]) -> str:
    told = [f"“{each.key.replace('_', ' ')}: {wording.quotable(each.value)}”" for each in facts]
    told += [wording.quoted(each) for each in passages]
    return f"I would forget {', '.join(told)}. Say yes and it is gone; anything else leaves all as it is."
