"""Conversations and memories from elsewhere, read and checked as a whole before anything is written.

with read(["conversations.json"]) as export:
    export.write(memory.user("ann"))
"""

from ltst.doors.importers import FORMATS, Batch, Export, FileRead, Report, Tell, read

__all__ = ["FORMATS", "Batch", "Export", "FileRead", "Report", "Tell", "read"]
