"""The grammar of English dates; temporal.py is the entry point."""
