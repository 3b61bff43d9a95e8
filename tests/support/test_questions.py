"""Questions: told from messages that also tell something."""

from __future__ import annotations

import pytest

from ltst.support.questions import only_asks

ASK = [
    "Where does Tom live",
    "What is Tom allergic to?",
    "Who is Tom's wife?",
    "Is Tom married",
    "When did I last see Tom?",
    "what's my name",
    "how old is Ben",
    "And where did I live before?",
    "Do I have a dog? Am I vegetarian?",
    "Wie heißt meine Mutter?",
    "¿Dónde vivo?",
    "whats my landlords number",
    "whats on 28 november",
    "who lives in Hessle",
    "how many teeth has Ruby lost",
    "what happened on 11 november",
    "which doctor treats Mia",
]
TELL = [
    "What I did was great",
    "Where I live it rains a lot",
    "When I was a kid I lived in Ulm",
    "Will is my brother",
    "had my hair cut today",
    "did the shopping",
    "Did it in 2019",
    "Was there last summer with Tom",
    "What makes me happy is running",
    "What helps me most is yoga",
    "which was nice",
    "who knows",
    "Do not call me Desmond",
    "Have a nice day",
    "The code for the garage is 5512, ok?",
    "Could you please remember my locker number is 88?",
    "Can you recommend a hotel in Rome for my anniversary?",
    "Our anniversary is on June 7th. What should I get her?",
    "Guess what? I passed my driving test!",
    "What should I wear to the wedding of my sister Jo in Ghent on Friday evening?",
    "",
]


@pytest.mark.parametrize("text", ASK)
def test_questions_only_ask(text: str) -> None:
    assert only_asks(text)


@pytest.mark.parametrize("text", TELL)
def test_what_tells_something_does_not(text: str) -> None:
    assert not only_asks(text)
