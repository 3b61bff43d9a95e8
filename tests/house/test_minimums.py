"""The lowest versions that `make minimums` installs are those that pyproject.toml allows."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
LOWEST = frozenset({">=", "=="})


def lowest(requirements: Iterable[str]) -> dict[str, set[Version]]:
    """The lowest versions of each package that these allow."""
    found: dict[str, set[Version]] = {}
    for each in map(Requirement, requirements):
        bounds = {Version(bound.version) for bound in each.specifier if bound.operator in LOWEST}
        if each.name != PROJECT["name"]:
            found.setdefault(canonicalize_name(each.name), set()).update(bounds)
    return found


def test_every_package_is_installed_at_its_lowest_version() -> None:
    constraints = lowest((ROOT / "constraints-minimum.txt").read_text().splitlines())
    used = [*PROJECT["dependencies"], *(each for name, extra in EXTRAS.items() if name != "dev" for each in extra)]
    allowed = lowest(used)
    tools = {name: bounds for name, bounds in lowest(EXTRAS["dev"]).items() if name in constraints.keys() - allowed}
    assert constraints == allowed | tools
    assert {name: bounds for name, bounds in constraints.items() if len(bounds) != 1} == {}
