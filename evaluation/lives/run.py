"""One run over lives: each is stored, asked about and erased; a life that the journal knows is not asked again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from evaluation import baselines
from evaluation.benchmark import History
from evaluation.journal import Journal, code_digest, run_name
from evaluation.lives.product import Answer, Life
from evaluation.lives.report import Report
from evaluation.lives.scores import Placing, placed
from evaluation.run import Plan, Tick, own_home
from evaluation.vectors import CachedEmbedder
from ltst.agents.turns import Turns
from ltst.memory import AsyncMemory

if TYPE_CHECKING:
    from ltst.protocols import Embedder

LIFE, COMPARED = "life", "compared"


def steps(plan: Plan) -> int:
    """How many questions are asked: of the search, of the agent and of the baselines."""
    return len(plan.benchmark.questions) * (3 if plan.baselines else 2)


def run(plan: Plan, tick: Tick = lambda _: None, embedder: Embedder | None = None) -> Report:
    """Measure what is not known yet; `tick` hears how many questions are done, first of those that were known."""
    with closing(CachedEmbedder(embedder or plan.embedder(), plan.cache)) as cached:
        code = code_digest()
        journal = Journal(plan.journal, run_name(plan.benchmark.digest, cached.name, code), fresh=plan.fresh)
        tick(_known(plan, journal))
        asyncio.run(_ask_product(plan, cached, journal, tick))
        if plan.baselines:
            _ask_baselines(plan, cached.plain(), journal, tick)
        return _gathered(plan, journal, cached.name, code)


async def _ask_product(plan: Plan, embedder: CachedEmbedder, journal: Journal, tick: Tick) -> None:
    due = [life for life in plan.benchmark.histories if (LIFE, life.id) not in journal]
    if not due:
        return
    with own_home(plan.settings) as settings:
        async with AsyncMemory(settings=settings, embedder=embedder) as memory:
            for history in due:
                async with Life(memory, plan.benchmark, history, embedder) as life:
                    journal.add((LIFE, history.id), await _asked(memory, life, history, tick))


async def _asked(memory: AsyncMemory, life: Life, history: History, tick: Tick) -> dict[str, Any]:
    """All answers of a life by their questions. The agent is asked last, since it remembers what it was asked."""
    await life.ingest()
    answers: dict[str, Answer] = {}
    for question in history.questions:
        answers[question.id] = await life.answer_to(question)
        tick(1)
    turns = Turns(memory)
    try:
        for question in history.questions:
            reply, right = await life.reply_to(question, turns)
            answers[question.id] = replace(answers[question.id], reply=reply, replied=right)
            tick(1)
    finally:
        await turns.close()
    return {id: asdict(answer) for id, answer in answers.items()}


def _ask_baselines(plan: Plan, embedder: CachedEmbedder, journal: Journal, tick: Tick) -> None:
    for history in plan.benchmark.histories:
        if (COMPARED, history.id) in journal:
            continue
        field = baselines.bare_turns(history, embedder)
        found: dict[str, dict[str, Any]] = {}
        for question in history.questions:
            ranked = field.ranked(question.text)
            found[question.id] = {name: asdict(placed(results, question)) for name, results in ranked}
            tick(1)
        journal.add((COMPARED, history.id), found)


def _known(plan: Plan, journal: Journal) -> int:
    """How many questions the journal has the results of."""
    asked = [len(life.questions) * 2 for life in plan.benchmark.histories if (LIFE, life.id) in journal]
    compared = [len(life.questions) for life in plan.benchmark.histories if (COMPARED, life.id) in journal]
    return sum(asked) + (sum(compared) if plan.baselines else 0)


def _gathered(plan: Plan, journal: Journal, model: str, code: str) -> Report:
    lives = plan.benchmark.histories
    answers = {id: Answer.kept(each) for life in lives for id, each in journal[LIFE, life.id].items()}
    beside = dict(_by_baseline(plan, journal)) if plan.baselines else {}
    return Report(benchmark=plan.benchmark, model=model, code=code, answers=answers, baselines=beside)


def _by_baseline(plan: Plan, journal: Journal) -> Iterator[tuple[str, Mapping[str, Placing]]]:
    """The placings of each baseline, by question."""
    known = {id: found for life in plan.benchmark.histories for id, found in journal[COMPARED, life.id].items()}
    for name in next(iter(known.values()), {}):
        yield name, {id: Placing(**found[name]) for id, found in known.items()}
