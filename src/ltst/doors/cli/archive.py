"""All of a user's memory: `ltst export`, `ltst import` and `ltst erase`."""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Force, Options, Yes, command, opened, remembered
from ltst.errors import Conflict, Invalid, NotFound

app = typer.Typer()

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
    file: Annotated[Path | None, typer.Argument(help="Where to; standard output if left out.")] = None,
    force: Force = False,
) -> None:
    """Write everything a user owns as JSON.

    Sensitive values are in clear in it, so only you can read the file.

    Example: ltst export ann.json --user ann
    """
    if file is not None and file.exists() and not force:
        raise Conflict(f"{file} exists: name another file, or overwrite it with --force")
    with remembered(options) as user, show.working(f"Exporting {user.user_id}"):
        document = user.export()
    if file is None:
        show.document(document)
        return
    _write_privately(file, show.written(document) + "\n")
    show.hint(f"Wrote {file}. It holds sensitive values in clear; only you can read it.")


@command(app, "import", user=True)
def import_file(
    options: Options,
    file: Annotated[Path, typer.Argument(help="What `ltst export` wrote; - reads standard input.")],
) -> None:
    """Add an exported file to a user's memory.

    What is there already stays as it is: importing a file twice adds nothing.

    Example: ltst import ann.json --user ann
    """
    document = _read(file)
    with remembered(options) as user, show.working(f"Importing {_counted(document)}"):
        try:
            added = user.restore(document)
        except (Invalid, NotFound, Conflict) as problem:
            raise type(problem)(f"{file}: {problem}") from None
        except (KeyError, TypeError, AttributeError) as problem:
            raise Invalid(f"{file}: a row lacks {problem}, or it is of the wrong kind") from None
    told = ", ".join(f"{count:,} {noun}" for noun, count in added.items() if count)
    show.done(options.json, added, f"Added {told}." if told else "Everything was there already.")


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


def _read(file: Path) -> dict[str, Any]:
    try:
        raw = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        document = json.loads(raw.decode("utf-8-sig"))
    except FileNotFoundError:
        raise NotFound(f"there is no file {file}") from None
    except UnicodeDecodeError as problem:
        raise Invalid(f"{file}: byte {problem.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as problem:
        where = f"line {problem.lineno}, column {problem.colno}"
        raise Invalid(f"{file}: this is not JSON at {where}: {problem.msg}") from None
    except RecursionError:
        raise Invalid(f"{file}: this JSON is nested too deeply") from None
    if not isinstance(document, dict):
        raise Invalid(f"{file}: this is not an export of ltst: it must be an object")
    return document


def _counted(document: Mapping[str, Any]) -> str:
    count = sum(len(rows) for rows in document.values() if isinstance(rows, list))
    return f"{count:,} rows"
