"""Statements: what the user said of their life, through every door."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import ltst

pytestmark = pytest.mark.asyncio(loop_scope="session")

MISSING = "01900000-0000-7000-8000-000000000000"
SAID_AT = datetime(2026, 3, 1, 9, tzinfo=UTC)
LIFE = "My sister Jo lives in Ghent. What's the weather like there? I bought a red bicycle last week."


async def told(user: Any, *texts: str, session_id: str = "monday") -> None:
    await user.learning.set(extraction=True)
    for text in texts:
        await user.chat(session_id).add("user", text, at=SAID_AT)
    await user.learning.catch_up()


async def words(user: Any, **wanted: Any) -> list[str]:
    return [each.content for each in await user.statements.list(**wanted)]


async def test_they_are_listed_the_newest_first_and_got_one_by_one(user: Any) -> None:
    await told(user, LIFE)
    bought, lives = await user.statements.list()
    assert (bought.content, lives.content) == ("I bought a red bicycle last week.", "My sister Jo lives in Ghent.")
    assert (lives.about, lives.said_at, lives.session_id, lives.origin) == ("my sister Jo", SAID_AT, "monday", "gate")
    assert LIFE[lives.start_at : lives.end_at] == lives.content
    assert await user.statements.get(lives.statement_id) == lives


async def test_they_are_chosen_by_whom_what_and_where(user: Any) -> None:
    await told(user, LIFE)
    await told(user, "I have been playing the cello for ten years.", session_id="tuesday")
    assert await words(user, about="My sister Jo") == ["My sister Jo lives in Ghent."]
    assert await words(user, about="me", session_id="monday") == ["I bought a red bicycle last week."]
    assert await words(user, session_id="tuesday") == ["I have been playing the cello for ten years."]
    assert await words(user, kind="person") == ["My sister Jo lives in Ghent."]
    assert len(await words(user, limit=2)) == 2
    assert len(await words(user, current=True)) == 3
    assert await words(user, current=False) == []
    assert await words(user, about="nobody") == []


async def test_one_that_is_rejected_is_listed_no_more(user: Any) -> None:
    await told(user, LIFE)
    bought, lives = await user.statements.list()
    struck = await user.statements.reject(bought.statement_id)
    assert struck.rejected_at is not None
    assert await user.statements.reject(bought.statement_id) == struck
    rejected = [
        event for event in await user.events.list(limit=1000) if (event.action, event.noun) == ("reject", "statement")
    ]
    assert [event.row_id for event in rejected] == [bought.statement_id]
    assert await user.statements.list() == [lives]
    assert await user.statements.get(bought.statement_id) == struck


@pytest.mark.parametrize("unknown", [MISSING, "no id"])
async def test_what_is_not_there_is_not_found(user: Any, unknown: str) -> None:
    assert await user.statements.list() == []
    assert await user.statements.get(unknown) is None
    with pytest.raises(ltst.NotFound, match="no statement"):
        await user.statements.reject(unknown)


@pytest.mark.parametrize("wrong", [{"kind": "rumour"}, {"limit": 0}, {"limit": 1001}])
async def test_bad_input_is_refused(user: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(ltst.Invalid):
        await user.statements.list(**wrong)
