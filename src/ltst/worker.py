"""The worker: finds derived work that is due and does it. The rows themselves say what is due; there is no queue."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, suppress

from ltst.errors import Unavailable
from ltst.handles.desk import Core
from ltst.handles.learning import Features, features, rules
from ltst.learn.large import index_large
from ltst.rooms import claims, work
from ltst.rooms.work import Lease, LeaseLost
from ltst.support.logs import LOGGER

QUIET_SECONDS = 0.5
IDLE_SECONDS = 30.0
MAINTENANCE_SECONDS = 3600.0
WAIT_SECONDS = 0.05
USERS_AT_ONCE = 100
BATCHES_AT_ONCE = 4
SESSIONS_AT_ONCE = 16

Action = Callable[[Lease], Awaitable[object]]


class Worker:
    """Indexes what was written and learns from it, once it has been quiet for a moment: writing goes first."""

    def __init__(self, core: Core, maintain: Callable[[], Awaitable[object]]) -> None:
        """Work for one memory; `maintain` is called now and then."""
        self._core = core
        self._maintain = maintain
        self._rules = rules(core)
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Be ready on the loop that the memory was opened on; where the settings say so, work in the background."""
        self._bell = asyncio.Event()
        self._rung: set[str] = set()
        self._turn = asyncio.Lock()  # the background and who waits for it would stand in each other's way
        if self._core.settings.worker:
            self._core.written = self._ring
            self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop at once; what is not done is found again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def settle(self, user_id: str | None = None) -> None:
        """Return when nothing is due any more that can be done now, for one user or for all."""
        while True:
            users = [user_id] if user_id else await self.due()
            if any([await self._work_for(user) for user in users]):
                continue
            if not await work.held(self._core.database.keeper(), user_id):
                return
            await asyncio.sleep(WAIT_SECONDS)  # another worker is at it

    def _ring(self, user_id: str) -> None:
        self._rung.add(user_id)
        self._bell.set()

    async def _run(self) -> None:
        maintained = time.monotonic()
        looked = 0.0
        while True:
            rung = await self._wait() if looked else set[str]()
            try:
                if not rung or time.monotonic() - looked > IDLE_SECONDS:
                    rung |= set(await self.due())
                    looked = time.monotonic()
                if time.monotonic() - maintained > MAINTENANCE_SECONDS:
                    maintained = time.monotonic()
                    await self._maintain()
            except Exception as problem:  # noqa: BLE001 - whatever it is, the work is still due
                await self._put_off(problem)
            for user in sorted(rung):
                await self._attempt(user)

    async def _attempt(self, user_id: str) -> None:
        """Some of the work for one user, whose trouble must not keep the others from theirs."""
        try:
            if await self._work_for(user_id, BATCHES_AT_ONCE):
                self._ring(user_id)  # there may be more
        except Exception as problem:  # noqa: BLE001 - whatever it is, the work is still due
            await self._put_off(problem)

    async def _put_off(self, problem: Exception) -> None:
        LOGGER.warning("derived work is put off", extra={"reason": str(problem)})
        await asyncio.sleep(QUIET_SECONDS)

    async def _wait(self) -> set[str]:
        """Until something was written and it has been quiet since, or for a while; the users for whom it was."""
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_SECONDS):
                await self._bell.wait()
                while self._bell.is_set():
                    self._bell.clear()
                    await asyncio.sleep(QUIET_SECONDS)
        rung, self._rung = self._rung, set()
        self._bell.clear()
        return rung

    async def due(self) -> list[str]:
        """Users for whom something is due that nobody is at."""
        return await work.due_users(self._core.database.keeper(), self._rules, USERS_AT_ONCE)

    async def _work_for(self, user_id: str, batches: int | None = None) -> bool:
        """Do what is due for a user; whether there was something."""
        database = self._core.database
        async with self._turn:
            await work.set_aside_crashed(database.user(user_id), user_id)
            wanted = await features(self._core, user_id)
            done = [
                await self._index(user_id, batches),
                await self._weigh(user_id),
                wanted.extraction and await self._listen(user_id, wanted),
                wanted.extraction and await self._refine(user_id),
                wanted.episodes and await self._tell(user_id),
                wanted.consolidation and await self._consolidate(user_id, wanted),
                await index_large(database, user_id, self._core.settings.large_memory),
            ]
        return any(done)

    async def _index(self, user_id: str, batches: int | None) -> bool:
        """Give rows their terms and vectors."""
        from ltst.learn.index import index_carefully, index_due  # late: it needs the model's libraries
        from ltst.rooms import search

        database = self._core.database
        careful = await work.careful(database.user(user_id), user_id)
        if not careful and not await search.due(database.user(user_id), 1):
            return False
        lease = await work.claim(database.user(user_id), self._rules, user_id, "index")
        if lease is None:
            return False
        done = 0

        async def index(lease: Lease) -> None:
            nonlocal done
            embedding = await self._core.embedding()
            if careful or lease.attempts > 1:
                done += await index_carefully(database, user_id, embedding, self._rules)
            if lease.attempts == 1:
                done += await index_due(database, user_id, embedding, batches=batches)
            await work.finish(database.user(user_id), lease)

        await self._do([lease], index)
        return done > 0

    async def _weigh(self, user_id: str) -> bool:
        """Fold what lost claims."""
        from ltst.db.pool import user_scope
        from ltst.learn.weigh import weigh

        database = self._core.database
        if not await claims.unsettled(database.user(user_id)):
            return False
        async with database.transaction(user_scope(user_id)) as tx:
            await weigh(tx, await claims.unsettled(tx))
        return True

    async def _listen(self, user_id: str, wanted: Features) -> bool:
        """Read what people say of themselves."""
        from ltst.learn.listen import listen

        database = self._core.database
        return await self._sessions(user_id, "learn", lambda lease: listen(database, lease, inference=wanted.inference))

    async def _refine(self, user_id: str) -> bool:
        """The same with a language model, where there is one."""
        model = self._core.models.language
        if model is None:
            return False
        from ltst.learn.refine import refine

        return await self._sessions(user_id, "refine", lambda lease: refine(self._core.database, lease, model))

    async def _tell(self, user_id: str) -> bool:
        """Tell the episodes of conversations that rest."""
        from ltst.learn.episodes import tell

        core = self._core
        return await self._sessions(
            user_id, "episode", lambda lease: tell(core.database, lease, self._rules, core.models.language)
        )

    async def _consolidate(self, user_id: str, wanted: Features) -> bool:
        """Compare new entries with the others."""
        from ltst.learn.consolidate import consolidate
        from ltst.rooms import entries

        database = self._core.database
        if not await entries.unconsolidated(database.user(user_id), 1):
            return False
        lease = await work.claim(database.user(user_id), self._rules, user_id, "consolidate")
        if lease is None:
            return False
        return await self._do([lease], lambda lease: consolidate(database, lease, relate=wanted.relationships))

    async def _sessions(self, user_id: str, task: str, action: Action) -> bool:
        """A task for the sessions of a user that it is due for, some at a time."""
        keeper = self._core.database.user(user_id)
        leases = await work.claim_sessions(keeper, self._rules, user_id, task, SESSIONS_AT_ONCE)
        return await self._do(leases, action)

    async def _do(self, leases: Sequence[Lease], action: Action) -> bool:
        """Do one after the other what was taken up; whether any of it was done."""
        left = [*leases]
        done = False
        async with self._renewed(left):
            for lease in leases:
                done |= await self._one(lease, left, action)
                left.remove(lease)
        return done

    async def _one(self, lease: Lease, left: Sequence[Lease], action: Action) -> bool:
        calls = self._core.database.user(lease.user_id)
        try:
            await action(lease)
        except LeaseLost:
            return False
        except Unavailable as problem:
            # It is not this piece of work that is wrong, so it does not count against it.
            await self._leave(left, lease, str(problem))
            raise
        except asyncio.CancelledError:
            await asyncio.shield(self._give_back(left))
            raise
        except Exception as problem:  # noqa: BLE001 - it must not keep the others from theirs
            LOGGER.warning("derived work failed", extra={"task": lease.task, "reason": repr(problem)})
            await work.put_off(calls, lease, repr(problem))
            return False
        return True

    async def _leave(self, left: Iterable[Lease], failed: Lease, reason: str) -> None:
        """Put off what failed, and give the rest back."""
        with suppress(Unavailable):
            calls = self._core.database.user(failed.user_id)
            await work.put_off(calls, failed, reason, counted=False)
            await work.give_back(calls, [lease for lease in left if lease is not failed])

    async def _give_back(self, leases: Sequence[Lease]) -> None:
        with suppress(Unavailable):
            await work.give_back(self._core.database.user(leases[0].user_id), leases)

    @asynccontextmanager
    async def _renewed(self, leases: Sequence[Lease]) -> AsyncIterator[None]:
        """Hold on to leases while the block runs, however long it takes."""
        beat = asyncio.create_task(self._renew(leases))
        try:
            yield
        finally:
            beat.cancel()
            await asyncio.gather(beat, return_exceptions=True)

    async def _renew(self, leases: Sequence[Lease]) -> None:
        while leases:
            await asyncio.sleep(self._rules.lease.total_seconds() / 3)
            with suppress(Unavailable):
                await work.renew(self._core.database.user(leases[0].user_id), self._rules, leases)
