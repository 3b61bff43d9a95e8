"""Runs the memory of a MemoryManager on an event loop of its own, opened on first use."""

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
    """A memory with one user and one chat, on an event loop that outlives those of its callers."""

    def __init__(self, config: MemoryConfig) -> None:
        self.memory: AsyncMemory = config.memory()
        whose = self.memory.settings.user if config.user_id is None else config.user_id
        self.user: AsyncUser = self.memory.user(whose)
        self.chat: AsyncChat = self.user.chat(config.session_id, agent=config.agent)
        self._portal, self._turn, self._guard = Portal(), asyncio.Lock(), threading.Lock()

    async def ask(self, work: Work[R]) -> R:
        """Runs work on that loop once the memory is open, without blocking the caller's loop."""
        return await self._opened().awaited(self._done(work))

    def ask_now(self, work: Work[R]) -> R:
        """Runs work on that loop for code that cannot await."""
        return self._opened().run(self._done(work))

    async def close(self) -> None:
        """Closes the database."""
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
        """Opens the memory once, whoever comes first, then runs the work."""
        async with self._turn:
            await self.memory.open()
        return await work()
