"""The remote embedder: calls any endpoint with OpenAI's /embeddings, through the standard library."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ltst.errors import Invalid, ModelUnavailable
from ltst.providers.language import host_of
from ltst.providers.parts import by_characters
from ltst.providers.vectors import TextRefused, check_vectors
from ltst.support.logs import LOGGER

if TYPE_CHECKING:
    from urllib.error import HTTPError

    from ltst.providers.vectors import Vectors

LONGEST_PART = 2_000
TEXTS_A_REQUEST = 128
CHARACTERS_A_REQUEST = 100_000
ATTEMPTS = 4
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 10.0
LONGEST_QUOTE = 200

TOO_MANY_REQUESTS = 429
BAD_TEXTS = frozenset((400, 413, 422))


class OpenAIEmbedder:
    """Calls an endpoint such as OpenAI's, vLLM's or Ollama's. Blocking; safe to use from many threads."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        dimensions: int | None = None,
        *,
        name: str | None = None,
        timeout: float = 30.0,
        longest: int = LONGEST_PART,
    ) -> None:
        """`base_url` ends before /embeddings; `dimensions` is requested if set; `longest` is in characters.

        The name includes the host, since two hosts may mean different models by one name; set `name` to keep it when
        the same model moves.
        """
        if dimensions is not None and dimensions < 1:
            raise Invalid(f"dimensions must be at least 1, not {dimensions}")
        self._host = host_of(base_url)
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model, self._key, self._timeout, self._longest = model, api_key, timeout, longest
        self._asked_dimensions = self._dimensions = dimensions
        self.name = name or f"{model}@{self._host}"

    def __repr__(self) -> str:
        """Leaves out the key."""
        return f"OpenAIEmbedder({self.name!r})"

    @property
    def dimensions(self) -> int:
        """As given, or as in the endpoint's first answer; reading this may send that first request."""
        if self._dimensions is None:
            self.embed(["dimensions"])
        assert self._dimensions is not None
        return self._dimensions

    def parts(self, text: str, *, room: int = 0) -> list[str]:
        """Returns the text cut into parts of at most `longest` characters, with room for `room` tokens before each."""
        return by_characters(text, self._longest, room)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Returns a vector for each text, in as many requests as their size requires."""
        import numpy as np

        if not texts:
            return check_vectors([], 0, self.dimensions)
        return np.concatenate([self._embed(batch) for batch in _requests(texts)])

    def _embed(self, texts: Sequence[str]) -> Vectors:
        # OpenAI refuses an empty input, but accepts a space.
        question: dict[str, Any] = {"model": self._model, "input": [text or " " for text in texts]}
        if self._asked_dimensions is not None:
            question["dimensions"] = self._asked_dimensions
        rows = self._rows(self._ask(json.dumps(question).encode()))
        vectors = check_vectors(rows, len(texts), self._dimensions)
        self._dimensions = vectors.shape[1]
        return vectors

    def _rows(self, answer: bytes) -> list[Any]:
        """Returns the vectors in the order of their texts; the answer may have them in another."""
        try:
            data = json.loads(answer)["data"]
            return [each["embedding"] for each in sorted(data, key=lambda each: each["index"])]
        except (ValueError, KeyError, TypeError):
            raise ModelUnavailable(f"{self._host} answered with something else than embeddings") from None

    def _ask(self, question: bytes) -> bytes:
        """Returns the answer; retries while the endpoint is busy, broken or out of reach."""
        for attempt in range(ATTEMPTS):
            try:
                return self._send(question)
            except _Busy as problem:
                failure = problem
            if attempt + 1 < ATTEMPTS:
                LOGGER.info("embedding_retried", extra={"host": self._host, "attempt": attempt + 1})
                time.sleep(_pause(attempt, failure.wait))
        raise ModelUnavailable(f"{self._host} gave no embeddings in {ATTEMPTS} attempts: {failure}")

    def _send(self, question: bytes) -> bytes:
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request

        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "ltst"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, data=question, headers=headers, method="POST")  # noqa: S310 - scheme is checked
        try:
            with _opener().open(request, timeout=self._timeout) as answer:
                return bytes(answer.read())
        except HTTPError as problem:
            with problem:
                raise self._failure(problem) from None
        except (OSError, HTTPException) as problem:
            raise _Busy(self._hide_key(str(problem) or type(problem).__name__)) from None

    def _failure(self, problem: HTTPError) -> Exception:
        """Returns the error that a status means: retry, other texts, or give up."""
        try:
            body = problem.read(LONGEST_QUOTE * 4).decode(errors="replace")
        except OSError:
            body = ""
        said = f"HTTP {problem.code} {self._hide_key(' '.join(body.split()))[:LONGEST_QUOTE]}".strip()
        if problem.code == TOO_MANY_REQUESTS or problem.code >= 500:
            return _Busy(said, problem.headers.get("Retry-After"))
        if problem.code in BAD_TEXTS:
            return TextRefused(f"{self._host} refused the texts: {said}")
        return ModelUnavailable(f"{self._host} refused the request: {said}")

    def _hide_key(self, said: str) -> str:
        """Removes the key, which some endpoints repeat when they refuse it."""
        return said.replace(self._key, "***") if self._key else said


class _Busy(Exception):
    """Worth another attempt, after `wait` seconds if the endpoint says so."""

    def __init__(self, said: str, wait: str | None = None) -> None:
        super().__init__(said)
        self.wait = float(wait) if wait and wait.isdecimal() else None


def _pause(attempt: int, wait: float | None) -> float:
    """Returns how long to wait: longer each time, and randomised so that callers do not all retry together."""
    usual = FIRST_PAUSE * (1 << attempt) * random.uniform(0.75, 1.25)  # noqa: S311 - no secret
    return min(usual if wait is None else max(wait, usual), LONGEST_PAUSE)


def _requests(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yields the texts in batches that an endpoint accepts at once."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and (len(batch) == TEXTS_A_REQUEST or size + len(text) > CHARACTERS_A_REQUEST):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


@cache
def _opener() -> Any:
    """Returns an opener that follows no redirect, which would carry the key to another host."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class Stay(HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            return None

    return build_opener(Stay)
