"""Loads the named queries: SQL lives in one file per noun, and code refers to it by name.

A file may also name a list of columns (`-- columns: fact`) or another part that several queries share
(`-- part: in_their_order`); queries refer to it as `{fact}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources

KINDS = ("name", "columns", "part")


@cache
def queries() -> Mapping[str, bytes]:
    """Returns every query of the sql folder by its name, `noun.verb`."""
    files = sorted(resources.files("ltst.db").joinpath("sql").iterdir(), key=lambda file: file.name)
    found = [(file.name, *part) for file in files for part in headed(file.read_text("utf-8"), *KINDS)]
    shared = {name: text for _, kind, name, text in found if kind != "name"}
    place = re.compile("{(" + "|".join(shared) + ")}")
    return {
        f"{file.removesuffix('.sql')}.{name}": place.sub(lambda each: shared[each[1]], text).removesuffix(";").encode()
        for file, kind, name, text in found
        if kind == "name"
    }


def statements(module: str) -> Mapping[str, str]:
    """Returns the statements of the SQL file beside a module by name, unchanged."""
    package, _, name = module.rpartition(".")
    text = resources.files(package).joinpath(f"{name}.sql").read_text("utf-8")
    return {name: statement for _, name, statement in headed(text, "name")}


def headed(text: str, *kinds: str) -> Iterator[tuple[str, str, str]]:
    """Yields the kind, the name and the text of each part of a file; comments above its heading are left out."""
    heading = re.compile(rf"^(?:--(?! (?:{'|'.join(kinds)}):).*\n)*-- ({'|'.join(kinds)}): (.+)$", re.MULTILINE)
    _, *parts = heading.split(text)
    for kind, name, part in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        yield kind, name.strip(), part.strip()
