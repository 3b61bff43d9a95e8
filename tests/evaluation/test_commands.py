"""The commands of the evaluation: in its page, with examples that would be taken, on one screen each."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from evaluation.commands import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TYPED = re.compile(r"^\$ python -m evaluation (.*)$", re.MULTILINE)
EXAMPLE = re.compile(r"Example: python -m evaluation (.*)")
COMMAND: Any = typer.main.get_command(app)


def taken(line: str) -> str:
    """The command that a line names; a usage error if it would not take its arguments."""
    name, *arguments = shlex.split(line, comments=True)
    COMMAND.commands[name].make_context(name, arguments)
    return name


def test_every_data_set_and_every_model_that_is_trained_has_a_command() -> None:
    measured = {"beam", "extraction", "lives", "locomo", "longmemeval", "realtalk"}
    assert {*COMMAND.commands} == measured | {"adapter", "joined", "later", "superseding"}


@pytest.mark.parametrize("name", sorted(COMMAND.commands))
def test_a_command_has_an_example_a_line_in_the_docs_and_help_on_one_screen(name: str) -> None:
    (example,) = EXAMPLE.findall(COMMAND.commands[name].help)
    assert taken(example) == name
    needed = " --data" if any(each.name == "data" for each in COMMAND.commands[name].params) else ""
    assert f"$ python -m evaluation {name}{needed}" in (ROOT / "docs" / "evaluation.md").read_text()
    shown = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "80"})
    assert shown.exit_code == 0 and len(shown.output.splitlines()) <= 40


def test_what_is_typed_in_the_docs_would_be_taken() -> None:
    lines = [line for page in PAGES for line in TYPED.findall(page.read_text())]
    assert {taken(line) for line in lines} == {*COMMAND.commands}


def test_it_runs_as_a_module_and_reports_wrong_usage_as_json() -> None:
    words = [sys.executable, "-m", "evaluation", "locomo", "--json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert json.loads(done.stdout or done.stderr)["error"]["type"] == "Usage"
