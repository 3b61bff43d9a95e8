"""The fixtures of what is recalled."""

from __future__ import annotations

import uuid

import pytest

from ltst import AsyncMemory, AsyncUser


@pytest.fixture
def user(memory: AsyncMemory) -> AsyncUser:
    """Someone whom nobody else has touched."""
    return memory.user(f"user-{uuid.uuid4().hex}")
