"""Splits a tree of messages into conversations, each a path from a root to a leaf."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ltst.errors import Invalid
from ltst.support.text import sha256
from ltst.support.validate import LONGEST_IDENTIFIER

# The most messages in all branches of one tree together; each repeats what comes before it.
MOST_MESSAGES = 200_000
# The most messages that all trees of one import may repeat together.
MOST_COPIES = 1_000_000


class Branch(NamedTuple):
    """A conversation: its id, its origin, its keys from the root on, and how many of them are already stored."""

    session_id: str
    origin: str | None
    path: Sequence[str]
    known: int


class _Start(NamedTuple):
    """Where a branch begins: after how many keys of another path, and with which options for the next key."""

    session_id: str
    origin: str | None
    beside: Sequence[str]
    shared: int
    options: Sequence[str]


class Tree:
    """Keys, each with its parent; the branch that is shown ends with `current`."""

    def __init__(self, session_id: str, parents: Mapping[str, str | None], current: str) -> None:
        """Takes the parent of each key; a parent must come before its children in `parents`."""
        self._session_id = session_id
        self._keys = parents.keys()
        self._children: dict[str | None, list[str]] = {}
        for key, parent in parents.items():
            self._children.setdefault(parent, []).append(key)
        self._shown: set[str] = set()
        step: str | None = current
        while step is not None:
            self._shown.add(step)
            step = parents[step]

    @property
    def candidates(self) -> set[str]:
        """The ids of the conversations that it may become: the shown one, and one per key with siblings."""
        forks = (key for siblings in self._children.values() if len(siblings) > 1 for key in siblings)
        return {self._session_id, *(fork_id(self._session_id, key) for key in forks)}

    @property
    def copies(self) -> int:
        """How many messages are repeated, since each branch has everything that comes before it."""
        rows, due = 0, list[tuple[str | None, int]]([(None, 0)])
        while due:
            key, depth = due.pop()
            following = self._children.get(key, ())
            due += [(each, depth + 1) for each in following]
            rows += 0 if following else depth
        return rows - len(self._keys)

    def branches(self, held: Mapping[str, Iterable[str]]) -> list[Branch]:
        """Returns all branches; a conversation that is already stored is continued, not copied."""
        found: list[Branch] = []
        begun: set[str] = set()
        due = [_Start(self._session_id, None, (), 0, self._children[None])]
        room = MOST_MESSAGES
        while due:
            start = due.pop()
            if start.session_id in begun:
                continue
            begun.add(start.session_id)
            own = [key for key in held.get(start.session_id, ()) if key in self._keys]
            mine = set(own)
            path, others = self._walked(start, mine)
            due += others
            room -= len(path)
            if room < 0:
                raise Invalid(
                    f"its branches, each with what stands before it, have more than {MOST_MESSAGES:,} messages"
                )
            if own == path[: len(own)]:
                found.append(Branch(start.session_id, start.origin, path, len(own)))
                continue
            # The stored conversation differs from this path: it stays as it is, and what is new becomes another branch.
            found.append(Branch(start.session_id, start.origin, own, len(own)))
            fresh = next((place for place, key in enumerate(path) if key not in mine), None)
            if fresh is not None:
                aside = fork_id(self._session_id, path[fresh])
                due.append(_Start(aside, start.session_id, path, fresh, path[fresh : fresh + 1]))
        return found

    def _walked(self, start: _Start, own: set[str]) -> tuple[list[str], list[_Start]]:
        """Returns the path of a branch to its leaf, and the branches that leave it."""
        path, others, options = [*start.beside[: start.shared]], list[_Start](), start.options
        while options:
            taken = self._taken(options, own)
            for key in options:
                if key != taken:
                    others.append(_Start(fork_id(self._session_id, key), start.session_id, path, len(path), (key,)))
            path.append(taken)
            options = self._children.get(taken, ())
        return path, others

    def _taken(self, options: Sequence[str], own: set[str]) -> str:
        """Chooses the next key: one that is already stored, else the one that is shown, else the latest."""
        if len(options) == 1:
            return options[0]
        for wanted in (own, self._shown):
            for key in options:
                if key in wanted:
                    return key
        return options[-1]


def refuse_copies(count: int) -> None:
    """Raises Invalid for an import whose branches repeat too many messages."""
    if count > MOST_COPIES:
        raise Invalid(
            f"the branches of this import, each with what stands before it, would repeat {count:,} messages, and "
            f"{MOST_COPIES:,} are the most: import fewer conversations at once"
        )


def fork_id(session_id: str, key: str) -> str:
    """Returns the id of the branch that begins with a key; the same key always gives the same id."""
    whole = f"{session_id}~{key}"
    return whole if len(whole) <= LONGEST_IDENTIFIER else f"{session_id[:150]}~{sha256(whole)}"
