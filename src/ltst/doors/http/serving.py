"""Serving: the application behind a socket, in one process or several, until it is told to stop."""

from __future__ import annotations

import os
import socket
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import uvicorn
from prometheus_client.multiprocess import mark_process_dead
from uvicorn.supervisors import Multiprocess
from uvicorn.supervisors.multiprocess import Process

from ltst.doors.http.app import Serving, create
from ltst.support.connections import limited
from ltst.support.network import ending_well

__all__ = ["Serving", "serve"]

GRACE_SECONDS = 20
STARTUP_FAILURE = 3  # the exit code of a process that uvicorn could not start
# Longer than the minute of common proxies: whoever closes first is to be the one who knows that nothing is on its way.
KEEP_ALIVE_SECONDS = 75


def serve(serving: Serving, taken: socket.socket, *, processes: int = 1) -> None:
    """Answer until told to stop; then end what is under way, and close."""
    if processes == 1:
        with ending_well():
            uvicorn.Server(_config(serving)).run(sockets=[taken])
        return
    with tempfile.TemporaryDirectory(prefix="ltst-meters-") as folder:
        # Read when the library is imported, in the processes that are started here.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        config = _config(replace(serving, shared_meters=Path(folder)), processes)
        Processes(config, sockets=[taken]).run()


class Processes(Multiprocess):
    """The processes that share the work; one that ends is replaced."""

    def keep_subprocess_alive(self) -> None:
        """Look who lives; uvicorn asks for signs of life, and waits in vain for one that died while it started."""
        for place, each in enumerate(self.processes):
            if self.should_exit.is_set() or each.process.is_alive():
                continue
            each.join()
            mark_process_dead(each.pid)  # type: ignore[no-untyped-call]
            if each.exitcode == STARTUP_FAILURE:  # it would fail again
                self.should_exit.set()
                return
            self.processes[place] = Process(self.config, self.sockets)
            self.processes[place].start()


def _config(serving: Serving, processes: int = 1) -> uvicorn.Config:
    return uvicorn.Config(
        partial(create, serving),
        **limited(serving.settings),
        factory=True,
        workers=processes,
        host=serving.host,
        port=serving.port,
        timeout_graceful_shutdown=GRACE_SECONDS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
    )
