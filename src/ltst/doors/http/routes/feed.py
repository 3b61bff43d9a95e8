"""The change feed over HTTP: the ledger by cursor, or as events that a server sends while they happen."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import TypeAdapter

from ltst.doors.http import shapes
from ltst.doors.http.callers import Administered, Guarded, User
from ltst.doors.http.shapes import Limit
from ltst.doors.http.streams import EVENT_STREAM, STREAMED, event
from ltst.records import Event

router = APIRouter(route_class=Guarded, tags=["events"])

POLL_SECONDS = 0.5
# A comment now and then keeps proxies from closing a line on which nothing happens.
KEEP_ALIVE_POLLS = 30
BATCH = 500
EVENT: TypeAdapter[Any] = TypeAdapter(shapes.Event)

PLACE = "^(0|[1-9][0-9]{0,17})(-(0|[1-9][0-9]{0,17})){0,2}$"
After = Annotated[
    str,
    Query(
        pattern=PLACE,
        description="The event_id or the cursor of the last event that was seen; 0 for the first.",
    ),
]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", pattern=PLACE, description="The same, sent by a browser."),
]
Accept = Annotated[str, Header(description=f"{EVENT_STREAM} to be told as it happens.")]
Settled = Annotated[
    bool, Query(description="False tells of all at once, also of those that an earlier one may yet come before.")
]
Read = Callable[[int | str, int], Awaitable[list[Event]]]

ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The events, as one page or, if asked for with Accept, as a stream.",
        "content": STREAMED,
    }
}


@router.get("/v1/events", response_model=shapes.Feed, responses=ANSWERS)
async def events(
    request: Request,
    user: User,
    after: After = "0",
    limit: Limit = 100,
    settled: Settled = True,
    last_event_id: LastEventId = None,
    accept: Accept = "application/json",
) -> Any:
    """What changed in this user's memory after an event: nothing is skipped, nothing repeated."""

    async def read(place: int | str, most: int) -> list[Event]:
        told = user.events.feed if settled else user.events.list
        return await told(after=place, limit=most)

    return await _answer(request, read, last_event_id or after, limit, accept)


@router.get("/v1/admin/events", response_model=shapes.Feed, responses=ANSWERS)
async def events_of_all(
    request: Request,
    memory: Administered,
    after: After = "0",
    limit: Limit = 100,
    last_event_id: LastEventId = None,
    accept: Accept = "application/json",
) -> Any:
    """What changed in everyone's memory after an event."""

    async def read(place: int | str, most: int) -> list[Event]:
        return await memory.feed(after=place, limit=most)

    return await _answer(request, read, last_event_id or after, limit, accept)


async def _answer(request: Request, read: Read, after: str, limit: int, accept: str) -> Response | dict[str, Any]:
    place: int | str = int(after) if after.isdecimal() else after
    if EVENT_STREAM in accept:
        return StreamingResponse(
            _stream(request, read, place), media_type=EVENT_STREAM, headers={"Cache-Control": "no-store"}
        )
    found = await read(place, limit)
    return {"items": found, "next": found[-1].cursor if found else after}


async def _stream(request: Request, read: Read, place: int | str) -> AsyncIterator[str]:
    """Every event as it happens, until the listener leaves or the server stops."""
    stopping: asyncio.Event = request.app.state.stopping
    quiet = 0
    yield ": listening\n\n"
    while not stopping.is_set() and not await request.is_disconnected():
        found = await read(place, BATCH)
        if found:
            place = found[-1].cursor
            # In one piece: a listener who has left is noticed between two of them, not before.
            yield "".join(map(_told, found))
        quiet = 0 if found else quiet + 1
        if quiet and quiet % KEEP_ALIVE_POLLS == 0:
            yield ": still here\n\n"
        if len(found) < BATCH:
            await _rest(stopping)


def _told(each: Event) -> str:
    return event(EVENT.dump_python(EVENT.validate_python(each), mode="json"), name=each.noun, id=each.cursor)


async def _rest(stopping: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stopping.wait(), POLL_SECONDS)
    except TimeoutError:
        return
