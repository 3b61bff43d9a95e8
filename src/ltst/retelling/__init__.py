"""Retelling: episodes and summaries in the words that were said, how important they are, and how they are merged."""
