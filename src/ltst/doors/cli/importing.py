"""Conversations and memories from elsewhere: `ltst import`."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, named, opened

if TYPE_CHECKING:
    from ltst.importers import Export, Report
    from ltst.sync import Memory

app = typer.Typer()

WHERE = "Files, folders, zips or gzips; - reads standard input."
FORMAT = "What they are, if it is not to be told by their content."
MOST_NOTES = 10


@command(app, "import", user=True)
def import_files(
    options: Options,
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help=WHERE)],
    format: Annotated[str | None, named("--format", "NAME", FORMAT)] = None,
    of: Annotated[str | None, named("--of", "ID", "Whose rows, where there are several users'.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and check everything, write nothing.")] = False,
    no_index: Annotated[bool, typer.Option("--no-index", help="Leave indexing and learning to a worker.")] = False,
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="Leave out what cannot be read, and tell.")
    ] = False,
) -> None:
    """Bring conversations and memories from elsewhere.

    Exports of ChatGPT, Claude, Claude Code, Codex, LangChain, mem0 and ltst, and plain messages as JSON lines or CSV.
    All of it is checked before anything is written. Importing twice adds nothing, so a stopped import is done again.

    Example: ltst import conversations.json --user ann
    """
    from ltst.importers import read  # imported late because --help needs none of it

    with show.progress("Reading") as tell:
        export = read(
            paths,
            format=format,
            of=of,
            skip_invalid=skip_invalid,
            max_content_bytes=options.settings.max_content_bytes,
            progress=tell,
        )
    with export:
        if dry_run:
            _present(options, export, None, 0.0)
            return
        with opened(options, worker=False) as memory:
            with show.progress("Writing") as tell:
                report = export.write(memory.user(memory.settings.user), progress=tell)
            # Rows from an export of ltst are restored as they were and need no indexing here.
            foreign = export.messages + export.entries
            indexing = _index(memory) if foreign and not no_index else 0.0
    _present(options, export, report, indexing)


def _index(memory: Memory) -> float:
    """Indexes and learns everything; returns how many seconds that took."""
    began = time.monotonic()
    with show.progress("Indexing and learning") as tell:
        memory.settle(memory.settings.user, progress=tell)
    return time.monotonic() - began


def _present(options: Options, export: Export, report: Report | None, indexing: float) -> None:
    for fault in export.faults:
        show.hint(f"Left out: {fault}")
    if options.json:
        show.document(_document(export, report, indexing))
        return
    if export.files_passed_over:
        named = ", ".join(export.files_passed_over[:MOST_NOTES])
        more = " …" if len(export.files_passed_over) > MOST_NOTES else ""
        show.hint(f"Passed over {show.counted({'files': len(export.files_passed_over)})}: {named}{more}")
    if export.passed_over:
        show.hint(f"Passed over {show.counted(export.passed_over)}.")
    if report is None:
        found = {"conversations": export.conversations, "messages": export.messages, "memories": export.entries}
        show.say(f"In it: {show.counted(found) or 'no messages'}. Nothing was written.", "green")
        return
    added, known = show.counted(_counts(report)), report.added.known
    nothing = "Everything was there already." if known or report.restored else "There was nothing in it to add."
    show.say(f"Added {added}." if added else nothing, "green")
    if known and added:
        show.hint(f"There already: {known:,} of the messages and memories.")
    if report.added.differing:
        show.hint(f"Read otherwise now: {report.added.differing:,} of them; they stay as they were imported first.")


def _counts(report: Report) -> Counter[str]:
    """Returns counts of what is new under readable names; rows restored from ltst keep their own names."""
    new = report.added
    counts = {"conversations": new.conversations, "forks": new.forks, "messages": new.messages, "memories": new.entries}
    return Counter(counts) + Counter(report.restored)


def _document(export: Export, report: Report | None, indexing: float) -> dict[str, Any]:
    """Return the whole report as JSON for programs."""
    added = Counter() if report is None else Counter(asdict(report.added))
    added.update({} if report is None else report.restored)
    return {
        **added,
        "read": {"conversations": export.conversations, "messages": export.messages, "entries": export.entries},
        "passed_over": dict(export.passed_over),
        "left_out": export.faults,
        "files": export.files,
        "files_passed_over": export.files_passed_over,
        "seconds": {
            "reading": round(export.seconds, 3),
            "writing": round(0.0 if report is None else report.seconds, 3),
            "indexing": round(indexing, 3),
        },
    }
