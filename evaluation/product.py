"""The product under measurement: histories go in and questions are asked, by the public interface and nothing else."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from evaluation.benchmark import Benchmark, History, Question, Session, Turn
from evaluation.metrics import Result
from evaluation.scores import Scores, ranks, scored

if TYPE_CHECKING:
    from evaluation.vectors import CachedEmbedder
    from ltst.memory import AsyncMemory, AsyncUser
    from ltst.records import Hit

LIMIT = 200
CONTEXT_TOKENS = 2_000
LOST_BY_FLOOR = "rec@10"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What storing and indexing one history cost; vectors from the cache cost nothing."""

    messages: int
    seconds: float
    vectors_found: int
    vectors_computed: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question: its scores, where its evidence stands; without what was derived; without a floor."""

    scores: Scores
    underived: Scores  # of the messages alone
    ranks: Mapping[str, int | None]
    empty: bool
    best_score: float
    recall_without_floor: float | None
    milliseconds: float
    context_tokens: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """What came of a question that was asked of someone who cannot know: at best, nothing."""

    empty: bool
    best_score: float


class Tenant:
    """One history as one user of the memory, from the first message until everything is erased."""

    def __init__(self, memory: AsyncMemory, benchmark: Benchmark, history: History, embedder: CachedEmbedder) -> None:
        """Nothing is stored before it is entered."""
        self._memory = memory
        self._benchmark = benchmark
        self._history = history
        self._embedder = embedder
        self._turns: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        """Begin with nothing: a killed run may have left something in a database that it was given."""
        await self.user.erase()
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Erase it all."""
        await self.user.erase()

    @property
    def user(self) -> AsyncUser:
        """The user whose history it is."""
        return self._memory.user(f"evaluation-{self._benchmark.name}-{self._history.id}")

    async def ingest(self) -> Ingested:
        """Store the history, session by session, and wait until all of it can be found."""
        began = time.perf_counter()
        found, computed = self._embedder.found, self._embedder.computed
        for number, session in enumerate(self._history.sessions, start=1):
            # Not by the data's own ids, some of which tell where the answer is.
            chat = self.user.chat(f"session-{number}")
            stored = await chat.add_many([_message(session, turn) for turn in session.turns])
            ids = (str(message.message_id) for message in stored)
            self._turns.update(zip(ids, (turn.id for turn in session.turns), strict=True))
        await self._memory.settle(self.user.user_id)
        return Ingested(
            len(self._turns),
            time.perf_counter() - began,
            self._embedder.found - found,
            self._embedder.computed - computed,
        )

    async def answer(self, question: Question) -> Answer:
        """Search as anyone would, again without a floor, and build the context."""
        with self._embedder.anew():
            began = time.perf_counter()
            hits = await self._search(question)
            took = time.perf_counter() - began
        unfloored = await self._search(question, floor=0.0)
        context = await self.user.chat().context(question.text, max_tokens=CONTEXT_TOKENS)
        results = self.results(hits)
        said = self.results(await self._search(question, kinds=("message",)))
        return Answer(
            scored(self._benchmark, self._history, question, results),
            scored(self._benchmark, self._history, question, said),
            ranks(self._benchmark, self._history, question, results),
            not hits,
            _best(unfloored),
            self._recall(question, self.results(unfloored)),
            took * 1000,
            context.tokens,
        )

    async def refuse(self, question: Question) -> Refusal:
        """Search for what is not there; where a floor leaves anything, the best is the same as without one."""
        hits = await self._search(question)
        return Refusal(not hits, _best(hits or await self._search(question, floor=0.0)))

    def _said(self) -> Iterator[Turn]:
        return (turn for session in self._history.sessions for turn in session.turns)

    async def _search(
        self, question: Question, *, floor: float | None = None, kinds: tuple[str, ...] | None = None
    ) -> list[Hit]:
        return await self.user.search(question.text, kinds=kinds, limit=LIMIT, now=question.asked_at, floor=floor)

    def results(self, hits: list[Hit]) -> list[Result]:
        """What was found, by the turns that it shows."""
        return [Result(self._shown(hit), len(hit.content)) for hit in hits]

    def _shown(self, hit: Hit) -> tuple[str, ...]:
        """The turns that a hit shows: a message itself, anything derived the messages that it rests on."""
        messages = dict.fromkeys((hit.id, *hit.sources))
        return tuple(self._turns[id] for id in messages if id in self._turns)

    def _recall(self, question: Question, results: list[Result]) -> float | None:
        key = self._benchmark.tables[0].key(LOST_BY_FLOOR)
        return scored(self._benchmark, self._history, question, results).get(key)


def _message(session: Session, turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {"role": turn.role, "content": turn.text, "at": turn.at or session.at}
    return message | ({"metadata": {"speaker": turn.speaker}} if turn.speaker else {})


def _best(hits: list[Hit]) -> float:
    return hits[0].score if hits else 0.0
