"""The grammar of dates in English; temporal.py is the way in."""
