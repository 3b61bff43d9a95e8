"""Changes: wakes the event streams whose users' memories changed, with one question to the database for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ltst.errors import LtstError
from ltst.memory import AsyncMemory
from ltst.support.logs import LOGGER

POLL_SECONDS = 0.5


class Listeners:
    """Knows who listens to whose changes. Costs nothing while nobody does."""

    def __init__(self, memory: AsyncMemory, stopping: asyncio.Event) -> None:
        self._memory = memory
        self._stopping = stopping
        self._listeners: dict[asyncio.Event, str | None] = {}
        self._watching: asyncio.Task[None] | None = None

    @contextmanager
    def listening(self, user_id: str | None) -> Iterator[asyncio.Event]:
        """Yield an event that is set when the user's memory, or anyone's for None, may have changed."""
        news = asyncio.Event()
        self._listeners[news] = user_id
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch())
        try:
            yield news
        finally:
            del self._listeners[news]
            if not self._listeners and self._watching is not None:
                self._watching.cancel()
                self._watching = None

    async def _watch(self) -> None:
        place: str | None = None
        while not self._stopping.is_set():
            try:
                place = await self._look(place)
            except LtstError as problem:  # it may be back at the next look
                LOGGER.warning("changes cannot be read", extra={"reason": str(problem)})
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), POLL_SECONDS)
        self._wake(None)

    async def _look(self, place: str | None) -> str:
        found = await self._memory.changed(place)
        # In the beginning and after a restore, what listeners read before may be older than the place.
        if place is None or _epoch(place) != _epoch(found.cursor):
            self._wake(None)
        elif found.user_ids:
            self._wake(found.user_ids)
        return found.cursor

    def _wake(self, user_ids: frozenset[str] | None) -> None:
        for news, user_id in self._listeners.items():
            if user_ids is None or user_id is None or user_id in user_ids:
                news.set()


def _epoch(cursor: str) -> str:
    return cursor.partition("-")[0]
