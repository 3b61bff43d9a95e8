"""Serving: the application behind a socket, in one process or several, until it is told to stop."""

from __future__ import annotations

import os
import socket
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import uvicorn
from uvicorn.supervisors import Multiprocess

from ltst.doors.http.app import Serving, create
from ltst.doors.http.callers import has_tokens
from ltst.errors import Invalid

__all__ = ["Serving", "bound", "has_tokens", "serve"]

GRACE_SECONDS = 20


def bound(serving: Serving) -> socket.socket:
    """A socket on the address, taken before anything is started."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    taken = socket.socket(family)
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((serving.host.strip("[]"), serving.port))
    except (OSError, OverflowError) as problem:
        taken.close()
        raise Invalid(f"cannot listen on {serving.host}:{serving.port}: {problem}") from None
    taken.set_inheritable(True)
    return taken


def serve(serving: Serving, taken: socket.socket, *, processes: int = 1) -> None:
    """Answer until told to stop; then end what is under way, and close."""
    if processes == 1:
        uvicorn.Server(_config(serving)).run(sockets=[taken])
        return
    with tempfile.TemporaryDirectory(prefix="ltst-meters-") as folder:
        # Read when the library is imported, in the processes that are started here.
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        config = _config(replace(serving, shared_meters=Path(folder)), processes)
        Multiprocess(config, sockets=[taken]).run()


def _config(serving: Serving, processes: int = 1) -> uvicorn.Config:
    return uvicorn.Config(
        partial(create, serving),
        factory=True,
        workers=processes,
        host=serving.host,
        port=serving.port,
        log_level="warning",
        access_log=False,  # paths hold users' own words; meters count the requests
        server_header=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
