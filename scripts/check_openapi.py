"""Try the server's OpenAPI document with the tools that others read it with, which npm installs by name.

    python scripts/check_openapi.py

Redocly's linter must find no error, openapi-typescript must make types of the document, and TypeScript must compile
them. Prints what each program says; the exit status is 1 when one has failed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import node

from ltst import Settings
from ltst.doors.http.app import Serving, create

PACKAGES = ["@redocly/cli@2.73.0", "openapi-typescript@7.13.0", "typescript@5.9.3"]
DOCUMENT, TYPES = "openapi.json", "openapi.ts"
PROGRAMS = [
    ["redocly", "lint", DOCUMENT, "--format=summary"],
    ["openapi-typescript", DOCUMENT, "--output", TYPES],
    ["tsc", "--noEmit", "--strict", TYPES],
]
SECONDS = 600


def main() -> int:
    """Install, write the document, try each program; the exit status."""
    with tempfile.TemporaryDirectory(prefix="ltst-openapi-") as made:
        folder = Path(made)
        node.install(folder, PACKAGES)
        (folder / DOCUMENT).write_text(json.dumps(create(Serving(Settings())).openapi()))
        return int(bool([*_failures(folder)]))


def _failures(folder: Path) -> Iterator[str]:
    """The programs that end with an error; each has its say first."""
    for program, *arguments in PROGRAMS:
        done = node.run(folder, [f"node_modules/.bin/{program}", *arguments], SECONDS)
        print(done.stdout + done.stderr, end="")
        print(f"{program}: {'FAILED' if done.returncode else 'passed'}")
        if done.returncode:
            yield program


if __name__ == "__main__":
    sys.exit(main())
