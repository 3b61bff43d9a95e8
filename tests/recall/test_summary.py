"""The extractive summary: what it keeps, in which order, and how long it may get."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ltst import ConversationMessage, Invalid
from ltst.recall.summary import MARKER, Sentence, TokenCounter, cut, sentences, summarise
from ltst.support import tokens


def said(role: str, content: str) -> ConversationMessage:
    return ConversationMessage("monday", role, content)


TRIP = [
    said("human", "Hi! I am planning a trip to Lisbon with my sister Ana. We leave on 12 May."),
    said("ai", "Sounds great. Lisbon is lovely in May. Do you need a hotel?"),
    said("human", "Yes, please. The budget is 900 euros for the trip."),
    said("ai", "Okay. I will look for hotels in Lisbon for your trip."),
    said("human", "Thanks. Ok. Great."),
]


def test_sentences_know_their_speaker_and_their_turn() -> None:
    found = sentences([said("human", "Hi there! How are you?\nFine"), said("tool", "3.5 is ok. 好的。谢谢！")])
    assert found == [
        Sentence("Hi there!", "user", 0),
        Sentence("How are you?", "user", 0),
        Sentence("Fine", "user", 0),
        Sentence("3.5 is ok.", "tool", 1),
        Sentence("好的。", "tool", 1),
        Sentence("谢谢！", "tool", 1),
    ]


def test_a_short_conversation_is_kept_whole() -> None:
    found = summarise([said("human", "I moved to Rome."), said("ai", "Nice!")], None, 100)
    assert found == "user: I moved to Rome.\nassistant: Nice!"


def test_names_numbers_and_dates_come_first() -> None:
    found = summarise(TRIP, None, 45)
    assert "Ana" in found
    assert "12 May" in found
    assert "900" in found
    assert "Thanks" not in found


def test_the_order_and_the_speakers_are_kept() -> None:
    lines = summarise(TRIP, None, 60).splitlines()
    assert all(line.startswith(("user: ", "assistant: ")) for line in lines)
    words = " ".join(line.partition(": ")[2] for line in lines)
    everything = " ".join(" ".join(each.content.split()) for each in TRIP)
    places = [everything.index(line.partition(": ")[2]) for line in lines if line.partition(": ")[2] in everything]
    assert places == sorted(places)
    assert words


def test_what_was_said_already_is_not_said_again() -> None:
    assert summarise([said("human", "I like green tea.")] * 20, None, 200) == "user: I like green tea."


def test_a_central_sentence_wins_over_a_stray_one() -> None:
    talk = [
        "the garden needs water and the roses need water",
        "zebras yodel quietly",
        "water the roses in the garden",
        "the roses in the garden bloom",
    ]
    assert "zebras" not in summarise(talk, None, 12)


def test_vectors_decide_where_they_are_given() -> None:
    talk = ["alpha beta gamma delta", "epsilon zeta eta theta", "iota kappa lambda mu"]
    near = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]]
    far = [[0.0, 1.0], [0.1, 0.9], [1.0, 0.0]]
    assert "iota" not in summarise(talk, near, 13)
    assert summarise(talk, near, 13) == summarise(talk, far, 13)
    assert summarise(talk, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.1]], 7) != talk[0]


def test_vectors_of_messages_and_of_sentences() -> None:
    vectors = [[1.0, 0.1 * n] for n in range(len(TRIP))]
    assert summarise(TRIP, vectors, 1000)
    flat = sentences(TRIP)
    assert summarise(flat, [[1.0, 0.0]] * len(flat), 1000) == summarise(TRIP, [[1.0, 0.0]] * len(TRIP), 1000)
    assert summarise(TRIP, [[0.0, 0.0]] * len(TRIP), 40)


def test_vectors_must_match() -> None:
    with pytest.raises(Invalid, match="one for each of the 5"):
        summarise(TRIP, [[1.0]], 100)


def test_where_no_sentence_fits_the_beginning_of_the_best_does() -> None:
    found = summarise([said("human", "word " * 500)], None, 20)
    assert found.startswith("user: word ")
    assert found.endswith(MARKER)
    assert tokens.count(found) <= 20


@pytest.mark.parametrize("nothing", [[], [""], [said("human", " \n ")]])
def test_nothing_said(nothing: list[str | ConversationMessage]) -> None:
    assert summarise(nothing, None, 100) == ""
    assert summarise(nothing, [[1.0]] * len(nothing), 100) == ""


def test_unspaced_scripts_are_compared_too() -> None:
    talk = ["我住在里斯本。里斯本很美。", "今天下雨。", "里斯本的房子很贵。"]
    assert "里斯本" in summarise([said("human", each) for each in talk], None, 12)


@pytest.mark.parametrize("endless", ["!" * 300_000, "a." * 150_000, "。" * 300_000, " " * 300_000 + "x"])
def test_an_endless_content_takes_no_endless_time(endless: str) -> None:
    assert tokens.count(summarise([said("human", endless)], None, 50)) <= 50


@given(
    st.lists(st.tuples(st.sampled_from(["human", "ai"]), st.text(st.characters(exclude_categories=["Cs"])))),
    st.integers(0, 80),
    st.sampled_from([tokens.count, len]),
)
@settings(max_examples=100, deadline=None)
def test_it_is_never_too_long_and_always_the_same(talk: list[tuple[str, str]], most: int, count: TokenCounter) -> None:
    messages = [said(role, content) for role, content in talk]
    found = summarise(messages, None, most, count)
    assert count(found) <= most
    assert found == summarise(messages, None, most, count)


@given(st.text(min_size=2), st.integers(0, 60))
@settings(max_examples=50, deadline=None)
def test_a_cut_is_the_longest_beginning_that_fits(text: str, most: int) -> None:
    found = cut(text, lambda piece: len(piece) <= most)
    length = min(most - len(MARKER), len(text) - 1)
    assert found == (text[:length] + MARKER if length > 0 else None)
