"""Runs the commands of the README's terminal session in a fresh memory and writes down what they print."""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
SESSION = re.compile(r"(<!-- terminal -->\n```console\n)(.*?)(^```)", re.MULTILINE | re.DOTALL)
COLUMNS = "110"
# What differs from run to run: dates that are told from today's, and identifiers.
PASSING = re.compile(
    r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2})?|(\d{1,2} )?\b[A-Z][a-z]{2,8} \d{4}\b|[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f-]{21}"
)


def written() -> str:
    """The session as the README tells it."""
    found = SESSION.search(README.read_text())
    if found is None:
        raise SystemExit("the README has no block of console after <!-- terminal -->")
    return found[2]


def played(session: str, environment: dict[str, str]) -> Iterator[str]:
    """Each line that was typed, and what the command prints now, on either output; what was exported stays."""
    exported = ""
    for shown in re.findall(r"^\$ (?:.*\\\n)*.*$", session, re.MULTILINE):
        command = shown.removeprefix("$ ")
        ran = subprocess.run(
            ["bash", "-c", exported + command],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        yield shown
        if command.startswith("export "):
            exported += f"{command}\n"
        if ran.returncode:
            raise SystemExit(f"{command}: status {ran.returncode}: {ran.stdout}")
        yield from (line.rstrip() for line in ran.stdout.rstrip().splitlines())
        yield ""


def environment(home: str) -> dict[str, str]:
    """A terminal of its own: another memory, English, UTC, no colours, no model."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LTST_", "DATABASE_URL"))}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "LTST_HOME": home, "PATH": path, "COLUMNS": COLUMNS, "NO_COLOR": "1", "TZ": "UTC"}


def lasting(line: str) -> str:
    """A line without what differs from run to run."""
    return PASSING.sub("…", line)


def main() -> None:
    """Write the session into the README anew."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    with tempfile.TemporaryDirectory() as home:
        lines = list(played(written(), environment(home)))
    text = "\n".join(lines).rstrip() + "\n"
    README.write_text(SESSION.sub(lambda found: found[1] + text + found[3], README.read_text()))


if __name__ == "__main__":
    main()
