"""Contexts of a conversation, `ltst contexts …`, and its working memory, `ltst working …`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import ChatId, Options, command, remembered, typed
from ltst.doors.cli.parameters import json_or_text
from ltst.doors.cli.verbs import Given, Noun, lined, listed, said
from ltst.errors import NotFound

app = Noun(
    "contexts",
    "Keys and values attached to a conversation.",
    "list --chat monday",
    path="chat.contexts",
    missing="{type} context {key!r} in {chat!r}",
)
working = Noun(
    "working",
    "Values that matter to a conversation for a while.",
    "list --chat monday",
    path="chat.working",
    missing="{key!r} in the working memory of {chat!r}",
)

COLUMNS = show.columns(
    "Type: context_type, Key: context_key, Value: context_value, Relevance: relevance_score, Expires: expires_at"
)

app.verb(
    "set",
    "Set a value, in place of the one before.",
    'project goal "Ship in May." --chat monday',
    said("{type} {key} is kept in {chat}."),
    flags={"expires_at": "--expires"},
    opens=("agent",),
)
app.verb("get", "Show one context.", "project goal --chat monday", lined(COLUMNS))
app.verb(
    "list",
    "List the contexts of a conversation.",
    "--chat monday --type project",
    listed(COLUMNS, "Contexts of {chat}", "There are no contexts in {chat}."),
    flags={"type": "--type"},
)
app.verb(
    "forget",
    "Remove one context, or all of a type.",
    "project goal --chat monday",
    said("{it} of type {type} forgotten in {chat}.", forgotten="it"),
)

Key = Annotated[str, typer.Argument(help="What it is called.")]
AsText = Annotated[bool, typer.Option("--text", help="A text, even if it looks like JSON.")]


def _value(given: Given) -> Given:
    written = typed(given["value"], ask="Value")
    return {"value": written if given["text"] else json_or_text(written)}


def _listed(as_json: bool, kept: dict[str, Any], given: Given) -> None:
    if as_json:
        show.document(kept)
        return
    columns: show.Columns = {"Key": lambda row: row[0], "Value": lambda row: _shown(row[1])}
    title, empty = f"Working memory of {given['chat']}", f"The working memory of {given['chat']} is empty."
    show.records(False, [*kept.items()], columns, title=title, empty=empty)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


@command(working, "get", user=True)
def get(options: Options, key: Key, chat: ChatId) -> None:
    """Show one value.

    Example: ltst working get plan --chat monday
    """
    with remembered(options) as user:
        kept = user.chat(chat).working.all()
    if key not in kept:  # what is kept may be null
        raise NotFound(f"there is no {key!r} in the working memory of {chat!r}")
    if options.json:
        show.document({"key": key, "value": kept[key]})
    else:
        show.say(_shown(kept[key]))


working.verb(
    "set",
    "Keep a value.",
    """plan '{"week": 1}' --chat monday --ttl 12h""",
    said("{key} is kept in {chat}.", set="key"),
    told={
        "value": "JSON, or else a text; - reads it from standard input.",
        "ttl": "For how long: 90s, 15m, 12h, 30d.",
    },
    own={"text": (AsText, False)},
    asks=_value,
    opens=("agent",),
    missing="",  # it answers nothing
)
working.verb("list", "List what is kept.", "--chat monday", _listed, does="chat.working.all")
working.verb(
    "forget",
    "Remove one value.",
    "plan --chat monday",
    said("{key} is forgotten.", forgotten="key"),
)
working.verb(
    "clear",
    "Remove every value.",
    "--chat monday",
    said("{it} forgotten in {chat}.", cleared="it"),
)
