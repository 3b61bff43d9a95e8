"""Messages: `ltst add` and `ltst window`."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import ChatId, Limit, Options, command, moment, remembered, typed

app = typer.Typer()


@command(app, "add", user=True)
def add(
    options: Options,
    role: Annotated[str, typer.Argument(help="user, assistant, system or tool.")],
    text: Annotated[str, typer.Argument(help="What was said; - reads it from standard input.")],
    chat: ChatId,
    agent: Annotated[str | None, typer.Option("--agent", help="The agent of a new conversation.")] = None,
    at: Annotated[
        datetime | None, typer.Option("--at", parser=moment, metavar="TIME", help="When it was said.")
    ] = None,
    key: Annotated[str | None, typer.Option("--key", help="Adding again under the same key adds nothing.")] = None,
) -> None:
    """Add a message to a conversation.

    The first one begins it.

    Example: ltst add user "I moved to Lisbon." --chat monday
    """
    content = typed(text, ask="Text")
    with remembered(options) as user:
        stored = user.chat(chat, agent=agent).add(role, content, at=at, key=key)
    show.done(options.json, stored, f"Kept as message {stored.message_index} of {chat}.")


@command(app, "window", user=True)
def window(
    options: Options,
    chat: ChatId,
    limit: Limit = 50,
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", metavar="N", help="Together at most.")] = None,
) -> None:
    """Show the newest messages of a conversation.

    Example: ltst window --chat monday --limit 10
    """
    with remembered(options) as user:
        recent = user.chat(chat).window(limit, max_tokens=max_tokens)
    if options.json:
        show.document(recent)
    elif recent:
        show.out().print(show.messages(recent))
    else:
        show.say(f"There is nothing in {chat} yet.", "dim")
