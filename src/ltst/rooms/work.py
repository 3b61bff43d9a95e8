"""Leases on derived work: who does it, how often it failed, what was set aside. What is due stands elsewhere."""

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
# The work on a single message whose conversation was read past it: it was set aside, or says something else now.
READ = "read"
REREAD = "reread"  # by a language model


class LeaseLost(LtstError):
    """The lease is no longer ours, or its user is gone: nothing of the work may be written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to do one piece of work, for a while. `attempts` counts this one too."""

    user_id: str
    task: str
    subject: str
    holder: str
    attempts: int


@dataclass(frozen=True, slots=True)
class WorkRules:
    """What is to be learnt, and from when on a conversation rests."""

    extraction: bool
    episodes: bool
    consolidation: bool
    model: bool
    pause: timedelta
    idle: timedelta
    tokens: int
    lease: timedelta
    limits: Limits
    """What it may take to learn from one message, or from a stretch of a conversation."""


class Todo(NamedTuple):
    """What there may be to do for a user; somebody else may be at it."""

    words: bool
    vectors: bool
    careful: bool  # whether there are rows that must be indexed one by one, since one of them may be poison
    crashed: bool  # whether something ended whoever was at it, again and again
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
    """Return what may be due for a user; a memory of more than so many units counts as large."""
    return await tx.one("work.todo", Todo, **asdict(rules), user_id=user_id, most=MOST_ATTEMPTS, large=large)


async def due_users(tx: Executor, rules: WorkRules, limit: int) -> list[str]:
    """Users for whom something is due that nobody is at."""
    return await tx.values("work.due_users", **asdict(rules), limit=limit)


async def claim(tx: Executor, rules: WorkRules, user_id: str, task: str, subject: str = "") -> list[Lease]:
    """Lease a piece of work; return None if it is leased, rests after a failure, or was set aside."""
    asked = Lease(user_id, task, subject, new_id(), 0)
    found = await tx.dicts("work.claim", **_named(asked), lease=rules.lease)
    return [replace(asked, attempts=row["attempts"]) for row in found]


async def claim_sessions(
    tx: Executor, rules: WorkRules, user_id: str, task: str, limit: int, session_id: str | None = None
) -> list[Lease]:
    """Lease a task for some sessions that need it; for one alone if it failed or killed its worker before.

    Of a named one, if it is due for that.
    """
    holder = new_id()
    asked = {"user_id": user_id, "task": task, "session_id": session_id, "holder": holder, "limit": limit}
    found = await tx.dicts("work.claim_sessions", **asdict(rules), **asked)
    return [Lease(user_id, task, row["subject"], holder, row["attempts"]) for row in found]


async def renew(tx: Executor, rules: WorkRules, leases: Iterable[Lease]) -> None:
    """Say that work is still going on."""
    held = [*leases]
    if held:
        subjects = [each.subject for each in held]
        await tx.run("work.renew", **_named(held[0]), subjects=subjects, lease=rules.lease)


async def finish(tx: Executor, lease: Lease) -> None:
    """End the lease, in the transaction that writes the result; raise LeaseLost, which undoes both, if it is gone."""
    if not await tx.run("work.finish", **_named(lease)):
        raise LeaseLost(f"the work {lease.task} was taken up by another")


async def reached(tx: Executor, mark: str, session_id: str, start: int, end: int, **more: str) -> None:
    """Note by a query that derived work on a session has come from one index to another.

    LeaseLost, which undoes the work, if somebody else was faster.
    """
    if not await tx.run(mark, session_id=session_id, **{"from": start, "to": end}, **more):
        raise LeaseLost(f"{mark}: another was faster")


async def put_off(tx: Executor, lease: Lease, reason: str, *, counted: bool = True, most: int = MOST_ATTEMPTS) -> None:
    """Wait before the next attempt, longer each time; set the work aside after `most` attempts that were `counted`."""
    delay = min(LONGEST_DELAY, FIRST_DELAY * 4 ** (lease.attempts - 1))
    await tx.run("work.put_off", **_named(lease), reason=reason[:500], delay=delay, counted=counted, most=most)


async def give_back(tx: Executor, leases: Iterable[Lease]) -> None:
    """Give leases back as if they had never been taken."""
    for lease in leases:
        await tx.run("work.give_back", **_named(lease))


async def count_anew(tx: Executor, lease: Lease) -> None:
    """Reset the attempts: from here on failures count against the parts of this work."""
    await tx.run("work.count_anew", **_named(lease))


async def fail(tx: Executor, task: str, subjects: Iterable[str], reason: str) -> None:
    """Count a failure of each; after too many, set it aside."""
    await tx.run("work.fail", task=task, subjects=[*subjects], reason=reason[:500], most=MOST_ATTEMPTS)


async def set_aside(tx: Executor, task: str, subjects: Iterable[str], reason: str) -> None:
    """Set these aside at once, since another attempt would change nothing."""
    named = [*subjects]
    if named:
        await tx.run("work.set_aside", task=task, subjects=named, reason=reason[:500])


async def succeed(tx: Executor, task: str, subjects: Iterable[str]) -> None:
    """Forget the failures of these."""
    await tx.run("work.succeed", task=task, subjects=[*subjects])


async def unread(tx: Executor, user_id: str, task: str, limit: int) -> list[str]:
    """Return the messages that must be read (READ or REREAD) one by one."""
    return await tx.values("work.unread", user_id=user_id, task=task, limit=limit)


def _named(lease: Lease) -> dict[str, Any]:
    return {"user_id": lease.user_id, "task": lease.task, "subject": lease.subject, "holder": lease.holder}
