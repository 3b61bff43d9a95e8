"""A small attack on a real server: nobody is kept out, nothing fails, and it ends when told to. No clock judges."""

from __future__ import annotations

from pathlib import Path

from bench.attack import Plan, run


def test_everybody_is_served_during_an_attack(tmp_path: Path) -> None:
    told: list[str] = []
    siege = run(tmp_path / "home", Plan(half_open=40, streams=60, texts=25, pastes=20, pages=200), told.append)
    assert siege.wrong == {}
    assert siege.own
    assert siege.sent["bystander"] and siege.sent["pumped messages"] and siege.sent["poisoned pastes"] == 20
    assert siege.sent["half-open connections"] >= 40 and siege.sent["event streams"] >= 60
    assert siege.sent["bombs"] == 10
