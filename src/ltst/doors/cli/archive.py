"""All of a user's memory: `ltst export` and `ltst erase`."""

from __future__ import annotations

import json
import os
import secrets
import sys
from pathlib import Path
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Force, Options, Yes, command, named, opened, remembered
from ltst.doors.cli.upkeep import judge
from ltst.errors import Conflict, Invalid
from ltst.support import durable

app = typer.Typer()

STANDARD_OUTPUT = Path("-")

RECEIPT: show.Columns = {
    "Receipt": "receipt_id",
    "User": "user_id",
    "Erased at": "erased_at",
    "Rows removed": lambda receipt: sum(receipt.removed.values()),
    "Rows remaining": lambda receipt: sum(receipt.remaining.values()),
    "Tables vacuumed": lambda receipt: len(receipt.vacuumed),
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
def erase(
    options: Options,
    yes: Yes = False,
    verify: Annotated[Path | None, named("--verify", "RECEIPT", "Erase nothing; check a receipt in JSON.")] = None,
) -> None:
    """Remove everything a user owns, with a receipt.

    The user's data key goes too, so copies of sensitive values become unreadable. With --json the receipt can be kept;
    --verify checks it later, and the exit status is 1 when it does not hold.

    Example: ltst erase --user ann
    """
    if verify is not None:
        _verify(options, verify)
        return
    with opened(options) as memory:
        user = memory.user(memory.settings.user)
        if not yes:
            typed = typer.prompt(f"This cannot be undone. Type {user.user_id} to erase all of it", err=True)
            if typed != user.user_id:
                raise Conflict(f"that is not {user.user_id}: nothing was erased")
        with show.working(f"Erasing {user.user_id}"):
            receipt = user.erase()
    show.notes(() if options.json else receipt.notes)
    show.record(options.json, receipt, RECEIPT)


def _verify(options: Options, file: Path) -> None:
    try:
        receipt = json.loads(sys.stdin.read() if file == STANDARD_OUTPUT else file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise Invalid(f"{file} holds no receipt, which is the JSON that `ltst erase --json` gave: {problem}") from None
    with opened(options) as memory:
        seen = memory.verify(receipt)
    judge(options.json, seen, f"Receipt of {seen.user_id}")


def _write_privately(file: Path, text: str) -> None:
    """Writes a draft beside the file and renames it, so that others can neither read it nor see half of it."""
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as target:
            target.write(text)
            target.flush()
            os.fsync(target.fileno())
        durable.replace(draft, file)
    finally:
        draft.unlink(missing_ok=True)
