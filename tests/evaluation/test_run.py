"""A whole run through the product itself: what it reports, and that it goes on where it was stopped."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluation import locomo, longmemeval, realtalk
from evaluation.commands import app
from evaluation.product import Tenant
from evaluation.report import Report
from evaluation.run import Plan, run
from evaluation.vectors import CachedEmbedder
from helpers.evaluation_data import LOCOMO, LONGMEMEVAL, REALTALK, CountingEmbedder, write, write_beam
from ltst import AsyncMemory, Settings


@pytest.fixture
def plan(tmp_path: Path, settings: Settings) -> Plan:
    return Plan(
        benchmark=locomo.read(write(tmp_path / "locomo.json", LOCOMO)),
        settings=settings,
        cache=tmp_path / "vectors.db",
        journal=tmp_path / "journal.jsonl",
    )


class Stopped(Exception):
    """Someone pressed the wrong keys."""


def answered(plan: Plan) -> list[list[str]]:
    lines = [json.loads(line) for line in plan.journal.read_text().splitlines()]
    return [line["of"] for line in lines if line["kind"] == "answer"]


def told(report: Report) -> dict[str, object]:
    """What must be the same in every run over the same data; how long it took is not."""
    floor, rows = asdict(report.floor), [asdict(row) for row in report.rows]
    return {"floor": floor, "rows": rows, "baselines": {name: [*found] for name, found in report.baselines.items()}}


def test_recall_is_measured_through_the_product(plan: Plan) -> None:
    report = run(plan, embedder=CountingEmbedder())
    assert [(row.name, row.questions) for row in report.rows] == [
        ("adversarial", 1),
        ("multi-hop", 1),
        ("single-hop", 1),
        ("temporal", 1),
        ("all", 4),
    ]
    assert report.rows[-1].scores["session any@5"] > 0.5
    assert report.answers["bread/1"].ranks == {"D1:1": 1}
    assert report.cost.messages == 7
    assert report.cost.context_tokens > 0
    assert report.floor.strangers == 5


def test_nothing_is_left_in_the_database(plan: Plan) -> None:
    run(plan, embedder=CountingEmbedder())

    async def sessions() -> int:
        async with AsyncMemory(settings=plan.settings) as memory:
            return len(await memory.user("evaluation-locomo-boats").sessions.list())

    assert asyncio.run(sessions()) == 0


def test_a_question_of_longmemeval_is_a_user_of_its_own(plan: Plan, tmp_path: Path) -> None:
    benchmark = longmemeval.read(write(tmp_path / "longmemeval.json", LONGMEMEVAL))
    report = run(Plan(benchmark=benchmark, settings=plan.settings, cache=plan.cache, journal=plan.journal))
    assert [(row.name, row.questions) for row in report.rows] == [("single-session-user", 1), ("all", 1)]
    assert report.answers["q1"].ranks == {"answer_1": 1}
    assert (report.floor.absent, report.floor.strangers) == (1, 2)


def test_a_stopped_run_goes_on_and_finds_the_same(plan: Plan, tmp_path: Path) -> None:
    steps: list[int] = []

    def stop_at_third(count: int) -> None:
        steps.append(count)
        if len(steps) == 3:
            raise Stopped

    with pytest.raises(Stopped):
        run(plan, stop_at_third, CountingEmbedder())
    assert len(answered(plan)) == 2
    resumed = run(plan, steps.append, CountingEmbedder())
    assert sorted(answered(plan)) == sorted([[each.id] for each in plan.benchmark.questions])
    assert steps[3] == 2, "what was known is told first"
    assert sum(steps[3:]) == plan.steps
    whole = Plan(
        benchmark=plan.benchmark, settings=plan.settings, cache=tmp_path / "other.db", journal=tmp_path / "other.jsonl"
    )
    assert told(run(whole, embedder=CountingEmbedder())) == told(resumed)


def test_a_finished_run_asks_nothing_again(plan: Plan) -> None:
    finished = run(plan, embedder=CountingEmbedder())
    idle = CountingEmbedder()
    assert told(run(plan, embedder=idle)) == told(finished)
    assert idle.asked == []


def test_baselines_can_be_left_out_and_asked_for_later(plan: Plan) -> None:
    without = Plan(
        benchmark=plan.benchmark, settings=plan.settings, cache=plan.cache, journal=plan.journal, baselines=False
    )
    assert set(run(without, embedder=CountingEmbedder()).baselines) == {"ltst, messages alone"}
    assert set(run(plan, embedder=CountingEmbedder()).baselines) >= {"BM25, prefix", "RRF, prefix"}
    assert len(answered(plan)) == 5


def test_the_command(plan: Plan, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    given = ["locomo", "--data", str(plan.benchmark.file), "--out", str(out), "--sample", "2"]
    database = ["--database-url", str(plan.settings.database_url)]
    result = CliRunner().invoke(app, [*given, *database])
    assert result.exit_code == 0, result.output
    assert "Turns: beside the baselines" in result.stdout
    written = json.loads(out.read_text())
    assert written["overall"]["questions"] == 2
    assert [each["id"] for each in written["questions"]] == ["boats/1", "boats/3"]
    assert json.loads(CliRunner().invoke(app, [*given, *database, "--json"]).stdout) == written
    missing = CliRunner().invoke(app, ["locomo", "--data", str(tmp_path / "none")])
    assert (missing.exit_code, "name a .json or .json.gz file" in missing.output) == (1, True)


@pytest.mark.parametrize(
    ("name", "categories", "absent"),
    [("realtalk", {"multi-hop", "temporal"}, 0), ("beam", {"event ordering", "knowledge update"}, 2)],
)
def test_the_commands_of_folders(name: str, categories: set[str], absent: int, plan: Plan, tmp_path: Path) -> None:
    folder, out = tmp_path / name, tmp_path / "results.json"
    folder.mkdir()
    if name == "beam":
        write_beam(folder)
    else:
        write(folder / "Chat_1_Una_Vic.json", REALTALK)
    given = [name, "--data", str(folder), "--out", str(out)]
    result = CliRunner().invoke(app, [*given, "--database-url", str(plan.settings.database_url)])
    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text())
    assert (written["benchmark"], set(written["categories"])) == (name, categories)
    assert written["overall"]["turn rec@10"] > 0
    for baseline in ("BM25, prefix", "MiniLM", "MiniLM, prefix", "RRF, prefix"):
        found = written["baselines"][baseline]["overall"]["turn rec@10"]
        assert found == 1.0, "there are no more turns than are looked at"
    assert written["floor"]["absent"] == absent


def test_a_turn_is_stored_at_its_own_time(plan: Plan, tmp_path: Path) -> None:
    chats = realtalk.read(write(tmp_path / "Chat_1.json", REALTALK))

    async def stored() -> list[datetime | None]:
        with closing(CachedEmbedder(CountingEmbedder(), plan.cache)) as cached:
            async with (
                AsyncMemory(settings=plan.settings, embedder=cached) as memory,
                Tenant(memory, chats, chats.histories[0], cached) as tenant,
            ):
                await tenant.ingest()
                return [each.timestamp for each in await tenant.user.chat("session-1").history()]

    assert asyncio.run(stored()) == [turn.at for turn in chats.histories[0].sessions[0].turns]
