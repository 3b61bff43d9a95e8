"""The page: what is remembered, to be seen, corrected and trusted, in a browser."""
