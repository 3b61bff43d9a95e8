"""The doors: thin interfaces to the memory (CLI, HTTP, MCP, web page); no door imports another."""
