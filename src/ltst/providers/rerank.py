"""Reranking: lets a slower and finer judge, such as a cross-encoder, reorder the best hits of a search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ltst.errors import ModelUnavailable
from ltst.records import Hit
from ltst.support.logs import LOGGER

if TYPE_CHECKING:
    from ltst.protocols import Reranker


def reranked(reranker: Reranker, query: str, hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits in the reranker's order, with its score added; unchanged if the reranker fails."""
    if not hits:
        return []
    try:
        scores = _check_scores(reranker.scores(query, [hit.content for hit in hits]), len(hits))
    except Exception as problem:  # noqa: BLE001 - someone else's model may fail in its own way, and the order stands
        LOGGER.warning("search goes without the reranker", extra={"reason": str(problem)})
        return [*hits]
    judged = [replace(hit, scores={**hit.scores, "rerank": score}) for hit, score in zip(hits, scores, strict=True)]
    order = sorted(judged, key=lambda hit: -hit.scores["rerank"])
    # Its scores can have any range, so the old scores are reassigned in the new order.
    return [replace(hit, score=ranked.score) for hit, ranked in zip(order, hits, strict=True)]


def _check_scores(scores: Sequence[float], count: int) -> list[float]:
    numbers = [float(score) for score in scores]
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        raise ModelUnavailable(f"the reranker must give {count} finite scores, one for each text")
    return numbers
