"""The worker beside servers: `ltst worker`."""

from __future__ import annotations

import signal
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command

if TYPE_CHECKING:
    pass

app = typer.Typer()

LOOKED_EVERY = 0.5  # seconds

Once = Annotated[bool, typer.Option("--once", help="Do what is due now, then end.")]
Retry = Annotated[bool, typer.Option("--retry", help="First take up again what was set aside.")]


@command(app, "worker")
def worker(options: Options, once: Once = False, retry: Retry = False) -> None:
    """Do derived work beside servers.

    Vectors, facts, episodes and consolidation, for all users, until it is told to stop. Several may run at once, and
    any of them may be killed: what it was at is taken up by another. Servers then need no worker of their own:
    LTST_WORKER=off.

    Example: ltst worker
    """
    from ltst.sync import Memory  # late: the driver takes longer to import than --help may

    stopped = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT) if not once else ():
        signal.signal(each, lambda *_: stopped.set())
    with Memory(settings=replace(options.settings, worker=not once, warm=False, actor="worker")) as memory:
        again = memory.retry() if retry else 0
        if once:
            with show.progress("rows") as told:
                memory.settle(progress=told)
        else:
            show.hint("Working. Stop it with Ctrl-C.")
            stopped.wait()
        aside = next(check.detail for check in memory.health().checks if check.name == "derived work")
    if options.json:
        show.document({"retried": again, "set_aside": aside})
    else:
        show.say(f"{again} taken up again; {aside}." if retry else f"Done; {aside}." if once else f"Stopped; {aside}.")
