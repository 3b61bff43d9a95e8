"""Statements of a user: what they said about their life, in their own words."""

from __future__ import annotations

import builtins
from typing import Annotated

from ltst.arguments import Identifier, Limit, StatementKind
from ltst.errors import NotFound
from ltst.handles.desk import Handle
from ltst.records import STATEMENT_KINDS, Statement
from ltst.rooms import statements
from ltst.support import validate
from ltst.support.ids import is_id

MOST = 1000
StatementId = Annotated[Identifier, "The id of the statement; list_statements shows them."]


class AsyncStatements(Handle):
    """What a user said of their life."""

    async def list(
        self,
        *,
        about: Annotated[Identifier | None, "me, or a name or relation as said: my sister Jo."] = None,
        kind: Annotated[StatementKind | None, "Only of a kind."] = None,
        current: Annotated[bool | None, "True: only what holds; false: only what is over."] = None,
        session_id: Annotated[Identifier | None, "Only of a conversation."] = None,
        limit: Limit = 100,
    ) -> builtins.list[Statement]:
        """Return what was said, the newest first, at most 1000.

        `about` is "me", or a name or relation as said; `kind` one of about_me, person, activity, taste, event, plan and
        order. With `current=True` only what holds: nothing that something said later took the place of, and no plan
        whose day has passed; with False only those.
        """
        wanted = {
            "about": validate.optional_identifier(about, "about"),
            "kind": validate.optional_choice(kind, "kind", STATEMENT_KINDS),
            "session_id": validate.optional_identifier(session_id, "session_id"),
        }
        holds = None if current is None else validate.flag(current, "current")
        most = validate.limit(limit, most=MOST)
        async with self._desk.reading("statements.list") as calls:
            return await statements.list_all(calls, **wanted, current=holds, limit=most)

    async def get(self, statement_id: StatementId) -> Statement | None:
        """Return a statement, even a rejected one; None if there is none."""
        if not is_id(validate.identifier(statement_id, "statement_id")):
            return None
        async with self._desk.reading("statements.get") as calls:
            return await calls.row("statements.get", Statement, statement_id=statement_id)

    async def reject(self, statement_id: StatementId) -> Statement:
        """Strike a statement out for good: it is not read from that span again; what it had replaced holds again."""
        wanted = validate.identifier(statement_id, "statement_id")
        if not is_id(wanted):
            raise NotFound(f"no statement {wanted!r}")
        async with self._desk.writing("statements.reject") as tx:
            known = await tx.row("statements.get", Statement, statement_id=wanted)
            if known is None:
                raise NotFound(f"no statement {wanted!r}")
            # A person may also reject for good what a language model struck out.
            if known.rejected_at is not None and known.trust != "low":
                return known
            await tx.run("statements.believe", statement_id=wanted)
            await tx.run("statements.reject", statement_id=wanted)
            await self._desk.tell(tx, "reject", "statement", known.statement_id)
            return await tx.one("statements.get", Statement, statement_id=wanted)
