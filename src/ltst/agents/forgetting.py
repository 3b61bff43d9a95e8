"""Forgets on request: shows what would be removed, and removes it if the next message of the chat is a yes.

The offer is stored in the metadata of the reply that made it, so that any process can carry it out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from typing import Any

from ltst.agents import intents, wording
from ltst.agents.known import is_about
from ltst.agents.memories import Memory, plain, plain_fact, plain_message
from ltst.agents.parts import parts
from ltst.agents.passages import Question, answering, covered, rarity
from ltst.agents.wording import Reply
from ltst.errors import NotFound
from ltst.handles import viewing
from ltst.handles.forgetting import Value, drop, repeating, saying, told_in
from ltst.memory import AsyncUser
from ltst.records import ME, ConversationMessage, Fact, Hit
from ltst.rooms.claims import Heard
from ltst.support.timeline import same

OFFERED = "forgets"  # the key in the metadata of the offering reply
NOT_KNOWN = "There is nothing to forget: you never told me that."
ALL = "That is all that I know of you: `ltst erase` or POST /v1/erase removes it; I do not do that in a chat."
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


async def offer(user: AsyncUser, message: ConversationMessage, topic: str, best: Sequence[Hit]) -> Reply:
    """Returns a reply that shows what would be forgotten; `best` are the hits that would answer a question about it.

    An empty topic means the user's previous message in the same chat.
    """
    if intents.is_everything(topic):
        return Reply(ALL)
    await user.learning.catch_up()
    if topic:
        going = await _going(user, await _facts(user, topic), await _saying(user, message, topic, best))
    else:
        going = Going((), (), [each for each in await _earlier(user, message) if each.role == "human"][-1:])
    return await _offering(user, topic, going) if going.memories else Reply(NOT_KNOWN)


async def offered(user: AsyncUser, message: ConversationMessage) -> ConversationMessage | None:
    """Returns the reply just before a message, if it offered to forget something."""
    last = (await _earlier(user, message))[-1:]
    return next((each for each in last if each.role == "ai" and isinstance(each.metadata.get(OFFERED), Mapping)), None)


async def carry_out(user: AsyncUser, offer: ConversationMessage) -> Reply:
    """Forgets what a reply offered, and the replies (also this one) and requests that repeat it."""
    wanted: Mapping[str, Any] = offer.metadata[OFFERED]
    values = [Value(*map(str, each)) for each in wanted["facts"]]
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
    question, known = Question.of(topic), await viewing.changes(user._desk, limit=KNOWN)
    wanted = [each for each in known if each.rejected_at is None and is_about(question, each)]
    wanted.sort(key=lambda each: each.valid_to is None)
    return [*{_value(each): each for each in wanted}.values()][::-1]


async def _saying(user: AsyncUser, message: ConversationMessage, topic: str, best: Sequence[Hit]) -> list[Hit]:
    """Returns hits that contain nearly all words of the topic, and the one that would answer a question about it."""
    question = Question.of(topic)
    found = await user.search(topic, kinds=KINDS, limit=SEARCHED, without=message.content)
    weights = rarity(question, [hit.content for hit in found])
    telling = [hit for hit in found if _states(hit) and covered(question, hit.content, weights) >= SHARE]
    known = {hit.id for hit in telling}
    told = [hit for hit in best[:1] if hit.kind in KINDS and hit.id not in known and _states(hit)]
    return [*telling, *told][:MOST]


def _states(hit: Hit) -> bool:
    said = parts(hit.content)
    asks = not (said.told or said.pasted) or intents.to_forget(hit.content) is not None
    return not asks and intents.courtesy(hit.content) is None and not wording.is_own(hit)


async def _earlier(user: AsyncUser, message: ConversationMessage) -> list[ConversationMessage]:
    """Returns the turns of a chat just before a message."""
    recent = await user.chat(message.session_id).window(RECENT)
    return [each for each in recent if (each.message_index or 0) < (message.message_index or 0)]


async def _going(user: AsyncUser, facts: Sequence[Fact], hits: Sequence[Hit]) -> Going:
    """Returns what to remove for some facts and hits, with as many of their messages as can be shown.

    A fact is included only with all messages that state it; the others would let it be learned again.
    """
    said = {each.fact_id: await saying(user._desk, _value(each)) for each in facts}
    ids = dict.fromkeys(
        [each for ids in said.values() for each in ids] + [each for hit in hits for each in hit.sources]
    )
    shown = [*ids][:MOST]
    found = [await user.message(each) for each in shown]
    return Going(
        [each for each in facts if {*said[each.fact_id]} <= {*shown}],
        [hit for hit in hits if hit.kind == "entry"],
        [each for each in found if each is not None],
        len(ids) - len(shown),
    )


def _value(fact: Fact) -> Value:
    return Value(fact.key, fact.about, fact.value)


async def _offering(user: AsyncUser, topic: str, going: Going) -> Reply:
    """Returns an offer that shows everything to be removed, so that nothing disappears unseen."""
    question = Question.of(topic)
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
        "facts": [astuple(_value(each)) for each in going.facts],
        "entries": [each.id for each in going.entries],
        "quotes": [wording.quotable(each) for each in passages if len(each.split()) >= QUOTED_WORDS],
    }
    return Reply(wording.offer(listed, going.left), going.memories, {OFFERED: wanted})


def _is_among(claim: Heard, facts: Sequence[Fact]) -> bool:
    own = [each for each in facts if claim.noun == "fact" and each.about == ME and each.key == claim.claim_key]
    return any(same(each.value, claim.claim_value) for each in own)


def _with_it(message: ConversationMessage, passage: str, also: Sequence[Heard]) -> str:
    """Returns a note on what else disappears with a message of which only a passage is shown."""
    notes = [] if passage == " ".join(message.content.split()) else ["with the rest of that message"]
    lines = dict.fromkeys(wording.quotable(_line(each)) for each in also)
    notes += [f"which also says {'; '.join(lines)}"] if lines else []
    return f" ({', '.join(notes)})" if notes else ""


def _line(claim: Heard) -> str:
    told = claim.claim_value
    return told if claim.noun == "instruction" else f"{wording.spoken(claim.claim_key)}: {told}"
