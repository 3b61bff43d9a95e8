"""Importers: read and check conversations and memories from elsewhere as a whole before anything is written.

with read(["conversations.json"]) as export:
    export.write(memory.user("ann"))
"""

from ltst.importers.export import Batch, Export, FileRead, Report, Tell, read
from ltst.importers.formats import FORMATS

__all__ = ["FORMATS", "Batch", "Export", "FileRead", "Report", "Tell", "read"]
