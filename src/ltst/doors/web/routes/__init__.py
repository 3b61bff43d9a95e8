"""Routes of the page, by noun."""
