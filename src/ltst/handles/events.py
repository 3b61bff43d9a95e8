"""Events of a user: the ledger of every change."""

from __future__ import annotations

import builtins
import re
from typing import Annotated

from ltst.arguments import Limit
from ltst.errors import Invalid
from ltst.handles.desk import Handle
from ltst.records import Event
from ltst.rooms import events
from ltst.support import validate

# Without leading zeros, which Postgres would read as octal.
CURSOR = re.compile("(?:(0|[1-9][0-9]{0,17})-)?(0|[1-9][0-9]{0,18})-(0|[1-9][0-9]{0,17})")
LAST = 2**63 - 1

After = Annotated[int | str, "The event_id or cursor of the last event that was seen; 0 for the first."]


class AsyncEvents(Handle):
    """Every change of a user's memory, in order, without contents."""

    async def list(self, *, after: After = 0, limit: Limit = 100) -> builtins.list[Event]:
        """Return the events after one, oldest first; `after` is its event_id or cursor, 0 for the first."""
        place, most = checked_place(after), validate.limit(limit)
        # From the primary, because a lagging standby does not know every cursor.
        async with self._desk.reading("events.list", primary=True) as calls:
            return await events.list_all(calls, place, limit=most)

    async def feed(self, *, after: After = 0, limit: Limit = 100) -> builtins.list[Event]:
        """Return the same to a program that follows the ledger: after the last one it saw, none is skipped or repeated.

        An event appears once every change of this user that was begun before it has ended: at once, or a moment later.
        A cursor stays good when the database is restored from a backup; one that this database cannot place is a
        ForeignCursor.
        """
        place, most = checked_place(after), validate.limit(limit)
        async with self._desk.reading("events.feed", primary=True) as calls:
            return await events.list_all(calls, place, limit=most, settled=True)


def checked_places(after: object) -> tuple[events.LedgerPlace, ...]:
    """Return where to go on from in the ledger of all users; where it lies in several places, in each of them."""
    parts = after.split(events.BETWEEN) if isinstance(after, str) else (after,)
    return tuple(checked_place(part) for part in parts)


def checked_place(after: object) -> events.LedgerPlace:
    """Returns the place after which to continue; a cursor is always enough, an event's number only while it exists."""
    if isinstance(after, int) and not isinstance(after, bool) and 0 <= after < 2**63:
        return events.LedgerPlace(after)
    if isinstance(after, str) and (found := CURSOR.fullmatch(after)):
        # Cursors older than epochs name none and mean epoch 0.
        return events.LedgerPlace(int(found[3]), int(found[1] or 0), min(int(found[2]), LAST))
    raise Invalid("after must be the event_id or the cursor of an event, or 0 for the first")
