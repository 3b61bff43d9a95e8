"""The desk: transactions, measurements, the ledger and encryption for the handles of one user."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Self

from ltst.db.connections import Reals, as_url
from ltst.db.pool import KEEPER, Database, Executor, SingleCall, Transaction, user_scope
from ltst.errors import DatabaseUnavailable, Invalid, Unavailable
from ltst.handles.models import Models
from ltst.measurements import Measurement
from ltst.protocols import Cipher
from ltst.records import ERASED, EVERYONE
from ltst.rooms import cache, events, metrics, models, preferences
from ltst.settings import Settings
from ltst.support import logs, validate
from ltst.support.crypto import MasterKeys, WrappedKey
from ltst.support.place import background

if TYPE_CHECKING:
    from ltst.db.standby import Standby
    from ltst.providers.embedding import Embedding
    from ltst.recall.window import Windows

SLOW_MILLISECONDS = 5000.0
# How many query vectors are cached.
QUESTIONS = 256
# Seconds to wait for further search results before they are written to the cache together.
GATHERING_SECONDS = 0.2


def checked_user(user_id: object) -> str:
    """Returns a valid user id, or raises Invalid."""
    checked = validate.identifier(user_id, "user_id")
    if checked == EVERYONE or checked.startswith(ERASED):
        raise Invalid(f"the user_id {EVERYONE!r} and those that begin with {ERASED!r} are reserved; choose another")
    return checked


def now() -> datetime:
    """Returns the current time in UTC."""
    return datetime.now(UTC)


class Measured:
    """Measures the duration of a block, which may set the number of rows it returned or changed.

    A class because it wraps every call, and a generator would cost as much as the rest of the call.
    """

    __slots__ = ("_core", "_started", "_what", "cache_hit", "rows")

    def __init__(self, core: Core, what: tuple[str, str, str, str | None]) -> None:
        """Takes the core and the operation's type, name, user and session."""
        self._core = core
        self._what = what
        self.rows = 0
        self.cache_hit: bool | None = None

    async def __aenter__(self) -> Self:
        """Starts the clock."""
        self._started = time.perf_counter()
        return self

    async def __aexit__(self, problem: type[BaseException] | None, *_: object) -> None:
        """Records the duration and the error, if there was one."""
        elapsed = (time.perf_counter() - self._started) * 1000
        failed = None if problem is None else problem.__name__
        self._core.note(Measurement(*self._what, elapsed, self.rows, failed, now(), self.cache_hit))


class Core:
    """What all users of one memory share: the open database, settings, models, keys and measurements."""

    def __init__(self, settings: Settings, models: Models) -> None:
        """Starts without an open database."""
        self.settings = settings
        self.models = models
        self.ring: Callable[[str], None] = lambda user_id: None
        """Called with the user after a write that may need background work; does nothing until a worker sets it."""
        self.looked_at_tables = False
        """Whether the tables of conversations have been analyzed for the planner."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._shown: dict[str, Counter[tuple[str, str]]] = {}
        self._found: dict[tuple[str, str], cache.Retrieval] = {}
        self._questions: dict[tuple[str, str], Reals] = {}
        self._finishing = asyncio.Event()
        self.keys = MasterKeys(settings.master_key, settings.home / "master.key")
        self.recorder = metrics.Recorder()
        self.watchers: list[Callable[[Measurement], None]] = []
        """Called with every finished operation, for example by a server's meters."""
        self.opened: Database | None = None
        self.standby: Standby | None = None
        """Serves reads if the settings name a standby."""
        self.windows: Windows | None = None
        """Reads windows through a cache, if there is one."""

    @property
    def database(self) -> Database:
        """The open database; raises DatabaseUnavailable if there is none."""
        found = self._needed()
        found.place.check()
        return found

    async def reads(self, user_id: str) -> Database:
        """Returns the database for a user's reads: a standby that has all of the user's writes, else the primary."""
        database = self.database
        return database if self.standby is None else await self.standby.for_reading(user_id)

    @property
    def address(self) -> str:
        """The URL of the open database, which may be read from any thread and event loop."""
        return as_url(self._needed().conninfo)

    def _needed(self) -> Database:
        if self.opened is None:
            raise DatabaseUnavailable("this memory is not open: use it inside `with`, or call open() first")
        return self.opened

    async def flush(self) -> None:
        """Writes the counts of measurements, tokens and uses; failures are only logged."""
        if self.opened is None:
            return
        if self.opened.read_only:
            self._shown = {}
            return
        try:
            if len(self.recorder):
                await self.recorder.flush(self.opened.keeper())
            if (asked := self.models.asked()) is not None:
                await self.opened.keeper().run("learning.count_usage", **asdict(asked))
            while self._shown:
                user_id, shown = self._shown.popitem()
                for noun, query in (("preference", "preferences.used"), ("entry", "entries.used")):
                    if times := {id: count for (kind, id), count in shown.items() if kind == noun}:
                        await self.opened.user(user_id).run(query, ids=[*times], times=[*times.values()])
        except Exception as problem:  # noqa: BLE001 - no call may fail because of it
            logs.LOGGER.warning("metrics could not be written", extra={"reason": str(problem)})

    def shown(self, user_id: str, noun: str, ids: Iterable[str]) -> None:
        """Counts these preferences or entries as used in a prompt."""
        self._shown.setdefault(user_id, Counter()).update((noun, id) for id in ids)

    async def embedding(self) -> Embedding:
        """Returns the embedder for the model whose vectors are in the database."""
        return await self.models.embedding(self.database, await models.get(self.database.keeper()))

    async def question_vector(self, embedding: Embedding, text: str) -> Reals:
        """Returns the vector of a query, cached because people repeat queries."""
        asked = embedding.name, text
        if asked not in self._questions:
            (vector,) = await embedding.vectors([text], question=True)
            while len(self._questions) >= QUESTIONS:
                self._questions.pop(next(iter(self._questions)))
            self._questions[asked] = Reals.of(vector.tolist())
        return self._questions[asked]

    def later(self, work: Coroutine[Any, Any, object]) -> None:
        """Runs something in the background that nobody waits for; failures are only logged."""
        task = background(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def written(self, user_id: str) -> None:
        """Called after a write: drops the user's search results not yet cached and wakes the worker."""
        if self._found:
            self._found = {key: found for key, found in self._found.items() if found.user_id != user_id}
        self.ring(user_id)

    def keep(self, found: cache.Retrieval) -> None:
        """Caches a search result shortly afterwards, together with others of the same moment."""
        if self.database.read_only:
            return
        if not self._found:
            self.later(self._put_found())
        self._found[found.user_id, found.cache_key] = found

    async def _put_found(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._finishing.wait(), GATHERING_SECONDS)
        found, self._found = self._found, {}
        if found:
            await self._put(found.values())

    async def _put(self, found: Iterable[cache.Retrieval]) -> None:
        hours = await preferences.operator_setting(self.database.at(EVERYONE).keeper(), "cache_ttl_hours")
        by_place: dict[Database, list[cache.Retrieval]] = {}
        for each in found:
            by_place.setdefault(self.database.at(each.user_id), []).append(each)
        for place, mine in by_place.items():
            async with place.transaction(KEEPER) as tx:
                await cache.put(tx, mine, hours)

    async def finish(self) -> None:
        """Waits for all background work of `later`."""
        self._finishing.set()
        await asyncio.gather(*(task for task in self._tasks if not task.get_loop().is_closed()), return_exceptions=True)
        self._finishing = asyncio.Event()

    def forget(self) -> None:
        """Drops, in a forked child, what belongs to the parent, including counts and background work."""
        self._tasks, self._shown, self._found = set(), {}, {}
        self._finishing = asyncio.Event()
        self.recorder = metrics.Recorder()
        self.models.forget()
        self.opened = self.standby = self.windows = None

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()):
            logs.LOGGER.warning("work for later was not done", extra={"reason": str(problem)})

    def measured(self, kind: str, name: str, user_id: str, session_id: str | None) -> Measured:
        """Returns a context manager that measures a block."""
        return Measured(self, (kind, name, user_id, session_id))

    def note(self, measurement: Measurement) -> None:
        """Records a measurement, passes it to the watchers and logs it, as a warning if it was slow."""
        if self.settings.metrics:
            self.recorder.add(measurement)
        for watcher in self.watchers:
            watcher(measurement)
        slow = measurement.milliseconds > SLOW_MILLISECONDS
        level = logging.WARNING if slow else logging.INFO
        if logs.LOGGER.isEnabledFor(level):
            told = self.recorder.anonymised(measurement)
            logs.LOGGER.log(level, "slow operation" if slow else "operation", extra=told)


class Desk:
    """What the handles of one user share."""

    def __init__(self, core: Core, user_id: str) -> None:
        """Serves one user only."""
        self.core = core
        self.user_id = user_id

    @property
    def settings(self) -> Settings:
        """The settings of the memory."""
        return self.core.settings

    @asynccontextmanager
    async def reading(
        self, name: str, session_id: str | None = None, *, primary: bool = False
    ) -> AsyncIterator[SingleCall]:
        """Yields measured single reads, from a standby if there is one and `primary` is not set."""
        async with self.core.measured("retrieval", name, self.user_id, session_id) as tally:
            database = self.core.database if primary else await self.core.reads(self.user_id)
            calls = database.user(self.user_id)
            yield calls
            tally.rows = calls.seen

    @asynccontextmanager
    async def writing(self, name: str, session_id: str | None = None) -> AsyncIterator[Transaction]:
        """Yields a measured transaction."""
        async with (
            self.core.measured("storage", name, self.user_id, session_id) as tally,
            self.core.database.transaction(user_scope(self.user_id)) as tx,
        ):
            yield tx
            tally.rows = tx.seen
        self.core.written(self.user_id)

    async def tell(
        self, tx: Transaction, action: str, noun: str, row_id: str, details: Mapping[str, Any] | None = None
    ) -> None:
        """Records a change in the ledger, in the transaction that makes it."""
        await events.add(tx, self.settings.actor, action, noun, row_id, details)

    def content(self, value: object, what: str) -> str:
        """Returns a text that may be stored, or raises Invalid."""
        return validate.content(value, what, self.settings.max_content_bytes)

    def metadata(self, value: object) -> str:
        """Returns metadata that may be stored as JSON, or raises Invalid."""
        return validate.metadata(value, self.settings.max_content_bytes)

    def defaults(self, calls: Executor) -> Executor:
        """Where the rows of the system are read that everybody may read: with the user's own, or in another place."""
        database = self.core.database
        place = database.at(EVERYONE)
        return calls if place is database.at(self.user_id) else place.user(self.user_id)

    async def own_cipher(self, tx: Transaction) -> Cipher:
        """Returns the user's cipher for encrypting; creates the data key when it is first needed."""
        # Locked, so that it cannot be erased while something is encrypted with it.
        key = await tx.row("preferences.hold_key", WrappedKey)
        return self._cipher(key or await preferences.add_key(tx, self.core.keys.new_user_key(self.user_id)))

    async def reading_cipher(self, key: WrappedKey | None) -> Cipher:
        """Returns the cipher that decrypts with a key read in a snapshot; call it after the snapshot has ended.

        Rotations may have dropped the master key that wrapped it: then the key is read again until it stays the same.
        """
        while True:
            try:
                return self._cipher(key)
            except Unavailable:
                newer = await self.core.database.user(self.user_id).row("preferences.get_key", WrappedKey)
                if newer == key:
                    raise
                key = newer

    def _cipher(self, key: WrappedKey | None) -> Cipher:
        if key is None:
            raise Unavailable("the key of this user's sensitive values is gone: they cannot be read any more")
        return self.core.keys.cipher(key)


class Handle:
    """The methods of one noun for one user: they validate input, open transactions and record events."""

    def __init__(self, desk: Desk) -> None:
        """Created by a property of the user."""
        self._desk = desk
