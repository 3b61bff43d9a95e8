"""What ltst brings onto a disk: the files of every package that it needs, and of those that they need."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def packages() -> list[str]:
    """The names of all of them, without ltst itself."""
    declared = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["dependencies"]
    found, waiting = dict[tuple[str, str], None](), [*_wanted(declared, "")]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) not in found:
            found[name, extra] = None
            waiting += _wanted(metadata.requires(name) or (), extra)
    return sorted({name for name, _ in found})


def megabytes(names: Iterable[str]) -> float:
    """The size of their files, without what Python compiles of them."""
    paths = (Path(str(each.locate())) for name in names for each in metadata.files(name) or ())
    return sum(path.stat().st_size for path in paths if path.is_file() and path.suffix != ".pyc") / 1e6


def _wanted(requirements: Iterable[str], extra: str) -> Iterator[tuple[str, str]]:
    """The names that are needed on this machine, each with no extra and with every extra that is asked of it."""
    for each in map(Requirement, requirements):
        if each.marker is None or each.marker.evaluate({"extra": extra}):
            yield from ((canonicalize_name(each.name), asked) for asked in ("", *each.extras))
