"""Statements told from everything else: what the scores count, and the command on labels made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluation import extraction, gate
from evaluation.commands import app
from evaluation.extraction import Judged
from helpers.evaluation_data import write
from ltst.errors import Invalid, NotFound

STATES, ASKS = "I live in Gent with my dog.", "What is the weather there?"


@pytest.fixture
def labelled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two lives, in which every other message states something, with their labels."""
    labels = []
    (tmp_path / "lives").mkdir()
    for life in ("ida", "jan"):
        turns = [["user", text] for text in (STATES, ASKS) * 5]
        sessions = [{"id": "s1", "at": "2026-01-05T10:00:00", "turns": turns}]
        write(tmp_path / "lives" / f"{life}.json", {"id": life, "sessions": sessions})
        for place, (_, text) in enumerate(turns):
            statements = [[0, len(text), "about_me"]] if text == STATES else []
            labels.append({"id": f"lives/{life}/s1/{place}", "read": len(text), "statements": statements})
    write(tmp_path / "locomo_dev.json.gz", [])
    write(tmp_path / "longmemeval_s_dev.json.gz", {"sessions": {}})
    file = tmp_path / "labels.jsonl"
    file.write_text("".join(f"{json.dumps(label)}\n" for label in labels), encoding="utf-8")
    monkeypatch.setattr(gate, "LABELS", file)
    return tmp_path


def test_precision_and_recall_are_of_what_is_likely_enough() -> None:
    found = [Judged("a/1", 0.9, True), Judged("a/2", 0.6, False), Judged("a/3", 0.2, True), Judged("a/4", 0.1, False)]
    score = extraction.evaluate(found, 0.5)[0]
    assert (score.level, score.data, score.judged, score.statements) == ("sentence", "all", 4, 2)
    assert (score.precision, score.recall) == (0.5, 0.5)
    assert score.precision_at_recall == pytest.approx(2 / 3)


def test_a_message_is_as_sure_as_its_surest_sentence() -> None:
    found = [Judged("a/1", 0.9, False), Judged("a/1", 0.1, True), Judged("a/2", 0.3, False)]
    assert extraction.by_message(found) == [Judged("a/1", 0.9, True), Judged("a/2", 0.3, False)]


def test_each_data_set_is_scored_apart() -> None:
    scores = extraction.evaluate([Judged("b/1", 0.9, True), Judged("a/1", 0.9, False)], 0.5)
    told = [(score.level, score.data, score.precision, score.recall) for score in scores]
    assert told[:3] == [("sentence", "all", 0.5, 1.0), ("sentence", "a", 0.0, None), ("sentence", "b", 1.0, 1.0)]
    assert [score.level for score in scores[3:]] == ["message"] * 3


def test_a_threshold_cannot_part_what_is_equally_likely() -> None:
    assert extraction.precision_at([Judged("a", 0.5, True), Judged("b", 0.5, False)], 0.75) == 0.5
    assert extraction.precision_at([Judged("a", 0.6, True), Judged("b", 0.5, False)], 0.75) == 1.0


def test_a_conversation_is_judged_by_the_others(labelled: Path) -> None:
    found, least = extraction.judge(labelled)
    assert (len(found), sum(each.states for each in found), least) == (20, 10, gate.LEAST)
    score = extraction.evaluate(found, least)[0]
    assert (score.precision, score.recall) == (1.0, 1.0)


def test_the_command_shows_a_table_and_json(labelled: Path) -> None:
    given = ["extraction", "--data", str(labelled)]
    shown = CliRunner().invoke(app, given, env={"COLUMNS": "200"})
    assert shown.exit_code == 0, shown.output
    assert "Precision at recall 0.75" in shown.stdout
    parsed = json.loads(CliRunner().invoke(app, [*given, "--json"]).stdout)
    assert [(each["level"], each["data"]) for each in parsed] == [
        ("sentence", "all"),
        ("sentence", "lives"),
        ("message", "all"),
        ("message", "lives"),
    ]


def test_data_that_lacks_what_is_labelled_is_refused(labelled: Path) -> None:
    (labelled / "lives" / "jan.json").unlink()
    with pytest.raises(Invalid, match="lacks 'lives/jan/s1/0', which is labelled"):
        extraction.judge(labelled)
    with pytest.raises(NotFound, match="name the one that holds the evaluation data"):
        extraction.judge(labelled / "nowhere")
