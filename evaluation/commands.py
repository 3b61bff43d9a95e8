"""The commands of `python -m evaluation`: one for each data set, and one for each small model that is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.help import ReportingGroup
from ltst.doors.cli.options import DatabaseUrl, Home, Options, command, signed
from ltst.doors.cli.parameters import parameter
from ltst.errors import NotFound

if TYPE_CHECKING:
    from evaluation.benchmark import Benchmark
    from evaluation.run import Plan
    from evaluation.vectors import CachedEmbedder
    from ltst.protocols import Embedder

app = typer.Typer(
    name="python -m evaluation",
    cls=ReportingGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # a pretty one would print the values of variables
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=False,
)

OWN_POSTGRES = "On a Postgres of its own, unless --database-url names one. A run that was stopped goes on."
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
Realtalk = Annotated[Path | None, typer.Option("--realtalk", metavar="FOLDER", help="The chats of REALTALK.")]
Beam = Annotated[Path | None, typer.Option("--beam", metavar="FOLDER", help="The conversations of BEAM.")]
Epochs = Annotated[int, typer.Option("--epochs", metavar="N", min=1, help="How often all questions are gone through.")]
LeaveOut = Annotated[
    list[str] | None,
    typer.Option("--leave-out", metavar="NAME", help="A data set, or a training life, not to train on; repeatable."),
]
Write = Annotated[bool, typer.Option("--write", help="Write what was trained into the product.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Do not go on where a run was stopped.")]


@app.callback()
def main(context: typer.Context, database_url: DatabaseUrl = None, home: Home = None) -> None:
    """Recall and extraction, measured.

    On public benchmarks, on lives, and on labelled messages.

    Example: python -m evaluation locomo --data locomo10.json
    """
    context.obj = Options(database_url, home=home)


# What every command takes that measures on a Postgres, and every one that trains how texts are read.
MEASURING = (
    parameter("out", Out, None),
    parameter("cache", Cache, None),
    parameter("no_baselines", NoBaselines, False),
    parameter("fresh", Fresh, False),
)
TRAINING = (
    parameter("data", Labelled),
    parameter("realtalk", Realtalk, None),
    parameter("beam", Beam, None),
    parameter("leave_out", LeaveOut, None),
    parameter("write", Write, False),
    parameter("cache", Cache, None),
)


def _recall(name: str, takes: Any, what: str, example: str) -> None:
    """Add the command that measures recall on one public benchmark, which the module of its name reads."""

    def measure(options: Options, data: Path, sample: int | None, **wishes: Any) -> None:
        # Late: numpy and the driver take longer than --help may.
        from evaluation.run import run

        benchmark = import_module(f"evaluation.{name}").read(data)
        plan = _plan(options, benchmark if sample is None else benchmark.sample(sample), **wishes)
        with _progress(benchmark.name, plan.steps) as tick:
            report = run(plan, tick)
        _present(options, report.document, report.show, wishes["out"])
        _tell_journal(plan)

    measure.__doc__ = f"Measure recall of {what}.\n\n{OWN_POSTGRES}\n\nExample: python -m evaluation {name} {example}"
    app.command(name)(signed(measure, [parameter("data", takes), parameter("sample", Sample, None), *MEASURING]))


_recall("locomo", Data, "single turns in long conversations", "--data locomo10.json")
_recall("longmemeval", Data, "sessions among some fifty of them", "--data longmemeval_s_cleaned.json --sample 50")
_recall("realtalk", Folder, "single turns in chats of real people", "--data REALTALK/data")
_recall("beam", Folder, "single turns in long working conversations", "--data BEAM/chats/100K")


def lives(options: Options, data: Path, by_kind: bool, worst: int, **wishes: Any) -> None:
    """Measure what is given back of a year: search, contexts and replies.

    Made-up people: what changed, was corrected, and was never said. On a Postgres of its own, unless --database-url
    names one. A run that was stopped goes on with the next life.

    Example: python -m evaluation lives --data lives --by-kind --worst 20
    """
    # Late: numpy and the driver take longer than --help may.
    from evaluation.lives import data as lives_data
    from evaluation.lives.run import run, steps

    plan = _plan(options, lives_data.read(data), **wishes)
    with _progress(plan.benchmark.name, steps(plan)) as tick:
        report = run(plan, tick)
    _present(options, report.document, lambda: report.show(by_kind=by_kind, worst=worst), wishes["out"])
    _tell_journal(plan)


WHOLE = (parameter("data", Folder), parameter("by_kind", ByKind, False), parameter("worst", Worst, 0), *MEASURING)
app.command("lives")(signed(lives, WHOLE))


@command(app, "extraction")
def extraction(options: Options, data: Labelled) -> None:
    """Measure how well statements are told from everything else.

    On labelled messages, by sentence and by message; each conversation by weights trained without it. No database is
    needed.

    Example: python -m evaluation extraction --data data
    """
    from evaluation import extraction as statements  # late: numpy takes longer than --help may

    with show.working("Training without each conversation in turn"):
        sentences, least = statements.judge(data)
    scores = statements.evaluate(sentences, least)
    if options.json:
        show.document(statements.document(scores))
    else:
        statements.present(scores, least)


def _reading(name: str, often: int, what: str, told: str) -> None:
    """Add the command that trains how an embedder reads texts, by the module of its name."""

    def train(options: Options, epochs: int, leave_out: list[str] | None, write: bool, **given: Any) -> None:
        from evaluation import adapter  # late: numpy takes longer than --help may
        from ltst.providers.local import LocalEmbedder

        training = import_module(f"evaluation.{name}")
        adapter.with_torch()  # before anything takes long
        cache = given.pop("cache")
        sources = adapter.Sources(**given, left_out=leave_out or ())
        with _vectors(LocalEmbedder(), options, cache) as embedder, show.working("Embedding what is not known yet"):
            found = training.read(sources, embedder)
        scores, made = training.train(found, epochs=epochs, tell=show.hint)
        _present(options, lambda: [asdict(score) for score in scores], lambda: adapter.present(scores), None)
        if write:
            show.hint(f"Wrote {training.write(made)}.")

    example = f"python -m evaluation {name} --data data --realtalk REALTALK/data --leave-out locomo"
    train.__doc__ = f"Train {what}.\n\n{told} It needs torch, and some minutes.\n\nExample: {example}"
    app.command(name)(signed(train, [*TRAINING, parameter("epochs", Epochs, often)]))


_reading(
    "adapter",
    3,
    "the weights that questions are read by",
    "On the training lives, LoCoMo, and REALTALK and BEAM where they are named; the lives of the folder are only "
    "measured. Tells before and after how the cosine alone places the evidence.",
)
_reading(
    "joined",
    4,
    "how the joined embedder reads what is told and what is asked",
    "On the training lives and pairs, LoCoMo, and REALTALK and BEAM where they are named; the lives of the folder are "
    "only measured. Tells how the cosine alone places the evidence, by the local model and by both.",
)


@command(app, "superseding")
def superseding(options: Options, write: Write = False, cache: Cache = None) -> None:
    """Train what tells whether a message takes the place of an earlier one.

    On the training lives; each is judged by weights trained without it. Precision and recall are those of the pairs
    that are at least so likely.

    Example: python -m evaluation superseding --write
    """
    from evaluation import superseding as training  # late: numpy takes longer than --help may
    from evaluation.training import read
    from ltst.providers.joined import JoinedEmbedder

    lives = read()
    with (
        _vectors(JoinedEmbedder(), options, cache) as embedder,
        show.working("Comparing each message with those before it"),
    ):
        read_pairs = [each for life in lives for each in training.examples(life, embedder)]
    with show.working("Training without some of the lives in turn"):
        wanted = sum(len(life.replaced) for life in lives)
        scores = training.scored(read_pairs, training.left_out(read_pairs), wanted)
    _present(options, lambda: [asdict(score) for score in scores], lambda: training.present(scores), None)
    if write:
        show.hint(f"Wrote {training.write(training.trained(read_pairs))}.")


@command(app, "later")
def later(options: Options, cache: Cache = None) -> None:
    """Train what tells, of two hits, whether the later one took the place of the other.

    On the training lives, which the product keeps and is asked about; each is judged by weights trained without it. The
    weights stand in ltst/recall/later.py. It takes half an hour.

    Example: python -m evaluation later
    """
    from evaluation import later as training  # late: numpy takes longer than --help may
    from evaluation.training import read
    from ltst.providers.joined import JoinedEmbedder

    settings = replace(options.settings, database_url=options.database_url)
    with _vectors(JoinedEmbedder(), options, cache) as embedder, _progress("lives", len(read())) as tick:
        scores, weights = training.run(embedder, settings, tick)
    _present(options, lambda: [asdict(score) for score in scores], lambda: training.present(scores), None)
    show.hint(f"WEIGHTS = {tuple(round(float(each), 2) for each in weights)}")


@contextmanager
def _vectors(embedder: Embedder, options: Options, cache: Path | None) -> Iterator[CachedEmbedder]:
    """An embedder whose vectors are kept."""
    from evaluation.vectors import CachedEmbedder

    with closing(CachedEmbedder(embedder, cache or options.settings.home / FOLDER / CACHE)) as kept:
        yield kept


def _plan(
    options: Options, benchmark: Benchmark, *, out: Path | None, cache: Path | None, no_baselines: bool, fresh: bool
) -> Plan:
    from evaluation.run import Plan

    if out is not None and not out.parent.is_dir():
        raise NotFound(f"there is no folder {out.parent} to write {out.name} into")
    folder = options.settings.home / FOLDER
    return Plan(
        benchmark=benchmark,
        settings=replace(options.settings, database_url=options.database_url),
        cache=cache or folder / CACHE,
        journal=out.with_suffix(".journal.jsonl") if out else folder / f"{benchmark.name}.jsonl",
        baselines=not no_baselines,
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
