"""Puts ltst's memory tool in the place of the one of anthropic that keeps its files on disk."""

from __future__ import annotations

from typing import Any

import anthropic.lib.tools._beta_builtin_memory_tool as theirs

import outside
from ltst.claude import AsyncLtstMemoryTool, LtstMemoryTool

NAMESPACE = ("claude", "memories")


class Root:
    """What their tests take for the directory on disk."""

    def __init__(self, base_path: str) -> None:
        self.items = outside.user(base_path).items

    def is_dir(self) -> bool:
        return True

    def __truediv__(self, name: str) -> File:
        return File(self.items, name)


class AsyncRoot:
    """The same for code that awaits."""

    async def is_dir(self) -> bool:
        return True


class File:
    """One file, read and written past the tool."""

    def __init__(self, items: Any, name: str) -> None:
        self.items, self.name = items, name

    def write_bytes(self, content: bytes) -> None:
        self.items.put(NAMESPACE, self.name, {"text": content.decode()})

    def read_bytes(self) -> bytes:
        return self.items.get(NAMESPACE, self.name).value["text"].encode()


class Tool(LtstMemoryTool):
    """Made as theirs is made: each folder is another user."""

    def __init__(self, base_path: str) -> None:
        super().__init__(outside.user(base_path))
        self.base_path, self.memory_root = base_path, Root(base_path)


class AsyncTool(AsyncLtstMemoryTool):
    """The same for code that awaits."""

    def __init__(self, base_path: str) -> None:
        super().__init__(outside.user(base_path))
        self.base_path, self.memory_root = base_path, AsyncRoot()


theirs.BetaLocalFilesystemMemoryTool = Tool
theirs.BetaAsyncLocalFilesystemMemoryTool = AsyncTool


def kept(base_path: str) -> dict[str, str]:
    """Returns every file by its path: what their tests read from the disk."""
    found = outside.user(base_path).items.list(NAMESPACE, limit=1000)
    return {f"memories/{item.key}": item.value["text"] for item in found}


def pytest_collection_modifyitems(items: list[Any]) -> None:
    for item in items:
        if hasattr(item.module, "get_directory_snapshot"):
            item.module.get_directory_snapshot = kept
