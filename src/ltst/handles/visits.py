"""Visits: answers that go on, such as event streams, and end when whoever asked for them is no longer welcome."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from ltst.errors import LtstError
from ltst.handles.callers import Caller, Reception
from ltst.support.logs import LOGGER

LOOKED_AFTER_EVERY = 2.0  # seconds; so soon does a stream end whose key was revoked

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class Visits:
    """Knows who listens, and asks about all of them at once. Costs nothing while nobody does."""

    def __init__(self, reception: Reception) -> None:
        """Ask the reception who is still welcome."""
        self._reception = reception
        self._here: dict[asyncio.Timeout, Caller] = {}
        self._looking: asyncio.Task[None] | None = None

    def begin(self, caller: Caller, limit: asyncio.Timeout) -> None:
        """Let the limit expire when the caller's token does, or once the key opens nothing any more."""
        if caller.expires is not None:
            limit.reschedule(asyncio.get_running_loop().time() + caller.expires - time.time())
            return
        self._here[limit] = caller
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_after())

    def end(self, limit: asyncio.Timeout) -> None:
        """Forget a visit that is over."""
        self._here.pop(limit, None)
        if not self._here and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(LOOKED_AFTER_EVERY)
            asked = {*self._here.values()}
            try:
                unwelcome = asked - await self._reception.still_welcome(asked)
            except LtstError as problem:  # a database that is away tells nothing about keys
                LOGGER.warning("whether callers are still welcome is not known", extra={"reason": str(problem)})
                continue
            for limit, caller in [*self._here.items()]:
                if caller in unwelcome:
                    self._here.pop(limit)
                    limit.reschedule(asyncio.get_running_loop().time())


class Watched:
    """Ends the answers of an application that go on after their caller is no longer welcome.

    The application leaves the caller in the state of the request. Who listens sees an end, not a fault.
    """

    def __init__(self, app: App, visits: Visits) -> None:
        """Watch over the answers of `app`."""
        self._app, self._visits = app, visits

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer a request."""
        complete = False

        async def watched(message: Message) -> None:
            nonlocal complete
            # An answer that is complete knows its length; any other comes piece by piece.
            named = {name.lower() for name, _ in message.get("headers", ())}
            if message["type"] == "http.response.start" and b"content-length" not in named:
                caller = scope.get("state", {}).get("caller")
                if caller is not None and not limit.expired():
                    self._visits.begin(caller, limit)
            elif message["type"] == "http.response.body":
                complete = not message.get("more_body")
            await send(message)

        limit = asyncio.timeout(None)
        try:
            async with limit:
                await self._app(scope, receive, watched)
        except TimeoutError:
            if not limit.expired():
                raise
            if not complete:
                with suppress(OSError):  # the listener has left too
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._visits.end(limit)
