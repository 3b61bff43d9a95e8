"""Finds and does background work. The rows themselves show what is due, so there is no queue."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

from ltst.errors import ModelUnavailable, Unavailable
from ltst.handles.desk import Core
from ltst.handles.learning import Features, rules, switched
from ltst.indexing.large import index_large
from ltst.protocols import LanguageModel
from ltst.providers.vectors import TextRefused
from ltst.records import Check
from ltst.rooms import claims, work
from ltst.rooms.work import Lease, LeaseLost, Todo
from ltst.support.children import OutOfTime
from ltst.support.logs import LOGGER
from ltst.support.place import background, end

QUIET_SECONDS = 0.5
PATIENCE_SECONDS = 10.0
IDLE_SECONDS = 30.0
MAINTENANCE_SECONDS = 3600.0
WAIT_SECONDS = 0.05
REST_SECONDS = 10.0  # how long background work leaves a model alone that does not answer
USERS_AT_ONCE = 100
SESSIONS_AT_ONCE = 16
FEW_SESSIONS = 2  # of one user before the others have their turn

Action = Callable[[Lease], Awaitable[object]]
Step = Callable[[], Awaitable[bool]]


class Round:
    """Serves the users who have work due, one after the other, each once they wrote nothing for a moment."""

    def __init__(self, find: Callable[[], Awaitable[list[str]]], serve: Callable[[str], Awaitable[bool]]) -> None:
        """`find` returns the users who have work due; `serve` does some for one and returns whether it did any."""
        self._find = find
        self._serve = serve
        self._bell = asyncio.Event()
        self._rung: dict[str, float] = {}  # from when on each user who wrote is served
        self._latest: dict[str, float] = {}  # even if they never stop writing

    def ring(self, user_id: str) -> None:
        """Records that something was written for a user."""
        moment = time.monotonic()
        latest = self._latest.setdefault(user_id, moment + PATIENCE_SECONDS)
        self._rung[user_id] = min(moment + QUIET_SECONDS, latest)
        self._bell.set()

    async def run(self) -> None:
        """Serves forever; a user with more work waits until the others had their turn."""
        looked, busy = 0.0, set[str]()
        while True:
            # While there is work anyway, nobody is waited for.
            rung = busy | (await self._quiet() if looked and not busy else self._taken(math.inf))
            try:
                if not rung or time.monotonic() - looked > IDLE_SECONDS:
                    rung |= set(await self._find())
                    looked = time.monotonic()
            except Exception as problem:  # noqa: BLE001 - whatever it is, the work is still due
                await put_off(problem)
            busy = {user for user in sorted(rung) if await self._attempt(user)}

    async def _attempt(self, user_id: str) -> bool:
        """Does some work for one user; logs errors so that they do not stop the work of others."""
        try:
            return await self._serve(user_id)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the work is still due
            await put_off(problem)
            return False

    async def _quiet(self) -> set[str]:
        """Waits until a user who wrote is quiet, or for a timeout; returns the users who are."""
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_SECONDS):
                await self._bell.wait()
                while (pause := min(self._rung.values()) - time.monotonic()) > 0:  # noqa: ASYNC110 - it may move
                    await asyncio.sleep(pause)
        return self._taken(time.monotonic())

    def _taken(self, moment: float) -> set[str]:
        """Returns the users who are served from this moment on or earlier, and forgets that they wrote."""
        ready = {user for user, since in self._rung.items() if since <= moment}
        for user in ready:
            del self._rung[user], self._latest[user]
        if not self._rung:
            self._bell.clear()
        return ready


async def put_off(problem: Exception) -> None:
    """Logs a problem and pauses for a moment."""
    LOGGER.warning("derived work is put off", extra={"reason": str(problem)})
    await asyncio.sleep(QUIET_SECONDS)


class Worker:
    """Indexes what was written and learns from it, once nothing was written for a moment, so that writes go first.

    Vectors take by far the longest, so they are made concurrently: learning does not wait for them.
    """

    def __init__(self, core: Core, maintain: Callable[[], Awaitable[object]]) -> None:
        """Works for one memory; `maintain` is called every hour."""
        self._core = core
        self._maintain = maintain
        self._rules = rules(core)
        self._resting: dict[str, float] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._deeds = 0  # how often the background did some work

    def open(self) -> None:
        """Starts on the memory's event loop, in the background if the settings say so."""
        # The background and callers of `settle` take turns, so that they do not get in each other's way.
        self._turns = {"learning": asyncio.Lock(), "vectors": asyncio.Lock()}
        if self._core.settings.worker:
            learning = Round(self.due, partial(self._do_some, "learning"))
            vectors = Round(self.due, partial(self._do_some, "vectors"))
            self._rounds = learning, vectors
            self._core.ring = self._ring
            self._tasks = [background(each) for each in (learning.run(), vectors.run(), self._maintained())]

    async def stop(self) -> None:
        """Stops at once; unfinished work is found again later."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            await end(task)

    def check(self) -> Check:
        """Returns whether the background is running, if it should."""
        if not self._core.settings.worker:
            return Check("worker", "ok", "off: another process works, or nobody")
        alive = bool(self._tasks) and not any(task.done() for task in self._tasks)
        return Check("worker", "ok" if alive else "error", "runs in this process" if alive else "has ended")

    async def settle(self, user_id: str | None = None, progress: Callable[[int, int], None] | None = None) -> None:
        """Does the work that is due for one user or for all, until nothing is left that can be done now.

        If a model is missing for some of it, raises ModelUnavailable after the rest is done.
        """
        telling = None if progress is None else asyncio.create_task(self._tell_left(user_id, progress))
        try:
            await self._settle(user_id)
        finally:
            await end(telling)

    async def _tell_left(self, user_id: str | None, progress: Callable[[int, int], None]) -> None:
        """Reports progress repeatedly; the total may grow while work is done."""
        most = 0
        while True:
            left = int(await self._core.database.keeper().value("work.left", user_id=user_id))
            most = max(most, left)
            progress(most - left, most)
            await asyncio.sleep(QUIET_SECONDS)

    async def _settle(self, user_id: str | None) -> None:
        missing: ModelUnavailable | None = None
        keeper = self._core.database.keeper()
        while True:
            # Checked before and after, because work that another worker gives up in between must be done here.
            held, done, deeds = await keeper.value("work.held", user_id=user_id), False, self._deeds
            for user in [user_id] if user_id else await self.due():
                did, problem = await self._work_for(user)
                done, missing = done or did, missing or problem
            if done:
                continue
            if missing is not None:
                raise missing
            if not held and not await keeper.value("work.held", user_id=user_id) and self._quiet_since(deeds):
                break
            await asyncio.sleep(WAIT_SECONDS)  # another worker is busy with it
        if (reason := await keeper.value("work.without_vectors", user_id=user_id)) is not None:
            raise ModelUnavailable(f"not all is indexed, and it is tried again in a while: {reason}")

    def _quiet_since(self, deeds: int) -> bool:
        """Returns whether the background is idle and has done nothing since; its work may make more work due."""
        return self._deeds == deeds and not any(turn.locked() for turn in self._turns.values())

    def _ring(self, user_id: str) -> None:
        for each in self._rounds:
            each.ring(user_id)

    async def _maintained(self) -> None:
        while True:
            await asyncio.sleep(MAINTENANCE_SECONDS)
            if self._core.database.read_only:
                continue
            try:
                await self._maintain()
            except Exception as problem:  # noqa: BLE001 - it is tried again
                await put_off(problem)

    async def due(self) -> list[str]:
        """Returns users with due work that nobody is doing; none if the database is read-only."""
        if self._core.database.read_only:
            return []
        return await work.due_users(self._core.database.keeper(), self._rules, USERS_AT_ONCE)

    async def _do_some(self, what: str, user_id: str) -> bool:
        """Does a little, so that other users get their turn soon: words and learning, or one batch of vectors.

        Then wakes the other round: new text needs vectors, and some learning waits for them.
        """
        done, missing = await self._do_steps(what, user_id, some=True)
        if done:
            self._deeds += 1
            learning, vectors = self._rounds
            (vectors if what == "learning" else learning).ring(user_id)
        if missing is not None:
            await put_off(missing)
        return done

    async def _work_for(self, user_id: str) -> tuple[bool, ModelUnavailable | None]:
        """Does all work that is due for a user; returns whether there was any, and which model was missing."""
        # First, even if the background does it too: only rows that have their words can be due for vectors.
        worded = await self._words(user_id)
        vectors, missing = await self._do_steps("vectors", user_id, some=False)
        learnt, lacking = await self._do_steps("learning", user_id, some=False)
        return worded or vectors or learnt, missing or lacking

    async def _do_steps(self, what: str, user_id: str, *, some: bool) -> tuple[bool, ModelUnavailable | None]:
        """Does what is due for a user, or only `some` of it; returns whether there was any.

        A missing model does not prevent steps that work without it.
        """
        done, missing, calls = False, None, self._core.database.user(user_id)
        async with self._turns[what]:
            todo = await work.todo(calls, self._rules, user_id, self._core.settings.large_memory)
            if todo.crashed:
                await calls.run("work.set_aside_crashed", most=work.MOST_ATTEMPTS)
            steps = self._vectors if what == "vectors" else self._learning
            for name, step in steps(user_id, todo, some):
                if some and self._rests(name):
                    continue
                try:
                    done |= await step()
                except ModelUnavailable as problem:
                    missing = missing or problem
                    self._resting[name] = time.monotonic() + REST_SECONDS
        return done, missing

    def _rests(self, name: str) -> bool:
        """Returns whether the model of a step just failed; waiting for it again would hold up other users."""
        return time.monotonic() < self._resting.get(name, 0.0)

    def _vectors(self, user_id: str, todo: Todo, some: bool) -> Iterator[tuple[str, Step]]:
        if todo.vectors or todo.careful:
            yield "index", partial(self._index, user_id, todo, some)
        if todo.large:
            yield "large", partial(index_large, self._core.database, user_id, self._core.settings.large_memory)

    def _learning(self, user_id: str, todo: Todo, some: bool) -> Iterator[tuple[str, Step]]:
        """Yields the steps to do for a user besides vectors, in order."""
        sessions, wanted = FEW_SESSIONS if some else SESSIONS_AT_ONCE, switched(self._core, todo.switches)
        if todo.words:
            yield "words", partial(self._words, user_id)
        if todo.unsettled:
            yield "weigh", partial(self._weigh, user_id)
        if wanted.extraction and (todo.unlearnt or todo.unread):
            yield "listen", partial(self._listen, user_id, wanted, sessions)
        if wanted.extraction and todo.unrefined:
            yield "refine", partial(self._refine, user_id, sessions)
        if wanted.episodes and todo.untold:
            yield "tell", partial(self._tell, user_id, sessions)
        if wanted.extraction and todo.uncompared:
            yield "compare", partial(self._compare, user_id)
        if wanted.consolidation and todo.unconsolidated:
            yield "consolidate", partial(self._consolidate, user_id, wanted)

    async def _words(self, user_id: str) -> bool:
        """Adds the words of new rows to the index."""
        from ltst.indexing.index import index_words

        return bool(await index_words(self._core.database, user_id))

    async def _index(self, user_id: str, todo: Todo, some: bool) -> bool:
        """Adds the vectors of rows, one batch or all; one row at a time if one of them may crash the worker."""
        from ltst.indexing.index import index_under  # imported late because it needs the model's libraries

        database, parts, done = self._core.database, self._core.settings.embedded_parts, 0

        async def index(lease: Lease) -> None:
            nonlocal done
            alone = todo.careful or lease.attempts > 1
            embedding = await self._core.embedding()
            how: dict[str, Any] = {"parts": parts, "careful": alone, "batches": 1 if some else None}
            how["words"] = todo.words or not some
            done += await index_under(database, lease, embedding, self._rules, **how)
            await work.finish(database.user(user_id), lease)

        await self._do(await self._claimed(user_id, "index"), index)
        return done > 0

    async def _weigh(self, user_id: str) -> bool:
        """Recomputes the keys that lost claims."""
        from ltst.db.pool import user_scope
        from ltst.learn.weigh import weigh

        database = self._core.database
        async with database.transaction(user_scope(user_id)) as tx:
            unsettled = await claims.unsettled(tx)
            await weigh(tx, unsettled)
        return bool(unsettled)

    async def _listen(self, user_id: str, wanted: Features, most: int) -> bool:
        """Learns by rules what people say about themselves."""
        from ltst.learn.listen import listen, listen_again

        database = self._core.database
        limits = self._rules.limits
        done = await self._sessions(user_id, "learn", most, lambda lease: listen(database, lease, limits=limits))
        single = await self._singly(
            user_id, work.READ, most, lambda lease: listen_again(database, lease, limits=limits)
        )
        return done or single

    async def _refine(self, user_id: str, most: int) -> bool:
        """Learns with a language model, if there is one."""
        model = self._core.models.language
        if model is None:
            return False
        from ltst.learn.refine import refine, refine_again

        database = self._core.database
        how: dict[str, Any] = {"model": model, "limits": self._rules.limits}
        done = await self._sessions(user_id, "refine", most, lambda lease: refine(database, lease, **how))
        single = await self._singly(user_id, work.REREAD, most, lambda lease: refine_again(database, lease, **how))
        return done or single

    async def _tell(self, user_id: str, most: int) -> bool:
        """Summarises conversations that have paused as episodes."""
        from ltst.retelling.episodes import tell
        from ltst.rooms import search

        calls = self._core.database.user(user_id)
        waits = self._rests("index") or await calls.value("work.blocked", task="index")
        if not waits and await search.lacks_vectors(calls, search.OTHER_VECTOR):
            return False  # summaries are chosen by vectors, which are still being made
        model: LanguageModel | None = None if self._rests("refine") else self._core.models.language
        return await self._sessions(
            user_id, "episode", most, lambda lease: tell(self._core.database, lease, self._rules, model)
        )

    async def _compare(self, user_id: str) -> bool:
        """Finds out which statements newer ones replace."""
        from ltst.learn.compare import compare

        database, limits = self._core.database, self._rules.limits
        return await self._do(
            await self._claimed(user_id, "compare"), lambda lease: compare(database, lease, limits=limits)
        )

    async def _consolidate(self, user_id: str, wanted: Features) -> bool:
        """Compares new entries with the others."""
        from ltst.retelling.consolidate import consolidate

        database = self._core.database
        leases = await self._claimed(user_id, "consolidate")
        return await self._do(
            leases, lambda lease: consolidate(database, lease, limits=self._rules.limits, relate=wanted.relationships)
        )

    async def _sessions(self, user_id: str, task: str, most: int, action: Action) -> bool:
        """Does a task for some of the sessions of a user that need it."""
        calls = self._core.database.user(user_id)
        claiming = work.claim_sessions(calls, self._rules, user_id, task, most)
        return await self._do(await self._taken(claiming), action)

    async def _singly(self, user_id: str, task: str, most: int, action: Action) -> bool:
        """Does a task for some single messages of a user."""
        done = False
        for message_id in await work.unread(self._core.database.user(user_id), user_id, task, most):
            done |= await self._do(await self._claimed(user_id, task, message_id), action)
        return done

    async def _claimed(self, user_id: str, task: str, subject: str = "") -> list[Lease]:
        """Leases a task of a user, if it is free."""
        return await self._taken(work.claim(self._core.database.user(user_id), self._rules, user_id, task, subject))

    async def _taken(self, claiming: Coroutine[Any, Any, list[Lease]]) -> list[Lease]:
        """Returns claimed leases; gives them back if this is cancelled meanwhile."""
        taking = asyncio.create_task(claiming)
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            with suppress(Unavailable):
                await self._give_back(await taking)
            raise

    async def _do(self, leases: Sequence[Lease], action: Action) -> bool:
        """Does the leased work one by one; returns whether there was any."""
        left = [*leases]
        if not left:
            return False
        async with self._renewed(left):
            try:
                while left:
                    await self._one(left[0], action)
                    left.pop(0)
            except BaseException:
                # So that others need not wait until the leases expire.
                await asyncio.shield(self._give_back(left))
                raise
        return True

    async def _one(self, lease: Lease, action: Action) -> None:
        calls = self._core.database.user(lease.user_id)
        try:
            await action(lease)
        except LeaseLost:
            await work.give_back(calls, [lease])  # its session may have changed while the lease was held
        except OutOfTime as problem:
            LOGGER.warning("derived work takes too long", extra={"task": lease.task, "reason": str(problem)})
            await work.put_off(calls, lease, str(problem), most=1)
        except Exception as problem:
            # An unavailable service is not the fault of this piece of work, so the attempt does not count.
            counted = not isinstance(problem, Unavailable) or isinstance(problem, TextRefused)
            LOGGER.warning("derived work failed", extra={"task": lease.task, "reason": repr(problem)})
            await work.put_off(calls, lease, repr(problem), counted=counted)
            if not counted:
                raise

    async def _give_back(self, leases: Sequence[Lease]) -> None:
        with suppress(Unavailable):
            if leases:
                await work.give_back(self._core.database.user(leases[0].user_id), leases)

    @asynccontextmanager
    async def _renewed(self, leases: Sequence[Lease]) -> AsyncIterator[None]:
        """Renews leases while the block runs."""
        beat = background(self._renew(leases))
        try:
            yield
        finally:
            await end(beat)

    async def _renew(self, leases: Sequence[Lease]) -> None:
        while leases:
            await asyncio.sleep(self._rules.lease.total_seconds() / 3)
            with suppress(Unavailable):
                await work.renew(self._core.database.user(leases[0].user_id), self._rules, leases)
