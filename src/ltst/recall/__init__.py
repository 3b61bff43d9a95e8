"""READ: from a question to what is remembered."""
