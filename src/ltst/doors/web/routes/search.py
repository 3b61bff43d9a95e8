"""Search on the page: hits with the parts of their scores, why something is missing, and the context of a query."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fastapi import APIRouter, Response

from ltst.arguments import FEWEST_TOKENS, STRATEGIES, SearchFilters
from ltst.doors.web.pages import PageRoute, page
from ltst.doors.web.prompts import parts_of
from ltst.doors.web.visits import Visit, Visited
from ltst.errors import Invalid
from ltst.handles import viewing
from ltst.recall.parts import in_words
from ltst.records import KINDS, SEARCHED, Fact, Hit

router = APIRouter(route_class=PageRoute)

SHOWN, WIDE, RECENT = 10, 200, 30
MOST_TOKENS = 1_000_000
UNLIKE = ("unlike", "It has too little to do with the question to be a candidate.")


class Reason(NamedTuple):
    """Something that was missed, and why: in a word, and in a sentence."""

    content: str
    word: str
    why: str


@router.get("/search")
async def search(visit: Visited) -> Response:
    """Show what is found, and why."""
    query, missed = visit.asked("q").strip(), visit.asked("missed").strip()
    filters = _filters(visit)
    limit = visit.number("limit", SHOWN, WIDE) or SHOWN
    hits = await visit.user.search(query, limit=limit, **filters) if query else []
    reasons = await _reasons(visit, query, missed, hits, filters) if query and missed else []
    told = {"query": query, "hits": hits, "kinds": KINDS, "chosen": filters.get("kinds") or (), "limit": limit}
    told["sessions"] = await _recent(visit)
    most = max((abs(value) for hit in hits for value in hit.scores.values()), default=0) or 1
    return page(visit, "search.html", **told, most=most, missed=missed, reasons=reasons, in_words=in_words)


@router.get("/context")
async def context(visit: Visited) -> Response:
    """Show what a prompt for a question would hold."""
    query, budget = visit.asked("q").strip(), visit.number("max_tokens", 4000, MOST_TOKENS)
    strategy, session_id = visit.asked("strategy", STRATEGIES[0]), visit.asked("id")
    agent = visit.asked("agent") or None
    made = None
    if query:
        chat = visit.user.chat(session_id or None, agent=agent)
        made = await chat.context(query, max_tokens=max(budget, FEWEST_TOKENS), strategy=strategy)
    told: dict[str, Any] = {"query": query, "budget": budget, "strategy": strategy, "strategies": STRATEGIES}
    told |= {"sessions": await _recent(visit), "session_id": session_id}
    told |= {"agents": visit.turns.agents.list(), "agent": agent}
    return page(visit, "context.html", **told, made=made, parts_of=made and parts_of(made, budget))


async def _recent(visit: Visit) -> dict[str, str]:
    """Returns the latest conversations by id, each with its title."""
    recent = [each.session_id for each in await visit.user.sessions.list(limit=RECENT)]
    titles = await viewing.titles(visit.desk, recent)
    return {each: titles[each] for each in recent}


def _filters(visit: Visit) -> SearchFilters:
    kinds = [each for each in visit.request.query_params.getlist("kind") if each]
    return {
        "kinds": kinds or None,
        "session_id": visit.asked("session") or None,
        "since": visit.day("since"),
        "until": visit.day("until"),
        "floor": _share(visit.asked("floor")),
    }


async def _reasons(visit: Visit, query: str, missed: str, hits: Sequence[Hit], filters: SearchFilters) -> list[Reason]:
    """Returns what contains the missed words, each with the reason why it is not among the hits."""
    asked, user = filters.get("kinds") or SEARCHED, visit.user
    every = tuple({**dict.fromkeys(SEARCHED), **dict.fromkeys(asked), "item": None})
    unfloored: SearchFilters = {**filters, "floor": 0.0}
    inside, anywhere, unrelated, over, changed = await asyncio.gather(
        user.search(query, limit=WIDE, **unfloored),
        user.search(query, limit=WIDE, kinds=every, floor=0.0),
        user.search(missed, limit=WIDE, kinds=every, floor=0.0),
        user.statements.list(current=False, limit=WIDE),
        viewing.changes(visit.desk, limit=WIDE),
    )
    found = {hit.id: Reason(hit.content, *_ranked(hit, hits, place)) for place, hit in enumerate(inside, 1)}
    for hit in (*anywhere, *unrelated):
        left_out = _left_out(hit, asked, filters)
        found.setdefault(hit.id, Reason(hit.content, *(("filter", left_out) if left_out else UNLIKE)))
    for fact in changed:
        if fact.rejected_at or fact.ended_at or fact.superseded_by:
            found[fact.fact_id] = Reason(fact.line, "replaced", _over(fact))
    for each in over:
        when = "" if each.superseded_at is None else f" on {each.superseded_at:%Y-%m-%d}"
        why = f"Something said later took its place{when}, or its day is over."
        found[each.statement_id] = Reason(each.content, "replaced", why)
    return [each for each in found.values() if missed.casefold() in each.content.casefold()][:SHOWN]


def _ranked(hit: Hit, hits: Sequence[Hit], place: int) -> tuple[str, str]:
    for shown, each in enumerate(hits, 1):
        if each.id == hit.id:
            return "there", f"It is there, at place {shown}."
    if not hits:
        return "floor", f"Its relevance is {hit.score:.2f}; where the best is below the floor, nothing is shown."
    return "further down", f"It stands at place {place} with a relevance of {hit.score:.2f}; {len(hits)} are shown."


def _left_out(hit: Hit, kinds: Iterable[str], filters: SearchFilters) -> str | None:
    """Returns which filter excludes a hit, or None if all accept it."""
    since, until, at = filters.get("since"), filters.get("until"), hit.occurred_at
    if hit.kind not in kinds:
        return f"Its kind, {hit.kind}, is not among those that are searched: {', '.join(kinds)}."
    if filters.get("session_id") not in (None, hit.session_id):
        return "It is of another conversation than the one in the filter."
    if at is not None and ((since and at < since) or (until and at >= until)):
        return f"Its day, {at:%Y-%m-%d}, is outside the time in the filter."
    return None


def _over(fact: Fact) -> str:
    if fact.rejected_at:
        return f"It was struck out on {fact.rejected_at:%Y-%m-%d}."
    if fact.ended_at:
        return f"It was over on {fact.ended_at:%Y-%m-%d}."
    return "A later value took its place" + (f" on {fact.valid_to:%Y-%m-%d}." if fact.valid_to else ".")


def _share(given: str) -> float | None:
    try:
        return float(given) if given else None
    except ValueError:
        raise Invalid("the floor is a number from 0 to 1") from None
