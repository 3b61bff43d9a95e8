"""Retelling: episodes, summaries and what becomes of them, in the words that were said."""
