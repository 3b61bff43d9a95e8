"""A user who has something of everything: what archive, erasure, encryption and isolation are tried on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from ltst import ConversationSession, User
from ltst.db.pool import user_scope
from ltst.handles.keys import AsyncKeys
from ltst.handles.learning import rules
from ltst.learn.listen import listen
from ltst.rooms import work

SECRET_KEY = "diet"
DAYS = timedelta(days=1)


def day(year: int, month: int = 1, date: int = 1) -> datetime:
    return datetime(year, month, date, tzinfo=UTC)


def furnish(user: User, mark: str) -> dict[str, Any]:
    """Give a user some of every noun, `mark` in every text; the ids of what was made, by noun."""
    chat = user.chat("monday", agent="coach", name=f"{mark} plan")
    first = chat.add("user", f"{mark} I moved", at=day(2020, 5), metadata={"note": mark, "deep": {"list": [1, None]}})
    answer = chat.add("assistant", f"{mark} noted", parent=first.message_id, key="answer")
    chat.add_interaction(f"{mark} and then?", f"{mark} we shall see")
    chat.working.set("draft", {"text": mark}, ttl=timedelta(hours=1))
    context = chat.contexts.set("project", "goal", f"{mark} goal", relevance=0.5, metadata={"note": mark})
    branch = chat.fork(2, session_id="branch")
    branch.add("user", f"{mark} in the branch")
    old = user.chat("old")
    old.add("user", f"{mark} long ago", at=day(2018))
    old.add("user", f"{mark} says hello. Always mention {mark} first. Call me Pip.", at=day(2018))
    user._portal.run(_learn(user, mark))
    user._portal.run(AsyncKeys(user._inner._desk.core).create(user.user_id, name=mark))
    user.learning.set(relationships=False)
    user.sessions.archive("old")
    user.sessions.put(
        ConversationSession("typed", user.user_id, session_type="support", context_summary=mark, metadata={"n": mark})
    )
    link = user.sessions.link("old", "monday", "continuation", similarity=0.25, metadata={"note": mark})
    fact = _facts(user, mark, str(first.message_id))
    preference = user.preferences.set("editor", f"{mark} vim", type="coding", source="learned", confidence=0.5)
    user.preferences.set(SECRET_KEY, f"{mark} secret", sensitive=True)
    user.instructions.set("coach", f"{mark} be brief")
    instruction = user.instructions.set("coach", f"{mark} be very brief")
    entry = user.entries.add(f"{mark} the oven runs hot", importance=0.8, occurred_at=day(2019), metadata={"n": mark})
    user.entries.add(f"{mark} soon over", type="episodic", expires_at=datetime.now(UTC) + DAYS)
    document = user.documents.add(f"{mark} text. " * 400, title=f"{mark} title", uri="note:1", metadata={"note": mark})
    user.items.put(
        ("notes", mark), "theme", {"text": f"{mark} in the dark", "raw": b"\x00"}, vectors=[[0.5, 1]], ttl=DAYS
    )
    user.items.put(("notes",), "nothing", None)
    user.retention.set(archive_after=90 * DAYS, delete_after=365 * DAYS)
    user.retention.set("support", delete_after=timedelta(days=30, hours=5))
    return {
        "session": "monday",
        "message": str(first.message_id),
        "answer": str(answer.message_id),
        "context": str(context.context_id),
        "fact": fact,
        "statement": user.statements.list()[0].statement_id,
        "preference": preference.preference_id,
        "instruction": instruction.id,
        "entry": str(entry.entry_id),
        "document": document.document_id,
        "namespace": mark,
        "relationship": link.relationship_id,
        "event": user.events.list(limit=1)[0].event_id,
    }


def _facts(user: User, mark: str, source: str) -> str:
    user.facts.set("home", f"{mark} Porto", source_message_id=source)
    fact = user.facts.set("home", f"{mark} Lisbon", valid_from=day(2021), confidence=0.75)
    user.facts.set("home", f"{mark} Paris", valid_from=day(2022))
    user.facts.reject("home", f"{mark} Paris")
    user.facts.reject("name", f"{mark} nobody")
    user.facts.set("home", f"{mark} Leeds", about="Dani")
    return fact.fact_id


async def _learn(user: User, mark: str) -> None:
    """Read what was said in the old conversation; leave some work lying about, and something to be folded anew."""
    desk = user._inner._desk
    database, calls = desk.core.database, desk.core.database.user(user.user_id)
    (lease,) = await work.claim(calls, rules(desk.core), user.user_id, "learn", "old")
    await listen(database, lease, limits=rules(desk.core).limits)
    assert await work.claim(calls, rules(desk.core), user.user_id, "embed", mark)
    async with database.transaction(user_scope(user.user_id)) as tx:
        assert await tx.run("claims.forget", user_id=user.user_id, noun="preference", key="address_as")
