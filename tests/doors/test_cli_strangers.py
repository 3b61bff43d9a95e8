"""Whatever strangers write after `ltst`: it is done, or refused in words, and never ends in a traceback."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner

from helpers.shell import LEAVES, found
from ltst.doors.cli.main import app

HOSTILE = [
    *("", " ", "-", "--", "-1", "0", "5", "1e999", "nan", "NaN", "null", "true", "*", "~", "%", "_"),
    *(
        "a\x00b",
        "\ud800",
        "\x1b[2J",
        "[/red]",
        "naïve ☕",
        "صباح",
        "x" * 300,
        "x" * 5000,
        "'; DROP TABLE user_facts; --",
    ),
    *(
        "{}",
        "[]",
        '{"a": 1}',
        '{"a": NaN}',
        "[" * 5000,
        "2026-03-01",
        "9999-12-31",
        "0001-01-01",
        "30d",
        "99999999999w",
    ),
    *("../../etc/passwd", "/", "/dev/null", "/nowhere/at/all", "system", "monday", "9" * 400, "1-1", "a=b", "=", "a>b"),
]
# These run until they are stopped, take minutes, or change the machine.
LEFT_OUT = {("bench",), ("chat",), ("demo",), ("mcp",), ("serve",), ("web",), ("worker",), ("db", "reset")}
LEFT_OUT |= {("embedder", "switch"), ("db", "restore"), ("db", "backup"), ("export",)}


def written(path: tuple[str, ...], chance: random.Random) -> list[str]:
    """A command with arguments that mean harm, or nothing."""
    words = []
    for each in found(path).params:
        if "--help" in each.opts or each.name in ("database_url", "home", "follow"):
            continue
        if each.param_type_name == "argument":
            words.append(chance.choice(HOSTILE))
        elif each.required or chance.random() < 0.4:
            words.append(max(each.opts, key=len))
            words += [] if each.is_flag else [chance.choice(HOSTILE)]
    return [*path, *words]


@pytest.mark.parametrize("path", [path for path in LEAVES if path not in LEFT_OUT], ids=" ".join)
def test_no_command_ends_in_a_traceback(
    path: tuple[str, ...], url: str, rounds: Callable[[int], int], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    monkeypatch.chdir(tmp_path)
    chance = random.Random(" ".join(path))
    for _ in range(rounds(10)):
        arguments = written(path, chance)
        result = CliRunner().invoke(app, arguments, input=chance.choice(HOSTILE).encode("utf-8", "surrogatepass"))
        assert isinstance(result.exception, SystemExit | None), (arguments, result.exception)
        assert result.exit_code in (0, 1, 2), (arguments, result.output)
        assert "Traceback" not in result.output, arguments
