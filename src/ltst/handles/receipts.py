"""Receipts of erasures: creates them, records them in the ledger and verifies them later."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ltst.db import migrate
from ltst.db.pool import Transaction
from ltst.errors import Invalid
from ltst.handles.desk import Core, Desk, now
from ltst.records import ERASED, ApiKey, Check, Receipt, Verification
from ltst.rooms import events
from ltst.support import validate
from ltst.support.ids import new_id
from ltst.support.text import sha256

PROVEN = ("receipt_id", "user_id", "erased_at", "removed", "remaining", "digest")


def made(user_id: str, removed: Mapping[str, int], remaining: Mapping[str, int]) -> Receipt:
    """Returns the receipt for an erasure."""
    said = new_id(), user_id, now(), removed, remaining
    return Receipt(*said, _digest(*said))


async def tell(desk: Desk, tx: Transaction, receipt: Receipt) -> None:
    """Records a receipt under a hash of the user's id, so that the ledger can confirm it without naming the user."""
    details = {"digest": receipt.digest, "removed": dict(receipt.removed)}
    nobody = _nobody(receipt.user_id)
    async with desk.core.database.beside(tx, nobody) as told:
        await events.add(told, desk.settings.actor, "erase", "user", receipt.receipt_id, details, user_id=nobody)


def named(user_id: str) -> dict[str, Any]:
    """Return a user and the tables in which there may be something of them, as queries take both."""
    return {"user_id": user_id, "tables": [*migrate.names_of("TABLE")]}


async def verify(core: Core, given: Receipt | Mapping[str, Any]) -> Verification:
    """Checks a receipt's digest, its entry in the ledger, and that the tables hold no rows of the user."""
    receipt = _checked(given)
    nobody = _nobody(receipt.user_id)
    told = core.database.at(nobody).keeper()
    kept = await told.value("events.erasure", user_id=nobody, receipt_id=receipt.receipt_id)
    held = await core.database.at(receipt.user_id).keeper().dicts("archive.held", **named(receipt.user_id))
    if core.database.distributed:
        keys = await core.database.keeper().rows("keys.list", ApiKey, user_id=receipt.user_id)
        held.append({"table_name": "api_keys", "held": len(keys)})
    return Verification(
        receipt.receipt_id, receipt.user_id, (_check_digest(receipt), _known(receipt, kept), _empty(held))
    )


def _digest(
    receipt_id: str, user_id: str, moment: datetime, removed: Mapping[str, int], remaining: Mapping[str, int]
) -> str:
    proven = [receipt_id, user_id, moment.astimezone(UTC).isoformat(), dict(removed), dict(remaining)]
    return sha256(json.dumps(proven, sort_keys=True))


def _nobody(user_id: str) -> str:
    return ERASED + sha256(user_id)


def _check_digest(receipt: Receipt) -> Check:
    counted = _digest(receipt.receipt_id, receipt.user_id, receipt.erased_at, receipt.removed, receipt.remaining)
    if counted == receipt.digest:
        return Check("receipt", "ok", "its digest is the digest of what it says")
    return Check("receipt", "error", "it was changed: its digest is not the digest of what it says")


def _known(receipt: Receipt, kept: str | None) -> Check:
    if kept is None:
        return Check("ledger", "error", "this database knows no such receipt: it is of another, or of a later time")
    if kept != receipt.digest:
        return Check("ledger", "error", "the ledger has this receipt with another digest: it was forged")
    return Check("ledger", "ok", "the ledger has this receipt with the same digest")


def _empty(held: Sequence[Mapping[str, Any]]) -> Check:
    found = ", ".join(f"{row['table_name']} ({row['held']})" for row in held if row["held"])
    if found:
        detail = f"rows of this user are in {found}: written since the erasure, or brought back by a backup"
        return Check("rows", "error", detail)
    return Check("rows", "ok", f"no row of this user is in any of {len(held)} tables")


def _checked(given: Receipt | Mapping[str, Any]) -> Receipt:
    fields = {name: getattr(given, name, None) for name in PROVEN} if isinstance(given, Receipt) else given
    if not isinstance(fields, Mapping) or not fields.keys() >= {*PROVEN}:
        raise Invalid(f"this is no receipt: it must be an object with {', '.join(PROVEN)}, as erase gives it")
    return Receipt(
        receipt_id=validate.identifier(fields["receipt_id"], "receipt_id"),
        user_id=validate.identifier(fields["user_id"], "user_id"),
        erased_at=_moment(fields["erased_at"]),
        removed=_counts(fields["removed"], "removed"),
        remaining=_counts(fields["remaining"], "remaining"),
        digest=validate.identifier(fields["digest"], "digest"),
    )


def _moment(given: object) -> datetime:
    if isinstance(given, str):
        try:
            given = datetime.fromisoformat(given)
        except ValueError:
            raise Invalid("erased_at of a receipt must be a time such as 2026-01-31T12:00:00+00:00") from None
    return validate.moment(given, "erased_at")


def _counts(given: object, name: str) -> dict[str, int]:
    if not isinstance(given, Mapping) or not all(
        isinstance(table, str) and isinstance(rows, int) and not isinstance(rows, bool) for table, rows in given.items()
    ):
        raise Invalid(f"{name} of a receipt must be numbers of rows by their tables")
    return dict(given)
