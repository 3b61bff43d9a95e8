"""Search: candidates found by their words, ranked by how many of the query's words they hold."""

from __future__ import annotations

from ltst.db.pool import Executor
from ltst.records import ConversationMessage


async def messages(
    tx: Executor, query: str, session_id: str, *, limit: int, threshold: float
) -> list[tuple[ConversationMessage, float]]:
    """Messages of a session with the share of the query's words (stemmed, stop words aside) that each holds."""
    found = await tx.dicts(
        "search.messages",
        user_id=tx.scope.user_id,
        query=query,
        session_id=session_id,
        limit=limit,
        threshold=threshold,
    )
    return [(ConversationMessage(**row), similarity) for row in found for similarity in [row.pop("similarity")]]
