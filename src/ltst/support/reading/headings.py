"""Headings: the path that leads to a place in a text, such as "Install > Linux"."""

from __future__ import annotations

LONGEST = 120
BETWEEN = " > "


class Headings:
    """The headings that hold where a reader is."""

    def __init__(self) -> None:
        """Begin above all of them."""
        self._open: list[tuple[int, str]] = []
        self.path: str | None = None

    def enter(self, level: int, title: str) -> None:
        """Go on behind a heading, which ends those of its own level and below."""
        shown = " ".join(title.split())[:LONGEST]
        self._open = [each for each in self._open if each[0] < level]
        if shown:
            self._open.append((level, shown))
        self.path = BETWEEN.join(title for _, title in self._open) or None
