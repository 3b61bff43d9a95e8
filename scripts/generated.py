"""What the scripts that write a file have in common: write it, or say whether it is fresh."""

from __future__ import annotations

import sys
from pathlib import Path


def settle(target: Path, fresh: str, source: str) -> int:
    """Write a file; with --check compare it instead, and return 1 where it is not what its source says."""
    if "--check" not in sys.argv:
        target.write_text(fresh)
        return 0
    if target.exists() and target.read_text() == fresh:
        return 0
    print(f"{target.name} is not what {source}: run make sync", file=sys.stderr)
    return 1
