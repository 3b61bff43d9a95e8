"""Helpers that know nothing of memory: text, tokens, identifiers, checks of input, cryptography, processes, logs."""
