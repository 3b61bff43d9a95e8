"""One run: asks the product and the baselines what the journal does not know yet, and gathers what it knows."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from evaluation import baselines
from evaluation.benchmark import Benchmark, History, Question
from evaluation.floor import floor
from evaluation.journal import Journal, code_digest, run_name
from evaluation.product import Answer, Ingested, Refusal, Tenant
from evaluation.report import Report, cost, rows
from evaluation.scores import Scores
from evaluation.vectors import CachedEmbedder
from ltst.memory import AsyncMemory
from ltst.providers.named import embedder_named
from ltst.settings import Settings

if TYPE_CHECKING:
    from ltst.protocols import Embedder

UNDERIVED = "ltst, messages alone"

Tick = Callable[[int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to measure, and where to keep what is computed on the way."""

    benchmark: Benchmark
    settings: Settings
    cache: Path
    journal: Path
    baselines: bool = True
    fresh: bool = False

    @property
    def steps(self) -> int:
        """How many questions are asked, of whomever."""
        own = len(self.benchmark.questions)
        strangers = sum(len(asked) for _, asked in self.benchmark.with_strangers())
        return own + strangers + (own if self.baselines else 0)

    def embedder(self) -> Embedder:
        """The model that the settings name."""
        given = self.settings
        return embedder_named(given.embedder, given.embedder_api_key, given.embedder_threads)


class Due(NamedTuple):
    """What is still to be asked about one history: its own questions, a stranger's, and its own of the baselines."""

    history: History
    own: list[Question]
    others: list[Question]
    compared: list[Question]

    def steps(self, baselines: bool) -> int:
        """How many questions these are."""
        return len(self.own) + len(self.others) + (len(self.compared) if baselines else 0)


def run(plan: Plan, tick: Tick = lambda _: None, embedder: Embedder | None = None) -> Report:
    """Measure what is not known yet; `tick` hears how many questions are done, first of those that were known."""
    with closing(CachedEmbedder(embedder or plan.embedder(), plan.cache)) as cached:
        code = code_digest()
        journal = Journal(plan.journal, run_name(plan.benchmark.digest, cached.name, code), fresh=plan.fresh)
        tick(plan.steps - sum(each.steps(plan.baselines) for each in _due(plan.benchmark, journal)))
        asyncio.run(_ask_product(plan, cached, journal, tick))
        if plan.baselines:
            _ask_baselines(plan.benchmark, cached.plain(), journal, tick)
        return _gathered(plan, journal, cached.name, code)


async def _ask_product(plan: Plan, embedder: CachedEmbedder, journal: Journal, tick: Tick) -> None:
    due = [each for each in _due(plan.benchmark, journal) if each.own or each.others]
    if not due:
        return
    with own_home(plan.settings) as settings:
        async with AsyncMemory(settings=settings, embedder=embedder) as memory:
            for each in due:
                async with Tenant(memory, plan.benchmark, each.history, embedder) as tenant:
                    await _ask_tenant(tenant, each, journal, tick)


async def _ask_tenant(tenant: Tenant, due: Due, journal: Journal, tick: Tick) -> None:
    history = due.history.id
    journal.add(("ingested", history), asdict(await tenant.ingest()))
    for question in due.own:
        journal.add(("answer", question.id), asdict(await tenant.answer(question)))
        tick(1)
    for question in due.others:
        journal.add(("refusal", history, question.id), asdict(await tenant.refuse(question)))
        tick(1)


def _ask_baselines(benchmark: Benchmark, embedder: CachedEmbedder, journal: Journal, tick: Tick) -> None:
    for each in _due(benchmark, journal):
        if each.compared:
            field = baselines.field(benchmark, each.history, embedder)
            for question in each.compared:
                scores = baselines.score(benchmark, each.history, question, field)
                journal.add(("baselines", question.id), scores)
                tick(1)


def _due(benchmark: Benchmark, journal: Journal) -> list[Due]:
    """For each history, the questions whose results the journal lacks."""
    return [
        Due(
            history,
            own=[each for each in history.questions if ("answer", each.id) not in journal],
            others=[each for each in strangers if ("refusal", history.id, each.id) not in journal],
            compared=[each for each in history.questions if ("baselines", each.id) not in journal],
        )
        for history, strangers in benchmark.with_strangers()
    ]


def _gathered(plan: Plan, journal: Journal, model: str, code: str) -> Report:
    benchmark = plan.benchmark
    answers = {each.id: Answer(**journal["answer", each.id]) for each in benchmark.questions}
    refusals = [
        Refusal(**journal["refusal", history.id, each.id])
        for history, strangers in benchmark.with_strangers()
        for each in strangers
    ]
    ingested = [Ingested(**journal["ingested", history.id]) for history in benchmark.histories]
    return Report(
        benchmark=benchmark,
        model=model,
        code=code,
        rows=rows(benchmark, {id: answer.scores for id, answer in answers.items()}),
        baselines={UNDERIVED: rows(benchmark, {id: answer.underived for id, answer in answers.items()})}
        | {name: rows(benchmark, scores) for name, scores in _by_baseline(plan, journal)},
        floor=floor(benchmark, answers, refusals),
        cost=cost([*answers.values()], ingested),
        answers=answers,
    )


def _by_baseline(plan: Plan, journal: Journal) -> Iterator[tuple[str, dict[str, Scores]]]:
    """The scores of each baseline, by question."""
    if plan.baselines:
        known = {each.id: journal["baselines", each.id] for each in plan.benchmark.questions}
        for name in next(iter(known.values())):
            yield name, {id: scores[name] for id, scores in known.items()}


@contextmanager
def own_home(settings: Settings) -> Iterator[Settings]:
    """A Postgres for this run alone, unless a database was given: the user's own memory is never touched."""
    if settings.database_url is not None:
        yield replace(settings, worker=False)
        return
    with tempfile.TemporaryDirectory(prefix="ltst-evaluation-", ignore_cleanup_errors=True) as folder:
        yield replace(settings, home=Path(folder, "home"), worker=False)
