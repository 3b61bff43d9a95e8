"""The scorer of extraction: what counts as right, wrong, missed and sprung, and the command that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ltst.doors.cli.evaluation import extraction
from ltst.doors.cli.main import app
from ltst.errors import Invalid


def label(key: str, value: str, **more: Any) -> dict[str, Any]:
    return {"noun": "fact", "key": key, "value": value, **more}


def score(tmp_path: Path, text: str, *labels: dict[str, Any], trap: str | None = None) -> extraction.Score:
    file = tmp_path / "sentences.jsonl"
    line = {"id": 1, "text": text, "trap": trap, "claims": labels, "split": "dev"}
    file.write_text(json.dumps(line) + "\n", encoding="utf-8")
    return extraction.evaluate(extraction.read(file))[-1]


def counts(found: extraction.Score) -> tuple[int, int, int]:
    return found.overall.right, found.overall.wrong, found.overall.missed


def test_capitals_articles_and_outer_punctuation_do_not_matter(tmp_path: Path) -> None:
    assert counts(score(tmp_path, "I live in Lisbon", label("home", "the lisbon."))) == (1, 0, 0)


def test_one_of_the_other_values_is_as_good(tmp_path: Path) -> None:
    assert counts(score(tmp_path, "I live in Lisbon", label("home", "Lisboa", **{"or": ["Lisbon"]}))) == (1, 0, 0)


def test_another_value_is_wrong_and_the_label_missed(tmp_path: Path) -> None:
    assert counts(score(tmp_path, "I live in Lisbon", label("home", "Porto"))) == (0, 1, 1)


def test_another_change_is_wrong(tmp_path: Path) -> None:
    assert counts(score(tmp_path, "I live in Lisbon", label("home", "Lisbon", change="ends"))) == (0, 1, 1)


def test_optional_claims_count_neither_way(tmp_path: Path) -> None:
    assert counts(score(tmp_path, "I live in Lisbon", label("home", "Lisbon", optional=True))) == (0, 0, 0)
    assert counts(score(tmp_path, "Hello", label("home", "Lisbon", optional=True))) == (0, 0, 0)


def test_a_trap_is_sprung_by_what_holds_and_is_not_labelled(tmp_path: Path) -> None:
    assert score(tmp_path, "I live in Lisbon", trap="quote").sprung == {"quote": 1}
    assert score(tmp_path, "I live in Lisbon", label("home", "Lisbon"), trap="quote").sprung == {}
    assert score(tmp_path, "I no longer live in Lisbon", trap="past").sprung == {}


def test_dates_are_compared_apart(tmp_path: Path) -> None:
    found = score(tmp_path, "I moved to Porto in March", label("home", "Porto", valid_from="2025-03-01"))
    assert counts(found) == (1, 0, 0)
    assert (found.dates, found.dates_right) == (1, 0)


def test_the_sentences_that_come_with_ltst_are_read_well() -> None:
    scores = {each.name: each for each in extraction.evaluate(extraction.read())}
    assert scores.keys() == {"dev", "held", "all"}
    overall = scores["all"]
    assert (overall.overall.precision or 0) >= 0.95
    assert (overall.overall.recall or 0) >= 0.75
    assert overall.sprung.total() <= 0.02 * overall.traps.total()


def test_the_command_shows_tables_and_json() -> None:
    shown = CliRunner().invoke(app, ["eval", "extraction", "--verbose"])
    assert shown.exit_code == 0, shown.output
    assert "Precision" in shown.stdout
    parsed = json.loads(CliRunner().invoke(app, ["eval", "extraction", "--json"]).stdout)
    assert parsed["all"]["traps"]["sentences"] > 0
    assert parsed["all"]["keys"]["home"]["right"] > 0


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"no": "sentence"}\n', encoding="utf-8")
    with pytest.raises(Invalid, match="labelled sentences"):
        extraction.read(other)
