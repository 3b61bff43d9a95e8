"""Working memory of a conversation: `ltst working …`."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import AgentName, ChatId, Options, command, found, json_or_text, lasting, remembered, typed
from ltst.errors import NotFound

app = typer.Typer(
    no_args_is_help=True,
    help="Values that matter to a conversation for a while.\n\nExample: ltst working list --chat monday",
)

Key = Annotated[str, typer.Argument(help="What it is called.")]


@command(app, "set", user=True)
def set_value(
    options: Options,
    key: Key,
    value: Annotated[str, typer.Argument(help="JSON, or else a text; - reads it from standard input.")],
    chat: ChatId,
    agent: AgentName = None,
    ttl: Annotated[timedelta | None, lasting("--ttl", "For how long: 90s, 15m, 12h, 30d.")] = None,
    text: Annotated[bool, typer.Option("--text", help="A text, even if it looks like JSON.")] = False,
) -> None:
    """Keep a value.

    Example: ltst working set plan '{"week": 1}' --chat monday --ttl 12h
    """
    written = typed(value, ask="Value")
    with remembered(options) as user:
        user.chat(chat, agent=agent).working.set(key, written if text else json_or_text(written), ttl=ttl)
    show.done(options.json, {"set": key}, f"{key} is kept in {chat}.")


@command(app, "get", user=True)
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


@command(app, "list", user=True)
def list_values(options: Options, chat: ChatId) -> None:
    """List what is kept.

    Example: ltst working list --chat monday
    """
    with remembered(options) as user:
        kept = user.chat(chat).working.all()
    if options.json:
        show.document(kept)
        return
    columns: show.Columns = {"Key": lambda row: row[0], "Value": lambda row: _shown(row[1])}
    title, empty = f"Working memory of {chat}", f"The working memory of {chat} is empty."
    show.records(False, [*kept.items()], columns, title=title, empty=empty)


@command(app, "forget", user=True)
def forget(options: Options, key: Key, chat: ChatId) -> None:
    """Remove one value.

    Example: ltst working forget plan --chat monday
    """
    with remembered(options) as user:
        found(user.chat(chat).working.forget(key), f"{key!r} in the working memory of {chat!r}")
    show.done(options.json, {"forgotten": key}, f"{key} is forgotten.")


@command(app, "clear", user=True)
def clear(options: Options, chat: ChatId) -> None:
    """Remove every value.

    Example: ltst working clear --chat monday
    """
    with remembered(options) as user:
        gone = user.chat(chat).working.clear()
    show.done(options.json, {"cleared": gone}, f"{gone} forgotten in {chat}.")


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
