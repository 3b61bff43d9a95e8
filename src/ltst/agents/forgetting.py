"""Forgets on request: shows what would be removed, and removes it if the next message of the chat is a yes.

The offer is stored in the metadata of the reply that made it, so that any process can carry it out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from typing import Any

from ltst.agents import intents, wording
from ltst.agents.known import is_about
from ltst.agents.memories import Memory, plain, plain_fact, plain_message
from ltst.agents.parts import parts
from ltst.agents.passages import UserQuestion, answering, covered, rarity
from ltst.agents.wording import Reply
from ltst.errors import NotFound
from ltst.handles import viewing
from ltst.handles.forgetting import FactValue, drop, repeating, saying, told_in
from ltst.memory import AsyncUser
from ltst.records import ME, ConversationMessage, Fact, Hit
from ltst.rooms.claims import StoredClaim
from ltst.support.terms import terms
from ltst.support.timeline import same

OFFERED = "forgets"  # the key in the metadata of the offering reply
NOT_KNOWN = "There is nothing to forget: you never told me that."
ALL = "That is all that I know of you: `ltst erase` or POST /v1/erase removes it; I do not do that in a chat."
UNNAMED = "I am not sure what you mean: say “forget” and what it is about."
KEPT = "All right, I keep it."
DONE = "Done: I have forgotten it."
NOT_OFFERED = "All right, but there is nothing to confirm in this chat: nothing was changed."

SEARCHED, KNOWN = 40, 1000
RECENT = 8
# Never offers more than can be shown, because what is not shown must not be removed.
MOST = 8
KINDS = ("message", "entry")
# Share of the topic's words that a memory must contain.
SHARE = 0.75
# Fewer words may coincide by chance and do not count as a quote.
QUOTED_WORDS = 4


# Finds the hits that would answer a question about a topic.
Best = Callable[[str], Awaitable[Sequence[Hit]]]


@dataclass(frozen=True, slots=True)
class Going:
    """What would be removed: facts, entries and messages, and how many more messages say the same."""

    facts: Sequence[Fact]
    entries: Sequence[Hit]
    messages: Sequence[ConversationMessage]
    left: int = 0

    @property
    def memories(self) -> tuple[Memory, ...]:
        """Returns all of it as the memories that the offer rests on."""
        return *map(plain_fact, self.facts), *map(plain, self.entries), *map(plain_message, self.messages)


async def offer(user: AsyncUser, message: ConversationMessage, topic: str, best: Best) -> Reply:
    """Returns a reply that shows what would be forgotten; `best` finds the hits that answer a question about a topic.

    An empty topic means what was said last in the same chat.
    """
    if intents.is_everything(topic):
        return Reply(ALL)
    await user.learning.catch_up()
    if not topic:
        return await _pointed_at(user, message)
    facts, hits = await _find(user, message, topic, best)
    going = await _plan_removal(user, facts, hits)
    return await _make_offer(user, topic, going) if going.memories else Reply(NOT_KNOWN)


async def _pointed_at(user: AsyncUser, message: ConversationMessage) -> Reply:
    """Returns an offer to forget what the user said last, or, after a question, what the answer to it told."""
    earlier = await _earlier(user, message)
    said = [each for each in earlier if each.role == "human" and _is_said(each.content)][-1:]
    if said and _tells_something(said[0].content):
        return await _make_offer(user, "", Going((), (), said))
    replies = [each for each in earlier if each.role == "ai" and said and each.parent_message_id == said[0].message_id]
    if any(each.content.startswith(wording.KNOWN) for each in replies):
        return Reply(ALL)
    ids = {str(memory["id"]) for each in replies for memory in each.metadata.get("memories") or ()}
    facts = [each for each in await viewing.changes(user._desk, limit=KNOWN) if each.fact_id in ids]
    found = [each for each in (await viewing.messages_by_id(user._desk, ids)).values() if each.role == "human"]
    going = await _plan_removal(user, facts, (), [str(each.message_id) for each in found])
    return await _make_offer(user, "", going) if going.memories else Reply(UNNAMED)


def _is_said(text: str) -> bool:
    """Returns whether a message says or asks something, besides a request to forget and politeness."""
    polite = intents.agrees(text) or intents.refuses(text) or intents.courtesy(text) is not None
    return not polite and intents.to_forget(text) is None


def _tells_something(text: str) -> bool:
    said = parts(text)
    return bool(said.told or said.pasted)


async def offered(user: AsyncUser, message: ConversationMessage) -> ConversationMessage | None:
    """Returns the reply just before a message, if it offered to forget something."""
    last = (await _earlier(user, message))[-1:]
    return next((each for each in last if each.role == "ai" and isinstance(each.metadata.get(OFFERED), Mapping)), None)


async def carry_out(user: AsyncUser, offer: ConversationMessage) -> Reply:
    """Forgets what a reply offered, and the replies (also this one) and requests that repeat it."""
    wanted: Mapping[str, Any] = offer.metadata[OFFERED]
    values = [FactValue(*map(str, each)) for each in wanted["facts"]]
    messages, entries = [*map(str, wanted["messages"])], [*map(str, wanted["entries"])]
    # Read first, because replies are found by the messages that they answer.
    replies = await repeating(user._desk, values, [*messages, *entries], [*map(str, wanted["quotes"])])
    requests = await _requests(user, [*replies, offer])
    for each in dict.fromkeys([*messages, *(str(reply.message_id) for reply in replies), *requests]):
        await _remove(user, each)
    for value in values:
        await drop(user._desk, value)
    for entry_id in entries:
        await user.entries.forget(entry_id)
    await _remove(user, str(offer.message_id))
    return Reply(DONE)


async def _remove(user: AsyncUser, message_id: str) -> None:
    message = await user.message(message_id)
    with suppress(NotFound):  # somebody else removed it meanwhile
        if message is not None:
            await user.chat(message.session_id).remove(message_id)


async def _requests(user: AsyncUser, replies: Sequence[ConversationMessage]) -> list[str]:
    """Returns the ids of the requests that led to the offers among some replies."""
    ids = [each.parent_message_id for each in replies if OFFERED in each.metadata and each.parent_message_id]
    asked = [await user.message(each) for each in ids]
    # If a request was removed, its offer now has an earlier message as parent, which may not be a request.
    return [str(each.message_id) for each in asked if each is not None and intents.to_forget(each.content) is not None]


async def _facts(user: AsyncUser, topic: str) -> list[Fact]:
    """Returns the facts to forget, one per value, current ones first.

    "My home" matches all values, so that no former one becomes current again; "that I live in York" matches one.
    """
    question, known = UserQuestion.of(topic), await viewing.changes(user._desk, limit=KNOWN)
    wanted = [each for each in known if each.rejected_at is None and is_about(question, each)]
    wanted.sort(key=lambda each: each.valid_to is None)
    return [*{_value_of(each): each for each in wanted}.values()][::-1]


async def _find(user: AsyncUser, message: ConversationMessage, topic: str, best: Best) -> tuple[list[Fact], list[Hit]]:
    """Returns the facts and hits on a topic; those on each of several topics if nothing is on all of them."""
    facts, telling = await _facts(user, topic), await _find_telling(user, message, topic)
    several = intents.topics(topic)
    if not facts and not telling and len(several) > 1:
        found = [await _find(user, message, each, best) for each in several]
        return [fact for own, _ in found for fact in own], [hit for _, own in found for hit in own]
    known = {hit.id for hit in telling}
    told = [hit for hit in (await best(topic))[:1] if hit.kind in KINDS and hit.id not in known and _words(hit, topic)]
    return facts, [*telling, *told]


async def _find_telling(user: AsyncUser, message: ConversationMessage, topic: str) -> list[Hit]:
    """Returns hits that contain nearly all words of the topic."""
    question = UserQuestion.of(topic)
    found = await user.search(topic, kinds=KINDS, limit=SEARCHED, without=message.content)
    weights = rarity(question, [hit.content for hit in found])
    return [hit for hit in found if covered(question, _words(hit, topic), weights) >= SHARE]


def _words(hit: Hit, topic: str) -> str:
    """Returns the words of a hit that may be on a topic: none of a question, of politeness and of retold words.

    A pasted text is not on "my cat", for whoever wrote it has another one; the line that announces it may be.
    """
    if wording.is_own(hit) or not _is_said(hit.content):
        return ""
    if hit.kind != "message" or hit.role != "human":
        return hit.content
    said = parts(hit.content)
    if not wording.MY.match(topic):
        return f"{said.told}\n{said.pasted}".strip()
    announced = said.pasted.partition("\n")[0]
    return said.told if set(terms(announced)).isdisjoint(terms(topic)) else f"{said.told}\n{announced}".strip()


async def _earlier(user: AsyncUser, message: ConversationMessage) -> list[ConversationMessage]:
    """Returns the turns of a chat just before a message."""
    recent = await user.chat(message.session_id).window(RECENT)
    return [each for each in recent if (each.message_index or 0) < (message.message_index or 0)]


async def _plan_removal(user: AsyncUser, facts: Sequence[Fact], hits: Sequence[Hit], also: Sequence[str] = ()) -> Going:
    """Returns what to remove for some facts, hits and messages, with as many messages as can be shown.

    A fact is included only with all messages that state it; the others would let it be learned again.
    """
    said = {each.fact_id: await saying(user._desk, _value_of(each)) for each in facts}
    ids = dict.fromkeys(
        [each for ids in said.values() for each in ids] + [each for hit in hits for each in hit.sources] + [*also]
    )
    shown = [*ids][:MOST]
    found = [await user.message(each) for each in shown]
    return Going(
        [each for each in facts if {*said[each.fact_id]} <= {*shown}],
        [hit for hit in hits if hit.kind == "entry"][:MOST],
        [each for each in found if each is not None],
        len(ids) - len(shown),
    )


def _value_of(fact: Fact) -> FactValue:
    return FactValue(fact.key, fact.about, fact.value)


async def _make_offer(user: AsyncUser, topic: str, going: Going) -> Reply:
    """Returns an offer that shows everything to be removed, so that nothing disappears unseen."""
    question = UserQuestion.of(topic)
    contents = [each.content for each in going.entries] + [each.content for each in going.messages]
    weights = rarity(question, contents)
    passages = [answering(question, each, weights) for each in contents]
    told = await told_in(user._desk, [str(each.message_id) for each in going.messages])
    listed = [wording.quoted(f"{wording.spoken(each.label)}: {each.value}") for each in going.facts]
    listed += map(wording.quoted, passages[: len(going.entries)])
    for message, passage in zip(going.messages, passages[len(going.entries) :], strict=True):
        also = [each for each in told if each.message_id == message.message_id and not _is_among(each, going.facts)]
        listed.append(f"{wording.quoted(passage)}{_with_it(message, passage, also)}")
    wanted = {
        "messages": [str(each.message_id) for each in going.messages],
        "facts": [astuple(_value_of(each)) for each in going.facts],
        "entries": [each.id for each in going.entries],
        "quotes": [wording.quotable(each) for each in passages if len(each.split()) >= QUOTED_WORDS],
    }
    return Reply(wording.offer(listed, going.left), going.memories, {OFFERED: wanted})


def _is_among(claim: StoredClaim, facts: Sequence[Fact]) -> bool:
    own = [each for each in facts if claim.noun == "fact" and each.about == ME and each.key == claim.claim_key]
    return any(same(each.value, claim.claim_value) for each in own)


def _with_it(message: ConversationMessage, passage: str, also: Sequence[StoredClaim]) -> str:
    """Returns a note on what else disappears with a message of which only a passage is shown."""
    notes = [] if passage == " ".join(message.content.split()) else ["with the rest of that message"]
    lines = dict.fromkeys(wording.quotable(_describe_claim(each)) for each in also)
    notes += [f"which also says {'; '.join(lines)}"] if lines else []
    return f" ({', '.join(notes)})" if notes else ""


def _describe_claim(claim: StoredClaim) -> str:
    told = claim.claim_value
    return told if claim.noun == "instruction" else f"{wording.spoken(claim.claim_key)}: {told}"
