"""An embedder made from a function, for whatever model the caller already has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ltst.errors import Invalid, LtstError, ModelUnavailable
from ltst.providers.parts import by_characters
from ltst.providers.vectors import check_vectors

if TYPE_CHECKING:
    from ltst.providers.vectors import Vectors

LONGEST_PART = 2_000


class CallableEmbedder:
    """Wraps a function from texts to as many vectors, which need not have length one."""

    def __init__(
        self,
        function: Callable[[Sequence[str]], Sequence[Sequence[float]]],
        name: str,
        dimensions: int,
        *,
        longest: int = LONGEST_PART,
    ) -> None:
        """`name` tells its vectors from another model's; `longest` is how many characters it reads whole."""
        if not name.strip():
            raise Invalid("an embedder needs a name that is not blank: it tells its vectors from another model's")
        if dimensions < 1 or longest < 1:
            raise Invalid("dimensions and longest must be at least 1")
        self.name = name
        self.dimensions = dimensions
        self._function = function
        self._longest = longest

    def parts(self, text: str, *, room: int = 0) -> list[str]:
        """Returns the text cut into parts of at most `longest` characters, with room for `room` tokens before each."""
        return by_characters(text, self._longest, room)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns the function's vectors, checked and scaled to length one."""
        given = list(texts)
        return check_vectors(self._ask(given) if given else [], len(given), self.dimensions)

    def _ask(self, texts: Sequence[str]) -> object:
        try:
            return self._function(texts)
        except LtstError:
            raise
        except Exception as problem:
            raise ModelUnavailable(f"the function of {self.name} failed: {problem!r}") from problem
