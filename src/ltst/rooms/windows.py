"""Windows: finds which messages are now the newest of a session, and reads only those that the caller lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ltst.db.pool import Database, Executor
from ltst.records import ConversationMessage


class WindowDifference(NamedTuple):
    """The current window compared with what the caller knows of it."""

    kept: Sequence[int]
    """Indexes of the messages in the window that are as the caller knows them."""
    fresh: Sequence[tuple[str, ConversationMessage]]
    """The other messages in the window, oldest first, each with its version."""


async def database_id(tx: Executor) -> str:
    """Returns an id for this database, so that several databases can share one cache."""
    return str(await tx.value("windows.database"))


async def difference(
    database: Database, user_id: str, session_id: str, limit: int, max_tokens: int | None, known: Mapping[str, str]
) -> WindowDifference:
    """Returns the current window in one round trip, without the text of messages whose `known` version is current."""
    first, *others = await database.call_rows(
        "windows.difference",
        dict[str, Any],
        user_id=user_id,
        session_id=session_id,
        limit=limit,
        max_tokens=max_tokens,
        known=json.dumps(known),
    )
    fresh = [{name: value for name, value in each.items() if name != "kept"} for each in others]
    return WindowDifference(first["kept"], [(each.pop("version"), ConversationMessage(**each)) for each in fresh])
