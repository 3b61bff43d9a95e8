"""The runtime: loads ONNX models into this process, and keeps forks safe."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ltst.errors import Invalid, ModelUnavailable

MOST_THREADS = 4
# The fixed cost of a run, in pieces: more padding than this costs more than another run.
COST_OF_A_RUN = 8
# Long enough to wait for the next layer, too short to waste processor time that the database needs.
SPIN_MICROSECONDS = 200


# Held during loading, so that a fork waits: a child would otherwise be stuck with half-imported libraries.
LOADING = threading.RLock()
_loaded: list[Any] = []


def loaded(steps: Iterable[Callable[[], Any]], go_on: Callable[[], bool]) -> bool:
    """Loads in steps, asking before each whether to go on; returns whether it reached the end."""
    for step in steps:
        if not go_on():
            return False
        with LOADING:
            step()
    return True


def runtime() -> Any:
    """Returns onnxruntime, with the telemetry off that it sends unless this is set before the import."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    try:
        import onnxruntime  # type: ignore[import-untyped]
    except ImportError as problem:
        raise ModelUnavailable(f"the model needs onnxruntime, which cannot be imported: {problem}") from problem
    # In case other code imported it before.
    onnxruntime.disable_telemetry_events()
    return onnxruntime


def load(model: Path | bytes, threads: int) -> Any:
    """Loads the model of a file, or of its bytes, to run with `threads` threads."""
    onnxruntime = runtime()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.spin_duration_us", str(SPIN_MICROSECONDS))
    # Optimising the graph turns weights stored as int8 into floats once, here.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    given = model if isinstance(model, bytes) else str(model)
    session = onnxruntime.InferenceSession(given, options, providers=["CPUExecutionProvider"])
    _loaded.append(session)
    _return_memory()
    return session


def runs(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yields the indexes of texts, longest first, in runs of at most `most` pieces with little padding."""
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
    """Returns a model's inputs for the pieces of some texts: padded ids, and the mask that marks real pieces."""
    import numpy as np

    lengths = np.array([len(row) for row in rows])
    mask = (np.arange(lengths.max()) < lengths[:, None]).astype(np.int64)
    ids = np.zeros_like(mask)
    ids[mask == 1] = [piece for row in rows for piece in row]
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}


def summed(given: dict[str, Any], states: Any) -> Any:
    """Returns the sum of each text's states, which is the mean up to its length, and that is normalised anyway."""
    import numpy as np

    mask = given["attention_mask"]
    return np.matmul(mask[:, None, :].astype(np.float32), states.astype(np.float32, copy=False))[:, 0]


def threads_for(given: int | None) -> int:
    """Returns the number of threads asked for; by default one for each usable processor, at most four."""
    if given is not None and given < 1:
        raise Invalid(f"threads must be at least 1, not {given}")
    # In a container fewer processors may be usable than there are.
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return given or min(usable, MOST_THREADS)


def _return_memory() -> None:
    """Returns the 90 MB that loading needed for a moment from glibc's allocator to the system; others lack the call."""
    from ctypes import CDLL

    trim = getattr(CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _begin_anew() -> None:
    """Resets a forked child, where the lock is held by the fork and the sessions' threads stayed behind."""
    LOADING.release()
    if _loaded:
        from ctypes import py_object, pythonapi

        # Never freed here, because a session that ends waits for its threads.
        for session in _loaded:
            pythonapi.Py_IncRef(py_object(session))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=LOADING.acquire, after_in_parent=LOADING.release, after_in_child=_begin_anew)
