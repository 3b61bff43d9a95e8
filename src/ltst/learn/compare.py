"""Comparing: finds the earlier statement whose place a new one takes, once both have vectors."""

from __future__ import annotations

from collections.abc import Sequence

from ltst.db.pool import Database, Transaction, user_scope
from ltst.learn.listen import ACTOR
from ltst.learn.superseding import says_so, takes_place
from ltst.rooms import events, search, statements, work
from ltst.rooms.statements import Compared
from ltst.rooms.work import Lease
from ltst.support.child import Limits
from ltst.support.children import LEARNING
from ltst.support.place import beside
from ltst.support.terms import terms

BATCH = 100
NEAREST_LATER = 3
# A word is rare that stands in so many units of the user, or in such a part of them.
RARE, RARE_SHARE = 4, 0.04


async def compare(database: Database, lease: Lease, *, limits: Limits) -> int:
    """Compare new statements with the others; how many were compared."""
    async with database.transaction(user_scope(lease.user_id)) as tx:
        new = await statements.uncompared(tx, BATCH)
        later = [each for one in new for each in await statements.nearest(tx, one, later=True, limit=NEAREST_LATER)]
        # What was compared before a new one came may take the place of that.
        asked = [*{each.statement_id: each for each in [*new, *later]}.values()]
        for newer in await _saying_so(asked, limits, lease.user_id):
            await _supersede(tx, newer, limits)
        await statements.compared(tx, [each.statement_id for each in new])
        await work.finish(tx, lease)
    return len(new)


async def _saying_so(asked: Sequence[Compared], limits: Limits, owner: str) -> list[Compared]:
    """Those that say that something changed, in the order of saying; one that takes too long to read does not."""
    said = sorted(asked, key=lambda each: (each.said_at, each.position, each.start_at))
    found, left = list[Compared](), said
    while left:
        told = await LEARNING.each(says_so, [(each.content,) for each in left], limits, owner=owner)
        found += [each for each, says in zip(left, told, strict=False) if says is True]
        left = left[len(told) :]
    return found


async def _supersede(tx: Transaction, newer: Compared, limits: Limits) -> None:
    """Let a statement take the place of the nearest one before it, if it says so."""
    for older in await statements.nearest(tx, newer, later=False, limit=1):
        shared = await beside(_shared, older.content, newer.content)
        rare = await search.rare(tx, shared, RARE, RARE_SHARE)
        given = (older.content, older.kind, newer.content, older.nearness, rare)
        (takes,) = await LEARNING.each(takes_place, [given], limits, owner=str(tx.scope.user_id))
        if takes is True and await statements.supersede(tx, older.statement_id, newer.statement_id):
            details = {"by": newer.statement_id}
            await events.add(tx, ACTOR, "supersede", "statement", older.statement_id, details)


def _shared(one: str, other: str) -> list[str]:
    return sorted({*terms(one)} & {*terms(other)})
