"""The adapter: changes the local model a little, so that a question is near the words that answer it.

Memories keep the vectors of the unchanged model. The weights for questions differ by a product of two thin matrices for
each layer, which `evaluation/adapter.py` fitted to questions about lives; they take a few hundred kilobytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ltst.providers.tensors import tensors
from ltst.providers.vectors import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE = "question_adapter.npz"
MOST = 127  # the largest value of a signed byte


def adapted(path: Path) -> bytes:
    """Returns the model of a file, changed to the weights for questions."""
    import numpy as np

    model = bytearray(path.read_bytes())
    with as_file(files("ltst.providers.data") / FILE) as beside, np.load(beside) as thin:
        matrices = {name: thin[name] for name in thin.files}
    names = {name.rpartition(".")[0] for name in matrices}
    stored = tensors(model, {f"{name}_{part}" for name in names for part in ("q", "scale")})
    for name in names:
        _change(name, stored, matrices)
    return bytes(model)


def _change(name: str, stored: Mapping[str, NDArray[Any]], thin: Mapping[str, NDArray[Any]]) -> None:
    """Adds to one matrix, which is stored as bytes with a scale for each column."""
    import numpy as np

    down = thin[f"{name}.down"] * thin[f"{name}.down_scale"]
    up = thin[f"{name}.up"] * thin[f"{name}.up_scale"]
    whole = stored[f"{name}_q"] * stored[f"{name}_scale"] + product(down, up)
    scale = np.maximum(np.abs(whole).max(axis=0, keepdims=True), 1e-12) / MOST
    stored[f"{name}_q"][...] = np.rint(whole / scale)
    stored[f"{name}_scale"][...] = scale
