"""A conversation for synchronous code: turns run on an event loop of their own, as in the server."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Self

from ltst.agents.turns import TurnResult, Turns
from ltst.doors.cli import show
from ltst.errors import LtstError, NotFound
from ltst.memory import AsyncMemory
from ltst.records import Fact
from ltst.settings import Settings
from ltst.support.portal import Portal

GRACE = 30.0


class Talk:
    """What one user says, and what an agent answers. Use it inside `with`.

    `chat_id` is None until something was said; `last` is the latest answer, with what it rests on.
    """

    def __init__(self, settings: Settings, *, chat_id: str | None = None, agent: str | None = None) -> None:
        """Prepare without opening anything. Unless an agent is named, the chat's own or the default one answers."""
        self.settings, self.chat_id, self.agent = settings, chat_id, agent
        self.last: TurnResult | None = None
        self._portal = Portal()
        self._memory = AsyncMemory(settings=settings)

    def __enter__(self) -> Self:
        """Opens the memory, and checks that the agent exists before anything is said to it."""
        self._portal.open()
        try:
            with show.working("Opening memory"):
                self._turns = self._portal.run(self._opened())
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Waits for a running answer, unless the block failed or was interrupted."""
        try:
            with suppress(LtstError):
                self._portal.run(self._turns.close(GRACE if kind is None else 0.0))
        finally:
            self._close()

    @property
    def answerer(self) -> tuple[str, str | None]:
        """Return the agent that answers by default, and its model."""
        agent = self._turns.agents.get(self.agent)
        model = None if agent.model == "none" else self.settings.llm_model if agent.model == "default" else agent.model
        return agent.name, model

    def earlier(self) -> int:
        """Return how many conversations are remembered, at most a hundred."""
        return len(self._portal.run(self._user.sessions.list(limit=100)))

    def go_on(self) -> None:
        """Continue the latest conversation."""
        latest = self._portal.run(self._user.sessions.list(limit=1))
        if not latest:
            raise NotFound("there is no conversation yet that could be continued")
        self.chat_id = latest[0].session_id

    def begin_anew(self) -> None:
        """Begin a new conversation with whatever is said next."""
        self.chat_id = self.last = None

    def say(self, message: str) -> Iterator[str]:
        """Says something and yields the answer piece by piece as it arrives."""
        self.last = None
        turn = self._portal.run(self._turns.begin(self._user, message, chat_id=self.chat_id, agent_name=self.agent))
        self.chat_id = turn.chat_id
        pieces = turn.pieces()
        while (piece := self._portal.run(_next(pieces))) is not None:
            yield piece
        self.last = self._portal.run(turn.done())

    def facts(self) -> list[Fact]:
        """Return the facts known about the user by now."""
        return self._portal.run(self._known())

    async def _opened(self) -> Turns:
        await self._memory.open()
        self._user = self._memory.user(self.settings.user)
        turns = Turns(self._memory)
        turns.agents.get(self.agent)
        return turns

    async def _known(self) -> list[Fact]:
        await self._user.learning.catch_up()
        return await self._user.facts.list()

    def _close(self) -> None:
        try:
            self._portal.run(self._memory.close())
        finally:
            self._portal.close()


async def _next(pieces: AsyncIterator[str]) -> str | None:
    return await anext(pieces, None)
