"""What is derived from what was said: the index of search, so far."""
