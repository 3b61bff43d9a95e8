"""The master key: `ltst master-key …`."""

from __future__ import annotations

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command, opened
from ltst.errors import NotFound
from ltst.settings import Settings

app = typer.Typer(
    no_args_is_help=True, help="The key that wraps the users' data keys.\n\nExample: ltst master-key show"
)


@command(app, "show")
def show_key(options: Options) -> None:
    """Show where the master key is, and its id.

    Several ids, newest first, while keys are being rotated. Never the key itself.

    Example: ltst master-key show
    """
    settings = options.settings
    where, ids = _identified(settings)
    if options.json:
        show.document({"where": where, "ids": ids})
        return
    show.records(False, ids, {"Id": str}, title="Master keys", empty="")
    show.hint(f"Newest first, from {where}")


@command(app, "rotate")
def rotate(options: Options) -> None:
    """Wrap every user's data key with a new master key.

    Sensitive values stay readable all the while.

    Example: ltst master-key rotate
    """
    with opened(options) as memory, show.working("Wrapping the data keys anew"):
        wrapped = memory.rotate_master_key()
        where, ids = _identified(memory.settings)
    show.done(
        options.json,
        {"wrapped": wrapped, "where": where, "ids": ids},
        f"{wrapped:,} data {'key is' if wrapped == 1 else 'keys are'} wrapped by {ids[0]} now. Keep a copy of {where}.",
    )


def _identified(settings: Settings) -> tuple[str, list[str]]:
    """Where the keys are and what they are called; the file is not made for a mere look."""
    from ltst.support.crypto import MasterKeys  # late: its library takes longer to import than --help may

    file = settings.home / "master.key"
    if settings.master_key:
        where, written = "LTST_MASTER_KEY", settings.master_key
    elif not file.exists():
        raise NotFound(f"there is no master key yet: the first sensitive value makes one in {file}")
    else:
        MasterKeys(None, file).newest_id()  # refuses a file that others can read
        where, written = str(file), file.read_text()
    return where, [MasterKeys(part, file).newest_id() for part in written.split(",") if part.strip()]
