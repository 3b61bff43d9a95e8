"""All of a user's memory: `ltst export` and `ltst erase`."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Force, Options, Yes, command, opened, remembered
from ltst.errors import Conflict

app = typer.Typer()

STANDARD_OUTPUT = Path("-")

RECEIPT: show.Columns = {
    "Receipt": "receipt_id",
    "User": "user_id",
    "Erased at": "erased_at",
    "Rows removed": lambda receipt: sum(receipt.removed.values()),
    "Rows remaining": lambda receipt: sum(receipt.remaining.values()),
    "Digest": "digest",
}


@command(app, "export", user=True, json=False)
def export(
    options: Options,
    file: Annotated[Path | None, typer.Argument(help="Where to; standard output if it is - or left out.")] = None,
    force: Force = False,
) -> None:
    """Write everything a user owns as JSON.

    Sensitive values are in clear in it, so only you can read the file.

    Example: ltst export ann.json --user ann
    """
    file = None if file == STANDARD_OUTPUT else file
    if file is not None and file.exists() and not force:
        raise Conflict(f"{file} exists: name another file, or overwrite it with --force")
    with remembered(options) as user, show.working(f"Exporting {user.user_id}"):
        document = user.export()
    show.notes(document["notes"])
    if file is None:
        show.document(document)
        return
    _write_privately(file, show.written(document) + "\n")
    show.hint(f"Wrote {file}. It holds sensitive values in clear; only you can read it.")


@command(app, "erase", user=True)
def erase(options: Options, yes: Yes = False) -> None:
    """Remove everything a user owns, with a receipt.

    The user's data key goes too, so copies of sensitive values become unreadable.

    Example: ltst erase --user ann
    """
    with opened(options) as memory:
        user = memory.user(memory.settings.user)
        if not yes:
            typed = typer.prompt(f"This cannot be undone. Type {user.user_id} to erase all of it", err=True)
            if typed != user.user_id:
                raise Conflict(f"that is not {user.user_id}: nothing was erased")
        with show.working(f"Erasing {user.user_id}"):
            receipt = user.erase()
    show.record(options.json, receipt, RECEIPT)


def _write_privately(file: Path, text: str) -> None:
    """Beside its place first, then into it: nobody else can ever read it, and nobody sees the half of it."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as target:
            target.write(text)
            target.flush()
            os.fsync(target.fileno())
        draft.replace(file)
    finally:
        draft.unlink(missing_ok=True)
