"""Checks the types of values in foreign JSON, raising Invalid with their path, and parses dates."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from typing import Any

from ltst.errors import Invalid

# Larger numbers are milliseconds, microseconds or nanoseconds since 1970 instead of seconds.
UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))
YEARS = range(2, 9999)
LONGEST_SHOWN = 60


def mapping(value: object, path: str) -> dict[str, Any]:
    """Returns an object, or raises Invalid."""
    if not isinstance(value, dict):
        raise Invalid(f"{path} must be an object, not {shown(value)}")
    return value


def listing(value: object, path: str) -> list[Any]:
    """Returns a list, or raises Invalid."""
    if not isinstance(value, list):
        raise Invalid(f"{path} must be a list, not {shown(value)}")
    return value


def words(value: object, path: str) -> str:
    """Returns a text, or raises Invalid."""
    if not isinstance(value, str):
        raise Invalid(f"{path} must be a text, not {shown(value)}")
    return value


def some_mapping(value: object, path: str) -> dict[str, Any]:
    """Returns an object; None becomes an empty one."""
    return {} if value is None else mapping(value, path)


def some_listing(value: object, path: str) -> list[Any]:
    """Returns a list; None becomes an empty one."""
    return [] if value is None else listing(value, path)


def some_words(value: object, path: str) -> str:
    """Returns a text; None becomes an empty one."""
    return "" if value is None else words(value, path)


def name(value: object, path: str) -> str | None:
    """Returns an id, written as a text or a whole number; a blank one is None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise Invalid(f"{path} must be an id, a text or a whole number, not {shown(value)}")
    return str(value).strip() or None


def moment(value: object, path: str) -> datetime | None:
    """Returns a time: seconds or milliseconds since 1970, or ISO form; UTC if no zone is given."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        found = _moment_in_text(value.strip()) if isinstance(value, str) else _moment_in_number(value)
    except (ValueError, OverflowError, OSError):
        raise Invalid(
            f"{path} must be a time, such as 1700000000.5 or 2024-01-15T10:00:00Z, not {shown(value)}"
        ) from None
    return found


def _moment_in_number(number: float) -> datetime:
    if not math.isfinite(number):
        raise ValueError
    for least, unit in UNITS:
        if abs(number) >= least:
            return _plausible(datetime.fromtimestamp(number / unit, UTC))
    return _plausible(datetime.fromtimestamp(number, UTC))


def _moment_in_text(text: str) -> datetime:
    if len(text) > LONGEST_SHOWN:
        raise ValueError
    try:
        return _moment_in_number(float(text))
    except ValueError:
        found = datetime.fromisoformat(text)
    return _plausible(found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC))


def _plausible(found: datetime) -> datetime:
    if found.year not in YEARS:
        raise ValueError
    return found


def shown(value: object) -> str:
    """Returns a value for an error message, shortened because it may be a megabyte."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    try:
        written = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return f"a {type(value).__name__}"
    return written if len(written) <= LONGEST_SHOWN else f"{written[: LONGEST_SHOWN - 3]}…"
