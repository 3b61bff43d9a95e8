"""For Claude: a store of the Agent SDK's transcripts, and the memory tool's files, kept by ltst.

Each part needs the package of its own, claude-agent-sdk or anthropic, and is imported when it is first asked for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ltst.claude.files import AsyncLtstMemoryTool, LtstMemoryTool
    from ltst.claude.transcripts import LtstSessionStore

__all__ = ["AsyncLtstMemoryTool", "LtstMemoryTool", "LtstSessionStore"]


def __getattr__(name: str) -> Any:
    """Import a part."""
    if name not in __all__:
        raise AttributeError(f"module 'ltst.claude' has no attribute {name!r}")
    module = "transcripts" if name == "LtstSessionStore" else "files"
    return getattr(import_module(f"ltst.claude.{module}"), name)
