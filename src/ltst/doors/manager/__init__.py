"""MemoryManager: one conversation and all that is remembered for it."""
