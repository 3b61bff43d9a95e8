"""The MCP server: memory as tools, resources and prompts for any client of the Model Context Protocol."""
