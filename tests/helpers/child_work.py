"""Work for child processes: functions that they import by name, as they do those of ltst."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

# Doubles its time with each further letter, inside of one call into C.
EXPONENTIAL = re.compile(r"(?:a|aa|a)*$")


def burn() -> None:
    """Compute for longer than anybody can wait."""
    EXPONENTIAL.match("a" * 200 + "b")


def double(number: int) -> int:
    """Twice the number."""
    return 2 * number


def double_or_burn(number: int) -> int:
    """Twice the number; for a negative one it takes for ever."""
    if number < 0:
        burn()
    return 2 * number


def pid() -> int:
    """The process that does the work."""
    return os.getpid()


def environment() -> dict[str, str]:
    """What the process knows of the environment."""
    return dict(os.environ)


def burn_from(marker: str) -> None:
    """Say which process it is, then compute for ever."""
    written = Path(f"{marker}.part")
    written.write_text(str(os.getpid()))
    written.rename(marker)
    burn()


def numbers(most: int) -> Iterator[list[int]]:
    """Numbers, one by one."""
    for number in range(most):
        yield [number]


def grow(size: int) -> int:
    """Take so much memory."""
    return len(bytearray(size))


def refuse() -> None:
    """Fail."""
    raise KeyError("no such thing")


def die() -> None:
    """End the process."""
    os._exit(7)
