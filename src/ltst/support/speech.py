"""Speech: who said a message, and the label before its text in the index: date, conversation, speaker."""

from __future__ import annotations

from datetime import datetime

SPEAKERS = {"human": "User", "ai": "Assistant", "system": "System", "tool": "Tool"}
LONGEST_TITLE = 40
LONGEST_NAME = 24
LONGEST_HEADING = 48


def speaker(role: str | None, said_by: str | None) -> str | None:
    """Returns the name in the metadata of a message (`speaker` or `name`), else its role."""
    return said_by or SPEAKERS.get(role or "")


def label(occurred_at: datetime | None, title: str | None, who: str | None, heading: str | None = None) -> str:
    """Returns what is known about a text, to put before it: "[21 May 2023, Trip to Rome] Caroline: "."""
    known = (
        f"{occurred_at:%d %B %Y}" if occurred_at else None,
        title and title[:LONGEST_TITLE],
        heading and _nearest(heading),
    )
    bracket = ", ".join(each for each in known if each)
    name = f"{who[:LONGEST_NAME]}: " if who else ""
    return (f"[{bracket}] " if bracket else "") + name


def _nearest(heading: str) -> str:
    """Returns the end of a path of headings, with as many levels as fit."""
    while len(heading) > LONGEST_HEADING and " > " in heading:
        _, heading = heading.split(" > ", 1)
    return heading[:LONGEST_HEADING]
