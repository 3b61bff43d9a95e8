"""Items: `ltst items …`."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import typed
from ltst.doors.cli.parameters import VALUE_HELP, json_or_text
from ltst.doors.cli.verbs import Given, Noun, said
from ltst.records import Item
from ltst.support import lossless

ABOUT = "JSON values under namespaces and keys."
app = Noun("items", ABOUT, "list --in users", missing="item {key!r} in {namespace}")

COLUMNS = show.columns(
    "Namespace: , Key: key, Value: , Revision: revision, Updated: updated_at, Expires: expires_at",
    {"Namespace": lambda it: "/".join(it.namespace), "Value": lambda it: json.dumps(it.value, ensure_ascii=False)},
)
IN = {"namespace": "--in"}
Unsearched = Annotated[bool, typer.Option("--unsearched", help="No search by words or meaning finds it.")]


def _given(given: Given) -> Given:
    value = lossless.received(json_or_text(typed(given["value"], ask="Value")))
    return {"value": value, "fields": [] if given["unsearched"] else given["fields"]}


def _sent(done: Any) -> Any:
    """Return items with values that JSON can hold."""
    if isinstance(done, list):
        return [_sent(each) for each in done]
    return replace(done, value=lossless.sent(done.value)) if isinstance(done, Item) else done


def _one(as_json: bool, done: Any, given: Given) -> None:
    show.record(as_json, _sent(done), COLUMNS)


def _say_kept(as_json: bool, done: Any, given: Given) -> None:
    show.done(as_json, _sent(done), f"{done.key} is kept, in revision {done.revision}.")


def _many(as_json: bool, done: Any, given: Given) -> None:
    show.records(as_json, _sent(done), COLUMNS, title="Items", empty="There are no such items.")


def _spaces(as_json: bool, done: Any, given: Given) -> None:
    columns: show.Columns = {"Namespace": "/".join}
    show.records(as_json, done, columns, title="Namespaces", empty="No namespace holds an item.")


def _asked(given: Given) -> Given:
    return {"operations": lossless.with_received(given["operations"])}


def _results(as_json: bool, done: Any, given: Given) -> None:
    show.done(as_json, _sent(done), f"{len(done)} done.")


app.verb(
    "put",
    "Keep a value, in place of the one before.",
    """theme '{"color": "dark"}' --in users --in ana""",
    _say_kept,
    flags=IN,
    help=VALUE_HELP,
    own={"unsearched": (Unsearched, False)},
    asks=_given,
)
app.verb("get", "Show one item.", "theme --in users --in ana", _one, flags=IN)
app.verb("delete", "Remove an item.", "theme --in users --in ana", said("{key} is deleted.", deleted="key"), flags=IN)
app.verb("list", "List what lies in a namespace and below it.", "--in users", _many, flags=IN, missing="")
BELOW = {"prefix": "--prefix"}
DARK = """--query "dark colours" --in users --filter '{"color": "dark"}'"""
GET = """'[{"do": "get", "namespace": ["users", "ana"], "key": "theme"}]'"""
app.verb("list-namespaces", "List the namespaces that hold items.", "--prefix users", _spaces, flags=BELOW, missing="")
app.verb("search", "Find items by their values.", DARK, _many, flags={**IN, "query": "--query"}, missing="")
app.verb("batch", "Do several things, all or none.", GET, _results, asks=_asked, missing="")
