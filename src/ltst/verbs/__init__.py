"""What other programs can call over HTTP or MCP: each verb is declared once, from the handle method that does it."""
