"""Messages that are corrected or taken back: `ltst messages …`."""

from __future__ import annotations

from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import ChatId, MetadataOption, Options, Yes, command, found, remembered, typed

app = typer.Typer(
    no_args_is_help=True,
    help="Correct what was said, or take it back.\n\n"
    "Example: ltst messages remove 0199f0c2-5b1e-7c3a-9d2f-3f8a4c6e1b70 --chat monday",
)

MessageId = Annotated[str, typer.Argument(help="The id of the message, as `ltst window --json` shows it.")]


@command(app, "replace", user=True)
def replace(
    options: Options,
    message_id: MessageId,
    text: Annotated[str, typer.Argument(help="What it says from now on; - reads it from standard input.")],
    chat: ChatId,
    metadata: MetadataOption = None,
) -> None:
    """Let a message say something else; what was learnt from its old words is forgotten.

    It keeps its place, its role and its time, and its metadata unless others are given.

    Example: ltst messages replace 0199f0c2-5b1e-7c3a-9d2f-3f8a4c6e1b70 "I moved to Porto." --chat monday
    """
    content = typed(text, ask="Text")
    with remembered(options) as user:
        stored = user.chat(chat).replace(message_id, content, metadata=metadata)
    show.done(options.json, stored, f"Message {stored.message_index} of {chat} is replaced.")


@command(app, "remove", user=True)
def remove(options: Options, message_id: MessageId, chat: ChatId, yes: Yes = False) -> None:
    """Remove a message, and what was learnt from it alone.

    The other messages keep their numbers.

    Example: ltst messages remove 0199f0c2-5b1e-7c3a-9d2f-3f8a4c6e1b70 --chat monday
    """
    with remembered(options) as user:
        known = found(user.message(message_id), f"message {message_id!r}")
        if not yes:
            typer.confirm(f"Remove message {known.message_index} of {chat}?", abort=True, err=True)
        user.chat(chat).remove(message_id)
    show.done(options.json, {"removed": message_id}, f"Message {known.message_index} is removed from {chat}.")
