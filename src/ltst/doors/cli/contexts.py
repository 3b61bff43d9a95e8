"""Contexts of a conversation: `ltst contexts …`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ltst.arguments import CONTEXT_TYPES
from ltst.doors.cli import show
from ltst.doors.cli.options import (
    AgentName,
    ChatId,
    MetadataOption,
    Options,
    command,
    found,
    named,
    one_of,
    remembered,
    timed,
    typed,
    words,
)

app = typer.Typer(
    no_args_is_help=True,
    help="Keys and values attached to a conversation.\n\nExample: ltst contexts list --chat monday",
)

Type = Annotated[str, typer.Argument(help=f"{', '.join(CONTEXT_TYPES)}.", autocompletion=words(*CONTEXT_TYPES))]
Key = Annotated[str, typer.Argument(help="What it is called.")]

COLUMNS: show.Columns = {
    "Type": "context_type",
    "Key": "context_key",
    "Value": "context_value",
    "Relevance": "relevance_score",
    "Expires": "expires_at",
}


@command(app, "set", user=True)
def set_context(
    options: Options,
    type: Type,
    key: Key,
    value: Annotated[str, typer.Argument(help="What it says; - reads it from standard input.")],
    chat: ChatId,
    agent: AgentName = None,
    relevance: Annotated[float, named("--relevance", "N", "How much it matters.")] = 0.0,
    expires_at: Annotated[datetime | None, timed("--expires", "When it is forgotten.")] = None,
    metadata: MetadataOption = None,
) -> None:
    """Set a value, in place of the one before.

    Example: ltst contexts set project goal "Ship in May." --chat monday
    """
    wanted = typed(value, ask="Value")
    with remembered(options) as user:
        contexts = user.chat(chat, agent=agent).contexts
        stored = contexts.set(type, key, wanted, relevance=relevance, expires_at=expires_at, metadata=metadata)
    show.done(options.json, stored, f"{type} {key} is kept in {chat}.")


@command(app, "get", user=True)
def get(options: Options, type: Type, key: Key, chat: ChatId) -> None:
    """Show one context.

    Example: ltst contexts get project goal --chat monday
    """
    with remembered(options) as user:
        context = found(user.chat(chat).contexts.get(type, key), f"{type} context {key!r} in {chat!r}")
    show.record(options.json, context, COLUMNS)


@command(app, "list", user=True)
def list_contexts(
    options: Options,
    chat: ChatId,
    type: Annotated[str | None, one_of("--type", "TYPE", CONTEXT_TYPES, "Only {}.")] = None,
) -> None:
    """List the contexts of a conversation.

    Example: ltst contexts list --chat monday --type project
    """
    with remembered(options) as user:
        known = user.chat(chat).contexts.list(type)
    show.records(options.json, known, COLUMNS, title=f"Contexts of {chat}", empty=f"There are no contexts in {chat}.")


@command(app, "forget", user=True)
def forget(
    options: Options,
    type: Type,
    chat: ChatId,
    key: Annotated[str | None, typer.Argument(help="Which one; all of the type, if left out.")] = None,
) -> None:
    """Remove one context, or all of a type.

    Example: ltst contexts forget project goal --chat monday
    """
    with remembered(options) as user:
        gone = user.chat(chat).contexts.forget(type, key)
    show.done(options.json, {"forgotten": gone}, f"{gone} of type {type} forgotten in {chat}.")
