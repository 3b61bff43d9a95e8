"""Leases on background work: who does it, how often it failed and what was given up; other tables say what is due."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta
from typing import Any, NamedTuple

from ltst.db.pool import Executor
from ltst.errors import LtstError
from ltst.support.child import Limits
from ltst.support.ids import new_id

MOST_ATTEMPTS = 5
FIRST_DELAY = timedelta(seconds=1)
LONGEST_DELAY = timedelta(minutes=10)
# Tasks for a single message that learning has already passed: it was set aside, or its text has changed since.
READ = "read"
REREAD = "reread"  # the same, with a language model


class LeaseLost(LtstError):
    """The lease has expired or its user is gone, so no result of the work may be written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do one piece of work for a while. `attempts` includes the current one."""

    user_id: str
    task: str
    subject: str
    holder: str
    attempts: int


@dataclass(frozen=True, slots=True)
class WorkRules:
    """What to learn, and how long a conversation must pause before it is processed."""

    extraction: bool
    episodes: bool
    consolidation: bool
    model: bool
    pause: timedelta
    idle: timedelta
    tokens: int
    lease: timedelta
    limits: Limits
    """The resources that learning from one message or one stretch of a conversation may take."""


class Todo(NamedTuple):
    """What may have to be done for a user, although another worker may already be doing it."""

    words: bool
    vectors: bool
    careful: bool  # rows must be indexed one by one, because one of them may have killed a worker
    crashed: bool  # some work has killed its worker too many times
    large: bool
    unsettled: bool
    unread: bool
    unconsolidated: bool
    uncompared: bool
    unlearnt: bool
    unrefined: bool
    untold: bool
    switches: dict[str, bool]


async def todo(tx: Executor, rules: WorkRules, user_id: str, large: int) -> Todo:
    """Returns what may have to be done for a user; more than `large` units make a large memory."""
    return await tx.one("work.todo", Todo, **asdict(rules), user_id=user_id, most=MOST_ATTEMPTS, large=large)


async def due_users(tx: Executor, rules: WorkRules, limit: int) -> list[str]:
    """Returns users with due work that nobody is doing."""
    return await tx.values("work.due_users", **asdict(rules), limit=limit)


async def claim(tx: Executor, rules: WorkRules, user_id: str, task: str, subject: str = "") -> list[Lease]:
    """Leases a piece of work; returns an empty list if it is leased, waits after a failure, or was set aside."""
    asked = Lease(user_id, task, subject, new_id(), 0)
    found = await tx.dicts("work.claim", **_lease_key(asked), lease=rules.lease)
    return [replace(asked, attempts=row["attempts"]) for row in found]


async def claim_sessions(
    tx: Executor, rules: WorkRules, user_id: str, task: str, limit: int, session_id: str | None = None
) -> list[Lease]:
    """Leases a task for sessions that need it, or for the named session if it needs it.

    A session where the task failed or killed its worker before is leased alone.
    """
    holder = new_id()
    asked = {"user_id": user_id, "task": task, "session_id": session_id, "holder": holder, "limit": limit}
    found = await tx.dicts("work.claim_sessions", **asdict(rules), **asked)
    return [Lease(user_id, task, row["subject"], holder, row["attempts"]) for row in found]


async def renew(tx: Executor, rules: WorkRules, leases: Iterable[Lease]) -> None:
    """Extends the leases because the work is still going on."""
    held = [*leases]
    if held:
        subjects = [each.subject for each in held]
        await tx.run("work.renew", **_lease_key(held[0]), subjects=subjects, lease=rules.lease)


async def finish(tx: Executor, lease: Lease) -> None:
    """Ends the lease in the transaction that writes the result; if it is gone, raises LeaseLost to undo both."""
    if not await tx.run("work.finish", **_lease_key(lease)):
        raise LeaseLost(f"the work {lease.task} was taken up by another")


async def reached(tx: Executor, mark: str, session_id: str, start: int, end: int, **more: str) -> None:
    """Records, with the query `mark`, that work on a session advanced from one index to another.

    Raises LeaseLost, which undoes the work, if another worker was faster.
    """
    if not await tx.run(mark, session_id=session_id, **{"from": start, "to": end}, **more):
        raise LeaseLost(f"{mark}: another was faster")


async def put_off(tx: Executor, lease: Lease, reason: str, *, counted: bool = True, most: int = MOST_ATTEMPTS) -> None:
    """Delays the next attempt, longer each time; gives the work up after `most` attempts, if this one is `counted`."""
    delay = min(LONGEST_DELAY, FIRST_DELAY * 4 ** (lease.attempts - 1))
    await tx.run("work.put_off", **_lease_key(lease), reason=reason[:500], delay=delay, counted=counted, most=most)


async def give_back(tx: Executor, leases: Iterable[Lease]) -> None:
    """Returns leases to the queue as if they had never been taken."""
    for lease in leases:
        await tx.run("work.give_back", **_lease_key(lease))


async def count_anew(tx: Executor, lease: Lease) -> None:
    """Resets the attempts, because from here on failures count against the parts of this work."""
    await tx.run("work.count_anew", **_lease_key(lease))


async def fail(tx: Executor, task: str, subjects: Iterable[str], reason: str) -> None:
    """Counts a failure of each subject and sets it aside after too many."""
    await tx.run("work.fail", task=task, subjects=[*subjects], reason=reason[:500], most=MOST_ATTEMPTS)


async def set_aside(tx: Executor, task: str, subjects: Iterable[str], reason: str) -> None:
    """Sets subjects aside at once, because another attempt would change nothing."""
    named = [*subjects]
    if named:
        await tx.run("work.set_aside", task=task, subjects=named, reason=reason[:500])


async def succeed(tx: Executor, task: str, subjects: Iterable[str]) -> None:
    """Clears the failures of these subjects."""
    await tx.run("work.succeed", task=task, subjects=[*subjects])


async def unread(tx: Executor, user_id: str, task: str, limit: int) -> list[str]:
    """Returns the ids of messages to learn from one by one (task READ or REREAD)."""
    return await tx.values("work.unread", user_id=user_id, task=task, limit=limit)


def _lease_key(lease: Lease) -> dict[str, Any]:
    return {"user_id": lease.user_id, "task": lease.task, "subject": lease.subject, "holder": lease.holder}
