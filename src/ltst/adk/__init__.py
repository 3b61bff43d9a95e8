"""For Google's Agent Development Kit: sessions whose events are messages, and a memory of everything said."""

from ltst.adk.recall import LtstMemoryService
from ltst.adk.sessions import LtstSessionService

__all__ = ["LtstMemoryService", "LtstSessionService"]
