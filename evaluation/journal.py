"""The journal of a run: every result in a line of its own as soon as it is known, so that a killed run goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ltst

Record = dict[str, Any]

SOURCES = (".py", ".sql", ".tsv", ".npz")  # weights that were trained are code, too
PRODUCT = Path(ltst.__file__).parent
EVALUATION = Path(__file__).parent


class Journal:
    """What is known of one run; lines of other runs in the same file are left alone and not read."""

    def __init__(self, file: Path, run: str, *, fresh: bool = False) -> None:
        """`run` names what the results depend on; `fresh` forgets what the file holds."""
        file.parent.mkdir(parents=True, exist_ok=True)
        if fresh:
            file.unlink(missing_ok=True)
        self.file = file
        self._run = run
        self._end_last_line()
        self._known: dict[tuple[str, ...], Record] = {
            (line["kind"], *line["of"]): line["record"] for line in self._lines()
        }

    def __contains__(self, key: tuple[str, ...]) -> bool:
        """Whether a result is known, by its kind and what it is of."""
        return key in self._known

    def __getitem__(self, key: tuple[str, ...]) -> Record:
        """A result that is known."""
        return self._known[key]

    def __len__(self) -> int:
        """How many results are known."""
        return len(self._known)

    def add(self, key: tuple[str, ...], record: Record) -> None:
        """Keep a result; it is in the file when this returns."""
        kind, *of = key
        line = json.dumps({"run": self._run, "kind": kind, "of": of, "record": record})
        with self.file.open("a", encoding="utf-8") as target:
            target.write(f"{line}\n")
        self._known[key] = record

    def _end_last_line(self) -> None:
        """A killed run may have left the half of a line, to which nothing must be added."""
        with self.file.open("ab+") as target:
            if target.tell():
                target.seek(-1, os.SEEK_END)
                if target.read(1) != b"\n":
                    target.write(b"\n")

    def _lines(self) -> Iterator[dict[str, Any]]:
        for written in self.file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                line = json.loads(written)
            except json.JSONDecodeError:
                continue
            if isinstance(line, dict) and line.get("run") == self._run:
                yield line


def run_name(digest: str, model: str, code: str) -> str:
    """One name for all that results depend on: the data, the embedding model and the code."""
    return hashlib.sha256(f"{digest}\n{model}\n{code}".encode()).hexdigest()[:16]


def code_digest() -> str:
    """Hash the code of ltst below its doors and of the evaluation: a change of either begins every run anew."""
    summed = hashlib.sha256()
    for root in (PRODUCT, EVALUATION):
        for file in sorted(root.rglob("*")):
            place = file.relative_to(root)
            if file.suffix in SOURCES and place.parts[0] != "doors":
                summed.update(f"{place.as_posix()}\n".encode())
                summed.update(file.read_bytes())
    return summed.hexdigest()
