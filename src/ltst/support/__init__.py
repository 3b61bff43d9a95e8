"""Pure functions with no knowledge of memory: text, tokens, identifiers, checks of input, cryptography, logs."""
