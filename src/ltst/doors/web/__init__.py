"""The web page: shows what is remembered, to be checked and corrected in a browser."""
