"""Messages: `ltst add`, `ltst add-many` and `ltst window`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import (
    AgentName,
    ChatId,
    Limit,
    MetadataOption,
    Options,
    command,
    moment,
    named,
    piped,
    remembered,
    timed,
    typed,
    words,
)
from ltst.errors import Invalid

app = typer.Typer()

Name = Annotated[str | None, named("--name", "TEXT", "The name of a new conversation.")]


@command(app, "add", user=True)
def add(
    options: Options,
    role: Annotated[
        str,
        typer.Argument(
            help="user, assistant, system or tool.", autocompletion=words("user", "assistant", "system", "tool")
        ),
    ],
    text: Annotated[str, typer.Argument(help="What was said; - reads it from standard input.")],
    chat: ChatId,
    agent: AgentName = None,
    name: Name = None,
    at: Annotated[datetime | None, timed("--at", "When it was said.")] = None,
    metadata: MetadataOption = None,
    parent: Annotated[str | None, named("--parent", "ID", "The message that it answers.")] = None,
    key: Annotated[str | None, named("--key", "KEY", "Adding again under the same key adds nothing.")] = None,
) -> None:
    """Add a message to a conversation.

    The first one begins it.

    Example: ltst add user "I moved to Lisbon." --chat monday
    """
    content = typed(text, ask="Text")
    with remembered(options) as user:
        talk = user.chat(chat, agent=agent, name=name)
        stored = talk.add(role, content, at=at, metadata=metadata, parent=parent, key=key)
    show.done(options.json, stored, f"Kept as message {stored.message_index} of {chat}.")


@command(app, "add-many", user=True)
def add_many(
    options: Options,
    file: Annotated[Path, typer.Argument(help="One JSON object a line; - reads standard input.")],
    chat: ChatId,
    agent: AgentName = None,
    name: Name = None,
) -> None:
    """Add many messages to a conversation, all or none.

    Each line has role and content, and may have at, metadata, parent and key.

    Example: ltst add-many talk.jsonl --chat monday
    """
    said = [*_lines(file)]
    with remembered(options) as user, show.working(f"Adding {len(said):,} messages"):
        stored = user.chat(chat, agent=agent, name=name).add_many(said)
    show.done(options.json, stored, f"Kept {len(stored):,} messages in {chat}.")


@command(app, "window", user=True)
def window(
    options: Options,
    chat: ChatId,
    limit: Limit = 50,
    max_tokens: Annotated[int | None, named("--max-tokens", "N", "Together at most.")] = None,
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


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """The messages of a file, one a line; what is no message is told with its line."""
    data = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    for number, line in enumerate(piped(data, str(file)).split("\n"), start=1):
        if line.strip():
            yield _message(line, f"{file}, line {number}")


def _message(line: str, where: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise Invalid(f"{where}: this is not JSON") from None
    if not isinstance(found, dict):
        raise Invalid(f"{where}: a message is an object with role and content, not {type(found).__name__}")
    if isinstance(found.get("at"), str):
        try:
            found["at"] = moment(found["at"])
        except typer.BadParameter as problem:
            raise Invalid(f"{where}: {problem.message}") from None
    return found
