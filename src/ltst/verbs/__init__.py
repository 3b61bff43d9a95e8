"""What programs outside can ask for, over HTTP or MCP: each verb once, made from the handle that does it."""
