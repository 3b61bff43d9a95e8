"""The MCP server, to be run inside another program.

`create` returns a server of the protocol with the given tools, `application` one that answers over HTTP.
"""

from ltst.doors.mcp.app import Serving, application
from ltst.doors.mcp.server import create
from ltst.doors.mcp.tools import ALL, EVERYDAY

__all__ = ["ALL", "EVERYDAY", "Serving", "application", "create"]
