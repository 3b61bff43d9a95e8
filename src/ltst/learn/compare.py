"""Comparing: finds the earlier statement that a new one replaces, once both have vectors.

Where the wording does not decide, it records how likely a message replaces what an earlier one states.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ltst.db.pool import Database, Transaction, user_scope
from ltst.learn.listen import ACTOR
from ltst.learn.superseding import Pair, likelihood, says_so, takes_place
from ltst.rooms import events, search, statements, work
from ltst.rooms.search import Holders
from ltst.rooms.statements import ComparedMessage, ComparedStatement
from ltst.rooms.work import Lease
from ltst.support.child import Limits
from ltst.support.children import LEARNING
from ltst.support.place import in_thread
from ltst.support.terms import terms

BATCH = 100
NEAREST_LATER = 3
# A word is rare if at most RARE units of the user hold it, or at most RARE_SHARE of them.
RARE, RARE_SHARE = 4, 0.04
# How many of the nearest earlier messages a message may replace, and from which likelihood on that is recorded.
NEAREST_BEFORE = 10
LEAST_DOUBT = 0.1
DAY = 86_400.0


async def compare(database: Database, lease: Lease, *, limits: Limits) -> int:
    """Compares new statements with the others; returns how many were compared."""
    async with database.transaction(user_scope(lease.user_id)) as tx:
        new = await tx.rows("statements.uncompared", ComparedStatement, limit=BATCH)
        later = [each for one in new for each in await statements.nearest(tx, one, later=True, limit=NEAREST_LATER)]
        # A later statement that was compared before a new one arrived may replace it.
        asked = [*{each.statement_id: each for each in [*new, *later]}.values()]
        for newer in await _saying_so(asked, limits, lease.user_id):
            await _supersede(tx, newer, limits)
        await _doubt(tx, dict.fromkeys(each.message_id for each in new), limits)
        await tx.run("statements.compared", ids=[each.statement_id for each in new])
        await work.finish(tx, lease)
    return len(new)


async def _saying_so(asked: Sequence[ComparedStatement], limits: Limits, owner: str) -> list[ComparedStatement]:
    """Returns the statements that say something changed, in the order said; without those too slow to read."""
    said = sorted(asked, key=lambda each: (each.said_at, each.position, each.start_at))
    found, left = list[ComparedStatement](), said
    while left:
        told = await LEARNING.each(says_so, [(each.content,) for each in left], limits, owner=owner)
        found += [each for each, says in zip(left, told, strict=False) if says is True]
        left = left[len(told) :]
    return found


async def _supersede(tx: Transaction, newer: ComparedStatement, limits: Limits) -> None:
    """Marks the nearest earlier statement as replaced by this one, if the wording says so."""
    for older in await statements.nearest(tx, newer, later=False, limit=1):
        one, other = await in_thread(terms_of, [older, newer])
        shared = sorted(one & other)
        known = await search.holders(tx, shared)
        rare = [term for term in shared if known.units.get(term, 0) <= max(RARE, RARE_SHARE * known.total)]
        given = (older.content, older.kind, newer.content, older.nearness, rare)
        (takes,) = await LEARNING.each(takes_place, [given], limits, owner=str(tx.scope.user_id))
        if takes is True and await statements.supersede(tx, older.statement_id, newer.statement_id):
            details = {"by": newer.statement_id}
            await events.add(tx, ACTOR, "supersede", "statement", older.statement_id, details)


async def _doubt(tx: Transaction, new: Iterable[str], limits: Limits) -> None:
    """Records how likely each new message, or a later one near it, replaces what earlier messages state."""
    for message_id in new:
        later = await statements.nearest_telling(tx, message_id, later=True, limit=NEAREST_LATER)
        told = await statements.telling(tx, message_id)
        for newer in [*([told] if told else []), *later]:
            await _doubt_before(tx, newer, limits)


async def _doubt_before(tx: Transaction, newer: ComparedMessage, limits: Limits) -> None:
    before = await statements.nearest_telling(tx, newer.message_id, later=False, limit=NEAREST_BEFORE)
    words = await in_thread(terms_of, [newer, *before])
    known = await search.holders(tx, set[str]().union(*words))
    asked = [(pair,) for pair in pairs(newer, before, words, known)]
    likely = await LEARNING.each(likelihood, asked, limits, owner=str(tx.scope.user_id))
    doubts = {
        older.message_id: doubt
        for older, doubt in zip(before, likely, strict=False)
        if isinstance(doubt, float) and doubt >= LEAST_DOUBT
    }
    await statements.doubt(tx, newer.message_id, doubts)


def pairs(
    newer: ComparedMessage, before: Sequence[ComparedMessage], words: Sequence[set[str]], known: Holders
) -> Iterator[Pair]:
    """Yields a message paired with each earlier one, the nearest first; `words` holds the terms of each."""
    rare = {
        term: math.log(1 + max(known.total - units + 0.5, 0.0) / (units + 0.5)) for term, units in known.units.items()
    }
    nearness = [each.nearness for each in before]
    for place, older in enumerate(before):
        rival = nearness[0] if place else (nearness[1] if len(nearness) > 1 else 0.0)
        yield Pair(
            newer.content,
            older.content,
            older.nearness,
            place,
            older.nearness - rival,
            [rare.get(term, 0.0) for term in words[0] & words[place + 1]],
            (_sum(words[0], rare), _sum(words[place + 1], rare)),
            (newer.said_at - older.said_at).total_seconds() / DAY,
            newer.session_id == older.session_id,
        )


def terms_of(told: Sequence[ComparedStatement | ComparedMessage]) -> list[set[str]]:
    """Returns the set of terms of each message, as search compares them."""
    return [{*terms(each.content)} for each in told]


def _sum(words: Iterable[str], rare: Mapping[str, float]) -> float:
    return sum(rare.get(term, 0.0) for term in words) or 1.0
