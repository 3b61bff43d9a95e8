"""Exports everything a user owns as a document, restores such a document, and erases a user with a receipt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ltst.db import space
from ltst.db.pool import KEEPER, Transaction, user_scope
from ltst.errors import Invalid, LtstError, Unavailable
from ltst.handles import receipts, windows
from ltst.handles.desk import Desk
from ltst.learn.weigh import fold_fact, weigh
from ltst.records import ME, Receipt
from ltst.rooms import archive, facts
from ltst.support import validate
from ltst.support.crypto import WrappedKey

EXPORT_FORMAT = "ltst"
EXPORT_VERSION = 1
# Fields that restoring itself needs; the database checks the others.
REQUIRED = {
    "sessions": ("session_id",),
    "preferences": ("preference_id", "preference_value"),
    "facts": ("fact_key", "fact_value", "valid_from"),
    "claims": ("message_id", "noun", "claim_key", "claim_value"),
    "statements": ("statement_id", "message_id", "kind"),
    "items": ("key", "created_at", "updated_at"),
}
REFERENCES = (
    ("messages", "parent_message_id", "messages", "message_id"),
    ("facts", "source_message_id", "messages", "message_id"),
    ("claims", "message_id", "messages", "message_id"),
    ("statements", "message_id", "messages", "message_id"),
    ("chunks", "document_id", "documents", "document_id"),
)


async def export(desk: Desk) -> dict[str, Any]:
    """Returns everything the user owns, as of one moment."""
    reads = await desk.core.reads(desk.user_id)
    async with (
        desk.core.measured("retrieval", "user.export", desk.user_id, None) as tally,
        reads.snapshot(user_scope(desk.user_id)) as tx,
    ):
        rows = {noun: await tx.values(f"archive.export_{noun}") for noun in archive.NOUNS}
        key = await tx.row("preferences.get_key", WrappedKey)
        tally.rows = tx.seen
    notes = await _open_sealed(desk, rows, key)
    return {"format": EXPORT_FORMAT, "version": EXPORT_VERSION, "user_id": desk.user_id, **rows, "notes": notes}


async def restore(desk: Desk, document: Mapping[str, Any]) -> dict[str, int]:
    """Restores a document into this user's memory, all of it or nothing."""
    rows = checked(document)
    async with desk.writing("user.restore") as tx:
        sealed = await _seal_again(desk, tx, rows["preferences"])
        given: dict[str, Sequence[Mapping[str, Any]]] = {**rows, "preferences": sealed}
        given["facts"] = facts.closed(rows["facts"])
        added = await archive.restore(tx, given)
        for key, about in sorted({(str(row["fact_key"]), str(row.get("about", ME))) for row in rows["facts"]}):
            await facts.mend(tx, key, about)
            await fold_fact(tx, key, about)
        # Facts in the document were already recomputed above.
        await weigh(tx, [(str(row["noun"]), str(row["claim_key"])) for row in rows["claims"]])
        await desk.tell(tx, "restore", "user", desk.user_id, added)
    return added


async def erase(desk: Desk) -> Receipt:
    """Removes everything the user owns, counts what remains in the same transaction, then vacuums the tables."""
    async with (
        desk.core.measured("storage", "user.erase", desk.user_id, None) as tally,
        desk.core.database.at(desk.user_id).transaction(KEEPER, hurry=False) as tx,
    ):
        # Adopted tables go first: deleting from ltst's own tables would remove their rows too, without counting them.
        kept = await tx.dicts("archive.erase_kept", user_id=desk.user_id)
        own = await tx.dicts("archive.erase", **receipts.named(desk.user_id))
        if desk.core.database.distributed:
            own.append(await _without_keys(desk))
        removed = {row["table_name"]: row["removed"] for row in (*own, *kept)}
        remaining = {row["table_name"]: row["remaining"] for row in (*own, *kept)}
        receipt = receipts.made(desk.user_id, removed, remaining)
        await receipts.tell(desk, tx, receipt)
        tally.rows = sum(removed.values())
    await windows.forget(desk.core, desk.user_id)
    return await _vacuumed(desk, receipt)


async def _without_keys(desk: Desk) -> dict[str, Any]:
    """Remove the user's keys to servers, which lie with the coordinator where the rest is distributed."""
    removed = await desk.core.database.keeper().run("keys.erase", user_id=desk.user_id)
    return {"table_name": "api_keys", "removed": removed, "remaining": 0}


async def _open_sealed(desk: Desk, rows: dict[str, archive.Rows], key: WrappedKey | None) -> list[str]:
    """Decrypts sensitive preferences in place, dropping those whose key is lost; returns notes about these."""
    sealed = [row for row in rows["preferences"] if row["sensitive"]]
    if not sealed:
        return []
    try:
        cipher = await desk.reading_cipher(key)
    except Unavailable as problem:
        rows["preferences"] = [row for row in rows["preferences"] if not row["sensitive"]]
        return [f"the preference {row['preference_key']!r} is left out: {problem}" for row in sealed]
    for row in sealed:
        row["preference_value"] = cipher.open(row["preference_value"], row["preference_id"])
    return []


async def _seal_again(desk: Desk, tx: Transaction, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    copies = [dict(row) for row in rows]
    sealed = [row for row in copies if row.get("sensitive")]
    if sealed:
        cipher = await desk.own_cipher(tx)
        for row in sealed:
            row["preference_value"] = cipher.seal(row["preference_value"], row["preference_id"].lower())
    return copies


async def _vacuumed(desk: Desk, receipt: Receipt) -> Receipt:
    """Vacuums the tables and returns the receipt with the result."""
    touched = [table for table, rows in receipt.removed.items() if rows]
    if not touched:
        return replace(receipt, notes=(f"there was no user {receipt.user_id!r}: nothing was removed",))
    try:
        done, refused = await space.vacuum(desk.core.database, touched)
    except LtstError as problem:
        return replace(receipt, notes=(f"the space of the removed rows was not cleared: {problem}",))
    note = f"this role may not VACUUM {', '.join(refused)}: have their owner do it"
    return replace(receipt, vacuumed=tuple(done), notes=(note,) if refused else ())


def checked(document: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Returns the rows of an exported document by noun; raises Invalid if something is wrong with it."""
    if not isinstance(document, Mapping) or document.get("format") != EXPORT_FORMAT:
        raise Invalid('this is not an export of ltst: it must be an object with "format": "ltst"')
    if document.get("version") != EXPORT_VERSION:
        raise Invalid(f"this export has version {document.get('version')!r}; this ltst reads {EXPORT_VERSION}")
    rows = {noun: document.get(noun, []) for noun in archive.NOUNS}
    for noun, given in rows.items():
        if not isinstance(given, list) or not all(isinstance(row, dict) for row in given):
            raise Invalid(f"{noun!r} of this export must be a list of objects")
        for row in given:
            _check_row(noun, row)
    for noun, key, owner, owner_key in REFERENCES:
        _check_ids(noun, key, rows[noun])
        _check_ids(owner, owner_key, rows[owner])
        known = {row.get(owner_key) for row in rows[owner]}
        if any(row.get(key) not in known for row in rows[noun] if row.get(key) is not None):
            raise Invalid(f"{noun!r} of this export refers to {owner} that are not in it")
    return rows


def _check_ids(noun: str, key: str, rows: Sequence[Mapping[str, Any]]) -> None:
    if not all(isinstance(row.get(key), str | None) for row in rows):
        raise Invalid(f"{key} of every object of {noun!r} in this export must be a text")


def _check_row(noun: str, row: Mapping[str, Any]) -> None:
    """Checks what the database would not reject, or not with a clear message."""
    for key in REQUIRED.get(noun, ()):
        if not isinstance(row.get(key), str):
            raise Invalid(f"every object of {noun!r} in this export must have {key}, a text")
    if not isinstance(row.get("metadata", {}), dict):
        raise Invalid(f"the metadata of every object of {noun!r} in this export must be an object")
    if not isinstance(row.get("about", ME), str):
        raise Invalid(f"the about of every object of {noun!r} in this export must be a text")
    validate.json_text(row, f"every object of {noun!r} in this export", validate.LARGEST_INTEGER)
