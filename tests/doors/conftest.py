"""The command line, run in this process on the database of a test; servers on it, with and without a model behind."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from helpers.language_server import LanguageServer
from helpers.serving import Listening, listening
from helpers.shell import Run
from ltst import Settings
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


@pytest.fixture
def door(settings: Settings) -> Iterator[Listening]:
    """ltst's server."""
    with listening(settings) as server:
        yield server


@pytest.fixture
def behind(settings: Settings, upstream: LanguageServer) -> Settings:
    """Settings of a server that passes requests on to a scripted model."""
    return replace(settings, proxy_base_url=upstream.url, proxy_api_key="sk-upstream")


@pytest.fixture
def address(behind: Settings) -> Iterator[str]:
    """Where that server is."""
    with listening(behind) as server:
        yield server.url
