"""Routes, by noun."""
