"""Adopts chat tables of other programs and gives them back."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ltst.adoption import adopting, predecessor
from ltst.adoption.outcomes import Adoption, Predecessor, Restitution
from ltst.adoption.tables import Takeover
from ltst.errors import Conflict, Invalid
from ltst.handles.desk import Core, checked_user
from ltst.support import validate

LONGEST_TABLE = 255
LONGEST_NAME = 63


async def adopt(core: Core, table: str, user_id: str | None, *, dry_run: bool, leave_out: bool, zone: str) -> Adoption:
    """Adopts a table, or with `dry_run` returns what that would do."""
    takeover = _takeover(core, validate.short(table, "table", LONGEST_TABLE), user_id, zone, leave_out)
    if validate.flag(dry_run, "dry_run"):
        return await adopting.rehearse(core.database, takeover)
    adopted = await adopting.adopt(core.database, takeover)
    core.written(takeover.user_id)
    return adopted


async def adopt_predecessor(
    core: Core, schema: str, user_id: str | None, *, dry_run: bool, leave_out: bool, zone: str, switch: bool
) -> Predecessor:
    """Copies a predecessor's tables, or with `dry_run` reports what that would do; `switch` replaces them."""
    takeover = _takeover(core, validate.short(schema, "schema", LONGEST_NAME), user_id, zone, leave_out)
    if validate.flag(dry_run, "dry_run"):
        return await predecessor.rehearse(core.database, takeover)
    return await predecessor.adopt(core.database, takeover, switch=validate.flag(switch, "switch"))


async def give_predecessor_back(core: Core, schema: str, user_id: str | None, *, zone: str, drop: bool) -> Predecessor:
    """Writes changes made since back into the predecessor's tables, so that the predecessor can use them again."""
    takeover = _takeover(core, validate.short(schema, "schema", LONGEST_NAME), user_id, zone, leave_out=True)
    return await predecessor.give_back(core.database, takeover, drop=validate.flag(drop, "drop"))


def _takeover(core: Core, source: str, user_id: str | None, zone: str, leave_out: bool) -> Takeover:
    if core.database.distributed:
        raise Conflict("this memory is distributed over several nodes: no table of another program can be adopted")
    return Takeover(
        source,
        user_id=checked_user(core.settings.user if user_id is None else user_id),
        zone=_zone(zone),
        largest=core.settings.max_content_bytes,
        leave_out=validate.flag(leave_out, "leave_out"),
        actor=core.settings.actor,
    )


async def give_back(core: Core, table: str, *, keep: bool) -> Restitution:
    """Puts an adopted table back in its place."""
    wanted = validate.short(table, "table", LONGEST_TABLE)
    return await adopting.give_back(core.database, wanted, core.settings.actor, keep=validate.flag(keep, "keep"))


def _zone(name: object) -> str:
    try:
        return ZoneInfo(validate.short(name, "zone", LONGEST_TABLE)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid(f"zone must be the name of a time zone, such as UTC or Europe/Berlin, not {name!r}") from None
