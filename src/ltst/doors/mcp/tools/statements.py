"""Tools for statements: what the user said of their life, in their own words."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ltst.doors.mcp import shapes
from ltst.doors.mcp.shapes import Flag, Identifier, Items, Limit, Page, SessionId, one_of
from ltst.doors.mcp.toolbox import READS, REPLACES, Asked, tool
from ltst.errors import NotFound
from ltst.records import STATEMENT_KINDS

StatementId = Annotated[Identifier, Field(description="The id of the statement; list_statements shows them.")]


@tool("List statements", READS, Page[shapes.Statement], nothing="The user has said nothing of the kind.")
async def list_statements(
    asked: Asked,
    about: Annotated[Identifier | None, Field(description="me, or a name or relation as said: my sister Jo.")] = None,
    kind: Annotated[str | None, one_of(*STATEMENT_KINDS), Field(description="Only of a kind.")] = None,
    current: Annotated[Flag | None, Field(description="True: only what holds; false: only what is over.")] = None,
    session_id: SessionId | None = None,
    limit: Limit = 100,
) -> Any:
    """What the user said of their life, word for word, the newest first, and what was said later in its place."""
    wanted: dict[str, Any] = {"about": about, "kind": kind, "current": current, "session_id": session_id}
    return Items(await asked.user.statements.list(**wanted, limit=limit))


@tool("Get a statement", READS, shapes.Statement)
async def get_statement(asked: Asked, statement_id: StatementId) -> Any:
    """One statement of the user, with the message that it stands in."""
    found = await asked.user.statements.get(statement_id)
    if found is None:
        raise NotFound(f"no statement {statement_id!r}")
    return found


@tool("Reject a statement", REPLACES, shapes.Statement)
async def reject_statement(asked: Asked, statement_id: StatementId) -> Any:
    """Strike out a statement that does not say what the user meant. It is never read from those words again."""
    return await asked.user.statements.reject(statement_id)


TOOLS = (list_statements, get_statement, reject_statement)
