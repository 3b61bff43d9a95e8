"""Where `ltst` in a shell begins."""

from __future__ import annotations

import signal


def run() -> None:
    """Run the command. While it is still being imported, Ctrl-C ends the process at once, and without a traceback."""
    before = signal.signal(signal.SIGINT, signal.SIG_DFL)
    from ltst.doors.cli import main

    signal.signal(signal.SIGINT, before)
    main.run()
