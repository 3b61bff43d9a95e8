"""Episodes: what a conversation was about, told once it rests; and the running summary of one that has grown long."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ltst.db.pool import Database, SingleCall, Transaction, user_scope
from ltst.errors import ModelUnavailable
from ltst.learn.grounding import PASTED
from ltst.learn.importance import decided, importance
from ltst.learn.weigh import ACTOR
from ltst.protocols import LanguageModel
from ltst.recall.summary import MODEL_ROLES, Sentence, details, sentences, summarise
from ltst.records import ConversationMessage
from ltst.rooms import entries, events, messages, search, sessions, work
from ltst.rooms.sessions import Progress
from ltst.rooms.work import Lease, LeaseLost, Rules
from ltst.support import tokens
from ltst.support.ids import new_id
from ltst.support.logs import LOGGER

# What one episode tells of, and how long it is, in tokens.
PORTION_TOKENS = 3_000
EPISODE_TOKENS = 100
SUMMARY_TOKENS = 300
READ = 400
FEWEST_WORDS = 12
TOPICS = 6
DECISIONS = 2
# An assistant says much that nobody will ask for; what it begins with, in characters, tells enough.
OF_ASSISTANT = 400


@dataclass(frozen=True, slots=True)
class Episode:
    """What a part of a conversation was about, and the messages whose words it uses."""

    content: str
    first: ConversationMessage
    last: ConversationMessage
    sources: list[str]
    topics: list[str]


async def tell(database: Database, lease: Lease, rules: Rules, model: LanguageModel | None = None) -> None:
    """Write the episodes of a session that rests, and its running summary if it is long."""
    calls = database.user(lease.user_id)
    progress = await sessions.progress(calls, lease.subject)
    if progress is None:
        await work.finish(calls, lease)
        return
    told = await _told(calls, lease.subject, progress, rules, model)
    running = await _running(calls, lease.subject, progress, rules, model)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        if told is not None:
            await _keep(tx, lease.subject, progress, *told)
        if running is not None and not await sessions.summarised(
            tx, lease.subject, progress.summarised_index, *running
        ):
            raise LeaseLost("the session was summarised by another")
        await work.finish(tx, lease)


async def _told(
    calls: SingleCall, session_id: str, progress: Progress, rules: Rules, model: LanguageModel | None
) -> tuple[list[Episode], int] | None:
    """The episodes of what was not told yet, and up to where they tell; none while the conversation goes on."""
    if progress.last_activity >= progress.now - rules.idle:
        return None
    unread = await messages.after(calls, session_id, progress.episode_index, READ)
    if not unread:
        return [], progress.last_index
    vectors = await search.vectors(calls, [str(each.message_id) for each in unread])
    found = [await _episode(portion, vectors, model) for portion in portions(unread)]
    return [each for each in found if each is not None], unread[-1].message_index or 0


async def _episode(
    portion: Sequence[ConversationMessage], vectors: dict[str, list[float]], model: LanguageModel | None
) -> Episode | None:
    said = [own(each) for each in portion if spoken(each)]
    if sum(len(each.content.split()) for each in said) < FEWEST_WORDS:
        return None
    written = await _written(model, said, EPISODE_TOKENS)
    return await asyncio.to_thread(_composed, said, vectors, written)


async def _running(
    calls: SingleCall, session_id: str, progress: Progress, rules: Rules, model: LanguageModel | None
) -> tuple[int, str] | None:
    """Up to where the running summary of a long conversation tells, and the summary; the newer half stays raw."""
    unread = await messages.after(calls, session_id, progress.summarised_index, READ)
    # As many as can be read at once are enough, however short they are.
    long = sum(each.token_count for each in unread) > rules.tokens or len(unread) == READ
    if not long or len(unread) < 2:
        return None
    older = unread[: _half(unread)]
    said = [own(each) for each in older if spoken(each)]
    before = progress.context_summary
    written = await _written(model, said, SUMMARY_TOKENS)
    text = "\n".join([before or "", written]).strip() if written else ""
    if not text or tokens.count(text) > SUMMARY_TOKENS:
        text = await asyncio.to_thread(_condensed, before, said)
    return older[-1].message_index or 0, text


async def _written(model: LanguageModel | None, said: Sequence[ConversationMessage], max_tokens: int) -> str | None:
    """A summary in a model's own words; without one, or if it cannot or errs, the words that were said do."""
    if model is None or not said:
        return None
    from ltst.learn.model import summarised

    try:
        return await summarised(model, said, max_tokens)
    except ModelUnavailable as problem:
        LOGGER.warning("a summary goes without the model", extra={"reason": str(problem)})
        return None


async def _keep(tx: Transaction, session_id: str, progress: Progress, told: Sequence[Episode], end: int) -> None:
    if not await sessions.told(tx, session_id, progress.episode_index, end):
        raise LeaseLost("the session was told by another")
    for episode in told:
        entry_id = new_id()
        await entries.learn(
            tx,
            entry_id,
            episode.content,
            session_id=session_id,
            agent=progress.agent_name,
            importance=importance(episode.content),
            metadata=json.dumps(_metadata(episode), ensure_ascii=False),
            occurred_at=episode.first.timestamp or progress.last_activity,
        )
        await events.add(tx, ACTOR, "learn", "entry", entry_id, {"session_id": session_id})


def spoken(message: ConversationMessage) -> bool:
    """Whether it is what people and assistants said; what tools returned is nobody's word and is not retold."""
    return message.role in MODEL_ROLES and message.message_type == "message" and message.trusted


def own(message: ConversationMessage) -> ConversationMessage:
    """Without what was pasted: retold it would pass for the speaker's own words."""
    return replace(message, content=PASTED.sub("", message.content))


def portions(unread: Sequence[ConversationMessage]) -> Iterator[list[ConversationMessage]]:
    """A conversation in parts that one episode can tell."""
    part: list[ConversationMessage] = []
    held = 0
    for message in unread:
        if part and held + message.token_count > PORTION_TOKENS:
            yield part
            part, held = [], 0
        part.append(message)
        held += message.token_count
    if part:
        yield part


def _composed(said: Sequence[ConversationMessage], vectors: dict[str, list[float]], written: str | None) -> Episode:
    chosen = [each for each in sentences(said) if _tells(each, said)]
    rows = [vectors.get(str(said[each.turn].message_id)) for each in chosen]
    known = [row for row in rows if row is not None]
    text = written or summarise(chosen, known if len(known) == len(rows) else None, EPISODE_TOKENS)
    topics = _topics(chosen)
    lines = [f"About {', '.join(topics)}." if topics else "", text, *_decisions(chosen, text)]
    sources = [str(said[each.turn].message_id) for each in chosen if each.text in text]
    return Episode("\n".join(filter(None, lines)), said[0], said[-1], [*dict.fromkeys(sources)], topics)


def _tells(sentence: Sentence, said: Sequence[ConversationMessage]) -> bool:
    if sentence.speaker != "assistant":
        return True
    return sentence.text in " ".join(said[sentence.turn].content.split())[:OF_ASSISTANT]


def _topics(chosen: Iterable[Sentence]) -> list[str]:
    """The names that come most often."""
    counted = Counter(name for each in chosen for name in details(each.text) if name[0].isupper())
    return [name for name, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))[:TOPICS]]


def _decisions(chosen: Iterable[Sentence], told: str) -> list[str]:
    """What the user decided, where the summary does not tell it."""
    found = [each.text for each in chosen if each.speaker == "user" and decided(each.text) and each.text not in told]
    return [f"Decided: {text}" for text in found[:DECISIONS] if len(text) < 300]


def _metadata(episode: Episode) -> dict[str, object]:
    return {
        "messages": [episode.first.message_index, episode.last.message_index],
        "sources": episode.sources,
        "topics": episode.topics,
    }


def _half(unread: Sequence[ConversationMessage]) -> int:
    """How many of the oldest messages hold half of the tokens."""
    total, held = sum(each.token_count for each in unread), 0
    for count, message in enumerate(unread, start=1):
        held += message.token_count
        if held >= total / 2:
            return min(count, len(unread) - 1)
    return len(unread) - 1


def _condensed(summary: str | None, said: Sequence[ConversationMessage]) -> str:
    """The summary so far and what followed, in the sentences that tell most."""
    before = [_line(line, turn) for turn, line in enumerate((summary or "").splitlines()) if line.strip()]
    after = [Sentence(each.text, each.speaker, each.turn + len(before)) for each in sentences(said)]
    return summarise([*before, *after], None, SUMMARY_TOKENS)


def _line(line: str, turn: int) -> Sentence:
    """A line of an earlier summary, with its speaker as it was."""
    speaker, mark, text = line.partition(": ")
    return Sentence(text, speaker, turn) if mark and speaker in MODEL_ROLES.values() else Sentence(line, None, turn)
