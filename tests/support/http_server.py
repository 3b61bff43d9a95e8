"""The server on a real socket of this machine, in a thread beside the test."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from ltst import Settings
from ltst.doors.http.app import Serving, create


@contextmanager
def served(settings: Settings, **serving: Any) -> Iterator[str]:
    """The address of a server that runs as long as the block does."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        app = create(Serving(settings, port=port, **serving))
        config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=10)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            thread.join(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive(), "the server did not stop"
