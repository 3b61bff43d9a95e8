"""Servers for tests: the real application behind a real socket, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn
from fastapi import FastAPI

from ltst import Settings
from ltst.doors.http.app import Serving, create


@dataclass(frozen=True, slots=True)
class Listening:
    """A server that answers."""

    url: str
    app: FastAPI


@contextmanager
def running(app: Any) -> Iterator[str]:
    """An application on a free port of this machine, in a thread; where it is."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", access_log=False))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(timeout=120)


@contextmanager
def listening(settings: Settings) -> Iterator[Listening]:
    """ltst's server on a free port of this machine."""
    app = create(Serving(settings))
    with running(app) as url:
        yield Listening(url, app)
