"""A program that closes its memory at exit, or leaves without closing it, ends without a word on standard error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from helpers import leaving

NAMES = [*leaving.WAYS]


def left(way: str, database_url: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end, as people do."""
    return subprocess.run(
        [sys.executable, leaving.__file__, way, database_url], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize("way", NAMES)
def test_a_program_ends_without_a_word(way: str, database_url: str) -> None:
    done = left(way, database_url)
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize("way", ["close_at_exit", "async_close_at_exit", "async_leave", "leave"])
def test_a_program_with_the_embedded_postgres_ends_without_a_word(
    way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LTST_HOME", str(tmp_path / "embedded"))
    done = left(way, "")
    assert (done.stderr, done.returncode) == ("", 0)
