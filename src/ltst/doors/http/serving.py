"""Runs the application behind a socket, in one process or several, until it is told to stop."""

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
# Longer than the minute of common proxies, so that the proxy, which knows whether a request is under way, closes first.
KEEP_ALIVE_SECONDS = 75


def serve(serving: Serving, taken: socket.socket, *, processes: int = 1) -> None:
    """Serves until told to stop, then finishes running requests and closes."""
    if processes == 1:
        with ending_well():
            uvicorn.Server(_config(serving)).run(sockets=[taken])
        return
    with tempfile.TemporaryDirectory(prefix="ltst-meters-") as folder:
        # The library reads it on import, in the processes that are started here.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        config = _config(replace(serving, shared_meters=Path(folder)), processes)
        Processes(config, sockets=[taken]).run()


class Processes(Multiprocess):
    """The worker processes; one that ends is replaced."""

    def keep_subprocess_alive(self) -> None:
        """Replaces dead processes; unlike uvicorn, it does not wait for signs of life from one that died at startup."""
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
