"""`python -m bench.attack_probe PORT PID`: asks a server for /healthz, over and over, until it is ended.

Each line tells how long one answer took, in seconds: on the clock, and of the server's own time. That is the clock's
without the time in which the thread that serves, or this process, was ready to run and had no processor, which is the
machine's doing. It still holds everything that the server did or waited for before it answered.
"""

from __future__ import annotations

import http.client
import os
import sys
import time
from pathlib import Path

PAUSE_SECONDS = 0.05
TIMEOUT = 120.0


def kept_waiting(process: int) -> float:
    """For how long the main thread of a process was ready to run and did not."""
    try:
        return int(Path(f"/proc/{process}/task/{process}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):  # a system that does not tell: then all of it counts
        return 0.0


def probe(port: int, server: int) -> tuple[float, float]:
    """Ask once, on a connection of its own; the seconds on the clock, and of the server's own time."""
    waited, began = kept_waiting(server) + kept_waiting(os.getpid()), time.perf_counter()
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    asking.request("GET", "/healthz")
    status = asking.getresponse().status
    asking.close()
    clock = time.perf_counter() - began
    if status != 200:
        raise ConnectionError(f"/healthz answered with {status}")
    return clock, max(0.0, clock - (kept_waiting(server) + kept_waiting(os.getpid()) - waited))


def main() -> None:
    """Ask until ended; a line that is no number tells what went wrong."""
    port, server = map(int, sys.argv[1:])
    while True:
        try:
            print(*probe(port, server), flush=True)
        except OSError as problem:
            print(f"failed: {problem!r}", flush=True)
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    main()
