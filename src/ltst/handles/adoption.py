"""Chat tables of other programs: checked, taken over, given back."""

from __future__ import annotations

from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from ltst.adoption import adopting, predecessor
from ltst.db import migrate
from ltst.errors import Invalid
from ltst.handles.desk import Core, checked_user
from ltst.records import Adoption, Predecessor, Restitution
from ltst.support import validate

LONGEST_TABLE = 255
LONGEST_NAME = 63


async def adopt(core: Core, table: str, user_id: str | None, *, dry_run: bool, leave_out: bool, zone: str) -> Adoption:
    """Make a table part of the memory, or tell what that would do."""
    owner = checked_user(core.settings.user if user_id is None else user_id)
    wish = adopting.Wish(
        table=validate.short(table, "table", LONGEST_TABLE),
        user_id=owner,
        zone=_zone(zone),
        largest=core.settings.max_content_bytes,
        leave_out=validate.flag(leave_out, "leave_out"),
        actor=core.settings.actor,
        own=(*migrate.names_of("TABLE"), *migrate.names_of("VIEW"), "ltst_migrations"),
    )
    if validate.flag(dry_run, "dry_run"):
        return await adopting.rehearse(core.database, wish)
    adopted = await adopting.adopt(core.database, wish)
    core.written(owner)
    return adopted


async def adopt_predecessor(
    core: Core, schema: str, user_id: str | None, *, dry_run: bool, leave_out: bool, zone: str, switch: bool
) -> Predecessor:
    """Copy the tables of the system before, or tell what that would do; with `switch`, put ltst in their place."""
    taking = _taking(core, schema, user_id, zone, leave_out)
    if validate.flag(dry_run, "dry_run"):
        return await predecessor.rehearse(core.database, taking)
    return await predecessor.adopt(core.database, taking, switch=validate.flag(switch, "switch"))


async def give_predecessor_back(core: Core, schema: str, user_id: str | None, *, zone: str, drop: bool) -> Predecessor:
    """Bring what was written since into the tables of the system before, and let it use them again."""
    taking = _taking(core, schema, user_id, zone, leave_out=True)
    return await predecessor.give_back(core.database, taking, drop=validate.flag(drop, "drop"))


def _taking(core: Core, schema: str, user_id: str | None, zone: str, leave_out: bool) -> predecessor.Taking:
    return predecessor.Taking(
        schema=validate.short(schema, "schema", LONGEST_NAME),
        user_id=checked_user(core.settings.user if user_id is None else user_id),
        zone=_zone(zone),
        largest=core.settings.max_content_bytes,
        leave_out=validate.flag(leave_out, "leave_out"),
        actor=core.settings.actor,
    )


async def give_back(core: Core, table: str, *, keep: bool) -> Restitution:
    """Put a table back in its place."""
    wanted = validate.short(table, "table", LONGEST_TABLE)
    return await adopting.give_back(core.database, wanted, core.settings.actor, keep=validate.flag(keep, "keep"))


def _zone(name: object) -> str:
    try:
        return ZoneInfo(validate.short(name, "zone", LONGEST_TABLE)).key
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid(f"zone must be the name of a time zone, such as UTC or Europe/Berlin, not {name!r}") from None
