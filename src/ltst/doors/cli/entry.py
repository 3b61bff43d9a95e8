"""The entry point of the `ltst` command."""

from __future__ import annotations

import signal


def run() -> None:
    """Runs the command. While it is being imported, Ctrl-C ends the process at once without a traceback."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ltst.doors.cli import main

    signal.signal(signal.SIGINT, before)
    main.run()
