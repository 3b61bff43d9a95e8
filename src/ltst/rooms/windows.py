"""Windows: which messages are the newest of a session now, and the text of those that the asker does not hold."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ltst.db.pool import Database, Executor
from ltst.records import ConversationMessage


class WindowDifference(NamedTuple):
    """A window beside what was known of it."""

    kept: Sequence[int]
    """The indexes of the messages in it that are still as they were known."""
    fresh: Sequence[tuple[str, ConversationMessage]]
    """The others in it, the oldest first, each with its version."""


async def database_id(tx: Executor) -> str:
    """Return an id of this database, so that several may share one cache."""
    return str(await tx.value("windows.database"))


async def difference(
    database: Database, user_id: str, session_id: str, limit: int, max_tokens: int | None, known: Mapping[str, str]
) -> WindowDifference:
    """Return the current window in one round trip, without the text of messages whose `known` version is current."""
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
