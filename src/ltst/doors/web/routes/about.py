"""About me: what is known, where it comes from and what changed; everything can be corrected and undone."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from fastapi import APIRouter, Response

from ltst.doors.web.pages import CANNOT_UNDO, Notice, PageRoute, leading, line, page, paged, undoable
from ltst.doors.web.visits import Visit, Visited
from ltst.handles import viewing
from ltst.records import ME, Fact, Statement

router = APIRouter(route_class=PageRoute)

FACTS, STATEMENTS, CHANGES, OUTDATED = 100, 50, 30, 200
MOST = 1000


class Change(NamedTuple):
    """One point on the timeline."""

    at: datetime
    what: str
    label: str
    value: str
    before: str | None = None


@router.get("/about")
async def known(visit: Visited) -> Response:
    """Show what is known."""
    return await _shown(visit)


@router.get("/about/changes")
async def changes(visit: Visited) -> Response:
    """Show what changed, to htmx, which puts it below what is known."""
    return page(visit, "about_changes.html", **await _changes(visit)) if visit.piecemeal else leading("/about")


@router.post("/about/correct")
async def correct(visit: Visited) -> Response:
    """Let another value hold from now on."""
    key, about = visit.need("key"), visit.asked("about", ME)
    before = await viewing.fact_state(visit.desk, key, about)
    old, value = visit.asked("old"), visit.need("value")
    several = visit.asked("several") == "yes"
    if several and old and old != value:
        await visit.user.facts.end(key, old, about=about)
    await visit.user.facts.set(key, value, about=about, valid_from=visit.day("since"), single_valued=not several)
    return await _answered(visit, key, about, f"{key} is now {value}.", before)


@router.post("/about/reject")
async def reject(visit: Visited) -> Response:
    """Strike a value out for good."""
    value = visit.need("value")
    return await _done(visit, visit.user.facts.reject, f": {value} was wrong, and is not learnt again.", value)


@router.post("/about/end")
async def end(visit: Visited) -> Response:
    """Say that something is over."""
    value = visit.need("value")
    return await _done(visit, visit.user.facts.end, f": {value} is over.", value)


@router.post("/about/forget")
async def forget(visit: Visited) -> Response:
    """Remove a key with all that was ever known of it."""
    return await _done(visit, visit.user.facts.forget, " is forgotten, with its history.")


@router.post("/about/undo")
async def undo(visit: Visited) -> Response:
    """Put back what was there before the last change."""
    before = visit.mapping("before", CANNOT_UNDO)
    if "statement_id" in before:
        await viewing.take_back(visit.desk, str(before["statement_id"]))
        return await _shown(visit, _notice("The statement holds again."))
    await viewing.put_back(visit.desk, before)
    return await _shown(visit, _notice("It is as it was before."))


@router.post("/about/statement/reject")
async def reject_statement(visit: Visited) -> Response:
    """Strike out something that was read in the user's own words."""
    struck = await visit.user.statements.reject(visit.need("statement_id"))
    notice = _notice(f"“{struck.content}” is struck out.", {"statement_id": struck.statement_id})
    return line(visit, "about_line.html", notice, shown=False) if visit.in_line else await _shown(visit, notice)


async def _done(visit: Visit, verb: Callable[..., Awaitable[object]], told: str, *given: str) -> Response:
    """Applies a verb to a key and shows what was done."""
    key, about = visit.need("key"), visit.asked("about", ME)
    before = await viewing.fact_state(visit.desk, key, about)
    await verb(key, *given, about=about)
    return await _answered(visit, key, about, f"{key}{told}", before)


async def _answered(visit: Visit, key: str, about: str, done: str, before: dict[str, Any]) -> Response:
    """Returns what a change of a key updates on the page: only its line, if htmx replaces just that."""
    notice = _notice(done, before)
    if not visit.in_line:
        return await _shown(visit, notice)
    facts = await viewing.of_key(visit.desk, key, about)
    shown = await _details(visit, facts)
    answer = line(visit, "about_line.html", notice, shown=bool(facts), facts=facts, **shown)
    answer.headers["HX-Trigger"] = "corrected"  # makes the list of changes below reload
    return answer


def _notice(done: str, before: dict[str, Any] | None = None) -> Notice:
    return undoable(done, before, "/about/undo", "#known")


async def _shown(visit: Visit, notice: Notice | None = None) -> Response:
    """Returns the page, or only the part that htmx replaces."""
    user, known, said = visit.user, visit.number("known", 0), visit.number("said", 0)
    facts, stated, changed = await asyncio.gather(
        user.facts.list(),
        user.statements.list(current=True, limit=min(said + STATEMENTS + 1, MOST)),
        _changes(visit),
    )
    facts, stated = facts[known:], stated[said:]
    values: dict[str, Any] = {
        "subjects": _by_subject(facts[:FACTS], stated[:STATEMENTS]),
        "pages": [("known", known, FACTS, len(facts)), ("said", said, STATEMENTS, len(stated))],
        "notice": notice,
    }
    values |= changed | await _details(visit, facts[:FACTS])
    return page(visit, "about_known.html" if visit.piecemeal else "about.html", **values)


async def _details(visit: Visit, facts: Sequence[Fact]) -> dict[str, Any]:
    """Returns the fact that each of these facts replaced, and the messages they come from."""
    replaced, sources = await asyncio.gather(
        viewing.replaced(visit.desk, (each.fact_id for each in facts)),
        viewing.messages_by_id(visit.desk, (each.source_message_id for each in facts)),
    )
    return {"replaced": replaced, "sources": sources}


async def _changes(visit: Visit) -> dict[str, Any]:
    """Returns what changed, the latest first, and the outdated statements by what replaced them."""
    offset = visit.number("changed", 0)
    changed, over = await asyncio.gather(
        viewing.changes(visit.desk, limit=min(offset + CHANGES + 1, MOST)),
        visit.user.statements.list(current=False, limit=min(offset + OUTDATED, MOST)),
    )
    replaced = await viewing.replaced(visit.desk, (each.fact_id for each in changed))
    points = _points(changed, over, replaced)[offset:]
    outdated = {each.superseded_by: each for each in over if each.superseded_by is not None}
    return {"line": points[:CHANGES], "changes": paged(points, CHANGES, offset), "outdated": outdated}


def _by_subject(
    facts: Iterable[Fact], said: Iterable[Statement]
) -> list[tuple[str, list[list[Fact]], list[Statement]]]:
    """Returns what is known about each person, the user first, with the values of a key together."""
    known = {about: [*each] for about, each in groupby(sorted(facts, key=_subject), key=_subject)}
    stated = {about: [*each] for about, each in groupby(sorted(said, key=_subject), key=_subject)}
    people = sorted(known.keys() | stated.keys(), key=lambda name: (name != ME, name.lower()))
    return [(name, _by_key(known.get(name, ())), stated.get(name, [])) for name in people]


def _by_key(facts: Iterable[Fact]) -> list[list[Fact]]:
    return [[*each] for _, each in groupby(facts, key=lambda fact: fact.key)]


def _subject(each: Fact | Statement) -> str:
    return each.about


def _points(changed: Iterable[Fact], over: Iterable[Statement], replaced: Mapping[str, Fact]) -> list[Change]:
    """Returns what changed, the latest first."""
    points: list[Change] = []
    for fact in changed:
        before = replaced.get(fact.fact_id)
        what = "learnt" if fact.learned else "set"
        points.append(Change(fact.valid_from, what, fact.label, fact.value, None if before is None else before.value))
        if fact.rejected_at is not None:
            points.append(Change(fact.rejected_at, "struck out", fact.label, fact.value))
        elif fact.ended_at is not None:
            points.append(Change(fact.ended_at, "over", fact.label, fact.value))
    points += [
        Change(each.superseded_at, "no longer so", "you" if each.about == ME else each.about, each.content)
        for each in over
        if each.superseded_at is not None
    ]
    return sorted(points, key=lambda each: each.at, reverse=True)
