"""For Google's Agent Development Kit: sessions whose events are messages, and a memory over all that was said."""

from ltst.adk.recall import LtstMemoryService
from ltst.adk.sessions import LtstSessionService

__all__ = ["LtstMemoryService", "LtstSessionService"]
