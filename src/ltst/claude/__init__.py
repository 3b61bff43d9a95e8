"""For Claude: a store for the Agent SDK's transcripts, and the memory tool's files, kept in ltst.

Each part needs its own package, claude-agent-sdk or anthropic, and is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ltst.claude.files import AsyncLtstMemoryTool, LtstMemoryTool
    from ltst.claude.transcripts import LtstSessionStore

__all__ = ["AsyncLtstMemoryTool", "LtstMemoryTool", "LtstSessionStore"]


def __getattr__(name: str) -> Any:
    """Imports a name on first use."""
    if name not in __all__:
        raise AttributeError(f"module 'ltst.claude' has no attribute {name!r}")
    module = "transcripts" if name == "LtstSessionStore" else "files"
    return getattr(import_module(f"ltst.claude.{module}"), name)
