"""Summaries that a language model writes, over the wire, refused where they tell what nobody said."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from helpers.language_server import LanguageServer, Status
from ltst import ModelUnavailable
from ltst.learn.transcript import LONGEST_INPUT
from ltst.providers.language import OpenAILanguageModel
from ltst.records import Completion, ConversationMessage
from ltst.retelling.summaries import strangers, summarised
from ltst.support import tokens

NOW = datetime(2024, 5, 20, 12, tzinfo=UTC)
GOOD = "The user plans a trip to Japan in June with Ana. The assistant suggested the rail pass for 14 days."


def turn(text: str, role: str = "human", at: datetime | None = NOW) -> ConversationMessage:
    return ConversationMessage("monday", role, text, message_id="m", timestamp=at)


TURNS = [
    turn("I'm planning a trip to Japan in June with Ana. Is a rail pass worth it?"),
    turn("For 14 days, I would suggest the rail pass.", "ai"),
    turn('{"price": 50000, "by": "Mallory"}', "tool"),
]


async def summary(language: LanguageServer, small: OpenAILanguageModel, text: str, max_tokens: int = 100) -> str | None:
    language.script = [text]
    return await summarised(small, TURNS, max_tokens)


async def test_a_summary(language, small):
    assert await summary(language, small, GOOD) == GOOD
    asked = language.asked[0]
    assert asked.format is None
    assert "never an instruction" in asked.system
    assert asked.data["words"] == 60
    assert [each["by"] for each in asked.data["turns"]] == ["user", "assistant"]
    assert "Mallory" not in str(asked.body)


async def test_nothing_is_asked_about_nothing(language, small):
    assert await summarised(small, [], 100) is None
    assert await summarised(small, [turn("{}", "tool"), turn(" ")], 100) is None
    assert await summarised(small, TURNS, 0) is None
    assert language.asked == []


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("Ana", "Anna"), GOOD.replace("14", "15"), GOOD.replace("June", "July"), GOOD.replace("14", "1.4"),
        GOOD.replace("14 days", "fifteen days"), GOOD + " Maria agreed to the trip.", GOOD + " Kyoto is in Japan.",
        GOOD + " It costs 50000.", GOOD + " Mallory suggested the rail pass.", "", "   ", "...", "<think>hm",
        "I cannot help with that request, sorry about this.",
        "The user is happy and all is fine with everyone involved.",
    ],
)  # fmt: skip
async def test_what_nobody_said_is_refused(language, small, text):
    assert await summary(language, small, text) is None


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{GOOD}\n```", f"<think>Let me think of Mallory.</think>\n{GOOD}", GOOD.replace(". The", ".\nThe"),
        GOOD.replace("14", "fourteen"), "On 2024-05-20 the user planned a trip to Japan with Ana.",
        "On May 20 the user planned a trip to Japan with Ana.", "the user is planning a trip to Japan with Ana",
    ],
)  # fmt: skip
async def test_what_was_said_is_kept(language, small, text):
    kept = await summary(language, small, text)
    assert kept is not None
    assert "\n" not in kept
    assert "`" not in kept and "think" not in kept


async def test_the_length_is_bounded_by_whole_sentences(language, small):
    kept = await summary(language, small, GOOD + " The trip is in June, and so on." * 200, 24)
    assert tokens.count(kept) <= 24
    assert GOOD.startswith(kept)
    assert kept.endswith("with Ana.")
    assert await summary(language, small, "The user plans a trip to Japan in June with Ana " * 50, 30) is None


async def test_a_sentence_is_said_once(language, small):
    assert await summary(language, small, " ".join([GOOD] * 9)) == GOOD


async def test_a_sentence_that_breaks_off_is_left_out(language, small):
    class Truncated:
        name = "truncated"

        def complete(self, messages, *, schema=None, max_tokens=1024):
            return Completion(GOOD + " The assistant sugg", 10, max_tokens)

    assert await summarised(Truncated(), TURNS, 100) == GOOD


async def test_a_long_conversation_fits_the_prompt(language, small):
    language.script = ["The user told a long tale.", "The user told a long tale."]
    await summarised(small, [turn("a long tale told " * 500) for _ in range(40)], 100)
    await summarised(small, [turn(f"a long tale told {number} " * 20) for number in range(900)], 100)
    for asked in language.asked:
        assert len(asked.body["messages"][1]["content"]) < 2 * LONGEST_INPUT
    assert "899" in language.asked[1].data["turns"][-1]["text"]


async def test_a_model_that_fails_is_unavailable(language, small):
    language.otherwise = Status(500)
    with pytest.raises(ModelUnavailable):
        await summarised(small, TURNS, 100)


def test_a_conversation_in_another_script():
    assert strangers("ユーザーは6月に東京へ行く。", ["6月に東京へ行きます。"]) == []
    assert strangers("ユーザーは7月に東京へ行く。", ["6月に東京へ行きます。"]) == ["7"]
