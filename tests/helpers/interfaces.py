"""What the methods of a class take, as tests pin it."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def parameters(owner: type, is_one: Callable[[object], bool]) -> dict[str, list[str]]:
    """Return the names of what each public method takes, by its name."""
    return {
        name: [each for each in inspect.signature(method).parameters if each != "self"]
        for name, method in inspect.getmembers(owner, is_one)
        if not name.startswith("_")
    }
