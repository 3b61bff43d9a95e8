"""The named queries: SQL lives in files by noun, and code asks for it by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources

NAME = re.compile(r"^-- name: (\S+)\s*$", re.MULTILINE)


@cache
def queries() -> Mapping[str, bytes]:
    """Every query of the sql folder by its name, `noun.verb`."""
    found: dict[str, bytes] = {}
    for file in sorted(resources.files("ltst.db").joinpath("sql").iterdir(), key=lambda file: file.name):
        noun = file.name.removesuffix(".sql")
        _, *parts = NAME.split(file.read_text(encoding="utf-8"))
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            found[f"{noun}.{name}"] = text.strip().removesuffix(";").encode()
    return found
