"""Comparing: finds the earlier statement that a new one replaces, once both have vectors.

Where the wording does not decide, it records how likely a message replaces what an earlier one states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

from ltst.db.pool import Database, Transaction, user_scope
from ltst.learn.listen import ACTOR
from ltst.learn.superseding import Pair, likelihood, says_so, takes_place
from ltst.rooms import events, search, statements, work
from ltst.rooms.search import Holders
from ltst.rooms.statements import ComparedMessage, ComparedStatement
from ltst.rooms.work import Lease
from ltst.support.child import Limits
from ltst.support.children import LEARNING, OutOfTime
from ltst.support.place import in_thread
from ltst.support.terms import terms

T = TypeVar("T")
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
        await _doubt(tx, [*dict.fromkeys(each.message_id for each in new)], limits)
        await tx.run("statements.compared", ids=[each.statement_id for each in new])
        await work.finish(tx, lease)
    return len(new)


async def _saying_so(asked: Sequence[ComparedStatement], limits: Limits, owner: str) -> list[ComparedStatement]:
    """Returns the statements that say something changed, in the order said; without those too slow to read."""
    said = sorted(asked, key=lambda each: (each.said_at, each.position, each.start_at))
    told = await _every(says_so, [(each.content,) for each in said], limits, owner)
    return [each for each, says in zip(said, told, strict=True) if says is True]


async def _every(
    function: Callable[..., T], given: Sequence[tuple[Any, ...]], limits: Limits, owner: str
) -> list[T | OutOfTime]:
    """Calls a function in a child with each of these arguments; OutOfTime stands in for what took too long."""
    found = list[T | OutOfTime]()
    while len(found) < len(given):
        found += await LEARNING.each(function, given[len(found) :], limits, owner=owner)
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


async def _doubt(tx: Transaction, new: Sequence[str], limits: Limits) -> None:
    """Records how likely the new messages, and later ones near them, replace what earlier messages state."""
    newer = {each.message_id: each for each in await statements.telling(tx, new)}
    for message_id in new:
        later = await statements.nearest_telling(tx, message_id, later=True, limit=NEAREST_LATER)
        newer |= {each.message_id: each for each in later}
    compared = [(each, await _before(tx, each)) for each in newer.values()]
    words = await in_thread(terms_of, [each for one, before in compared for each in (one, *before)])
    asked = await in_thread(_all_pairs, compared, words, await search.holders(tx, set[str]().union(*words)))
    likely = await _every(likelihood, [(pair,) for pair in asked], limits, str(tx.scope.user_id))
    couples = [(older.message_id, one.message_id) for one, before in compared for older in before]
    doubts: dict[str, tuple[float, str]] = {}
    for (older, by), doubt in zip(couples, likely, strict=True):
        if isinstance(doubt, float) and doubt >= LEAST_DOUBT and doubt > doubts.get(older, (0.0, ""))[0]:
            doubts[older] = doubt, by
    await statements.doubt(tx, doubts)


async def _before(tx: Transaction, newer: ComparedMessage) -> list[ComparedMessage]:
    return await statements.nearest_telling(tx, newer.message_id, later=False, limit=NEAREST_BEFORE)


def _all_pairs(
    compared: Iterable[tuple[ComparedMessage, Sequence[ComparedMessage]]], words: Iterable[set[str]], known: Holders
) -> list[Pair]:
    """Returns the pairs of several messages, each with its earlier ones; `words` holds the terms of all, in order."""
    rare, each_words = rarity(known), iter(words)
    return [
        pair for one, before in compared for pair in pairs(one, before, [*islice(each_words, 1 + len(before))], rare)
    ]


def rarity(known: Holders) -> dict[str, float]:
    """Returns how rare each term is among what the user said."""
    return {
        term: math.log(1 + max(known.total - units + 0.5, 0.0) / (units + 0.5)) for term, units in known.units.items()
    }


def pairs(
    newer: ComparedMessage, before: Sequence[ComparedMessage], words: Sequence[set[str]], rare: Mapping[str, float]
) -> Iterator[Pair]:
    """Yields a message paired with each earlier one, the nearest first; `words` holds the terms of each."""
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
