"""Ends long-lived answers, such as event streams, when their caller loses access."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from ltst.errors import LtstError
from ltst.handles.callers import Caller, CallerCheck
from ltst.support.logs import LOGGER

LOOKED_AFTER_EVERY = 2.0  # seconds; how soon a stream ends after its key was revoked

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class OpenStreams:
    """Knows who is listening and checks all of them at once; costs nothing while nobody is."""

    def __init__(self, caller_check: CallerCheck) -> None:
        """Asks the check whose access is still valid."""
        self._caller_check = caller_check
        self._here: dict[asyncio.Timeout, Caller] = {}
        self._looking: asyncio.Task[None] | None = None

    def begin(self, caller: Caller, limit: asyncio.Timeout) -> None:
        """Lets the timeout expire with the caller's token, or once the caller's key is no longer valid."""
        if caller.expires is not None:
            limit.reschedule(asyncio.get_running_loop().time() + caller.expires - time.time())
            return
        self._here[limit] = caller
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_after())

    def end(self, limit: asyncio.Timeout) -> None:
        """Removes a visit that is over."""
        self._here.pop(limit, None)
        if not self._here and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(LOOKED_AFTER_EVERY)
            asked = {*self._here.values()}
            try:
                unwelcome = asked - await self._caller_check.still_welcome(asked)
            except LtstError as problem:  # an unreachable database says nothing about keys
                LOGGER.warning("whether callers are still welcome is not known", extra={"reason": str(problem)})
                continue
            for limit, caller in [*self._here.items()]:
                if caller in unwelcome:
                    self._here.pop(limit)
                    limit.reschedule(asyncio.get_running_loop().time())


class StreamGuard:
    """ASGI middleware that ends streamed answers once their caller loses access.

    The application stores the caller in the state of the request. Listeners see a normal end, not an error.
    """

    def __init__(self, app: App, visits: OpenStreams) -> None:
        """Wraps `app`."""
        self._app, self._visits = app, visits

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Handles a request."""
        complete = False

        async def watched(message: Message) -> None:
            nonlocal complete
            # A complete answer has a length; any other one is streamed.
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
                with suppress(OSError):  # the client is gone too
                    await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._visits.end(limit)
