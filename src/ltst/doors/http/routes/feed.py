"""The change feed over HTTP: pages of the ledger by cursor, or a stream of events as they happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, TypeAdapter

from ltst.doors.http import problems
from ltst.doors.http.callers import Administered, GuardedRoute, User
from ltst.doors.http.routes.common import EVENT_STREAM, STREAMED, event
from ltst.errors import Invalid, LtstError
from ltst.memory import AsyncMemory
from ltst.records import Event
from ltst.support.logs import LOGGER
from ltst.verbs import shapes
from ltst.verbs.wire import Limit

router = APIRouter(route_class=GuardedRoute, tags=["events"])

# A regular comment keeps proxies from closing an idle connection.
KEEP_ALIVE_SECONDS = 15.0
BATCH = 500
POLL_SECONDS = 0.5
EVENT: TypeAdapter[Any] = TypeAdapter(shapes.Event)

PLACE = "^(0|[1-9][0-9]{0,17})(-(0|[1-9][0-9]{0,17})){0,2}$"
After = Annotated[
    str,
    Query(pattern=PLACE, description="The event_id or the cursor of the last event that was seen; 0 for the first."),
]
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", pattern=PLACE, description="The same, sent by a browser.")
]
Accept = Annotated[str, Header(description=f"{EVENT_STREAM} to be told as it happens.")]
Settled = Annotated[
    bool, Query(description="False tells of all at once, also of those that an earlier one may yet come before.")
]
Read = Callable[..., Awaitable[list[Event]]]


class EventFeed(BaseModel):
    """Changes in order; go on with `after` set to `next`."""

    items: list[shapes.Event]
    next: str


class FeedRequest(NamedTuple):
    """The position of a reader, the size of a page, and whether it wants a stream."""

    after: str
    limit: int
    streamed: bool


async def _asked(
    after: After = "0", limit: Limit = 100, last_event_id: LastEventId = None, accept: Accept = "application/json"
) -> FeedRequest:
    return FeedRequest(last_event_id or after, limit, EVENT_STREAM in accept)


Asking = Annotated[FeedRequest, Depends(_asked)]
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The events, as one page or, if asked for with Accept, as a stream.", "content": STREAMED}
}


@router.get("/v1/events", response_model=EventFeed, responses=ANSWERS)
async def list_events(
    request: Request,
    user: User,
    asked: Asking,
    settled: Settled = True,
) -> Any:
    """Return what changed in this user's memory after an event; nothing is skipped or repeated."""
    if asked.streamed and not settled:
        raise Invalid("a stream tells of settled events alone: leave settled out, or ask for a page")
    return await _answer(request, user.events.feed if settled else user.events.list, asked, user.user_id)


@router.get("/v1/admin/events", response_model=EventFeed, responses=ANSWERS)
async def list_events_of_all_users(request: Request, memory: Administered, asked: Asking) -> Any:
    """Return what changed in everyone's memory after an event."""
    return await _answer(request, memory.feed, asked, None)


async def _answer(request: Request, read: Read, asked: FeedRequest, user_id: str | None) -> Response | dict[str, Any]:
    place: int | str = int(asked.after) if asked.after.isdecimal() else asked.after
    if asked.streamed:
        await read(after=place, limit=1)  # refuses a cursor of another ledger before the stream begins
        events = _stream(request, read, place, user_id)
        return StreamingResponse(events, media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"})
    found = await read(after=place, limit=asked.limit)
    return {"items": found, "next": found[-1].cursor if found else asked.after}


async def _stream(request: Request, read: Read, place: int | str, user_id: str | None) -> AsyncIterator[str]:
    """Yield every event as it happens, until the listener leaves or the server stops."""
    stopping: asyncio.Event = request.app.state.stopping
    changes: Listeners = request.app.state.changes
    yield ": listening\n\n"
    with changes.listening(user_id) as news:
        while not stopping.is_set():
            news.clear()
            try:
                found = await read(after=place, limit=BATCH)
            except LtstError as problem:  # the listener reconnects with the last id and then gets a status
                yield event(problems.of_error(problem, request.state.request_id), name="error")
                return
            if found:
                place = found[-1].cursor
                # In one piece, because a listener who has left is only noticed between two of them.
                yield "".join(map(_as_event, found))
            if len(found) < BATCH and not await _wait_for_news(news):
                yield ": still here\n\n"


def _as_event(each: Event) -> str:
    return event(EVENT.dump_python(EVENT.validate_python(each), mode="json"), name=each.noun, id=each.cursor)


async def _wait_for_news(news: asyncio.Event) -> bool:
    """Return whether there may be news, or False when it is time for a sign of life."""
    try:
        async with asyncio.timeout(KEEP_ALIVE_SECONDS):
            return await news.wait()
    except TimeoutError:
        return False


class Listeners:
    """Wakes the streams of users whose memories changed, with one query for all of them.

    Costs nothing while nobody listens.
    """

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
            except LtstError as problem:  # it may be back next time
                LOGGER.warning("changes cannot be read", extra={"reason": str(problem)})
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), POLL_SECONDS)
        self._wake(None)

    async def _look(self, place: str | None) -> str:
        found = await self._memory.changed(place)
        # At the start and after a restore, listeners may have read up to an older position.
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
