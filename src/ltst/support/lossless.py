"""Writes values as JSON that loses nothing: bytes have a form of their own, and NULs one that Postgres can store.

Bytes become the object {"$bytes": "aGk="}, in base64. An object that itself has only this key gets one more $, which is
removed again when it is read, so that the two are never confused.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ltst.errors import Invalid
from ltst.support import validate

BYTES = "$bytes"
LOOKS_LIKE_BYTES = re.compile(r"\$+bytes")
# In stored text this character is followed by what it stands for: 0 for NUL, 1 for itself.
MARK = "\x1a"


def sent(value: Any) -> Any:
    """Returns a value in its JSON form, to send."""
    return _changed(value, str)


def received(value: Any) -> Any:
    """Returns the value of its JSON form, as received."""
    return _restored(value, str)


def with_received(objects: Iterable[Any]) -> list[Any]:
    """Returns the objects, each with its `value`, if it has one, restored from JSON form."""
    return [
        {**each, "value": received(each["value"])} if isinstance(each, Mapping) and "value" in each else each
        for each in objects
    ]


def stored(value: Any, what: str, most_bytes: int) -> str:
    """Returns a value as JSON text that Postgres can store; raises Invalid if it is not JSON or too large."""
    try:
        written = _changed(value, _without_nul)
    except RecursionError:
        raise Invalid(f"{what} must be JSON that is not nested so deeply and holds no circle") from None
    return validate.json_text(written, what, most_bytes)


def read(value: Any) -> Any:
    """Returns a value as it was before it was stored."""
    return _restored(value, _with_nul)


def _changed(value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return {BYTES: base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        more = "$" if _looks_like_bytes(value) else ""
        return {more + text(key) if isinstance(key, str) else key: _changed(each, text) for key, each in value.items()}
    return [_changed(each, text) for each in value] if isinstance(value, list | tuple) else value


def _restored(value: Any, text: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        if not _looks_like_bytes(value):
            return {text(key): _restored(each, text) for key, each in value.items()}
        ((key, inner),) = value.items()
        return _bytes(inner) if key == BYTES else {key[1:]: _restored(inner, text)}
    return [_restored(each, text) for each in value] if isinstance(value, list) else value


def _looks_like_bytes(value: Mapping[Any, Any]) -> bool:
    return len(value) == 1 and all(isinstance(key, str) and LOOKS_LIKE_BYTES.fullmatch(key) for key in value)


def _bytes(written: Any) -> bytes:
    try:
        return base64.b64decode(written, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise Invalid(
            f'{{"{BYTES}": …}} must hold base64; write an object that is no bytes as {{"${BYTES}": …}}'
        ) from None


def _without_nul(text: str) -> str:
    return text.replace(MARK, MARK + "1").replace("\x00", MARK + "0")


def _with_nul(text: str) -> str:
    return text.replace(MARK + "0", "\x00").replace(MARK + "1", MARK)
