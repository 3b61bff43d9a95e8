"""No command and no option without its place in the docs, and no example, there or in --help, that would not work."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from helpers.shell import LEAVES, commands, found, options, parsed
from ltst.doors.cli.main import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "cli.md").read_text()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
TYPED = re.compile(r"^\$ (ltst .*)$", re.MULTILINE)
EXAMPLE = re.compile(r"Example: (ltst .*)")
NAMED = [path for path in sorted(commands()) if path]

# What an example of --help would do to the machine of whoever runs the tests, or needs that the tests lack.
NOT_RUN = {
    ("bench",): "takes minutes",
    ("chat",): "loads the model; it has tests of its own",
    ("db", "reset"): "asks",
    ("demo",): "starts a Postgres of its own",
    ("embedder", "switch"): "computes every vector anew",
    ("erase",): "asks",
    ("mcp",): "runs until its client leaves",
    ("serve",): "runs until it is stopped",
    ("web",): "opens a browser, and runs until it is stopped",
    ("sessions", "delete"): "asks",
    ("worker",): "runs until it is stopped",
}


def synopsis(path: tuple[str, ...]) -> str:
    """The line, with those that continue it, in which the reference says how a command is written."""
    found = re.search(rf"^{re.escape(' '.join(('ltst', *path)))}(?: .*|)(?:\n {{4,}}.*)*$", reference(), re.MULTILINE)
    return found.group() if found else ""


def reference() -> str:
    """The block of the page that lists every command."""
    return PAGE.partition("## Every command")[2].partition("```text")[2].partition("```")[0]


@pytest.mark.parametrize("path", LEAVES, ids=" ".join)
def test_every_command_and_option_is_in_the_reference(path: tuple[str, ...]) -> None:
    written = synopsis(path)
    assert written, f"docs/cli.md, Every command, lacks: ltst {' '.join(path)}"
    assert {*re.findall(r"--[a-z-]+", written)} == options(path)


def test_the_reference_tells_of_no_command_that_there_is_not() -> None:
    told = {
        tuple(line.split()[1:]) for line in re.findall(r"^ltst [a-z -]+?(?= [A-Z\[(-]|$)", reference(), re.MULTILINE)
    }
    assert told == {*LEAVES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_is_typed_in_the_docs_would_be_taken(page: Path) -> None:
    for line in TYPED.findall(page.read_text()):
        if "<" not in line and "--install-completion" not in line:
            parsed(line)


@pytest.mark.parametrize("path", NAMED, ids=" ".join)
def test_the_example_in_help_would_be_taken_and_is_one_of_its_own(path: tuple[str, ...]) -> None:
    (line,) = EXAMPLE.findall(found(path).help)
    named, _ = parsed(line)
    assert named[: len(path)] == path


def test_the_examples_in_help_run(database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ends well, or says in one line what is not there."""
    monkeypatch.setenv("DATABASE_URL", database_url)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.jsonl").write_text('{"role": "user", "content": "I live in Lisbon."}\n')
    assert NOT_RUN.keys() - {("mcp",)} <= {*LEAVES}
    for path in LEAVES:
        if path in NOT_RUN:
            continue
        (line,) = EXAMPLE.findall(found(path).help)
        named, arguments = parsed(line)
        result = CliRunner().invoke(app, [*named, *arguments], input="")
        assert result.exit_code in (0, 1), f"{line}: {result.output}"
        assert isinstance(result.exception, SystemExit | None), f"{line}: {result.exception!r}"
        assert result.exit_code == 0 or len(result.stderr.splitlines()) == 1, f"{line}: {result.stderr}"
