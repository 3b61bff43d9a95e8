"""The inside of a MemoryManager: its memory on a loop of its own, opened when it is first asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from ltst.manager.config import MemoryConfig
from ltst.memory import AsyncChat, AsyncMemory, AsyncUser
from ltst.support.portal import Portal

R = TypeVar("R")
Work = Callable[[], Coroutine[Any, Any, R]]


class Inside:
    """A memory with one user and one chat. Its loop outlives those that it is called from."""

    def __init__(self, config: MemoryConfig) -> None:
        self.memory: AsyncMemory = config.memory()
        whose = self.memory.settings.user if config.user_id is None else config.user_id
        self.user: AsyncUser = self.memory.user(whose)
        self.chat: AsyncChat = self.user.chat(config.session_id, agent=config.agent)
        self._portal, self._turn, self._guard = Portal(), asyncio.Lock(), threading.Lock()

    async def ask(self, work: Work[R]) -> R:
        """Do work there, once the memory is open; the caller's loop goes on meanwhile."""
        return await self._opened().awaited(self._done(work))

    def ask_now(self, work: Work[R]) -> R:
        """Do work there for code that cannot await."""
        return self._opened().run(self._done(work))

    async def close(self) -> None:
        """Let go of the database."""
        with self._guard:
            portal, self._portal, self._turn = self._portal, Portal(), asyncio.Lock()
        if portal.is_open:
            try:
                await portal.awaited(self.memory.close())
            finally:
                await asyncio.to_thread(portal.close)

    def _opened(self) -> Portal:
        with self._guard:
            if not self._portal.is_open:
                self._portal.open()
            return self._portal

    async def _done(self, work: Work[R]) -> R:
        """Open once, whoever comes first; the others wait for it."""
        async with self._turn:
            await self.memory.open()
        return await work()
