"""The archive of a user: everything out as a document, back in, or erased with a receipt."""

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

EXPORT_FORMAT = "ltst"
EXPORT_VERSION = 1
# What restoring itself reads of a row; for the rest the schema says what is missing.
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
    """Everything the user owns, of one moment."""
    reads = await desk.core.reads(desk.user_id)
    async with (
        desk.core.measured("retrieval", "user.export", desk.user_id, None) as tally,
        reads.snapshot(user_scope(desk.user_id)) as tx,
    ):
        rows = {noun: await tx.values(f"archive.export_{noun}") for noun in archive.NOUNS}
        notes = await _open_sealed(desk, tx, rows)
        tally.rows = tx.seen
    return {"format": EXPORT_FORMAT, "version": EXPORT_VERSION, "user_id": desk.user_id, **rows, "notes": notes}


async def restore(desk: Desk, document: Mapping[str, Any]) -> dict[str, int]:
    """Put a document into this user's memory, all of it or nothing."""
    rows = checked(document)
    async with desk.writing("user.restore") as tx:
        sealed = await _seal_again(desk, tx, rows["preferences"])
        given: dict[str, Sequence[Mapping[str, Any]]] = {**rows, "preferences": sealed}
        given["facts"] = facts.closed(rows["facts"])
        added = await archive.restore(tx, given)
        for key, about in sorted({(str(row["fact_key"]), str(row.get("about", ME))) for row in rows["facts"]}):
            await facts.mend(tx, key, about)
            await fold_fact(tx, key, about)
        # The facts among them are folded already if they came along.
        await weigh(tx, [(str(row["noun"]), str(row["claim_key"])) for row in rows["claims"]])
        await desk.tell(tx, "restore", "user", desk.user_id, added)
    return added


async def erase(desk: Desk) -> Receipt:
    """Remove everything the user owns and count what is left, in one transaction; then clear the space it took."""
    async with (
        desk.core.measured("storage", "user.erase", desk.user_id, None) as tally,
        desk.core.database.at(desk.user_id).transaction(KEEPER, hurry=False) as tx,
    ):
        # First of all from tables that were adopted: what goes from ltst would take their rows along, uncounted.
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


async def _open_sealed(desk: Desk, tx: Transaction, rows: dict[str, archive.Rows]) -> list[str]:
    """Put sensitive values in clear; those whose key is lost are left out. What to say of them."""
    sealed = [row for row in rows["preferences"] if row["sensitive"]]
    if not sealed:
        return []
    try:
        cipher = await desk.reading_cipher(tx)
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
    """The receipt of what is removed already, with what became of its space."""
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
    """The rows of an exported document by noun, or Invalid saying what is wrong with it."""
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
    """What the database would not refuse, or not in words; it checks the rest."""
    for key in REQUIRED.get(noun, ()):
        if not isinstance(row.get(key), str):
            raise Invalid(f"every object of {noun!r} in this export must have {key}, a text")
    if not isinstance(row.get("metadata", {}), dict):
        raise Invalid(f"the metadata of every object of {noun!r} in this export must be an object")
    if not isinstance(row.get("about", ME), str):
        raise Invalid(f"the about of every object of {noun!r} in this export must be a text")
    validate.json_text(row, f"every object of {noun!r} in this export", validate.LARGEST_INTEGER)
