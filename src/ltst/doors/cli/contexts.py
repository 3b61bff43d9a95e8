"""Contexts of a conversation, `ltst contexts …`, and its working memory, `ltst working …`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import typed
from ltst.doors.cli.parameters import VALUE_HELP, json_or_text
from ltst.doors.cli.verbs import Given, Noun, forgotten, lined, listed, said
from ltst.errors import NotFound

ATTACHED, AT_HAND = "Keys and values attached to a conversation.", "Values that matter to a conversation for a while."
CHAT = "--chat monday"
_missing, _not_at_hand = "{type} context {key!r} in {chat!r}", "{key!r} in the working memory of {chat!r}"
app = Noun("contexts", ATTACHED, f"list {CHAT}", path="chat.contexts", missing=_missing)
working = Noun("working", AT_HAND, f"list {CHAT}", path="chat.working", missing=_not_at_hand)

COLUMNS = show.columns(
    "Type: context_type, Key: context_key, Value: context_value, Relevance: relevance_score, Expires: expires_at"
)

_shipped = f'project goal "Ship in May." {CHAT}'
_set = said("{type} {key} is kept in {chat}.")
_all = listed(COLUMNS, "Contexts of {chat}", "There are no contexts in {chat}.")
_gone = forgotten("it", "{it} of type {type} forgotten in {chat}.")
app.verb("set", "Set a value, in place of the one before.", _shipped, _set, opens=("agent",))
app.verb("get", "Show one context.", f"project goal {CHAT}", lined(COLUMNS))
app.verb("list", "List the contexts of a conversation.", f"{CHAT} --type project", _all)
app.verb("forget", "Remove one context, or all of a type.", f"project goal {CHAT}", _gone)

Key = Annotated[str, typer.Argument(help="What it is called.")]
AsText = Annotated[bool, typer.Option("--text", help="A text, even if it looks like JSON.")]


def _value(given: Given) -> Given:
    written = typed(given["value"], ask="Value")
    return {"value": written if given["text"] else json_or_text(written)}


def _show_working(as_json: bool, kept: dict[str, Any], given: Given) -> None:
    columns: show.Columns = {"Key": lambda row: row[0], "Value": lambda row: _shown(row[1])}
    title, empty = f"Working memory of {given['chat']}", f"The working memory of {given['chat']} is empty."
    show.records(as_json, [*kept.items()], columns, title=title, empty=empty, instead=kept)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _one(as_json: bool, kept: dict[str, Any], given: Given) -> None:
    key = given["key"]
    if key not in kept:  # a stored value may be null
        raise NotFound(f"there is no {_not_at_hand.format(**given)}")
    if as_json:
        show.document({"key": key, "value": kept[key]})
    else:
        show.say(_shown(kept[key]))


working.verb("get", "Show one value.", f"plan {CHAT}", _one, does="chat.working.all", own={"key": (Key,)})
working.verb(
    "set",
    "Keep a value.",
    """plan '{"week": 1}' --chat monday --ttl 12h""",
    said("{key} is kept in {chat}.", set="key"),
    help=VALUE_HELP,
    own={"text": (AsText, False)},
    asks=_value,
    opens=("agent",),
    missing="",  # it answers nothing
)
working.verb("list", "List what is kept.", CHAT, _show_working, does="chat.working.all")
working.verb("forget", "Remove one value.", f"plan {CHAT}", forgotten("key"))
working.verb("clear", "Remove every value.", CHAT, said("{it} forgotten in {chat}.", cleared="it"))
