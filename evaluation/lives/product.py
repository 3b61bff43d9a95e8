"""A life as a user of the product: searched, packed into contexts, and asked of the agent that needs no model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from evaluation.benchmark import Question
from evaluation.lives.scores import DEPTH, Packed, Placing, lost, packed, placed, replied
from evaluation.product import Tenant
from ltst.agents.turns import Turns
from ltst.records import Hit

SIZES = (500, 1_000, 2_000)
AGENT = "recall"
SHOWN = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question; `first` is what stood first. What was never said is neither packed nor replied to."""

    placing: Placing
    empty: bool
    lost: bool
    contexts: tuple[Packed, ...]
    first: tuple[str, ...]
    reply: str = ""
    replied: bool = False

    @classmethod
    def kept(cls, record: Mapping[str, Any]) -> Self:
        """One that a journal knows."""
        placing, contexts = Placing(**record["placing"]), tuple(Packed(**each) for each in record["contexts"])
        return cls(**{**record, "placing": placing, "contexts": contexts, "first": tuple(record["first"])})

    def holds(self, size: int) -> bool:
        """Whether the context of this size holds the answer."""
        return any(each.holds for each in self.contexts if each.size == size)


class Life(Tenant):
    """One life as one user of the memory."""

    async def answer_to(self, question: Question) -> Answer:
        """Search as of the day on which it is asked, with the floor and without, and pack contexts in new chats."""
        hits = await self._ten(question)
        results = self.results(hits)
        return Answer(
            placed(results, question),
            not hits,
            lost(results, self.results(await self._ten(question, floor=0.0)), question),
            () if question.absent else tuple([await self._packed(question, size) for size in SIZES]),
            tuple(hit.content for hit in hits[:SHOWN]),
        )

    async def reply_to(self, question: Question, turns: Turns) -> tuple[str, bool]:
        """Ask the agent in a new chat; what it replies, and whether that is right."""
        turn = await turns.begin(self.user, question.text, agent_name=AGENT)
        reply = (await turn.done()).reply
        stale = [turn.text for turn in self._said() if turn.id in question.stale]
        return reply, not question.absent and replied(reply, question, stale)

    async def _ten(self, question: Question, *, floor: float | None = None) -> list[Hit]:
        return await self.user.search(question.text, limit=DEPTH, now=question.asked_at, floor=floor)

    async def _packed(self, question: Question, size: int) -> Packed:
        return packed(await self.user.chat().context(question.text, max_tokens=size), question, size)
