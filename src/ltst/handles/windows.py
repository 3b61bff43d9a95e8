"""The window of a conversation: from Postgres alone, or with the words of a cache where the memory has one."""

from __future__ import annotations

from ltst.handles.desk import Core
from ltst.recall.window import Reading
from ltst.rooms import messages


async def read(core: Core, user_id: str, session_id: str, limit: int, max_tokens: int | None) -> Reading:
    """The newest messages, oldest first, and whether the cache held them all."""
    if core.windows is None:
        return Reading(await messages.window(core.database, user_id, session_id, limit, max_tokens))
    found = await core.windows.read(core.database, user_id, session_id, limit, max_tokens)
    if found.keep is not None:
        core.later(found.keep)
    return found


async def forget(core: Core, user_id: str) -> None:
    """Remove what the cache holds of a user; what is on its way into it goes in first."""
    if core.windows is not None:
        await core.finish()
        await core.windows.forget(user_id)
