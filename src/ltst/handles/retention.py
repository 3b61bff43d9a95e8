"""Retention policies of a user: when sessions are archived and deleted."""

from __future__ import annotations

import builtins
from typing import Annotated

from ltst.arguments import Span, Word
from ltst.errors import Invalid
from ltst.handles.desk import Handle
from ltst.records import RetentionPolicy
from ltst.support import validate

SessionType = Annotated[Word, "The type of conversations; * for all that have no policy of their own."]
After = Annotated[Span | None, "Seconds without activity."]


class AsyncRetention(Handle):
    """After how long the sessions of a user are archived and deleted; `maintain` does it."""

    async def set(
        self, session_type: SessionType = "*", *, archive_after: After = None, delete_after: After = None
    ) -> RetentionPolicy:
        """Set the policy of a session type, or of all types that have none; spans count from the last activity."""
        kind = validate.short(session_type, "session_type", 100)
        aside, away = validate.duration(archive_after, "archive_after"), validate.duration(delete_after, "delete_after")
        if aside is None and away is None:
            raise Invalid("a policy needs archive_after, delete_after or both; use forget to remove one")
        async with self._desk.writing("retention.set") as tx:
            policy = await tx.one(
                "retention.set", RetentionPolicy, session_type=kind, archive_after=aside, delete_after=away
            )
            await self._desk.tell(tx, "set", "retention", kind)
        return policy

    async def list(self) -> builtins.list[RetentionPolicy]:
        """Return the policies, by session type."""
        async with self._desk.reading("retention.list") as calls:
            return await calls.rows("retention.list", RetentionPolicy)

    async def forget(self, session_type: SessionType = "*") -> bool:
        """Remove a policy; return whether there was one."""
        kind = validate.short(session_type, "session_type", 100)
        async with self._desk.writing("retention.forget") as tx:
            gone = await tx.run("retention.forget", session_type=kind) > 0
            if gone:
                await self._desk.tell(tx, "forget", "retention", kind)
        return gone
