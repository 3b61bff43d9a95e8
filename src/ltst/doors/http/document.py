"""The document at /openapi.json: what FastAPI writes of the routes, and what it cannot know of them."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from ltst.doors.http.problems import Problem
from ltst.handles.callers import USER_HEADER

LICENSE = {"name": "MIT", "identifier": "MIT"}
USER_ID: dict[str, Any] = {
    "name": USER_HEADER,
    "in": "header",
    "required": False,
    "description": "Whose memory it is about: with an admin's key, or on a server without keys, where `local` is the "
    "default. A user's own key names its user already, and another is refused.",
    "schema": {"type": "string", "minLength": 1, "maxLength": 255},
}


def document(app: FastAPI) -> dict[str, Any]:
    """Return the document; FastAPI keeps it, and makes it anew when a route is added."""
    written = FastAPI.openapi(app)
    components = written["components"]
    if "Problem" not in components["schemas"]:
        written["info"]["license"], written["servers"] = LICENSE, [{"url": "/"}]
        components["schemas"]["Problem"] = Problem.model_json_schema()
        components["parameters"] = {"UserId": USER_ID}
        for operation in (each for path in written["paths"].values() for each in path.values()):
            _complete(operation)
    return written


def _complete(operation: dict[str, Any]) -> None:
    """What stands in an address or a header is there or not, but never null; whose memory it is may be told."""
    parameters = operation.get("parameters", [])
    for parameter in parameters:
        parameter["schema"] = _without_null(parameter["schema"])
    if operation.setdefault("security", []):
        operation["parameters"] = [*parameters, {"$ref": "#/components/parameters/UserId"}]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    kept = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kept) != 1:
        return schema
    return {**{name: value for name, value in schema.items() if name != "anyOf"}, **kept[0]}
