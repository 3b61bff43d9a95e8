"""Episodes: tell what a conversation was about once it is idle, and keep a running summary of a long one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from ltst.db.pool import Database, SingleCall, Transaction, user_scope
from ltst.errors import ModelUnavailable
from ltst.learn.weigh import ACTOR
from ltst.protocols import LanguageModel
from ltst.records import ConversationMessage
from ltst.retelling.composing import EPISODE_TOKENS, SUMMARY_TOKENS, Episode, composed, condensed, said
from ltst.retelling.importance import importance
from ltst.rooms import events, messages, search, sessions, work
from ltst.rooms.sessions import Progress
from ltst.rooms.work import Lease, WorkRules
from ltst.support import tokens
from ltst.support.child import Limits
from ltst.support.children import LEARNING
from ltst.support.ids import new_id
from ltst.support.logs import LOGGER
from ltst.support.text import scoped_hash, sha256

# How much of a conversation one episode covers, in tokens.
PORTION_TOKENS = 3_000
READ = 400
FEWEST_WORDS = 12


async def tell(database: Database, lease: Lease, rules: WorkRules, model: LanguageModel | None = None) -> None:
    """Writes the episodes of an idle session, and its running summary if it is long."""
    calls = database.user(lease.user_id)
    progress = await sessions.progress(calls, lease.subject)
    if progress is None:
        await work.finish(calls, lease)
        return
    new = await _new_episodes(calls, lease.subject, progress, rules, model)
    running = await _running_summary(calls, lease.subject, progress, rules, model)
    async with database.transaction(user_scope(lease.user_id)) as tx:
        if new is not None:
            await _keep(tx, lease.subject, progress, *new)
        if running is not None:
            end, summary = running
            await work.reached(
                tx, "sessions.summarised", lease.subject, progress.summarised_index, end, summary=summary
            )
        await work.finish(tx, lease)


async def _new_episodes(
    calls: SingleCall, session_id: str, progress: Progress, rules: WorkRules, model: LanguageModel | None
) -> tuple[list[Episode], int] | None:
    """Returns the episodes of new messages and the index they reach; None while the conversation goes on."""
    if progress.last_activity >= progress.now - rules.idle:
        return None
    unread = await messages.after(calls, session_id, progress.episode_index, READ)
    if not unread:
        return [], progress.last_index
    vectors = await search.vectors(calls, [str(each.message_id) for each in unread])
    found = [await _episode(calls, portion, vectors, rules.limits, model) for portion in portions(unread)]
    return [each for each in found if each is not None], unread[-1].message_index or 0


async def _episode(
    calls: SingleCall,
    portion: Sequence[ConversationMessage],
    vectors: dict[str, list[float]],
    limits: Limits,
    model: LanguageModel | None,
) -> Episode | None:
    user_id = str(calls.scope.user_id)
    spoken = await LEARNING.one(said, portion, limits=limits, owner=user_id)
    if sum(len(each.content.split()) for each in spoken) < FEWEST_WORDS:
        return None
    written = await _write_summary(model, spoken, EPISODE_TOKENS, limits, user_id)
    return await LEARNING.one(composed, spoken, vectors, written, limits=limits, owner=user_id)


async def _running_summary(
    calls: SingleCall, session_id: str, progress: Progress, rules: WorkRules, model: LanguageModel | None
) -> tuple[int, str] | None:
    """Returns how far the running summary of a long conversation reaches, and its text; the newer half is left out."""
    unread = await messages.after(calls, session_id, progress.summarised_index, READ)
    # A full read counts as long, however short the messages are.
    long = sum(each.token_count for each in unread) > rules.tokens or len(unread) == READ
    if not long or len(unread) < 2:
        return None
    older = unread[: _half(unread)]
    user_id, before = str(calls.scope.user_id), progress.context_summary
    spoken = await LEARNING.one(said, older, limits=rules.limits, owner=user_id)
    written = await _write_summary(model, spoken, SUMMARY_TOKENS, rules.limits, user_id)
    text = "\n".join([before or "", written]).strip() if written else ""
    if not text or tokens.count(text) > SUMMARY_TOKENS:
        text = await LEARNING.one(condensed, before, spoken, limits=rules.limits, owner=user_id)
    return older[-1].message_index or 0, text


async def _write_summary(
    model: LanguageModel | None, spoken: Sequence[ConversationMessage], max_tokens: int, limits: Limits, user_id: str
) -> str | None:
    """Returns a summary written by a model; None without a model, or if it fails or errs."""
    if model is None or not spoken:
        return None
    from ltst.retelling.summaries import summarised

    try:
        return await summarised(model, spoken, max_tokens, limits=limits, owner=user_id)
    except ModelUnavailable as problem:
        LOGGER.warning("a summary goes without the model", extra={"reason": str(problem)})
        return None


async def _keep(tx: Transaction, session_id: str, progress: Progress, told: Sequence[Episode], end: int) -> None:
    await work.reached(tx, "sessions.told", session_id, progress.episode_index, end)
    for episode in told:
        entry_id = new_id()
        await tx.run(
            "entries.learn",
            entry_id=entry_id,
            content=episode.content,
            content_hash=scoped_hash(session_id, sha256(episode.content)),  # a text is kept once for each session
            session_id=session_id,
            agent=progress.agent_name,
            importance=importance(episode.content),
            metadata=json.dumps(episode.metadata, ensure_ascii=False),
            occurred_at=episode.first.timestamp or progress.last_activity,
        )
        await events.add(tx, ACTOR, "learn", "entry", entry_id, {"session_id": session_id})


def portions(unread: Sequence[ConversationMessage]) -> Iterator[list[ConversationMessage]]:
    """Splits a conversation into portions that one episode can cover."""
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


def _half(unread: Sequence[ConversationMessage]) -> int:
    """Returns how many of the oldest messages hold half of the tokens."""
    total, held = sum(each.token_count for each in unread), 0
    for count, message in enumerate(unread, start=1):
        held += message.token_count
        if held >= total / 2:
            return min(count, len(unread) - 1)
    return len(unread) - 1
