"""What it takes to begin: the first and the second start of the server, the import, the memory of the process."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.report import Reading
from ltst.db.embedded import EmbeddedServer

IMPORTS = 7
IMPORT = "import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"
RESIDENT = """
import sys, pathlib, psutil
from ltst import Memory, Settings
with Memory(settings=Settings(home=pathlib.Path(sys.argv[1]))) as memory:
    chat = memory.user("resident").chat("one")
    for number in range(100):
        chat.add("user", f"message {number}")
    chat.window()
    print(psutil.Process().memory_info().rss)
"""


def starts(home: Path) -> Iterator[Reading]:
    """The server's start in a new folder, and in one that is there."""
    for name in ("first start of the embedded server", "second start"):
        began = time.perf_counter()
        server = EmbeddedServer.acquire(home)
        yield Reading(name, (time.perf_counter() - began) * 1000, "ms")
        server.release()


def imports(*modules: str) -> Iterator[Reading]:
    """A process of its own for each, since this one has imported more than a user's would."""
    for module in modules:
        times = [float(python(IMPORT.format(module=module))) for _ in range(IMPORTS)]
        yield Reading(f"import {module}", statistics.median(times) * 1000, "ms")


def resident(home: Path) -> Reading:
    """What a process takes that does no more than to add and to read."""
    return Reading("resident memory of a process with an open Memory", int(python(RESIDENT, str(home))) / 1e6, "MB")


def python(code: str, *arguments: str) -> str:
    """What a program prints."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
