"""Among the first hits of a question about now, what was replaced comes after what took its place."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ltst.recall import later
from ltst.recall.later import holding_first
from ltst.records import Hit

FIRST = datetime(2026, 1, 5, tzinfo=UTC)
QUESTION = "What do I charge for a lesson?"
FEE, RAISED = "I charge 50 pounds an hour for a lesson", "I charge 60 pounds an hour for a lesson now"


def hit(content: str, day: int, score: float, *, dense: float = 0.9, role: str = "human", recent: bool = True) -> Hit:
    scores = {"dense": dense, **({"recent": 0.1} if recent else {})}
    return Hit(
        kind="message",
        id=f"{content} on {day}",
        content=content,
        score=score,
        scores=scores,
        occurred_at=FIRST + timedelta(days=day),
        session_id="s",
        role=role,
        sources=(),
        speaker=None,
        trusted=True,
        metadata={},
    )


def order(*hits: Hit) -> list[str]:
    return [each.content for each in holding_first(QUESTION, hits)]


def test_what_was_replaced_comes_after_what_replaced_it() -> None:
    assert order(hit(FEE, 0, 0.8), hit("My dog is called Rex", 12, 0.75, dense=0.3), hit(RAISED, 9, 0.7)) == [
        "My dog is called Rex",
        RAISED,
        FEE,
    ]


def test_what_alone_holds_the_number_that_was_asked_for_stays_first() -> None:
    """Another sentence of the same kind is not about that number."""
    named, other = hit("My locker 4711 is by the door", 0, 0.8), hit("My locker 8822 is by the stairs", 9, 0.7)
    assert order(named, other) == [other.content, named.content]
    asked = replace(named, scores={**named.scores, "identifier": 1.0})
    assert order(asked, other) == [named.content, other.content]
    both = replace(other, scores={**other.scores, "identifier": 1.0})
    assert order(asked, both) == [other.content, named.content]


def test_scores_still_fall_and_say_what_was_moved() -> None:
    found = holding_first(QUESTION, [hit(FEE, 0, 0.8), hit(RAISED, 9, 0.7)])
    assert [each.score for each in found] == [0.7, 0.7]
    assert found[1].scores["later"] == pytest.approx(-0.1)
    assert "later" not in found[0].scores


@pytest.mark.parametrize(
    "hits",
    [
        (hit(FEE, 9, 0.8), hit(RAISED, 0, 0.7)),
        (hit(FEE, 0, 0.8), hit("My dog is called Rex", 9, 0.7)),
        (hit(FEE, 0, 0.8), hit(RAISED, 9, 0.7, dense=0.0)),
        (hit(FEE, 0, 0.8, recent=False), hit(RAISED, 9, 0.7, recent=False)),
        (hit(FEE, 0, 0.8, role="ai"), hit(RAISED, 9, 0.7)),
        (hit(FEE, 0, 0.8), hit(RAISED + " and so on" * 20, 9, 0.7)),
    ],
    ids=["newer first", "something else", "far from the question", "not about now", "an assistant's", "long"],
)
def test_in_doubt_the_order_stays(hits: tuple[Hit, Hit]) -> None:
    assert holding_first(QUESTION, hits) == [*hits]


def test_a_chain_ends_with_the_first_version() -> None:
    again = "I charge 70 pounds an hour for a lesson now"
    assert order(hit(FEE, 0, 0.8), hit(RAISED, 9, 0.7), hit(again, 19, 0.6)) == [again, RAISED, FEE]


def test_only_the_first_hits_are_compared() -> None:
    between = [hit(chr(96 + number) * 5, number, 0.7, dense=0.3) for number in range(1, later.COMPARED)]
    found = [hit(FEE, 0, 0.8), *between, hit(RAISED, 30, 0.6)]
    assert holding_first(QUESTION, found) == found


def test_a_question_that_says_now_leaves_less_doubt() -> None:
    found = [hit("I teach in the hall on Elm Street", 0, 0.8), hit("I teach at home on Mondays", 9, 0.7, dense=0.72)]
    assert holding_first("Where do I teach?", found) == found
    assert [each.content for each in holding_first("Where do I teach now?", found)] == [
        "I teach at home on Mondays",
        "I teach in the hall on Elm Street",
    ]
