"""The user as a whole over HTTP: search, profile, learning, retention, export, erasure."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Response

from ltst.doors.http import shapes
from ltst.doors.http.callers import Guarded, User
from ltst.doors.http.routes.answers import found, gone
from ltst.doors.http.shapes import Identifier, Page
from ltst.errors import Invalid

router = APIRouter(route_class=Guarded, prefix="/v1")

Exported = Annotated[
    dict[str, Any],
    Body(
        json_schema_extra={
            "properties": {"format": {"const": "ltst"}, "version": {"const": 1}},
            "required": ["format", "version"],
        }
    ),
]


@router.post("/search", response_model=Page[shapes.Hit], tags=["search"])
async def search(user: User, given: shapes.SearchWanted) -> Any:
    """What is remembered about a question, the best first; nothing when nothing is relevant."""
    wanted = {name: getattr(given, name) for name in type(given).model_fields if name != "query"}
    return {"items": await user.search(given.query, **wanted)}


@router.get("/messages/{message_id:segment}", response_model=shapes.Message, tags=["messages"])
async def get_message(user: User, message_id: Identifier) -> Any:
    """A message by its id, in whichever conversation it stands: what the source of a fact or a hit says."""
    return found(await user.message(message_id), f"message {message_id!r}")


@router.get("/profile", response_model=shapes.Profile, tags=["user"])
async def profile(user: User) -> Any:
    """The facts that hold now, and the preferences."""
    return await user.profile()


@router.get("/export", tags=["user"])
async def export(user: User) -> dict[str, Any]:
    """Everything the user owns, sensitive values in clear, as a document that `POST /v1/import` reads back."""
    return await user.export()


@router.post("/import", tags=["user"])
async def restore(user: User, document: Exported) -> dict[str, int]:
    """Put an exported document into this user's memory, all or nothing; the rows added, by noun."""
    return await user.restore(document)


@router.post("/erase", response_model=shapes.Receipt, tags=["user"])
async def erase(user: User, given: shapes.Confirmed) -> Any:
    """Remove everything the user owns, this user's keys included, and prove it."""
    if given.user_id != user.user_id:
        raise Invalid("user_id must be the id of the user whose memory is to be erased")
    return await user.erase()


@router.get("/learning", tags=["learning"])
async def learning(user: User) -> dict[str, bool]:
    """What is learnt from this user's messages."""
    return await user.learning.get()


@router.patch("/learning", tags=["learning"])
async def switch_learning(user: User, given: shapes.Switches) -> dict[str, bool]:
    """Switch features on or off for this user alone."""
    named = {name: getattr(given, name) for name in type(given).model_fields}
    return await user.learning.set(**named)


@router.post("/learning/catch-up", response_model=shapes.Conversations, tags=["learning"])
async def catch_up(user: User, session_id: Identifier | None = None) -> Any:
    """Learn what was said since, at once; in one conversation, or in all."""
    return {"conversations": await user.learning.catch_up(session_id)}


@router.post("/learning/restart", response_model=shapes.Conversations, tags=["learning"])
async def restart(user: User) -> Any:
    """Forget what was learnt, and let it be learnt anew from the messages."""
    return {"conversations": await user.learning.restart()}


@router.get("/retention", response_model=Page[shapes.Policy], tags=["retention"])
async def list_policies(user: User) -> Any:
    """After how long conversations are archived and deleted, by session type."""
    return {"items": await user.retention.list()}


@router.put("/retention/{session_type:segment}", response_model=shapes.Policy, tags=["retention"])
async def set_policy(user: User, session_type: shapes.Word, given: shapes.PolicyWritten) -> Any:
    """The policy of a session type; * for all types that have none."""
    return await user.retention.set(session_type, archive_after=given.archive_after, delete_after=given.delete_after)


@router.delete("/retention/{session_type:segment}", status_code=204, response_class=Response, tags=["retention"])
async def forget_policy(user: User, session_type: shapes.Word) -> Response:
    """Remove a policy."""
    return gone(await user.retention.forget(session_type), f"policy for {session_type!r}")
