"""The document at /openapi.json, and the page at /docs: the same as plain HTML, which loads nothing from anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from fastapi import FastAPI
from fastapi.responses import HTMLResponse

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
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font-family: ui-monospace, monospace; font-size: 0.9em }
summary { cursor: pointer; padding: 0.2rem 0 }
details { border-bottom: 1px solid #8884 }
table { border-collapse: collapse }
td, th { text-align: left; padding: 0.1rem 1rem 0.1rem 0; vertical-align: top }
"""


def document(app: FastAPI) -> dict[str, Any]:
    """Return what FastAPI writes of the routes, and what it cannot know of them; it is made anew for a new route."""
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
    """Complete an operation: parameters are never null, and a header may name the user."""
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


def add_reference(app: FastAPI) -> None:
    """Serve the page; it is made once, when it is first asked for."""
    made: list[str] = []

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        if not made:
            made.append(page(app.openapi()))
        return HTMLResponse(made[0], headers={"Content-Security-Policy": POLICY})


def page(document: dict[str, Any]) -> str:
    """Return a document as HTML."""
    info, groups = document["info"], _by_tag(document)
    parts = [f"<h2>{escape(tag)}</h2>\n{''.join(operations)}" for tag, operations in groups.items()]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])} API</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>{_paragraphs(info['description'])}"
        '<p>The whole document: <a href="openapi.json">openapi.json</a>.</p>' + "\n".join(parts) + "</body></html>"
    )


def _by_tag(document: dict[str, Any]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            tag = next(iter(operation.get("tags", ())), "other")
            groups.setdefault(tag, []).append(_operation(document, method, path, operation))
    return groups


def _operation(document: dict[str, Any], method: str, path: str, operation: dict[str, Any]) -> str:
    told = escape(operation.get("description", "").split("\n")[0])
    body = operation.get("requestBody", {}).get("content", {})
    inside = [_paragraphs(operation.get("description", "")), _table(_parameters(document, operation))]
    inside += [f"<p>Body, <code>{escape(kind)}</code>:</p>{_schema(document, each)}" for kind, each in body.items()]
    head = f"<summary><code>{method.upper()} {escape(path)}</code> {told}</summary>"
    return f"<details>{head}{''.join(inside)}</details>\n"


def _parameters(document: dict[str, Any], operation: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for given in operation.get("parameters", ()):
        parameter = _resolved(document, given)
        named = parameter["name"] + (" (required)" if parameter.get("required") else "")
        schema = _resolved(document, parameter.get("schema", {}))
        yield named, f"{parameter['in']}, {_type(schema)}", parameter.get("description", "")


def _schema(document: dict[str, Any], media: dict[str, Any]) -> str:
    schema = _resolved(document, media.get("schema", {}))
    needed = set(schema.get("required", ()))
    rows = (
        (name + (" (required)" if name in needed else ""), _type(each), each.get("description", ""))
        for name, each in schema.get("properties", {}).items()
    )
    return _table(rows) or f"<p>{escape(_type(schema))}</p>"


def _table(rows: Any) -> str:
    cells = ["".join(f"<td>{escape(str(cell))}</td>" for cell in row) for row in rows]
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>" if cells else ""


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


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(each)}</p>" for each in text.strip().split("\n\n") if each)
