"""What a person said in a history, with the vectors that the product keeps of it, computed without a database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from evaluation.benchmark import History, Session, Turn
from ltst.indexing.index import ROOM, mean
from ltst.support.speech import label, speaker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ltst.protocols import Embedder

ROLES = {"user": "human", "assistant": "ai"}


@dataclass(frozen=True, slots=True, eq=False)
class Message:
    """A turn of a person, the conversation that it stands in, when it was said, what labels it, and its vector."""

    turn: Turn
    session: str
    at: datetime
    label: str
    vector: NDArray[np.float32]


def messages(history: History, embedder: Embedder) -> list[Message]:
    """Return what people said, in the order of saying; what the model does not read whole is left out."""
    said = [(session, turn) for session, turn in _said(history) if len(embedder.parts(turn.text, room=ROOM)) == 1]
    labelled = embedder.embed([_label(session, turn) + turn.text for session, turn in said])
    plain = embedder.embed([turn.text for _, turn in said])
    vectors = (mean(np.stack(both)) for both in zip(labelled, plain, strict=True))
    return [
        Message(turn, session.id, turn.at or session.at, _label(session, turn), vector)
        for (session, turn), vector in zip(said, vectors, strict=True)
    ]


def nearness(said: Sequence[Message]) -> NDArray[np.float32]:
    """Return how near each message is to each other one."""
    vectors = np.stack([each.vector for each in said])
    found: NDArray[np.float32] = vectors @ vectors.T
    return found


def _said(history: History) -> Iterator[tuple[Session, Turn]]:
    """Each turn of a person: the assistant has no name."""
    for session in history.sessions:
        for turn in session.turns:
            if turn.role == "user" or turn.speaker is not None:
                yield session, turn


def _label(session: Session, turn: Turn) -> str:
    return label(turn.at or session.at, None, speaker(ROLES.get(turn.role, turn.role), turn.speaker))
