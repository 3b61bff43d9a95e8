"""The runtime: ONNX models loaded into this process, and what a fork must know of that."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ltst.errors import Invalid, ModelUnavailable

MOST_THREADS = 4
# What a run costs by itself, in pieces: padding beyond that is dearer than another run.
COST_OF_A_RUN = 8
# Long enough to wait for the next layer, too short to burn the time of the database beside us.
SPIN_MICROSECONDS = 200


# Held while something is loaded, so that a fork waits: a child would find libraries half imported, for ever.
LOADING = threading.RLock()
_loaded: list[Any] = []


def loaded(steps: Iterable[Callable[[], Any]], go_on: Callable[[], bool]) -> bool:
    """Load in steps, before each of which it asks whether to go on; return whether it came to the end."""
    for step in steps:
        if not go_on():
            return False
        with LOADING:
            step()
    return True


def runtime() -> Any:
    """onnxruntime, which reports to its makers over the network unless this is set before it is imported."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError as problem:
        raise ModelUnavailable(f"the model needs onnxruntime, which cannot be imported: {problem}") from problem
    # For when someone else imported it before.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def load(model: Path | bytes, threads: int) -> Any:
    """Load the model of a file, or of its bytes, to be run by so many threads."""
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.spin_duration_us", str(SPIN_MICROSECONDS))
    # Weights that are stored as int8 are made float once, here, by optimising the graph.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    given = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    _loaded.append(session)
    _return_memory()
    return session


def runs(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yields the texts, longest first, in runs of at most so many pieces in which little is padded."""
    run: list[int] = []
    for number in sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True):
        if run:
            longest = lengths[run[0]]
            if longest - lengths[number] > COST_OF_A_RUN or (len(run) + 1) * longest > most:
                yield run
                run = []
        run.append(number)
    if run:
        yield run


def padded(rows: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Return what a model is given for the pieces of some texts: their numbers, and where there are any."""
    import numpy as np

    lengths = np.array([len(row) for row in rows])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    ids = np.zeros_like(mask)
    ids[mask == 1] = [piece for row in rows for piece in row]
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def summed(given: dict[str, Any], states: Any) -> Any:
    """Return the sum of each text's states: its mean but for the length, which is made one anyway."""
    import numpy as np

    mask = given["attention_mask"]
    return np.matmul(mask[:, None, :].astype(np.float32), states.astype(np.float32, copy=False))[:, 0]


def threads_for(given: int | None) -> int:
    """Returns as many threads as are asked for; unset means one for each processor that it may use, four at most."""
    if given is not None and given < 1:
        raise Invalid(f"threads must be at least 1, not {given}")
    # In a container these are fewer than there are.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return given or min(usable, MOST_THREADS)


def _return_memory() -> None:
    """What loading needed for a moment, 90 MB, would stay with the allocator of glibc; others have no such call."""
    from ctypes import CDLL

    trim = getattr(CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _begin_anew() -> None:
    """In a forked child: the lock was taken by whoever forked, and a session's own threads stayed behind."""
    LOADING.release()
    if _loaded:
        from ctypes import py_object, pythonapi

        # Never to be freed here, because a session that ends waits for its threads.
        for session in _loaded:
            pythonapi.Py_IncRef(py_object(session))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOADING.acquire, after_in_parent=LOADING.release, after_in_child=_begin_anew)
