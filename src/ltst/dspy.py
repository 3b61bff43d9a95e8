"""DSPy: a retriever over all that is remembered, and tools with which a module remembers and recalls."""

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
    """Finds what is remembered of a user, the best first: a prediction with `passages`, `scores` and `ids`.

    It takes the filters of a search. DSPy does not await its retrievers, so the user is one of `Memory`.
    """

    def __init__(self, user: User, k: int = 5, **filters: Any) -> None:
        """Look through what a user has; `k` is how many are found at most."""
        super().__init__(k=k)
        adapters.check_user(user)
        self._user, self._filters = user, filters

    def forward(self, query: str, k: int | None = None, **filters: Any) -> Any:
        """Return what is remembered about a question."""
        asked = {**self._filters, **filters, "limit": self.k if k is None else k}
        found: list[Hit] = at_once(self._user.search, query, **asked)
        return dspy.Prediction(
            passages=[hit.content for hit in found], scores=[hit.score for hit in found], ids=[hit.id for hit in found]
        )


def memory_tools(user: User, *, limit: int = 10) -> list[Any]:
    """Return two tools for `dspy.ReAct` and the like: `remember` keeps something for good, `recall` finds it again."""
    adapters.check_user(user)

    def remember(memory: str) -> str:
        """Keep something about the user for good, in a sentence that can be understood by itself."""
        at_once(user.entries.add, memory)
        return "It is remembered."

    def recall(question: str) -> str:
        """Return what is remembered about the user that matters for a question."""
        found: list[Hit] = at_once(user.search, question, limit=limit)
        return "\n".join(map(_line, found)) or NOTHING

    return [dspy.Tool(remember), dspy.Tool(recall)]


def _line(hit: Hit) -> str:
    """Return what was found as a line, with its day and speaker."""
    told = [f"{hit.occurred_at:%d %b %Y}"] if hit.occurred_at else []
    return f"[{', '.join([*told, hit.speaker or hit.kind])}] {hit.content}"
