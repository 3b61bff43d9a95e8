"""The OpenAPI document at /openapi.json, and the same as plain HTML at /docs, which loads nothing from elsewhere."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader

from ltst.doors.http.problems import Problem, title
from ltst.doors.http.routes.common import PROBLEMS
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
VALUES = ("default", "example", "examples", "const", "enum")  # keys of a schema whose values are not schemas
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def document(app: FastAPI) -> dict[str, Any]:
    """Returns FastAPI's document, completed with what FastAPI cannot know; rebuilt when a route is added."""
    written = FastAPI.openapi(app)
    components = written["components"]
    if "Problem" not in components["schemas"]:
        written["info"]["license"], written["servers"] = LICENSE, [{"url": "/"}]
        components["schemas"]["Problem"] = Problem.model_json_schema()
        components["parameters"] = {"UserId": USER_ID}
        components["responses"] = {_status_name(status): each for status, each in PROBLEMS.items()}
        for operation in (each for path in written["paths"].values() for each in path.values()):
            _complete(operation)
        _drop_titles(written["paths"])
        _drop_titles(components)
    return written


def _complete(operation: dict[str, Any]) -> None:
    """Completes an operation: parameters are never null, a header may name the user, and problems are referenced."""
    parameters = operation.get("parameters", [])
    for parameter in parameters:
        parameter["schema"] = _without_null(parameter["schema"])
    for status, told in PROBLEMS.items():
        if operation["responses"].get(str(status)) == told:
            operation["responses"][str(status)] = {"$ref": f"#/components/responses/{_status_name(status)}"}
    if operation.setdefault("security", []):
        operation["parameters"] = [*parameters, {"$ref": "#/components/parameters/UserId"}]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    kept = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kept) != 1:
        return schema
    return {**{name: value for name, value in schema.items() if name != "anyOf"}, **kept[0]}


def _status_name(status: int | str) -> str:
    return title(int(status)).replace(" ", "")


def _drop_titles(described: Any) -> None:
    """Removes the titles that pydantic derives from names, because they add nothing."""
    if isinstance(described, dict):
        if isinstance(described.get("title"), str):
            del described["title"]
        for name, each in described.items():
            if name not in VALUES:
                _drop_titles(each)
    elif isinstance(described, list):
        for each in described:
            _drop_titles(each)


def add_reference(app: FastAPI) -> None:
    """Serves the page at /docs, rendered on first use."""
    made: list[str] = []

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        if not made:
            made.append(page(app.openapi()))
        return HTMLResponse(made[0], headers={"Content-Security-Policy": POLICY})


def page(document: dict[str, Any]) -> str:
    """Return a document as HTML."""
    groups: dict[str, list[Any]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(next(iter(operation.get("tags", ())), "other"), []).append((method, path, operation))
    made = Environment(loader=FileSystemLoader(Path(__file__).parent), autoescape=True, trim_blocks=True)
    made.filters |= {"type": _type, "resolved": partial(_resolved, document)}
    return made.get_template("reference.html").render(info=document["info"], groups=groups)


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rsplit("/", 1)[-1])
    several = [_type(each) for each in schema.get("anyOf", ())]
    return " or ".join(several) if several else str(schema.get("type", "any"))


def _resolved(document: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in given:
        return given
    _, kind, name = given["$ref"].removeprefix("#/").split("/")
    found: dict[str, Any] = document["components"][kind][name]
    return found
