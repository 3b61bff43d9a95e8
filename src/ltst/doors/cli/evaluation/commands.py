"""Recall and extraction, measured: `ltst eval` with a command for each data set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import Options, command
from ltst.errors import NotFound

if TYPE_CHECKING:
    from ltst.doors.cli.evaluation.benchmark import Benchmark
    from ltst.doors.cli.evaluation.run import Plan

app = typer.Typer(
    no_args_is_help=True,
    help="Recall and extraction, measured."
    "\n\nOn public benchmarks, on lives, and on labelled messages.\n\nExample: ltst eval locomo --data locomo10.json",
)

FOLDER = "evaluation"
CACHE = "vectors.db"

Data = Annotated[Path, typer.Option("--data", metavar="PATH", help="The .json or .json.gz, or the folder it is in.")]
Folder = Annotated[Path, typer.Option("--data", metavar="FOLDER", help="The folder that its files are in.")]
Sample = Annotated[
    int | None, typer.Option("--sample", metavar="N", min=1, help="Only so many questions, spread evenly.")
]
Out = Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Also write the results there, as JSON.")]
Cache = Annotated[
    Path | None, typer.Option("--cache", metavar="FILE", help=f"Where vectors are kept. (At home: {FOLDER}/{CACHE})")
]
NoBaselines = Annotated[bool, typer.Option("--no-baselines", help="Leave out BM25, MiniLM and their fusion.")]
Labelled = Annotated[
    Path, typer.Option("--data", metavar="FOLDER", help="The folder of LoCoMo, LongMemEval and the lives.")
]
ByKind = Annotated[bool, typer.Option("--by-kind", help="Also show the figures of each kind of question.")]
Worst = Annotated[int, typer.Option("--worst", metavar="N", min=0, help="Also show N questions that failed.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Do not go on where a run was stopped.")]


@command(app, "locomo")
def locomo(
    options: Options,
    data: Data,
    sample: Sample = None,
    out: Out = None,
    cache: Cache = None,
    no_baselines: NoBaselines = False,
    fresh: Fresh = False,
) -> None:
    """Measure recall of single turns in long conversations.

    On a Postgres of its own, unless --database-url names one. A run that was stopped goes on.

    Example: ltst eval locomo --data locomo10.json
    """
    from ltst.doors.cli.evaluation import locomo as locomo_data

    _evaluate(options, locomo_data.read(data), sample, out, cache, not no_baselines, fresh)


@command(app, "longmemeval")
def longmemeval(
    options: Options,
    data: Data,
    sample: Sample = None,
    out: Out = None,
    cache: Cache = None,
    no_baselines: NoBaselines = False,
    fresh: Fresh = False,
) -> None:
    """Measure recall of sessions among some fifty of them.

    On a Postgres of its own, unless --database-url names one. A run that was stopped goes on.

    Example: ltst eval longmemeval --data longmemeval_s_cleaned.json --sample 50
    """
    from ltst.doors.cli.evaluation import longmemeval as longmemeval_data

    _evaluate(options, longmemeval_data.read(data), sample, out, cache, not no_baselines, fresh)


@command(app, "realtalk")
def realtalk(
    options: Options,
    data: Folder,
    sample: Sample = None,
    out: Out = None,
    cache: Cache = None,
    no_baselines: NoBaselines = False,
    fresh: Fresh = False,
) -> None:
    """Measure recall of single turns in chats of real people.

    On a Postgres of its own, unless --database-url names one. A run that was stopped goes on.

    Example: ltst eval realtalk --data REALTALK/data
    """
    from ltst.doors.cli.evaluation import realtalk as realtalk_data

    _evaluate(options, realtalk_data.read(data), sample, out, cache, not no_baselines, fresh)


@command(app, "beam")
def beam(
    options: Options,
    data: Folder,
    sample: Sample = None,
    out: Out = None,
    cache: Cache = None,
    no_baselines: NoBaselines = False,
    fresh: Fresh = False,
) -> None:
    """Measure recall of single turns in long working conversations.

    On a Postgres of its own, unless --database-url names one. A run that was stopped goes on.

    Example: ltst eval beam --data BEAM/chats/100K
    """
    from ltst.doors.cli.evaluation import beam as beam_data

    _evaluate(options, beam_data.read(data), sample, out, cache, not no_baselines, fresh)


@command(app, "lives")
def lives(
    options: Options,
    data: Folder,
    by_kind: ByKind = False,
    worst: Worst = 0,
    out: Out = None,
    cache: Cache = None,
    no_baselines: NoBaselines = False,
    fresh: Fresh = False,
) -> None:
    """Measure what is given back of a year: search, contexts and replies.

    Made-up people: what changed, was corrected, and was never said. On a Postgres of its own, unless --database-url
    names one. A run that was stopped goes on with the next life.

    Example: ltst eval lives --data lives --by-kind --worst 20
    """
    # Late: numpy and the driver take longer than --help may.
    from ltst.doors.cli.evaluation.lives import data as lives_data
    from ltst.doors.cli.evaluation.lives.run import run, steps

    plan = _plan(options, lives_data.read(data), None, out, cache, not no_baselines, fresh)
    with _progress(plan.benchmark.name, steps(plan)) as tick:
        report = run(plan, tick)
    _present(options, report.document, lambda: report.show(by_kind=by_kind, worst=worst), out)
    _tell_journal(plan)


@command(app, "extraction")
def extraction(options: Options, data: Labelled) -> None:
    """Measure how well statements are told from everything else.

    On labelled messages, by sentence and by message; each conversation by weights trained without it. The labels lie in
    the repository of ltst. No database is needed.

    Example: ltst eval extraction --data data
    """
    from ltst.doors.cli.evaluation import extraction as statements  # late: numpy takes longer than --help may

    with show.working("Training without each conversation in turn"):
        sentences, least = statements.judge(data)
    scores = statements.evaluate(sentences, least)
    if options.json:
        show.document(statements.document(scores))
    else:
        statements.present(scores, least)


def _evaluate(
    options: Options,
    benchmark: Benchmark,
    sample: int | None,
    out: Path | None,
    cache: Path | None,
    baselines: bool,
    fresh: bool,
) -> None:
    from ltst.doors.cli.evaluation.run import run  # late: numpy and the driver take longer than --help may

    plan = _plan(options, benchmark, sample, out, cache, baselines, fresh)
    with _progress(benchmark.name, plan.steps) as tick:
        report = run(plan, tick)
    _present(options, report.document, report.show, out)
    _tell_journal(plan)


def _plan(
    options: Options,
    benchmark: Benchmark,
    sample: int | None,
    out: Path | None,
    cache: Path | None,
    baselines: bool,
    fresh: bool,
) -> Plan:
    from ltst.doors.cli.evaluation.run import Plan

    if out is not None and not out.parent.is_dir():
        raise NotFound(f"there is no folder {out.parent} to write {out.name} into")
    folder = options.settings.home / FOLDER
    return Plan(
        benchmark=benchmark if sample is None else benchmark.sample(sample),
        settings=replace(options.settings, database_url=options.database_url),
        cache=cache or folder / CACHE,
        journal=out.with_suffix(".journal.jsonl") if out else folder / f"{benchmark.name}.jsonl",
        baselines=baselines,
        fresh=fresh,
    )


def _present(options: Options, document: Callable[[], Any], tables: Callable[[], None], out: Path | None) -> None:
    if options.json:
        show.document(document())
    else:
        tables()
    if out is not None:
        out.write_text(show.written(document()) + "\n", encoding="utf-8")
        show.hint(f"Wrote {out}.")


def _tell_journal(plan: Plan) -> None:
    show.hint(f"Each result is kept in {plan.journal}: the same command finds it there, --fresh begins anew.")


@contextmanager
def _progress(what: str, steps: int) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, drawn seldom: the thread that draws takes time from what is measured."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    clocks = (TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, *clocks, console=show.err(), transient=True, refresh_per_second=1) as progress:
        task = progress.add_task(what, total=steps)
        yield lambda count: progress.advance(task, count)
