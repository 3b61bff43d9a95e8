"""Stores what a user says and lets an agent answer; the answer is completed and stored even if nobody listens."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ltst.agents.cache import Executors, ExecutorStats
from ltst.agents.executor import AgentExecutor
from ltst.agents.feed import Feed
from ltst.agents.loader import NO_MODEL, Agent, Agents
from ltst.agents.memories import Memory, kept
from ltst.agents.tasks import Tasks
from ltst.errors import Conflict, LtstError, ModelUnavailable, NotFound, Unanswered
from ltst.memory import AsyncChat, AsyncMemory, AsyncUser
from ltst.providers.endpoint import model_endpoint
from ltst.recall.context import Context
from ltst.records import ConversationMessage
from ltst.support import validate
from ltst.support.logs import LOGGER

GRACE = 30.0
# Chat ids of chats that begin with a key are derived from it, so that a repeated request finds the same chat.
KEYED_CHATS = uuid.UUID("6f2b1c58-6a5d-5f0e-9a3c-0f4f5b7f2d11")


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The result of a turn. `memories` are plain values: kind, id, content, date, session_id, score, sources.

    A long content is cut, at `memories.LONGEST_CONTENT` characters. For a repeated turn they have only kind and id,
    because only those are stored.
    """

    chat_id: str
    agent: str
    model: str | None
    reply: str
    message_id: str
    reply_id: str
    memories: tuple[Memory, ...]


@dataclass(frozen=True, slots=True)
class TurnStats:
    """How many turns are running, how many ended in which way, and the counts of executors."""

    under_way: int
    answered: int
    failed: int
    repeated: int
    executors: ExecutorStats


class Turn:
    """One turn, running or done. It continues even if nobody listens."""

    def __init__(self, chat: AsyncChat, agent: Agent, message: ConversationMessage) -> None:
        """Created by `Turns.begin`."""
        self.chat, self.agent, self.message = chat, agent, message
        self.chat_id, self.message_id = chat.session_id, str(message.message_id)
        self.feed: Feed[str, TurnResult] = Feed()
        self.context: Context | None = None  # the prompt sent to the model, once it has answered

    def pieces(self) -> AsyncIterator[str]:
        """Returns the text of the answer from its beginning, as it arrives; raises what `done` raises."""
        return self.feed.parts()

    async def done(self) -> TurnResult:
        """Returns the result once the answer is stored; raises Unanswered if the model gave none."""
        return await self.feed.result()

    @property
    def reply_key(self) -> str:
        """Returns the key that ensures the answer is stored only once."""
        return f"reply:{self.message_id}"


class Turns:
    """Runs the turns of chats for one memory, which the caller opens before and closes afterwards."""

    def __init__(self, memory: AsyncMemory) -> None:
        """Takes everything from the settings of the memory."""
        self.agents = Agents(memory.settings)
        self._most = memory.settings.max_content_bytes
        self._endpoint = model_endpoint(memory.settings)
        self._executors = Executors(memory.settings, self._endpoint)
        self._tasks = Tasks()
        self._live: dict[tuple[str, str], Turn] = {}  # by user and message
        self._latest: dict[tuple[str, str], Turn] = {}  # by user and chat
        self._answered = self._failed = self._repeated = 0

    async def begin(
        self,
        user: AsyncUser,
        message: str,
        *,
        chat_id: str | None = None,
        agent_name: str | None = None,
        key: str | None = None,
    ) -> Turn:
        """Stores what the user says and starts to answer it; returns the turn.

        Without a `chat_id` a new chat begins. Without an `agent_name` the chat's agent answers, else the default one. A
        request repeated with the same `key` is stored once and gets the same answer.
        """
        # The caller may disconnect at any moment, but a stored message must still get its answer.
        return await self._tasks.run(self._begin(user, message, chat_id, agent_name, key))

    async def close(self, grace: float = GRACE) -> None:
        """Refuses new turns, waits at most `grace` seconds for running ones, and closes everything."""
        await self._tasks.close(grace)
        self._executors.close()
        if self._endpoint is not None:
            await self._endpoint.close()

    def stats(self) -> TurnStats:
        """Returns the counts of turns and executors, for metrics."""
        return TurnStats(len(self._live), self._answered, self._failed, self._repeated, self._executors.stats())

    async def _begin(
        self, user: AsyncUser, message: str, chat_id: str | None, agent_name: str | None, key: str | None
    ) -> Turn:
        agent = await self._agent(user, chat_id, agent_name)
        named = str(uuid.uuid5(KEYED_CHATS, key)) if isinstance(key, str) and chat_id is None else chat_id
        chat = user.chat(named, agent=agent.name)
        turn = Turn(chat, agent, await chat.add("user", message, key=key))
        # No await until the task starts, so that a message never has two turns at once.
        known = self._live.get((user.user_id, turn.message_id))
        if known is not None:
            self._repeated += 1
            return known
        self._live[user.user_id, turn.message_id] = turn
        self._tasks.start(self._run(user, turn, keyed=key is not None))
        return turn

    async def _agent(self, user: AsyncUser, chat_id: str | None, name: str | None) -> Agent:
        """Returns the named agent, else the one the chat began with, else the default one."""
        if name is not None:
            return self.agents.get(validate.identifier(name, "agent"))
        session = None if chat_id is None else await user.sessions.get(chat_id)
        if session is not None and session.agent_name is not None:
            with suppress(NotFound):
                return self.agents.get(session.agent_name)
        return self.agents.get()

    async def _run(self, user: AsyncUser, turn: Turn, *, keyed: bool) -> None:
        """Answers a message after the earlier ones of its chat; with a key, uses an answer that is already stored."""
        place = (user.user_id, turn.chat_id)
        before = self._latest.get(place)
        self._latest[place] = turn
        try:
            # Checked after the turn is registered; otherwise an answer stored in between would be generated again.
            reply = await turn.chat.keyed(turn.reply_key) if keyed else None
            if reply is None:
                if before is not None:
                    await before.feed.over()
                result = await self._answer(await self._executors.get(user, turn.agent), turn)
            else:
                result = _repeat_reply(turn, reply)
        except asyncio.CancelledError:
            self._fail(user, turn, ModelUnavailable("the server shut down before the answer was complete"))
            raise
        except Exception as problem:  # noqa: BLE001 - listeners must get every error
            self._fail(user, turn, problem)
        else:
            self._answered += reply is None
            self._repeated += reply is not None
            self._live.pop((user.user_id, turn.message_id))
            turn.feed.end(result)
        finally:
            if self._latest.get(place) is turn:
                del self._latest[place]

    def _fail(self, user: AsyncUser, turn: Turn, problem: Exception) -> None:
        self._failed += 1
        self._live.pop((user.user_id, turn.message_id))
        if not isinstance(problem, LtstError):
            LOGGER.error("a turn failed", exc_info=problem)
        if isinstance(problem, ModelUnavailable):
            problem = Unanswered(str(problem), chat_id=turn.chat_id, message_id=turn.message_id)
        turn.feed.fail(problem)

    async def _answer(self, executor: AgentExecutor, turn: Turn) -> TurnResult:
        said: list[str] = []
        memories: Sequence[Memory] = ()
        about: Mapping[str, Any] = {}
        size = 0
        async for piece in executor.reply(turn.chat, turn.message):
            if piece.text:
                size += len(piece.text.encode())
                if size > self._most:
                    raise ModelUnavailable(f"the answer is longer than {self._most:,} bytes of UTF-8")
                said.append(piece.text)
                turn.feed.put(piece.text)
            memories, about = piece.memories or memories, piece.about or about
            turn.context = piece.context or turn.context
        text = "".join(said)
        if not text.strip():
            raise ModelUnavailable("the model gave an empty answer")
        return await _store_reply(turn, executor.model, text, memories, about)


async def _store_reply(
    turn: Turn, model: str | None, text: str, memories: Sequence[Memory], about: Mapping[str, Any]
) -> TurnResult:
    """Stores the answer and returns it; if another process was faster, returns that answer."""
    noted = {**about, "agent": turn.agent.name, "model": model or NO_MODEL, "memories": kept(memories)}
    if model is None:
        noted["retold"] = True  # it only quotes, so searches rank its sources before it
    try:
        reply = await turn.chat.add("assistant", text, key=turn.reply_key, parent=turn.message_id, metadata=noted)
    except Conflict:
        faster = await turn.chat.keyed(turn.reply_key)
        if faster is None:
            raise
        return _result(turn, faster, _model_of(faster), _rested_on(faster))
    return _result(turn, reply, model, tuple(memories))


def _repeat_reply(turn: Turn, reply: ConversationMessage) -> TurnResult:
    """Returns the stored answer to a repeated request and sends it to the listeners."""
    turn.feed.put(reply.content)
    return _result(turn, reply, _model_of(reply), _rested_on(reply))


def _model_of(reply: ConversationMessage) -> str | None:
    """Returns the model that wrote a stored answer; None if it was made without one."""
    model = reply.metadata.get("model")
    return None if model == NO_MODEL else model


def _rested_on(reply: ConversationMessage) -> tuple[Memory, ...]:
    noted = reply.metadata.get("memories")
    return tuple(noted) if isinstance(noted, list) else ()


def _result(turn: Turn, reply: ConversationMessage, model: str | None, memories: tuple[Memory, ...]) -> TurnResult:
    agent = str(reply.metadata.get("agent") or turn.agent.name)
    return TurnResult(turn.chat_id, agent, model, reply.content, turn.message_id, str(reply.message_id), memories)
