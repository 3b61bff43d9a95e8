"""Messages of a conversation that are taken out, or say something else from now on, with all that rests on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from ltst.db.pool import Transaction
from ltst.errors import NotFound
from ltst.handles import windows
from ltst.handles.desk import Desk
from ltst.learn.weigh import hold, weigh
from ltst.records import ConversationMessage, Metadata
from ltst.rooms import claims, messages, sessions
from ltst.support.ids import is_id


async def remove(desk: Desk, session_id: str, message_id: str) -> None:
    """Remove a message."""
    async with _changing(desk, "remove", session_id, message_id) as (tx, message):
        await messages.remove(tx, message)
        await desk.tell(tx, "delete", "message", str(message.message_id), _place(message))


async def replace(
    desk: Desk, session_id: str, message_id: str, content: str, metadata: Metadata | None
) -> ConversationMessage:
    """Let a message say something else; the message as it is now."""
    words = desk.content(content, "content")
    noted = None if metadata is None else desk.metadata(metadata)
    async with _changing(desk, "replace", session_id, message_id) as (tx, message):
        changed = await messages.replace(tx, message, words, noted)
        await desk.tell(tx, "change", "message", str(message.message_id), _place(message))
    return changed


@asynccontextmanager
async def _changing(
    desk: Desk, verb: str, session_id: str, message_id: str
) -> AsyncIterator[tuple[Transaction, ConversationMessage]]:
    """A message to be changed, and afterwards everything in order that was known from it: all of it or nothing."""
    if not is_id(message_id):
        raise NotFound(f"no message {message_id!r}")
    async with desk.writing(f"messages.{verb}", session_id) as tx:
        # First of all, as does whoever learns from the session: neither works with words that the other changes.
        await sessions.hold_many(tx, [session_id])
        message = await messages.need_in(tx, session_id, message_id)
        known = await claims.said_in(tx, message_id)
        await hold(tx, known)
        yield tx, message
        await weigh(tx, known)  # what the triggers left of it rests on other messages
        tx.seen = 1  # not the rows of the ledger and of what was folded
    await windows.forget(desk.core, desk.user_id)


def _place(message: ConversationMessage) -> dict[str, object]:
    """Where it stands, and never what it says."""
    return {"session_id": message.session_id, "message_index": message.message_index}
