"""Paths: a segment that is an id or a key may hold any character, slashes included, percent-encoded."""

from __future__ import annotations

from urllib.parse import quote, unquote

from starlette.convertors import Convertor, register_url_convertor


class Segment(Convertor[str]):
    """One segment, decoded after the route is found."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """What the segment says."""
        return unquote(value, errors="strict")

    def to_string(self, value: str) -> str:
        """The segment for a value."""
        return quote(value, safe="")


register_url_convertor("segment", Segment())
