"""The journal: what was found out before a kill is known afterwards."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from evaluation.journal import Journal, code_digest, run_name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def test_results_are_known_to_the_next_of_the_same_run(file: Path) -> None:
    Journal(file, "run").add(("answer", "q1"), {"empty": False})
    again = Journal(file, "run")
    assert ("answer", "q1") in again and ("answer", "q2") not in again and ("refusal", "q1") not in again
    assert again["answer", "q1"] == {"empty": False}


def test_another_run_in_the_same_file_knows_nothing_of_them(file: Path) -> None:
    Journal(file, "one").add(("answer", "q1"), {})
    other = Journal(file, "two")
    assert len(other) == 0
    other.add(("answer", "q1"), {"empty": True})
    assert Journal(file, "one")["answer", "q1"] == {}


def test_the_half_of_a_line_does_no_harm(file: Path) -> None:
    Journal(file, "run").add(("answer", "q1"), {})
    file.write_text(file.read_text() + '{"run": "run", "kind": "ans')
    Journal(file, "run").add(("answer", "q2"), {})
    assert len(Journal(file, "run")) == 2


def test_fresh_begins_anew(file: Path) -> None:
    Journal(file, "run").add(("answer", "q1"), {})
    assert len(Journal(file, "run", fresh=True)) == 0


def test_a_run_is_of_its_data_its_model_and_its_code_digest() -> None:
    known = run_name("digest", "model", "code")
    assert known == run_name("digest", "model", "code")
    others = [
        run_name("other", "model", "code"),
        run_name("digest", "other", "code"),
        run_name("digest", "model", "new"),
    ]
    assert len({known, *others}) == 4


def test_the_code_is_everything_below_the_doors_and_the_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = (
        "ltst/recall/rank.py",
        "ltst/db/sql/search.sql",
        "ltst/doors/cli/show.py",
        "evaluation/metrics.py",
        "ltst/learn/superseding_weights.tsv",
        "ltst/providers/data/question_adapter.npz",
    )
    for place in places:
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / place).write_text("one")
    monkeypatch.setattr("evaluation.journal.PRODUCT", tmp_path / "ltst")
    monkeypatch.setattr("evaluation.journal.EVALUATION", tmp_path / "evaluation")
    seen = [code_digest()]
    for place in places:
        (tmp_path / place).write_text("two")
        seen.append(code_digest())
    assert [before != after for before, after in pairwise(seen)] == [True, True, False, True, True, True]
