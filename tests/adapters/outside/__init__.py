"""A plugin for pytest, used by scripts/adapters.py: runs a suite of others, leaves out what is named, and reports."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import uuid
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

from ltst import Memory, Settings, User

PASSED: set[str] = set()
FAILED: set[str] = set()
LEFT_OUT: dict[str, list[str]] = {}
SKIPPED = "skipped by the suite itself: "


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--report", type=Path, required=True, help="Where to write how it went, as JSON.")
    parser.addoption("--beside", type=str, action="append", default=[], help="Where else modules are looked for, last.")
    parser.addoption("--excluded", type=json.loads, default={}, help="Patterns of tests to leave out, with reasons.")


def pytest_configure(config: pytest.Config) -> None:
    # Last, since frameworks have packages of the same names as folders here: agents.
    sys.path += config.getoption("--beside")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    excluded: dict[str, str] = config.getoption("--excluded")
    kept = []
    for item in items:
        reason = next((why for pattern, why in excluded.items() if fnmatch(item.nodeid, f"*{pattern}")), None)
        if reason is None:
            kept.append(item)
        else:
            LEFT_OUT.setdefault(reason, []).append(item.nodeid)
    items[:] = kept


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        FAILED.add(report.nodeid or "collecting")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        FAILED.add(report.nodeid)
    elif report.skipped:
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(getattr(report, "wasxfail", ""))
        LEFT_OUT.setdefault(SKIPPED + why, []).append(report.nodeid)
    elif report.when == "call":
        PASSED.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    told = {"passed": len(PASSED - FAILED), "failed": sorted(FAILED), "excluded": LEFT_OUT}
    session.config.getoption("--report").write_text(json.dumps(told))


@pytest.fixture(scope="session", autouse=True)
def opened() -> Iterator[Memory]:
    """The memory of the whole run, on a Postgres of its own."""
    with tempfile.TemporaryDirectory(prefix="ltst-outside-") as home:
        os.environ["LTST_HOME"] = home
        with memory() as held:
            yield held


@cache
def memory() -> Memory:
    """Returns the memory of the run, opened before the first test."""
    settings = Settings(worker=False, warm=False, max_content_bytes=8 * 1024**2, home=Path(os.environ["LTST_HOME"]))
    return Memory(settings=settings)


def user(store: object = None) -> User:
    """Returns the user who stands for a store of theirs, by its name; without one, a user whom nobody has used."""
    return memory().user(f"user-{uuid.uuid5(uuid.NAMESPACE_OID, str(store)) if store else uuid.uuid4()}")
