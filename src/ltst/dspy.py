"""DSPy: a retriever over everything remembered, and tools with which a module remembers and recalls."""

from __future__ import annotations

from typing import Any

from ltst import adapters
from ltst.adapters import at_once
from ltst.records import Hit
from ltst.sync import User

with adapters.needed("dspy", "dspy"):
    import dspy

__all__ = ["LtstRetriever", "memory_tools"]

NOTHING = "Nothing is remembered about that."


class LtstRetriever(dspy.Retrieve):
    """Finds what is remembered about a user, the best first, as a prediction with `passages`, `scores` and `ids`.

    Accepts the filters of a search. DSPy does not await its retrievers, so the user must be one of `Memory`.
    """

    def __init__(self, user: User, k: int = 5, **filters: Any) -> None:
        """Searches a user's memory; `k` is the maximum number of results."""
        super().__init__(k=k)
        adapters.check_user(user)
        self._user, self._filters = user, filters

    def forward(self, query: str, k: int | None = None, **filters: Any) -> Any:
        """Returns what is remembered about a query."""
        asked = {**self._filters, **filters, "limit": self.k if k is None else k}
        found: list[Hit] = at_once(self._user.search, query, **asked)
        return dspy.Prediction(
            passages=[hit.content for hit in found], scores=[hit.score for hit in found], ids=[hit.id for hit in found]
        )


def memory_tools(user: User, *, limit: int = 10) -> list[Any]:
    """Returns two tools for `dspy.ReAct` and the like: `remember` stores something, `recall` finds it again."""
    adapters.check_user(user)

    def remember(memory: str) -> str:
        """Keep something about the user for good, in a sentence that can be understood by itself."""
        at_once(user.entries.add, memory)
        return "It is remembered."

    def recall(question: str) -> str:
        """Returns what is remembered about the user that matters for a question."""
        found: list[Hit] = at_once(user.search, question, limit=limit)
        return "\n".join(map(_line, found)) or NOTHING

    return [dspy.Tool(remember), dspy.Tool(recall)]


def _line(hit: Hit) -> str:
    """Returns a hit as a line with its date and speaker."""
    told = [f"{hit.occurred_at:%d %b %Y}"] if hit.occurred_at else []
    return f"[{', '.join([*told, hit.speaker or hit.kind])}] {hit.content}"
