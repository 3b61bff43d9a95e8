"""Measures recall and extraction on data, through the library as anyone would use it: `python -m evaluation`."""
