"""Small talk is told from what says something."""

from __future__ import annotations

import pytest

from ltst.support.smalltalk import acknowledges, is_small_talk


@pytest.mark.parametrize(
    "text",
    [
        "thanks",
        "Thank you so much!",
        "ok",
        "OK, great",
        "Noted.",
        "yes do it",
        "Yes, please go ahead.",
        "go",
        "👍",
        "…",
        "thanks, good night",
        "Good morning!",
        "Hello there",
        "no problem",
        "You're welcome!",
        "Sounds good, thanks!",
        "See you tomorrow",
        "Got it, thank you.",
        "Understood.",
        "Will do!",
        "perfect",
        "How are you?",
        "Have a nice weekend!",
        "Danke schön!",
        "Alles klar, bis morgen",
        "Gute Nacht und bis bald, danke",
        "Gern!",
        "¡Muchas gracias!",
        "Merci beaucoup",
        "Grazie mille",
        "Obrigado!",
        "Спасибо большое",
        "Хорошо, спокойной ночи!",
        "谢谢你",
        "好的,谢谢",
        "ありがとうございます",
        "감사합니다",
    ],
)
def test_it_says_nothing(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thanks to Ana I found the keys.",
        "No, the tax office wants half up per line.",
        "yes. For moth use rustfmt defaults",
        "What do I have today?",
        "Hi, what do I have today?",
        "Where is the good night tea?",
        "My dog is called Bo.",
        "42",
        "Lisbon",
        "ok, Thursday at nine then",
        "Danke, und denk an den Zahnarzt",
        "Wie heißt mein Hund?",
        "Gracias, vivo en Sevilla",
        "Мой пёс любит гулять",
        "我对花生过敏",
        "好的,我下周三去上海",
        "tagged 0.4.0",
        "Who are you?",
        "thanks " * 30,
    ],
)
def test_it_says_something(text: str) -> None:
    assert not is_small_talk(text)


def test_an_answer_that_only_takes_note() -> None:
    for text in ("Understood: raw SQL only.", "Noted: otter staging, heron prod.", "OK. Half up per line, then."):
        assert acknowledges(text) and not is_small_talk(text)
    for text in ("It's float rounding in tax.py.", f"Noted: {'and so on ' * 9}", "Okinawa is nice.", "Yes, on 4 May."):
        assert not acknowledges(text)
