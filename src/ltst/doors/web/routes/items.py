"""Items on the page: what programs store, browsed by namespace, searched and removed."""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, Response

from ltst.doors.web.pages import PageRoute, leading, page, paged
from ltst.doors.web.visits import Visited
from ltst.errors import Invalid, NotFound

router = APIRouter(route_class=PageRoute)

LISTED, FOUND, FOLDERS = 50, 30, 200


@router.get("/items")
async def listed(visit: Visited) -> Response:
    """Show the namespaces below one, and what lies in it."""
    inside = _labels(visit.request.query_params.getlist("within"))
    items, query, offset = visit.user.items, visit.asked("q"), visit.number("offset", 0)
    below = await items.list_namespaces(inside, max_depth=len(inside) + 1, limit=FOLDERS)
    if query.strip():
        found = await items.search(inside, query, limit=FOUND)
    else:
        found = await items.list(inside, limit=LISTED + 1, offset=offset)
    told: dict[str, Any] = {"inside": inside, "query": query, "items": found[:LISTED], **paged(found, LISTED, offset)}
    told["below"] = [each for each in below if len(each) > len(inside)]
    return page(visit, "items.html", **told, written=_as_json, gone=visit.asked("done") == "gone")


@router.post("/items/delete")
async def delete(visit: Visited) -> Response:
    """Remove an item."""
    try:
        namespace = _labels(json.loads(visit.need("namespace")))
    except ValueError:
        raise Invalid("a namespace is a list of labels, as JSON") from None
    if not await visit.user.items.delete(namespace, visit.need("key"), revision=visit.number("revision", 0, 2**31 - 1)):
        raise NotFound("there is no such item")
    return leading("/items", done="gone", within=[*namespace])


def _labels(given: Any) -> tuple[str, ...]:
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise Invalid("a namespace is a list of labels, as JSON")
    return tuple(given)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
