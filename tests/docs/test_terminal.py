"""The terminal session in the README prints today what it printed when it was recorded."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scripts import record_terminal


@pytest.mark.skipif(shutil.which("bash") is None, reason="it is a session of bash")
def test_the_session_in_the_readme_is_real(database_url: str, tmp_path: Path) -> None:
    session = record_terminal.written()
    # A database that is there already: the recording starts one for each command.
    environment = {**record_terminal.environment(str(tmp_path)), "DATABASE_URL": database_url}
    now = "\n".join(record_terminal.played(session, environment)).rstrip()
    recorded = [record_terminal.lasting(line) for line in session.rstrip().splitlines()]
    assert [record_terminal.lasting(line) for line in now.splitlines()] == recorded
    assert len(recorded) > 3 * session.count("$ ltst"), "the answers are there, not only the commands"
