"""Checks of input: most return the value ready to store; all raise Invalid with what is accepted."""

from __future__ import annotations

import inspect
import json
import math
import sys
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta

from ltst.errors import Invalid, shown

ROLES = {"human": "human", "user": "human", "ai": "ai", "assistant": "ai", "system": "system", "tool": "tool"}
LONGEST_IDENTIFIER = 255
LARGEST_INTEGER = 2**31 - 1
LARGEST_FLOAT = sys.float_info.max
LARGEST_REAL = 3.4028234e38
MOST_DIMENSIONS = 16_000  # of a vector of any model
DIMENSIONS = 384


def identifier(value: object, what: str, longest: int = LONGEST_IDENTIFIER) -> str:
    """Returns an id or a key: not blank, and at most `longest` characters."""
    checked = _storable(value, what)
    if not checked.strip() or len(checked) > longest:
        raise Invalid(f"{what} must be 1 to {longest} characters and not blank, not {shown(checked)}")
    return checked


def optional_identifier(value: object, what: str) -> str | None:
    """Returns the same as `identifier`, or None."""
    return None if value is None else identifier(value, what)


def content(value: object, what: str, most_bytes: int) -> str:
    """Returns a text to store: not blank, and at most `most_bytes` long."""
    checked = _storable(value, what)
    if not checked.strip():
        raise Invalid(f"{what} must not be empty or blank")
    return _sized(checked, what, most_bytes)


def optional_text(value: object, what: str, longest: int) -> str | None:
    """Returns a short text such as a name, or None."""
    if value is None:
        return None
    checked = _storable(value, what)
    if len(checked) > longest:
        raise Invalid(f"{what} may have up to {longest} characters, not {len(checked)}")
    return checked


def short(value: object, what: str, longest: int) -> str:
    """Returns a word such as a type or a status."""
    checked = identifier(value, what)
    if len(checked) > longest:
        raise Invalid(f"{what} may have up to {longest} characters, not {len(checked)}")
    return checked


def role(value: object) -> str:
    """Returns the stored name of a role: human, ai, system or tool."""
    known = ROLES.get(value) if isinstance(value, str) else None
    if known is None:
        raise Invalid(f"role must be one of {', '.join(ROLES)}, not {shown(value)}")
    return known


def choice(value: object, what: str, accepted: Collection[str]) -> str:
    """Returns the value if it is one of the accepted words."""
    if not isinstance(value, str) or value not in accepted:
        raise Invalid(f"{what} must be one of {', '.join(accepted)}, not {shown(value)}")
    return str(value)


def optional_choice(value: object, what: str, accepted: Collection[str]) -> str | None:
    """Returns the same as `choice`, or None."""
    return None if value is None else choice(value, what, accepted)


def metadata(value: object, most_bytes: int) -> str:
    """Returns a JSON object as JSON text."""
    if value is None:
        return "{}"
    if not isinstance(value, Mapping):
        raise Invalid(f"metadata must be a mapping with text keys and JSON values, not {_kind(value)}")
    return json_text(dict(value), "metadata", most_bytes)


def json_text(value: object, what: str, most_bytes: int) -> str:
    """Returns any JSON value as JSON text."""
    try:
        _check_json(value, what)
        written = json.dumps(_exact(value), allow_nan=False, ensure_ascii=False)
    except RecursionError:
        raise Invalid(f"{what} must be JSON that is not nested so deeply and holds no circle") from None
    except (TypeError, ValueError) as problem:
        raise Invalid(f"{what} must be JSON (text, numbers, true, false, null, lists, objects): {problem}") from None
    return _sized(written, what, most_bytes)


def limit(value: object, what: str = "limit", most: int = 100_000) -> int:
    """Returns a count of at least one."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise Invalid(f"{what} must be a whole number from 1 to {most}, not {shown(value)}")
    return value


def offset(value: object, most: int = LARGEST_INTEGER) -> int:
    """Returns a number of items to skip."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise Invalid(f"offset must be a whole number from 0 to {most}, not {shown(value)}")
    return value


def score(value: object, what: str) -> float:
    """Returns a number from 0 to 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
        raise Invalid(f"{what} must be a number from 0 to 1, not {shown(value)}")
    return float(value)


def number(value: object, what: str) -> float:
    """Returns any finite number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= LARGEST_FLOAT:
        raise Invalid(f"{what} must be a finite number, not {shown(value)}")
    return float(value)


def flag(value: object, what: str) -> bool:
    """Returns a bool."""
    if not isinstance(value, bool):
        raise Invalid(f"{what} must be True or False, not {shown(value)}")
    return value


def function(value: object, what: str) -> None:
    """Checks that the value can be called, or is None."""
    if value is not None and not callable(value):
        raise Invalid(f"{what} must be a function or None, not {shown(value)}")


def implements(value: object, what: str, protocol: type) -> None:
    """Checks that an object has all members of a protocol. Properties are not read, since that may call a model."""
    wanted = {name: member for name, member in vars(protocol).items() if not name.startswith("_")}
    missing = [name for name, member in wanted.items() if not _offers(value, name, member)]
    if missing or isinstance(value, type):
        lacks = f"{_kind(value)} lacks {', '.join(missing)}" if missing else "this is a class"
        raise Invalid(
            f"{what} must be an object with {', '.join(wanted)}, as ltst.protocols.{protocol.__name__} says; {lacks}"
        )


def _offers(value: object, name: str, member: object) -> bool:
    if not isinstance(member, property):
        return callable(getattr(value, name, None))
    return inspect.getattr_static(value, name, None) is not None or hasattr(value, name)


def embedding(value: object) -> None:
    """Checks a vector of the stored size, or None. A zero vector is refused: it has no direction to compare."""
    if value is None or value == []:
        return
    if not isinstance(value, list | tuple) or len(value) != DIMENSIONS:
        raise Invalid(f"embedding must be a list of {DIMENSIONS} numbers, or None")
    if any(abs(number(each, "each number of embedding")) > LARGEST_REAL for each in value):
        raise Invalid("each number of embedding must fit into 4 bytes")
    if not any(value):
        raise Invalid("embedding must not be all zeros")


def vector(value: object, what: str) -> list[float]:
    """Returns the numbers of a vector of any model."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise Invalid(f"{what} must be a list, not {shown(value)}")
    numbers = [number(each, f"each number of {what}") for each in value]
    if not 1 <= len(numbers) <= MOST_DIMENSIONS:
        raise Invalid(f"{what} must have 1 to {MOST_DIMENSIONS:,} numbers, not {len(numbers):,}")
    if any(abs(each) > LARGEST_REAL for each in numbers):
        raise Invalid(f"each number of {what} must fit into 4 bytes")
    return numbers


def moment(value: object, what: str) -> datetime:
    """Returns a time, which must have a zone, in UTC."""
    if not isinstance(value, datetime):
        raise Invalid(f"{what} must be a datetime with a time zone, not {_kind(value)}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise Invalid(f"{what} must have a time zone, such as datetime.now(timezone.utc); {value} has none")
    if not 1 < value.year < 9999:
        raise Invalid(f"{what} must be in the years 2 to 9998, not {value.year}")
    return value.astimezone(UTC)


def optional_moment(value: object, what: str) -> datetime | None:
    """Returns the same as `moment`, or None."""
    return None if value is None else moment(value, what)


def local_moment(value: datetime | None) -> datetime | None:
    """Returns a time without a zone as local time, for callers whose programs do not use zones."""
    if not isinstance(value, datetime) or value.tzinfo is not None:
        return value
    # The first and the last years have no local time; `moment` refuses them.
    return value.astimezone() if 1 < value.year < 9999 else value.replace(tzinfo=UTC)


def duration(value: object, what: str) -> timedelta | None:
    """Returns a duration above zero, given as a timedelta or in seconds; or None."""
    if value is None:
        return None
    try:
        span = value if isinstance(value, timedelta) else timedelta(seconds=_number(value))
    except (TypeError, ValueError, OverflowError):
        raise Invalid(f"{what} must be a timedelta or a number of seconds, not {shown(value)}") from None
    if not timedelta(0) < span <= timedelta(days=365_000):
        raise Invalid(f"{what} must be longer than zero and at most 1,000 years, not {span.total_seconds():g} seconds")
    return span


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError
    return value


def _storable(value: object, what: str) -> str:
    """Returns a text that Postgres can store unchanged: no NUL, no lone surrogate."""
    if not isinstance(value, str):
        raise Invalid(f"{what} must be text (str), not {_kind(value)}")
    if "\x00" in value:
        raise Invalid(f"{what} must not contain NUL characters (\\x00)")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{what} must be valid Unicode: it contains a lone surrogate") from None
    return str(value)


def _sized(value: str, what: str, most_bytes: int) -> str:
    if len(value) * 4 > most_bytes and len(value.encode()) > most_bytes:
        raise Invalid(f"{what} may have up to {most_bytes:,} bytes of UTF-8, not {len(value.encode()):,}")
    return value


def _check_json(value: object, what: str) -> None:
    """Refuses what the encoder would let pass: keys that are not text (1 would become "1") and unstorable text."""
    if isinstance(value, str):
        _storable(value, f"text in {what}")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise Invalid(f"{what} must have text keys, not {shown(key)}")
            _storable(key, f"a key of {what}")
            _check_json(inner, what)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_json(inner, what)


def _exact(value: object) -> object:
    """Returns large floats as exact integers: Postgres would store 1e23 as written, which is another number."""
    if isinstance(value, float) and math.isfinite(value) and abs(value) >= 2**53:
        return int(value)
    if isinstance(value, Mapping):
        return {key: _exact(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_exact(inner) for inner in value]
    return value


def _kind(value: object) -> str:
    return "nothing" if value is None else type(value).__name__
