"""The worker beside servers: `ltst worker`."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command
from ltst.errors import LtstError

if TYPE_CHECKING:
    from ltst.sync import Memory

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
    with Memory(settings=replace(options.settings, worker=not once, actor="worker")) as memory:
        again = memory.retry() if retry else 0
        if once:
            with _watched(memory):
                memory.settle()
        else:
            show.hint("Working. Stop it with Ctrl-C.")
            stopped.wait()
        aside = next(check.detail for check in memory.health().checks if check.name == "derived work")
    if options.json:
        show.document({"retried": again, "set_aside": aside})
    else:
        show.say(f"{again} taken up again; {aside}." if retry else f"Done; {aside}." if once else f"Stopped; {aside}.")


@contextmanager
def _watched(memory: Memory) -> Iterator[None]:
    """A bar of what is left, on a terminal; what is written meanwhile makes it longer."""
    if not show.err().is_terminal:
        yield
        return
    over = threading.Event()
    with show.progress("rows") as told:
        watcher = threading.Thread(target=_watch, args=(memory, told, over), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def _watch(memory: Memory, told: Callable[[int, int], None], over: threading.Event) -> None:
    most = 0
    with suppress(LtstError):  # whoever works tells of it
        while not over.wait(LOOKED_EVERY):
            left = memory.pending()
            most = max(most, left)
            told(most - left, most)
