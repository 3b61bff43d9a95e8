"""The sentence of a text that answers a question."""

from __future__ import annotations

import pytest

from ltst.agents.passages import UserQuestion, answering, covered, rarity, sentences


def decisive(asked: str, text: str) -> str:
    question = UserQuestion.of(asked)
    return answering(question, text, rarity(question, [text]))


@pytest.mark.parametrize(
    ("asked", "text", "quote"),
    [
        (
            "What is my locker code?",
            "I had pancakes for breakfast. My locker code is 4417. The weather is awful today.",
            "My locker code is 4417.",
        ),
        (
            "When is the dentist?",
            "The dentist was rude. I have to go back to the dentist on 5 May. My neighbour thinks that is funny.",
            "I have to go back to the dentist on 5 May.",
        ),
        (
            "When is Fergus getting married?",
            "Fergus rang, he is engaged! I know. The wedding is on the 12th of June in Sligo. I am so glad for both.",
            "Fergus rang, he is engaged! I know. The wedding is on the 12th of June in Sligo.",
        ),
        (
            "How much were the flights?",
            "We fly to Toronto in winter. Flights booked, out on 17 December. £1,460 for the pair of us.",
            "Flights booked, out on 17 December. £1,460 for the pair of us.",
        ),
        ("How did Finn do in chess?", "Finn won at chess. FIRST. Of 41", "Finn won at chess. FIRST. Of 41"),
        (
            "Where is the album?",
            "I looked for the album for a year. It was in a folder called misc. Tomorrow we go to the sea, all of us.",
            "I looked for the album for a year. It was in a folder called misc.",
        ),
        ("Who is Dr. Fallon?", "Dr. Fallon runs the practice in Wexford", "Dr. Fallon runs the practice in Wexford"),
    ],
)
def test_the_decisive_words(asked: str, text: str, quote: str) -> None:
    assert decisive(asked, text) == quote


def test_a_text_without_a_word_of_the_question_is_quoted_from_its_beginning() -> None:
    text = "The first sentence stands here. " + "Then comes another one of them. " * 20
    quote = decisive("zebra?", text)
    assert quote.startswith("The first sentence stands here.") and len(quote) <= 200


def test_a_text_of_nothing_has_no_sentence() -> None:
    assert sentences(" \n ") == [] and decisive("zebra?", " \n ") == ""


def test_the_rarer_word_tells_more() -> None:
    question = UserQuestion.of("Which port has staging?")
    weights = rarity(question, ["staging is down", "staging is up", "the port is 8043"])
    assert covered(question, "the port", weights) > covered(question, "staging", weights) > 0
    assert covered(question, "staging port", weights) == pytest.approx(1)


@pytest.mark.parametrize("asked", ["How much do I weigh?", "How many kilos am I?"])
def test_how_much_asks_for_money_only_where_money_is_spoken_of(asked: str) -> None:
    assert UserQuestion.of(asked).is_answered_by("80 kg this morning")
    assert not UserQuestion.of("How much did I pay for the bike?").is_answered_by("80 kg this morning")
