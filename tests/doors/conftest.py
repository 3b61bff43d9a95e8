"""The command line, run in this process on the database of a test."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from helpers.shell import Run
from ltst.doors.cli.main import app


@pytest.fixture
def run(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command on this test's own database; it ends with the status that was expected, never in a traceback."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.delenv("COLUMNS", raising=False)  # which whoever runs the tests may have set

    def invoke(*arguments: str, input: str | bytes | None = None, status: int = 0) -> Result:
        result = CliRunner().invoke(app, arguments, input=input)
        assert result.exit_code == status, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
        assert "Traceback" not in result.output
        return result

    return invoke


@pytest.fixture
def answer(run: Run) -> Callable[..., Any]:
    """What a command prints with --json."""

    def parse(*arguments: str, input: str | bytes | None = None) -> Any:
        return json.loads(run(*arguments, "--json", input=input).stdout)

    return parse
