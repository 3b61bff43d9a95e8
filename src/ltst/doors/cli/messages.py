"""Messages: `ltst add`, `ltst add-many`, `ltst window`, and `ltst messages …` to correct or remove one."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import AgentName, ChatId, ChatName, Options, Yes, agreed, command, found, piped, remembered
from ltst.doors.cli.parameters import moment
from ltst.doors.cli.verbs import Given, Noun, said
from ltst.errors import Invalid

MESSAGE = "0199f0c2-5b1e-7c3a-9d2f-3f8a4c6e1b70"

group = Noun("messages", "Correct what was said, or take it back.", f"remove {MESSAGE} --chat monday", path="chat")
app = Noun("", "Messages.", path="chat")

WHICH = "The id of the message, as `ltst window --json` shows it."
MessageId = Annotated[str, typer.Argument(metavar="ID", help=WHICH)]


def _window(as_json: bool, recent: Sequence[Any], given: Given) -> None:
    if as_json:
        show.document(recent)
    elif recent:
        show.out().print(show.messages(recent))
    else:
        show.say(f"There is nothing in {given['chat']} yet.", "dim")


BEGUN = "Add a message to a conversation.\n\nThe first one begins it."
_added = said("Kept as message {it.message_index} of {chat}.")
LIMIT = {"limit": "--limit"}
app.verb("add", BEGUN, 'user "I moved to Lisbon." --chat monday', _added, opens=("agent", "name"))
app.verb("window", "Show the newest messages of a conversation.", "--chat monday --limit 10", _window, flags=LIMIT)
group.verb(
    "replace",
    "Let a message say something else; what was learned from its old words is forgotten.\n\n"
    "It keeps its place, its role and its time, and its metadata unless others are given.",
    f'{MESSAGE} "I moved to Porto." --chat monday',
    said("Message {it.message_index} of {chat} is replaced."),
    help={"message_id": WHICH},
)


@command(app, "add-many", user=True)
def add_many(
    options: Options,
    file: Annotated[Path, typer.Argument(help="One JSON object a line; - reads standard input.")],
    chat: ChatId,
    agent: AgentName = None,
    name: ChatName = None,
) -> None:
    """Add many messages to a conversation, all or none.

    Each line has role and content, and may have at, metadata, parent and key.

    Example: ltst add-many talk.jsonl --chat monday
    """
    said = [*_lines(file)]
    with remembered(options) as user, show.working(f"Adding {len(said):,} messages"):
        stored = user.chat(chat, agent=agent, name=name).add_many(said)
    show.done(options.json, stored, f"Kept {len(stored):,} messages in {chat}.")


@command(group, "remove", user=True)
def remove(options: Options, message_id: MessageId, chat: ChatId, yes: Yes = False) -> None:
    """Remove a message, and what was learned from it alone.

    The other messages keep their numbers.

    Example: ltst messages remove 0199f0c2-5b1e-7c3a-9d2f-3f8a4c6e1b70 --chat monday
    """
    with remembered(options) as user:
        known = found(user.message(message_id), f"message {message_id!r}")
        agreed(f"Remove message {known.message_index} of {chat}?", yes)
        user.chat(chat).remove(message_id)
    show.done(options.json, {"removed": message_id}, f"Message {known.message_index} is removed from {chat}.")


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    """Yield the messages of a file, one per line. An error names the line."""
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
