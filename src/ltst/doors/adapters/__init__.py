"""Adapters: the memory in the shapes that other frameworks expect; each needs the extra of its name."""
