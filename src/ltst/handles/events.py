"""Events of a user: the ledger, to read."""

from __future__ import annotations

import builtins

from ltst.errors import Invalid
from ltst.handles.desk import Desk
from ltst.records import Event
from ltst.rooms import events
from ltst.support import validate


class AsyncEvents:
    """The ledger of a user: every change, in order, without contents."""

    def __init__(self, desk: Desk) -> None:
        """Made by `user.events`."""
        self._desk = desk

    async def list(self, *, after: int = 0, limit: int = 100) -> builtins.list[Event]:
        """The events that follow the one with the id `after`, oldest first."""
        most = validate.limit(limit)
        if not isinstance(after, int) or isinstance(after, bool) or not 0 <= after < 2**63:
            raise Invalid("after must be the event_id of an event, or 0 for the first")
        async with self._desk.reading("events.list") as calls:
            return await events.list_all(calls, after=after, limit=most)
