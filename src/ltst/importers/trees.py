"""Trees of messages, in which each names the one before it; hidden messages are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from ltst.errors import Invalid
from ltst.importers.source import ReadMessage, SourceFile
from ltst.importers.words import key
from ltst.records import ImportedMessage

LONGEST_TITLE = 80
Parents = Mapping[str, str | None]


def rooted(parents: Parents, path: str) -> dict[str, str | None]:
    """Returns the tree without a parent that is named but missing in the export."""
    unknown = {parent for parent in parents.values() if parent is not None and parent not in parents}
    if len(unknown) > 1 or (unknown and None in parents.values()):
        lost = next(name for name, parent in parents.items() if parent in unknown)
        raise Invalid(f"{path}: the parent of {lost!r} is {parents[lost]!r}, which is not there")
    return {name: None if parent in unknown else parent for name, parent in parents.items()}


def ordered(parents: Parents, path: str, wished: Mapping[str, Sequence[str]] | None = None) -> list[str]:
    """Returns every name after its parent, branch by branch, with children in the wished order."""
    children: dict[str | None, list[str]] = {}
    for name, parent in parents.items():
        children.setdefault(parent, []).append(name)
    for parent, order in (wished or {}).items():
        if len(order) > 1 and parent in children:
            places = {name: place for place, name in enumerate(order)}
            children[parent].sort(key=lambda name: places.get(name, len(places)))
    found: list[str] = []
    due = children.get(None, [])[::-1]
    while due:
        name = due.pop()
        found.append(name)
        if name in children:
            due += reversed(children[name])
    if len(found) < len(parents):
        reached = {*found}
        circle = next(name for name in parents if name not in reached)
        raise Invalid(f"{path}: {circle!r} is reached from no root: its parents are a circle")
    return found


def assembled(
    source: SourceFile,
    said: Mapping[str, ReadMessage | None],
    began: datetime | None,
    parents: Parents | None = None,
    order: Iterable[str] | None = None,
) -> list[ImportedMessage]:
    """Returns the visible messages, each after its nearest visible parent, whose time it takes if it has none.

    Without parents they stand in a row. A conversation without visible messages is counted as passed over.
    """
    parents = in_a_row(said) if parents is None else parents
    earliest = next((each.at for each in said.values() if each is not None and each.at is not None), None)
    above: dict[str | None, tuple[str | None, datetime]] = {None: (None, began or earliest or source.options.now)}
    found: list[ImportedMessage] = []
    for name in said if order is None else order:
        before, time = above[parents[name]]
        one = said[name]
        if one is None:
            above[name] = (before, time)
            continue
        if one.at is None:
            one.metadata["undated"] = True
        own, at = key(name), one.at or time
        found.append(ImportedMessage(own, one.role, one.content, at, before, one.metadata))
        above[name] = (own, at)
    if not found:
        source.pass_over("empty conversations")
    return found


def in_a_row(names: Iterable[str]) -> dict[str, str | None]:
    """Returns the parents for a plain sequence, in which each follows the one before."""
    parents: dict[str, str | None] = {}
    last: str | None = None
    for name in names:
        parents[name], last = last, name
    return parents


def nearest(name: str | None, parents: Parents, said: Mapping[str, ReadMessage | None]) -> str | None:
    """Returns the key of this message, or of its nearest visible parent."""
    while name is not None and said.get(name) is None:
        name = parents[name]
    return None if name is None else key(name)


def first_question(messages: Iterable[ImportedMessage]) -> str:
    """Returns a title for a conversation without one: the beginning of the user's first message."""
    asked = next((each.content for each in messages if each.role == "human"), "")
    return (asked.strip().splitlines() or [""])[0][:LONGEST_TITLE]
