"""What is derived from what was said: the index of search, and claims about who said it."""
