"""Ranks messages by their similarity to a query, as the plain cosine of their vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ltst.errors import Invalid
from ltst.handles.desk import Core, Desk
from ltst.handles.preferences import AsyncPreferences
from ltst.providers.local import NAME
from ltst.providers.turns import Published
from ltst.records import ConversationMessage
from ltst.rooms import models, search
from ltst.rooms.search import Nearby
from ltst.support import validate

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ltst.providers.embedding import Embedding

# The preference for the minimum similarity, and its default.
PREFERENCE, THRESHOLD = "relevance_threshold", 0.7
# How many messages are embedded again by their text alone: index vectors include date and speaker.
COMPARED, COMPARED_FOR_EACH = 50, 4
# How often to repeat if the model changes meanwhile.
ATTEMPTS = 3


async def similar(
    desk: Desk, query: object, *, session_id: object, limit: object, threshold: object
) -> list[tuple[ConversationMessage, float]]:
    """Returns the messages whose similarity to a query reaches the threshold, the most similar first."""
    text, place = desk.content(query, "query"), validate.optional_identifier(session_id, "session_id")
    most = validate.limit(limit, most=200)
    least = await _usual(desk) if threshold is None else validate.score(threshold, "threshold")
    async with desk.core.measured("context_search", "messages.similar", desk.user_id, place) as tally:
        asked, embedding, near = await _near(desk, text, place, max(COMPARED, COMPARED_FOR_EACH * most))
        compared = await _compared(asked, embedding, near, desk.settings.embedded_parts)
        found = [pair for pair in compared if pair[1] >= least]
        found.sort(key=lambda pair: -pair[1])
        tally.rows = min(len(found), most)
    return found[:most]


async def embedded(core: Core, texts: object) -> list[list[float]]:
    """Returns the vector of each text; for a long text, the mean of its parts."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise Invalid("texts must be a list of texts")
    given = [validate.content(text, "each of texts", core.settings.max_content_bytes) for text in texts]
    return [vector.tolist() for vector in await _vectors(await core.embedding(), given)]


async def _vectors(
    embedding: Embedding, texts: Sequence[str], mark: Callable[[str], str] = str, most: int | None = None
) -> list[NDArray[np.float32]]:
    """Returns the vector of each text: the mean of its first `most` parts, each passed through `mark` first."""
    import numpy as np

    from ltst.indexing.index import mean  # imported late because it needs the model's libraries

    parts = [each[:most] for each in await embedding.parts(texts)]
    flat = iter(await embedding.vectors([mark(part) for each in parts for part in each]))
    return [mean(np.stack([*islice(flat, len(each))])) for each in parts]


async def _usual(desk: Desk) -> float:
    """Returns the user's preferred threshold, or the default."""
    wished = await AsyncPreferences(desk).get(PREFERENCE)
    try:
        return THRESHOLD if wished is None else validate.score(float(wished.preference_value), PREFERENCE)
    except ValueError:
        told = f"the preference {PREFERENCE} must be a number from 0 to 1"
        raise Invalid(f"{told}, not {wished.preference_value if wished else None!r}") from None


async def _near(
    desk: Desk, text: str, session_id: str | None, limit: int
) -> tuple[NDArray[np.float32], Embedding, list[Nearby]]:
    """Returns the query's vector, its model, and the nearest messages, after indexing what awaits it."""
    from ltst.indexing.index import index_compared, mean, written

    database, calls = desk.core.database, desk.core.database.user(desk.user_id)
    for _ in range(ATTEMPTS):
        embedding = await desk.core.embedding()
        await index_compared(database, desk.user_id, embedding, parts=desk.settings.embedded_parts)
        # Only the part of a query that the model reads at once counts. Local models embed it like any other text, so
        # that a similarity is the cosine of the published model, 1 for equal words.
        mark = _mark(embedding)
        asked = mean(await embedding.vectors([text], question=embedding.name != NAME and mark is None))
        large = session_id is None and (await search.large(calls)).ready
        near = await search.nearest_messages(
            calls, embedding.name, written(asked), session_id=session_id, large=large, limit=limit
        )
        active = None if near else await models.get(calls)
        if active is None or active.name == embedding.name:
            break
    return asked if mark is None else mean(await embedding.vectors([mark(text)])), embedding, near


async def _compared(
    asked: NDArray[np.float32], embedding: Embedding, near: Sequence[Nearby], most: int
) -> list[tuple[ConversationMessage, float]]:
    """Returns each message with its similarity, compared by its text alone if that fits into the model."""
    mark = _mark(embedding)
    read = [each.message for each in near if each.whole or mark is not None]
    found = [(each.message, each.similarity) for each in near if not (each.whole or mark is not None)]
    vectors = await _vectors(embedding, [each.content for each in read], mark or str, most)
    for message, vector in zip(read, vectors, strict=True):
        found.append((replace(message, embedding=vector.tolist()), min(1.0, float(asked @ vector))))
    return found


def _mark(embedding: Embedding) -> Callable[[str], str] | None:
    """Returns the function that marks a text for the published model, if the embedder combines several models."""
    return embedding.embedder.published if isinstance(embedding.embedder, Published) else None
