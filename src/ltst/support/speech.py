"""Speech: who said a message, and the text as it is indexed and shown, with its date and speaker."""

from datetime import datetime

SPEAKERS = {"human": "User", "ai": "Assistant", "system": "System", "tool": "Tool"}


def speaker(role: str | None, said_by: str | None) -> str | None:
    """The name in the metadata of a message (`speaker` or `name`), else its role."""
    return said_by or SPEAKERS.get(role or "")


def labelled(content: str, who: str | None, occurred_at: datetime | None) -> str:
    """A text with its date and who said it."""
    date = f"[{occurred_at:%d %B %Y}] " if occurred_at else ""
    return f"{date}{who}: {content}" if who else f"{date}{content}"
