"""Reads the window of a conversation, from Postgres or with texts from a cache if there is one."""

from __future__ import annotations

from ltst.handles.desk import Core
from ltst.recall.window import Reading
from ltst.rooms import messages


async def read(core: Core, user_id: str, session_id: str, limit: int, max_tokens: int | None) -> Reading:
    """Return the newest messages, oldest first, and whether the cache held them all."""
    if core.windows is None:
        database = await core.reads(user_id)
        return Reading(await messages.window(database, user_id, session_id, limit, max_tokens))
    # Uses the primary: a lagging standby could return erased texts, and the cache would keep them.
    found = await core.windows.read(core.database, user_id, session_id, limit, max_tokens)
    if found.keep is not None:
        core.later(found.keep)
    return found


async def forget(core: Core, user_id: str) -> None:
    """Removes a user from the cache, after pending writes to it are done."""
    if core.windows is not None:
        await core.finish()
        await core.windows.forget(user_id)
