"""What an agent without a model says, what it rests on, and what is noted with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ltst.agents.memories import Memory


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply, the memories that it rests on, and what its metadata tells beside them."""

    text: str
    memories: tuple[Memory, ...] = ()
    about: Mapping[str, Any] = field(default_factory=dict)
