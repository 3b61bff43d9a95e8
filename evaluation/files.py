"""The files of a benchmark: found in a folder, read, and refused with a sentence when they hold something else."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ltst.errors import Invalid, NotFound

ENDINGS = (".json", ".json.gz")
NUMBER = re.compile(r"(\d+)")


def find(path: Path, name: str) -> Path:
    """The file itself, or the only one in a folder that begins with the benchmark's name."""
    accepted = f"a .json or .json.gz file, or a folder that holds {name}*.json.gz"
    if path.is_dir():
        found = sorted(each for each in path.glob(f"{name}*") if each.name.endswith(ENDINGS))
        if not found:
            raise NotFound(f"there is no {name}*.json.gz in {path}: name {accepted}")
        if len(found) > 1:
            raise Invalid(f"{path} holds {', '.join(each.name for each in found)}: name the one to use")
        return found[0]
    if not path.exists():
        raise NotFound(f"there is no {path}: name {accepted}")
    if not path.name.endswith(ENDINGS):
        raise Invalid(f"{path} cannot be read: name {accepted}")
    return path


def several(path: Path, pattern: str) -> list[Path]:
    """The file itself, or those in a folder that are named so, by the numbers and words of their names."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise NotFound(f"there is no {path}: name a folder that holds {pattern}")
    found = sorted(path.glob(pattern), key=_place)
    if not found:
        raise NotFound(f"there is no {pattern} in {path}: name the folder that holds them")
    return found


def digest_of(digests: Iterable[str]) -> str:
    """One hash for the hashes of several files."""
    return hashlib.sha256("\n".join(digests).encode()).hexdigest()


def load(file: Path) -> tuple[Any, str]:
    """What the JSON holds, and the hash of its bytes, which is the same whether they were compressed or not."""
    if not file.is_file():
        raise NotFound(f"there is no {file}")
    raw = file.read_bytes()
    try:
        text = gzip.decompress(raw) if file.name.endswith(".gz") else raw
        return json.loads(text), hashlib.sha256(text).hexdigest()
    except (gzip.BadGzipFile, EOFError, zlib.error):
        raise Invalid(f"{file}: this is not compressed by gzip, as its name says") from None
    except UnicodeDecodeError as problem:
        raise Invalid(f"{file}: byte {problem.start + 1} is not UTF-8") from None
    except json.JSONDecodeError as problem:
        raise Invalid(f"{file}: this is not JSON at line {problem.lineno}, column {problem.colno}") from None


@contextmanager
def shaped(file: Path, accepted: str) -> Iterator[None]:
    """Whatever in the file is of another shape than expected becomes one sentence that says what is accepted."""
    try:
        yield
    except KeyError as problem:
        raise Invalid(f"{file}: {problem} is missing; accepted is {accepted}") from None
    except (AttributeError, IndexError, TypeError, ValueError) as problem:
        raise Invalid(f"{file}: {problem}; accepted is {accepted}") from None


def _place(file: Path) -> list[tuple[int, str]]:
    """Chat_2 comes before Chat_10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in NUMBER.split(str(file))]
