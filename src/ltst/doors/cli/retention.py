"""Retention: `ltst retention …`."""

from __future__ import annotations

from datetime import timedelta

from ltst.doors.cli import show
from ltst.doors.cli.verbs import Given, Noun, forgotten, listed, said
from ltst.errors import Invalid
from ltst.records import RetentionPolicy

ABOUT = "When conversations are archived and deleted."
app = Noun("retention", ABOUT, "set --archive-after 30d", missing="policy for {session_type!r}")


def _span(value: timedelta | None) -> str | None:
    return None if value is None else str(value).removesuffix(", 0:00:00")


COLUMNS: show.Columns = {
    "Type": "session_type",
    "Archived after": lambda policy: _span(policy.archive_after),
    "Deleted after": lambda policy: _span(policy.delete_after),
    "Since": "updated_at",
}


def _some(given: Given) -> Given:
    if given["archive_after"] is None and given["delete_after"] is None:
        raise Invalid("a policy needs --archive-after, --delete-after or both; `ltst retention forget` removes one")
    return {}


def _policy(policy: RetentionPolicy, _: Given) -> str:
    steps = {"archived": _span(policy.archive_after), "deleted": _span(policy.delete_after)}
    done = " and ".join(f"{step} after {time}" for step, time in steps.items() if time)
    kind = "Sessions" if policy.session_type == "*" else f"Sessions of type {policy.session_type}"
    return f"{kind} are {done}."


SET = "Set after how long without activity; `ltst maintain` does it."
_gone = forgotten("session_type", "The policy for {session_type} is forgotten.")
app.verb("set", SET, "support --archive-after 30d --delete-after 52w", said(_policy), asks=_some)
app.verb("list", "List the policies.", "", listed(COLUMNS, "Retention", "Everything is kept for good."))
app.verb("forget", "Remove a policy.", "support", _gone)
