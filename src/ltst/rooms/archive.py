"""Restores an export of everything that one user owns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ltst.db.pool import Executor
from ltst.records import ME
from ltst.support.text import scoped_hash, sha256
from ltst.support.tokens import count

Rows = list[dict[str, Any]]

# Ordered so that every row comes after the rows it refers to.
NOUNS = (
    "sessions",
    "messages",
    "contexts",
    "relationships",
    "claims",
    "statements",
    "facts",
    "preferences",
    "instructions",
    "entries",
    "documents",
    "chunks",
    "items",
    "retention",
    "learning",
)
BATCH = 1000
# Defaults for columns that older exports lack, or that exports leave out.
ABSENT: Mapping[str, Mapping[str, Any]] = {
    "messages": {"ann": False},
    # Postgres reads "now" as the time of the restore, which is when these rows were last changed here.
    "sessions": {"refined_index": 0, "episode_index": 0, "summarised_index": 0, "updated_at": "now"},
    "contexts": {"updated_at": "now"},
    "statements": {"compared": False},
    "facts": {"learned": False, "about": ME},
    "preferences": {"learned": False},
    "instructions": {"learned": False},
    "entries": {"learned": False, "consolidated": False},
    "relationships": {"learned": False},
}


async def restore(tx: Executor, document: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, int]:
    """Inserts the rows of an export, skips those that already exist, and returns how many were added per noun.

    A session whose id exists with different messages gets none of the exported ones, so conversations never mix.
    """
    owned = {noun: _owned(noun, tx.scope.user_id, document.get(noun, [])) for noun in NOUNS}
    owned["messages"] = await _without_foreign_sessions(tx, [_derived(row) for row in owned["messages"]])
    owned["chunks"] = await _without_known_documents(tx, owned["chunks"])
    # The counters start at zero because a trigger counts the messages as they are inserted.
    uncounted = [{**row, "session_length": 0, "last_index": 0} for row in owned["sessions"]]
    new_sessions = await tx.values("archive.restore_sessions", rows=json.dumps(uncounted))
    added = {"sessions": len(new_sessions)}
    orphans = [{**row, "parent_message_id": None} for row in owned["messages"]]
    added["messages"] = await _insert(tx, "messages", orphans)
    await _restore_parents(tx, owned["messages"])
    # Inserting messages changed these sessions; new ones get the counters and dates of the export back.
    new = set(new_sessions)
    counters = [row for row in owned["sessions"] if row["session_id"] in new]
    await tx.run("archive.restore_counters", rows=json.dumps(counters))
    for noun in NOUNS[2:]:
        added[noun] = await _insert(tx, noun, owned[noun])
    return added


def _owned(noun: str, user_id: str, rows: Iterable[Mapping[str, Any]]) -> Rows:
    # An export must not link a session to another program's table; only adopting that table does so.
    fixed = {"user_id": user_id, **({"adoption_id": None} if noun == "sessions" else {})}
    return [{**ABSENT.get(noun, {}), **row, **fixed} for row in rows]


def _derived(row: dict[str, Any]) -> dict[str, Any]:
    """Returns a message row with hashes and token count computed from its content, whatever the export says."""
    session_id, role, content = str(row.get("session_id")), str(row.get("role")), str(row.get("content"))
    digest = sha256(content)
    hashes = {"content_hash": digest, "context_hash": scoped_hash(session_id, role, digest)}
    return {**row, **hashes, "token_count": count(content)}


async def _without_foreign_sessions(tx: Executor, rows: Rows) -> Rows:
    told = [{key: row.get(key) for key in ("session_id", "message_index", "message_id")} for row in rows]
    foreign = {*await tx.values("archive.foreign_sessions", rows=json.dumps(told))}
    return [row for row in rows if row.get("session_id") not in foreign]


async def _without_known_documents(tx: Executor, rows: Rows) -> Rows:
    """Returns the chunks of documents that are new here; a stored document keeps its own chunks, perhaps newer ones."""
    ids = sorted({str(row.get("document_id")) for row in rows})
    known = {*await tx.values("archive.known_documents", ids=ids)}
    return [row for row in rows if row.get("document_id") not in known]


async def _insert(tx: Executor, noun: str, rows: Sequence[Mapping[str, Any]]) -> int:
    added = 0
    for start in range(0, len(rows), BATCH):
        added += await tx.run(f"archive.restore_{noun}", rows=json.dumps(rows[start : start + BATCH]))
    return added


async def _restore_parents(tx: Executor, rows: Rows) -> None:
    """Links messages to their parents once all are inserted, because a parent may come after its child."""
    children = [row for row in rows if row.get("parent_message_id")]
    for start in range(0, len(children), BATCH):
        await tx.run("archive.restore_parents", rows=json.dumps(children[start : start + BATCH]))
