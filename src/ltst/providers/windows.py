"""Caches for windows: in the memory of this process, or in a Redis that many processes share."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ltst.errors import Invalid, Unavailable
from ltst.support.extras import how_to_install
from ltst.support.logs import LOGGER
from ltst.support.place import PerProcess

if TYPE_CHECKING:
    from ltst.protocols import WindowCache
    from ltst.settings import Settings

ONE_MEBIBYTE = 1024 * 1024
LIFETIME = 3600.0
SWEEP_SECONDS = 60.0
# The cost of a window besides its bytes: its names and its place in the table.
OVERHEAD = 400


class ProcessWindowCache:
    """Windows in the memory of this process; the least recently used go first. Safe to use from many threads."""

    def __init__(self, *, most_bytes: int = 64 * ONE_MEBIBYTE, lifetime: float = LIFETIME) -> None:
        """Keeps at most `most_bytes`, and each window for at most `lifetime` seconds."""
        if most_bytes < 1 or lifetime <= 0:
            raise Invalid("most_bytes must be at least 1 and lifetime above 0 seconds")
        self._most_bytes, self._lifetime = most_bytes, lifetime
        self._held: OrderedDict[tuple[str, str], tuple[float, bytes]] = OrderedDict()
        self._lock = PerProcess(Lock)
        self._bytes = 0
        self._swept = time.monotonic()

    def __len__(self) -> int:
        """Returns how many windows it holds."""
        return len(self._held)

    async def get(self, user: str, session: str) -> bytes | None:
        """Returns what was put under these names, if it is still there."""
        key = user, session
        with self._lock.get():
            if key not in self._held:
                return None
            born, window = self._held[key]
            if self._is_old(born):
                self._drop(key)
                return None
            self._held.move_to_end(key)
        return window

    async def put(self, user: str, session: str, window: bytes) -> None:
        """Stores a window. It keeps the age of the one it replaces, since it may hold the same messages."""
        key, now = (user, session), time.monotonic()
        with self._lock.get():
            born = self._held[key][0] if key in self._held else now
            self._drop(key)
            self._held[key] = (born, window)
            self._bytes += OVERHEAD + len(window)
            while self._bytes > self._most_bytes:
                self._drop(next(iter(self._held)))
            if now - self._swept > SWEEP_SECONDS:
                self._sweep(now)

    async def forget(self, user: str) -> None:
        """Removes all windows of one user."""
        with self._lock.get():
            for key in [key for key in self._held if key[0] == user]:
                self._drop(key)

    def _is_old(self, born: float) -> bool:
        return time.monotonic() - born > self._lifetime

    def _sweep(self, now: float) -> None:
        """Drops expired windows that nobody asks for."""
        self._swept = now
        for key in [key for key, (born, _) in self._held.items() if self._is_old(born)]:
            self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        if key in self._held:
            self._bytes -= OVERHEAD + len(self._held.pop(key)[1])


class RedisWindowCache:
    """Windows in Redis: one hash per user, so that all of a user's windows can be removed at once.

    A Redis that fails is left alone for some seconds, in which nothing waits for it; then it is tried again.
    """

    # A put does not extend the life of the user's other windows: all of them expire together, after `lifetime`.
    PUT = """
        redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
        if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
    """
    PREFIX = "ltst:windows:"

    def __init__(
        self, url: str, *, timeout: float = 0.25, rest: float = 5.0, lifetime: float = LIFETIME, connections: int = 32
    ) -> None:
        """`timeout` in seconds for each answer, `rest` for how long a Redis that failed is left alone."""
        if timeout <= 0 or rest < 0 or lifetime <= 0 or connections < 1:
            raise Invalid("timeout and lifetime must be above 0 seconds, rest 0 or more, connections at least 1")
        self._failures = _failures()
        self._url, self._timeout, self._rest, self._connections = _check_url(url), timeout, rest, connections
        self._milliseconds = max(1, round(lifetime * 1000))
        # Connections made on one loop cannot be used on another.
        self._clients = PerProcess[WeakKeyDictionary[asyncio.AbstractEventLoop, Any]](WeakKeyDictionary)
        self._resting_until = 0.0

    def __repr__(self) -> str:
        """Leaves out the address, which may hold a password."""
        return "RedisWindowCache()"

    async def get(self, user: str, session: str) -> bytes | None:
        """Returns what was put under these names, if it is still there and Redis answers."""
        found = await self._unless_resting(lambda redis: redis.hget(self.PREFIX + user, session))
        return found if isinstance(found, bytes) else None

    async def put(self, user: str, session: str, window: bytes) -> None:
        """Stores a window, if Redis answers."""
        await self._unless_resting(
            lambda redis: redis.eval(self.PUT, 1, self.PREFIX + user, session, window, self._milliseconds)
        )

    async def forget(self, user: str) -> None:
        """Removes all windows of one user; tries even a resting Redis, since nobody asks twice."""
        try:
            await self._redis().delete(self.PREFIX + user)
        except self._failures as problem:
            self._resting_until = time.monotonic() + self._rest
            LOGGER.warning(
                "windows could not be removed from Redis; none will be served, and they expire within an hour",
                extra={"reason": _kind(problem)},
            )

    async def close(self) -> None:
        """Closes the connections of the running loop."""
        client = self._clients.get().pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.aclose()

    async def _unless_resting(self, ask: Callable[[Any], Awaitable[object]]) -> object:
        if time.monotonic() < self._resting_until:
            return None
        try:
            return await ask(self._redis())
        except self._failures as problem:
            self._resting_until = time.monotonic() + self._rest
            told = {"reason": _kind(problem), "seconds": self._rest}
            LOGGER.warning("Redis failed; windows are read from Postgres alone for a while", extra=told)
            return None

    def _redis(self) -> Any:
        """Returns the client of the running loop."""
        loop, clients = asyncio.get_running_loop(), self._clients.get()
        if loop not in clients:
            clients[loop] = self._connect()
        return clients[loop]

    def _connect(self) -> Any:
        from redis.asyncio import BlockingConnectionPool, Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError as Disconnected

        pool = BlockingConnectionPool.from_url(
            self._url,
            max_connections=self._connections,
            timeout=self._timeout,
            socket_timeout=self._timeout,
            socket_connect_timeout=self._timeout,
            # A connection that a restarted Redis has closed is noticed only when it is used.
            retry=Retry(NoBackoff(), 1, (Disconnected,)),
        )
        return Redis.from_pool(pool)


@asynccontextmanager
async def chosen(settings: Settings) -> AsyncIterator[WindowCache | None]:
    """Yields the cache that the settings ask for, for the duration of the block; None if they ask for none."""
    if settings.window_cache == "memory":
        yield ProcessWindowCache()
    elif settings.redis_url is None or settings.window_cache == "off":
        yield None
    else:
        redis = RedisWindowCache(settings.redis_url)
        try:
            yield redis
        finally:
            await redis.close()


def _failures() -> tuple[type[Exception], ...]:
    """Returns the exceptions that a Redis which cannot be used raises."""
    try:
        from redis.exceptions import RedisError
    except ImportError:
        raise Unavailable(
            f"Redis is reached through the redis package, which is missing: {how_to_install('redis')}"
        ) from None
    return RedisError, OSError


def _check_url(url: str) -> str:
    from redis.asyncio.connection import parse_url

    try:
        parse_url(url)
    except ValueError:
        raise Invalid("the URL of Redis must look like redis://localhost:6379/0, rediss://… or unix:///path") from None
    return url


def _kind(problem: Exception) -> str:
    """Returns only the type of an error: its text may hold the address, and that a password."""
    return type(problem).__name__
