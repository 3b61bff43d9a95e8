"""The MCP server for use inside another program.

`create` returns an MCP server with the given tools, `application` one that answers over HTTP.
"""

from ltst.doors.mcp.app import Serving, application
from ltst.doors.mcp.server import create
from ltst.doors.mcp.tools import ALL, EVERYDAY

__all__ = ["ALL", "EVERYDAY", "Serving", "application", "create"]
