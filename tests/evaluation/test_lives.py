"""Lives: reading them, scoring what came back, and a whole run through the product itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evaluation.benchmark import Benchmark, Question
from evaluation.commands import app
from evaluation.lives import data, scores
from evaluation.lives.run import run, steps
from evaluation.metrics import Result
from evaluation.run import Plan
from helpers.evaluation_data import LIFE, CountingEmbedder, write
from ltst import Memory, Settings
from ltst.errors import Invalid, NotFound
from ltst.recall.context import Context, Section, Sources


@pytest.fixture
def lives(tmp_path: Path) -> Benchmark:
    folder = tmp_path / "lives"
    folder.mkdir()
    write(folder / "life1.json", LIFE)
    return data.read(folder)


def asked(**given: Any) -> Question:
    return Question("q", "Where?", "current", datetime(2026, 11, 16, tzinfo=UTC), **given)


def shown(*ids: Sequence[str]) -> list[Result]:
    return [Result(tuple(each)) for each in ids]


# --- reading


def test_turns_lie_forty_seconds_apart_and_questions_are_asked_today(lives: Benchmark) -> None:
    (life,) = lives.histories
    began = datetime(2026, 1, 5, 9, tzinfo=UTC)
    assert [turn.at for turn in life.sessions[0].turns] == [began + timedelta(seconds=40 * n) for n in range(3)]
    assert life.sessions[1].at == datetime(2026, 6, 1, 10, tzinfo=UTC), "without a zone it is UTC"
    assert {question.asked_at for question in life.questions} == {datetime(2026, 11, 16, 12, tzinfo=UTC)}


def test_what_was_never_said_has_no_evidence(lives: Benchmark) -> None:
    update, person, absent = lives.questions
    assert (update.turns, update.stale, update.gold) == ({"s2/0"}, {"s1/0"}, ("9 euro|nine euro",))
    assert (person.turns, person.sessions) == ({"s1/2"}, {"s1"})
    assert absent.absent and not absent.scored


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sessions": []}, "this is no life; accepted is an object with id, today"),
        ({"today": "tomorrow"}, "accepted is an object with id, today"),
        ({"questions": [{**LIFE["questions"][0], "evidence": [["s1", 9]]}]}, "there is no turn s1/9; accepted is"),
        ({"questions": [{"q": "?"}]}, "'evidence' is missing; accepted is"),
    ],
)
def test_a_life_of_another_shape_is_refused(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=said):
        data.read(write(tmp_path / "life.json", LIFE | change))


def test_a_folder_must_hold_lives_each_once(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"there is no \*\.json in"):
        data.read(tmp_path)
    write(tmp_path / "one.json", LIFE)
    write(tmp_path / "other.json", LIFE)
    with pytest.raises(Invalid, match="holds the life ida more than once"):
        data.read(tmp_path)


# --- scoring


def test_the_place_of_the_evidence_and_what_stands_above_it() -> None:
    question = asked(turns=frozenset({"new", "more"}), stale=frozenset({"old"}))
    assert scores.placed(shown(["x"], ["new"], ["old"]), question) == scores.Placing(2, False, False)
    assert scores.placed(shown(["old"], ["new", "more"]), question) == scores.Placing(2, True, True)
    assert scores.placed(shown(["old", "new"]), question) == scores.Placing(1, False, False)
    assert scores.placed(shown(["old"]), question) == scores.Placing(None, False, True)
    assert scores.placed([], question) == scores.Placing(None, False, False)


def test_only_ten_results_count() -> None:
    question = asked(turns=frozenset({"new"}))
    assert scores.placed(shown(*[["x"]] * 9, ["new"]), question) == scores.Placing(10, True, False)
    assert scores.placed(shown(*[["x"]] * 10, ["new"]), question) == scores.Placing(None, False, False)


def test_what_the_floor_costs_is_evidence_that_is_there_without_it() -> None:
    question = asked(turns=frozenset({"a", "b"}))
    assert scores.lost([], shown(["a"]), question)
    assert scores.lost(shown(["a"]), shown(["a"], ["b"]), question)
    assert not scores.lost(shown(["a"]), shown(["a"], ["x"]), question)
    assert not scores.lost([], shown(["x"]), question)


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("It is NINE euro.", True),
        ("It is 9 euro since June; before: My honey costs 8 euro a jar.", True),
        ("My honey costs 8 euro a jar. It is 9 euro since June.", False),
        ("My honey costs 8 euro a jar.", False),
        ("", False),
    ],
)
def test_a_reply_is_right_with_the_answer_and_nothing_outdated_before_it(reply: str, right: bool) -> None:
    assert scores.replied(reply, asked(gold=("9 euro|nine euro",)), ["My honey costs 8 euro a jar."]) is right


def test_every_gold_string_must_be_there() -> None:
    assert scores.holds("In Gent, on the Oboe", ["oboe", "gent|ghent"])
    assert not scores.holds("on the oboe", ["oboe", "gent|ghent"])


def test_markup_is_what_was_neither_said_nor_asked() -> None:
    said, question = "I live in Gent", asked(gold=("Gent",))
    marks, frame = "## What was said\n[m1, 5 Jan 2026, you] user: ", "Remembered data.\n\n"
    recalled, query = f"{marks.removesuffix('user: ')}{said}", f"user: {question.text}"
    text = f"{frame}{recalled}{query}"
    sections = (Section("recalled", recalled, 9, ()), Section("query", query, 3, ()))
    found = scores.packed(Context([], text, sections, 12, Sources(), {}), question, 500)
    assert found == scores.Packed(500, True, len(text), len(marks), len(frame), 0)
    tagged = "<memory>I live in Gent</memory>"
    assert scores.packed(Context([], tagged, (), 5, Sources(), {}), question, 500).tags == len("<memory></memory>")


# --- a run


@pytest.fixture
def plan(lives: Benchmark, settings: Settings, tmp_path: Path) -> Plan:
    return Plan(benchmark=lives, settings=settings, cache=tmp_path / "vectors.db", journal=tmp_path / "journal.jsonl")


def test_a_life_is_searched_packed_and_replied_to(plan: Plan) -> None:
    done: list[int] = []
    report = run(plan, done.append, CountingEmbedder())
    assert sum(done) == steps(plan) == 9
    assert (report.overall.questions, report.overall.stale, report.overall.absent) == (2, 1, 1)
    assert [each.name for each in report.beside] == ["ltst", "BM25", "MiniLM", "RRF"]
    assert [(each.name, each.questions) for each in report.by_kind] == [("absent", 0), ("person", 1), ("update", 1)]
    person = report.answers["ida/2"]
    assert person.placing.place == 1 and person.replied and "oboe" in person.reply
    assert [each.size for each in person.contexts] == [500, 1000, 2000] and person.holds(500)
    assert report.answers["ida/3"].contexts == ()


def test_a_life_that_is_known_is_not_asked_again(plan: Plan) -> None:
    finished = run(plan, embedder=CountingEmbedder())
    idle, done = CountingEmbedder(), list[int]()
    again = run(plan, done.append, idle)
    assert again.document() == finished.document()
    assert (idle.asked, done) == ([], [9])


def test_nothing_is_left_of_a_life(plan: Plan) -> None:
    run(plan, embedder=CountingEmbedder())
    with Memory(settings=plan.settings) as memory:
        assert memory.user("evaluation-lives-ida").sessions.list() == []


def test_the_worst_fail_in_most(plan: Plan) -> None:
    report = run(plan, embedder=CountingEmbedder())
    failures = report.worst(99)
    assert [len(each.failed) for each in failures] == sorted((len(each.failed) for each in failures), reverse=True)
    assert len(report.worst(1)) == min(1, len(failures))
    assert "oboe" not in {each.answer for each in failures}


def test_the_command(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    given = ["lives", "--data", str(plan.benchmark.file), "--out", str(out)]
    database = ["--database-url", str(plan.settings.database_url)]
    result = CliRunner().invoke(app, [*given, "--by-kind", "--worst", "5", *database])
    assert result.exit_code == 0, result.output
    assert "By kind of question" in result.stdout and "stale above" in result.stdout
    written = json.loads(out.read_text())
    assert written["overall"]["questions"] == 2 and set(written["baselines"]) == {"BM25", "MiniLM", "RRF"}
    assert json.loads(CliRunner().invoke(app, [*given, *database, "--json"]).stdout) == written
