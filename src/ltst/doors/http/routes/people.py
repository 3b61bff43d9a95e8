"""The user as a whole over HTTP: what was exported comes back, and everything can go."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body

from ltst.doors.http.callers import Guarded, User
from ltst.errors import Invalid
from ltst.verbs import shapes
from ltst.verbs.wire import Id, Shape

router = APIRouter(route_class=Guarded, prefix="/v1", tags=["user"])

SCHEMA = {"properties": {"format": {"const": "ltst"}, "version": {"const": 1}}, "required": ["format", "version"]}
Exported = Annotated[dict[str, Any], Body(json_schema_extra=SCHEMA)]


class Confirmed(Shape):
    """The id of the user whose memory is to be erased, so that it is not done by mistake."""

    user_id: Id


@router.post("/import")
async def restore(user: User, document: Exported) -> dict[str, int]:
    """Put an exported document into this user's memory, all or nothing; the rows added, by noun."""
    return await user.restore(document)


@router.post("/erase", response_model=shapes.Receipt)
async def erase(user: User, given: Confirmed) -> Any:
    """Remove everything the user owns, this user's keys included, and prove it."""
    if given.user_id != user.user_id:
        raise Invalid("user_id must be the id of the user whose memory is to be erased")
    return await user.erase()
