"""The worker: finds derived work that is due and does it. The rows themselves say what is due; there is no queue."""

from __future__ import annotations

import asyncio

from ltst.handles.desk import Core
from ltst.learn.large import index_large
from ltst.rooms import search
from ltst.support.logs import LOGGER

QUIET_SECONDS = 0.5
IDLE_SECONDS = 30.0
USERS_AT_ONCE = 100
BATCHES_AT_ONCE = 4


class Worker:
    """Indexes what was written, once it has been quiet for a moment: writing goes first."""

    def __init__(self, core: Core) -> None:
        """Work for one memory."""
        self._core = core
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Be ready on the loop that the memory was opened on; where the settings say so, work in the background."""
        self._bell = asyncio.Event()
        self._turn = asyncio.Lock()  # the background and who waits for it would do the same work twice
        if self._core.settings.worker:
            self._core.written = self._bell.set
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop at once; what is not done is found again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def settle(self, user_id: str | None = None) -> None:
        """Return when nothing is due any more, for one user or for all."""
        users = [user_id] if user_id else await self._users()
        while any([await self._work_for(user) for user in users]):
            users = [user_id] if user_id else await self._users()

    async def _run(self) -> None:
        while True:
            await self._wait()
            try:
                users = await self._users()
            except Exception as problem:  # noqa: BLE001 - whatever it is, the work is still due
                await self._put_off(problem)
            else:
                for user in users:
                    await self._attempt(user)

    async def _attempt(self, user_id: str) -> None:
        """Some of the work for one user, whose trouble must not keep the others from theirs."""
        try:
            if await self._work_for(user_id, BATCHES_AT_ONCE):
                self._bell.set()  # there may be more
        except Exception as problem:  # noqa: BLE001 - whatever it is, the work is still due
            await self._put_off(problem)

    async def _put_off(self, problem: Exception) -> None:
        LOGGER.warning("derived work is put off", extra={"reason": str(problem)})
        await asyncio.sleep(QUIET_SECONDS)

    async def _wait(self) -> None:
        """Until something was written and it has been quiet since, or for a while: others write too."""
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                await self._bell.wait()
                while self._bell.is_set():
                    self._bell.clear()
                    await asyncio.sleep(QUIET_SECONDS)
        except TimeoutError:
            return

    async def _users(self) -> list[str]:
        return await search.due_users(self._core.database.keeper(), USERS_AT_ONCE)

    async def _work_for(self, user_id: str, batches: int | None = None) -> bool:
        """Do what is due for a user; whether there was something."""
        from ltst.learn.index import index_due  # late: it needs the model's libraries

        core = self._core
        async with self._turn:
            indexed = await index_due(core.database, user_id, await core.embedding(), batches=batches)
            grown = await index_large(core.database, user_id, core.settings.large_memory)
        return bool(indexed) or grown
