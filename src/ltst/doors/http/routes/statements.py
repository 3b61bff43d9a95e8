"""Statements over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.answers import found
from ltst.doors.http.shapes import Identifier, Limit, Page
from ltst.records import STATEMENT_KINDS

router = APIRouter(route_class=Guarded, prefix="/v1/statements", tags=["statements"])

About = Annotated[Identifier | None, Query(description='Whom it is about: "me", or a name or relation as said.')]
Kind = Annotated[str | None, Query(pattern=f"^({'|'.join(STATEMENT_KINDS)})$", description="Only of a kind.")]
Current = Annotated[bool | None, Query(description="True: only what holds; false: only what does not any more.")]
Session = Annotated[Identifier | None, Query(description="Only of a conversation.")]


@router.get("", response_model=Page[shapes.Statement])
async def list_statements(
    user: User,
    about: About = None,
    kind: Kind = None,
    current: Current = None,
    session_id: Session = None,
    limit: Limit = 100,
) -> Any:
    """What the user said of their life, in their own words, the newest first."""
    wanted: dict[str, Any] = {"about": about, "kind": kind, "current": current, "session_id": session_id}
    return {"items": await user.statements.list(**wanted, limit=limit)}


@router.get("/{statement_id:segment}", response_model=shapes.Statement)
async def get_statement(user: User, statement_id: Identifier) -> Any:
    """One statement."""
    return found(await user.statements.get(statement_id), f"statement {statement_id!r}")


@router.post("/{statement_id:segment}/reject", response_model=shapes.Statement)
async def reject_statement(user: User, statement_id: Identifier) -> Any:
    """Strike a statement out for good: it is never read from that span again."""
    return await user.statements.reject(statement_id)
