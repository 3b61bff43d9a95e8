"""The protocols: the shapes of what ltst consumes from outside, so that a caller can bring their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ltst.records import Completion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Embedder(Protocol):
    """Turns texts into vectors that can be compared. It may block, so it is never asked on an event loop."""

    @property
    def name(self) -> str:
        """Names the model: vectors of two names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """The length of its vectors."""
        ...

    def parts(self, text: str, *, room: int = 0) -> list[str]:
        """The text cut into what the model reads whole, with room for so many tokens before each; joined, the text."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Returns a vector of length one for each text; ModelUnavailable if the model cannot."""
        ...


class Reranker(Protocol):
    """Judges how well texts answer a question. It may block, so it is never asked on an event loop."""

    def scores(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """Returns a score for each text, higher for better; ModelUnavailable if the model cannot."""
        ...


class LanguageModel(Protocol):
    """Answers a conversation with a text. It may block, so it is never asked on an event loop."""

    @property
    def name(self) -> str:
        """Names the model in what is told of it."""
        ...

    def complete(
        self, messages: Sequence[Mapping[str, str]], *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Completion:
        """The answer to messages of `role` (system, user, assistant) and `content`; ModelUnavailable if it cannot.

        With a JSON schema the text is meant to be JSON of that shape. It is a wish: whoever asks checks the answer.
        """
        ...


class Cipher(Protocol):
    """Seals and opens the values of one user; `row` names the row that the value belongs to."""

    def seal(self, plaintext: str, row: str) -> str:
        """Returns the ciphertext of a value, bound to its row."""
        ...

    def open(self, sealed: str, row: str) -> str:
        """Returns the value; anything tampered with or moved from another row is refused."""
        ...


class WindowCache(Protocol):
    """Keeps the windows of sessions near, as bytes under opaque names. It may lose anything at any time.

    Whoever reads checks what it gives against the database, so it need not be right. It never raises: a cache that
    cannot be reached has nothing.
    """

    async def get(self, user: str, session: str) -> bytes | None:
        """Returns what was put under these names, if it is still there."""
        ...

    async def put(self, user: str, session: str, window: bytes) -> None:
        """Keeps a window, for an hour at most."""
        ...

    async def forget(self, user: str) -> None:
        """Removes all windows of one user."""
        ...
