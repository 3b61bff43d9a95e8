"""What the commands of this folder have in common."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable


def parser(name: str, description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options of `python -m bench.<name>`."""
    return argparse.ArgumentParser(
        prog=f"python -m bench.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def run(main: Callable[[], int]) -> None:
    """Run a command and exit with what it returns; with 130 when it is interrupted."""
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
