"""The window of a conversation: from Postgres alone, or with the words of a cache where the memory has one."""

from __future__ import annotations

from ltst.handles.desk import Core
from ltst.recall.window import Reading
from ltst.rooms import messages


async def read(core: Core, user_id: str, session_id: str, limit: int, max_tokens: int | None) -> Reading:
    """Return the newest messages, oldest first, and whether the cache held them all."""
    if core.windows is None:
        database = await core.reads(user_id)
        return Reading(await messages.window(database, user_id, session_id, limit, max_tokens))
    # Of the primary, which alone knows at once what was erased: a standby's words would be kept beyond that.
    found = await core.windows.read(core.database, user_id, session_id, limit, max_tokens)
    if found.keep is not None:
        core.later(found.keep)
    return found


async def forget(core: Core, user_id: str) -> None:
    """Remove what the cache holds of a user; what is on its way into it goes in first."""
    if core.windows is not None:
        await core.finish()
        await core.windows.forget(user_id)
