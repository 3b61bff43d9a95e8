"""Reads and undo operations that the web page needs beyond the public methods."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ltst.errors import NotFound
from ltst.handles.archive import EXPORT_FORMAT, EXPORT_VERSION, checked
from ltst.handles.desk import Desk
from ltst.learn.weigh import fold_fact
from ltst.records import ME, ConversationMessage, Fact
from ltst.rooms import archive, claims, facts, messages
from ltst.support import validate
from ltst.support.ids import is_id

LONGEST_TITLE = 80


async def fact_state(desk: Desk, key: str, about: str = ME) -> dict[str, Any]:
    """Returns the current state of a fact key as JSON: every value and the claims behind it."""
    wanted = {"key": validate.identifier(key, "key"), "about": validate.identifier(about, "about")}
    async with desk.reading("facts.kept") as calls:
        rows = await calls.values("facts.kept", **wanted)
        read = await calls.values("claims.kept", noun="fact", key=key) if about == ME else []
    return {"format": EXPORT_FORMAT, "version": EXPORT_VERSION, **wanted, "facts": rows, "claims": read}


async def put_back(desk: Desk, document: Mapping[str, Any]) -> None:
    """Restores a fact key to a state that `fact_state` returned, undoing whatever was done to it since."""
    # The database knows whether the messages still exist.
    rows = checked({**document, "messages": _messages(document)})
    key = validate.identifier(document.get("key"), "key")
    about = validate.identifier(document.get("about"), "about")
    own = [{**row, "fact_key": key, "about": about} for row in rows["facts"]]
    read = [{**row, "noun": "fact", "claim_key": key} for row in rows["claims"]] if about == ME else []
    async with desk.writing("facts.put_back") as tx:
        await facts.lock(tx, key)
        await facts.forget(tx, key, about)
        if about == ME:
            await claims.forget(tx, "fact", key)
        await archive.restore(tx, {"claims": read, "facts": facts.closed(own)})
        await facts.mend(tx, key, about)
        await fold_fact(tx, key, about)
        await desk.tell(tx, "put_back", "fact", key if about == ME else "another", {"count": len(own)})


async def take_back(desk: Desk, statement_id: str) -> None:
    """Restores a statement that was rejected."""
    if not is_id(validate.identifier(statement_id, "statement_id")):
        raise NotFound(f"no statement {statement_id!r}")
    async with desk.writing("statements.take_back") as tx:
        if not await tx.run("statements.take_back", statement_id=statement_id):
            raise NotFound(f"no rejected statement {statement_id!r}")
        await desk.tell(tx, "take_back", "statement", statement_id)


async def of_key(desk: Desk, key: str, about: str = ME) -> list[Fact]:
    """Returns the current values of a key."""
    wanted = validate.identifier(key, "key"), validate.identifier(about, "about")
    async with desk.reading("facts.of_key") as calls:
        return await facts.at(calls, *wanted, None)


async def changes(desk: Desk, *, limit: int = 100, offset: int = 0) -> list[Fact]:
    """Returns every value of every key, including ended and rejected ones, the latest change first."""
    asked = {"limit": validate.limit(limit), "offset": validate.offset(offset)}
    async with desk.reading("facts.changes") as calls:
        return await calls.rows("facts.changes", Fact, **asked)


async def replaced(desk: Desk, fact_ids: Iterable[str]) -> dict[str, Fact]:
    """Returns the fact that each of these facts replaced, by the newer fact's id."""
    async with desk.reading("facts.replaced") as calls:
        found = await calls.rows("facts.replaced", Fact, fact_ids=[*fact_ids])
    return {str(each.superseded_by): each for each in found}


async def titles(desk: Desk, session_ids: Iterable[str]) -> dict[str, str]:
    """Returns a title for each session: its name, else the user's first words, else its id."""
    wanted = sorted({*session_ids})
    async with desk.reading("sessions.titles") as calls:
        rows = await calls.dicts("sessions.titles", session_ids=wanted)
    found = {row["session_id"]: row["name"] or _title(row["words"] or "") for row in rows}
    return {each: found.get(each) or each for each in wanted}


async def messages_by_id(desk: Desk, message_ids: Iterable[str | None]) -> dict[str, ConversationMessage]:
    """Returns messages by id in one call, leaving out ids that do not exist."""
    wanted = sorted({each for each in message_ids if each is not None and is_id(each)})
    async with desk.reading("messages.get_many") as calls:
        return await messages.get_many(calls, wanted)


async def following(desk: Desk, session_id: str, index: int, limit: int) -> list[ConversationMessage]:
    """Returns the messages of a session that follow an index, oldest first; removed messages leave gaps."""
    async with desk.reading("messages.after", session_id) as calls:
        return await messages.after(calls, session_id, index, limit)


def _title(words: str) -> str:
    title = " ".join(words.split())
    return title if len(title) <= LONGEST_TITLE else title[: LONGEST_TITLE - 1].rstrip() + "…"


def _messages(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    given = [document.get("facts"), document.get("claims")]
    rows = [row for each in given if isinstance(each, list) for row in each if isinstance(row, dict)]
    ids = {row.get("source_message_id") or row.get("message_id") for row in rows}
    return [{"message_id": each} for each in sorted(str(each) for each in ids if each is not None)]
