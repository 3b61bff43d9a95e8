"""`ltst web` opens the page of a server that runs, and starts one where none does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import webbrowser
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from typer.testing import CliRunner

from helpers.serving import Listening
from helpers.waiting import eventually
from ltst.doors.cli.main import app


@pytest.mark.parametrize("there", [True, False])
def test_the_page_of_a_running_server_is_opened(site: Listening, monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or there)
    port = urlsplit(site.url).port
    result = CliRunner().invoke(app, ["web", "--port", str(port)])
    assert result.exit_code == 0 and opened == [f"http://localhost:{port}"]
    assert ("no browser" in result.stderr) is not there


def test_a_server_is_started_where_none_runs(database_url: str, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    opened = tmp_path / "opened"
    browser = f"{sys.executable} -c \"import sys; open('{opened}', 'w').write(sys.argv[1])\" %s"
    environment = {**os.environ, "DATABASE_URL": database_url, "BROWSER": browser}
    command = [sys.executable, "-m", "ltst.doors.cli.main", "web", "--port", str(port)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as started:
        try:
            assert started.stdout is not None
            assert str(port) in started.stdout.readline()
            assert "Nothing is remembered yet" in httpx.get(f"http://localhost:{port}/", timeout=60).text
            eventually(lambda: opened.exists() and opened.read_text())  # the browser starts beside all that
        finally:
            started.send_signal(signal.SIGTERM)
            started.wait(60)
    assert opened.read_text() == f"http://localhost:{port}"
