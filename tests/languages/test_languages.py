"""What is said in one of eight languages is found by questions in that language."""

from __future__ import annotations

import pytest

from helpers.life import LIVES
from ltst import Memory, Settings

FIRST = 3


def found(memory: Memory, language: str) -> int:
    """How many of the ten questions have their answer among the first three hits."""
    messages, questions = LIVES[language]
    user = memory.user(language)
    user.chat("told").add_many([{"role": "user", "content": each} for each in messages])
    memory.settle(language)
    hits = {
        asked: [hit.content for hit in user.search(asked, limit=FIRST, kinds=["message"])] for asked, _ in questions
    }
    return sum(messages[number] in hits[asked] for asked, number in questions)


@pytest.mark.parametrize(("embedder", "model"), [("joined", "ltst-joined-1"), ("multilingual", "use-multilingual-v3")])
def test_most_is_found_in_eight_languages(database_url: str, embedder: str, model: str) -> None:
    with Memory(database_url, settings=Settings(embedder=embedder, worker=False, learn="off")) as memory:
        assert memory.embedder_model() in (None, model)
        scores = {language: found(memory, language) for language in LIVES}
        assert memory.embedder_model() == model
    assert len(scores) == 8
    assert sum(scores.values()) / len(scores) >= 8, scores
    assert min(scores.values()) >= 6, scores
