"""Tensors: finds weights by name in an ONNX model, without the library that makes such models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Field numbers in ONNX's messages: a model's graph; a graph's weights; a tensor's shape, type, name and bytes.
GRAPH, WEIGHTS = 7, 5
SHAPE, TYPE, NAME, BYTES = 1, 2, 8, 9
# The tensor types that are read here.
TYPES = {1: "<f4", 3: "i1"}
VARINT, DELIMITED, SIZES = 0, 2, {1: 8, 5: 4}


def tensors(model: bytearray, wanted: set[str]) -> dict[str, NDArray[np.generic]]:
    """Returns the tensors of a model with the wanted names; writing into one changes the model."""
    graphs = (value for number, value in fields(memoryview(model)) if number == GRAPH)
    stored = (value for graph in graphs for number, value in fields(graph) if number == WEIGHTS)
    found = (_tensor(each, wanted) for each in stored)
    return dict(each for each in found if each is not None)


def _tensor(message: memoryview, wanted: set[str]) -> tuple[str, NDArray[np.generic]] | None:
    import numpy as np

    shape, kind, name, content = list[int](), 0, "", memoryview(b"")
    for number, value in fields(message):
        if number == SHAPE:
            shape += _varints(value)
        elif number == TYPE:
            (kind,) = _varints(value)
        elif number == NAME:
            name = bytes(value).decode()
        elif number == BYTES:
            content = value
    return (name, np.frombuffer(content, TYPES[kind]).reshape(shape)) if name in wanted else None


def fields(message: memoryview) -> Iterator[tuple[int, memoryview]]:
    """Yields the number and the bytes of each field of a protocol buffers message."""
    at, end = 0, len(message)
    while at < end:
        key, at = (message[at], at + 1) if message[at] < 128 else _varint(message, at)  # nearly all take one byte
        if key & 7 == DELIMITED:
            size, at = (message[at], at + 1) if message[at] < 128 else _varint(message, at)
        else:
            size = _varint(message, at)[1] - at if key & 7 == VARINT else SIZES[key & 7]
        yield key >> 3, message[at : at + size]
        at += size


def _varints(message: memoryview) -> Iterator[int]:
    at = 0
    while at < len(message):
        value, at = _varint(message, at)
        yield value


def _varint(message: memoryview, at: int) -> tuple[int, int]:
    """Returns a variable-length number, and the position after it."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
