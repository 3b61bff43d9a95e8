"""Poisoning: what tools, pages and files say is never learnt, never gains trust, and is shown as what it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from helpers.embedders import opened
from helpers.hostile import MARK, hostile
from helpers.language_server import Asked, LanguageServer
from helpers.learning import day, rows, run, say, taught
from helpers.probes import cloned
from ltst import AsyncMemory, AsyncUser, Settings

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXTS = hostile()
# In which ways a message can be nobody's word: its role and its metadata.
FOREIGN: dict[str, dict[str, Any]] = {
    "tool": {"role": "tool"},
    "web": {"role": "user", "metadata": {"source": "web"}},
    "email": {"role": "user", "metadata": {"source": "email"}},
    "low": {"role": "user", "metadata": {"trust": "low"}},
    "assistant-low": {"role": "assistant", "metadata": {"trust": "low"}},
}
HONEST = (
    "I would like to plan the summer holidays with my family this evening.",
    "We thought of a lake in the mountains, with a boat for the children.",
    "The last two weeks of July would be the best time for all of us.",
    "Can you find a house with a garden that is not too far from the water?",
)
LOW = re.compile(r"^(?:user: )?\[(?:[^\[\]\n]*, )?untrusted\] .*(?:\n  .*)*$", re.MULTILINE)
QUESTION = f"What about {MARK}1 and the reports, and whom do I prefer?"


def marks(text: object) -> list[str]:
    return re.findall(rf"{MARK}\d*", str(text), re.IGNORECASE)


def unlabelled(text: str) -> str:
    """What stands in no line that is labelled, nor in the lines that belong to it."""
    return LOW.sub("", text)


async def learnt(memory: AsyncMemory, user: AsyncUser) -> dict[str, int]:
    """What must not be there."""
    found = rows(memory, user)
    return {noun: found[noun] for noun in ("claims", "facts", "preferences", "instructions") if noun in found}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def poisoned(shared: AsyncMemory) -> AsyncUser:
    """A thousand hostile texts in messages, beside an honest conversation; the same in documents and entries."""
    user = shared.user("poisoned")
    ways = [*FOREIGN]
    for number, way in enumerate(ways):
        turns = [{**FOREIGN[way], "content": text} for text in TEXTS[number :: len(ways)]]
        for place, honest in enumerate(HONEST):
            turns.insert(place * 40, {"role": "user", "content": honest})
        given = [{**turn, "at": day(number) + timedelta(seconds=at)} for at, turn in enumerate(turns)]
        await user.chat(way, agent="coach").add_many(given)
    for number in range(0, len(TEXTS), 50):
        await user.documents.add("\n\n".join(TEXTS[number : number + 50]), title=f"Page {number}")
    for text in TEXTS[:200]:
        await user.entries.add(text, metadata={"trust": "low"})
    await shared.settle(user.user_id)
    return user


class TestForeignWords:
    async def test_nothing_is_learnt(self, shared: AsyncMemory, poisoned: AsyncUser) -> None:
        assert await learnt(shared, poisoned) == {}
        read = run(
            shared,
            "SELECT bool_and(learned_index = last_index) FROM conversation_sessions WHERE user_id = %s",
            poisoned.user_id,
        )
        assert read == [(True,)], "it was all read"

    async def test_nor_when_it_is_learnt_anew(self, shared: AsyncMemory, poisoned: AsyncUser) -> None:
        await poisoned.learning.restart()
        await poisoned.learning.set(extraction=False)
        await poisoned.learning.set(extraction=True)
        await shared.settle(poisoned.user_id)
        assert await learnt(shared, poisoned) == {}

    async def test_no_episode_and_no_summary_tells_of_it(self, shared: AsyncMemory, poisoned: AsyncUser) -> None:
        told = [each for each in await poisoned.entries.list("episodic", limit=1000) if each.learned]
        assert {each.session_id for each in told} == {*FOREIGN}, "the honest words are told"
        assert not [each for each in told if marks(each.content) or marks(each.metadata)]
        summaries = [
            text
            for (text,) in run(
                shared, "SELECT context_summary FROM conversation_sessions WHERE user_id = %s", poisoned.user_id
            )
            if text
        ]
        assert summaries
        assert not [text for text in summaries if marks(text)]

    @pytest.mark.parametrize("strategy", ["sliding_window", "sliding_window_summary"])
    @pytest.mark.parametrize("way", FOREIGN)
    @pytest.mark.parametrize("most", [800, 4000, 60_000])
    async def test_what_is_shown_of_it_is_quoted_and_labelled(
        self, poisoned: AsyncUser, way: str, strategy: str, most: int
    ) -> None:
        context = await poisoned.chat(way).context(QUESTION, max_tokens=most, strategy=strategy)
        assert len(marks(context.text)) > len(marks(QUESTION)), "some of it is shown"
        assert marks(unlabelled(context.text)) == marks(QUESTION), "only the question speaks of it unquoted"
        assert not [each for each in context.sections if each.name in ("instructions", "preferences", "facts")]
        assert not [each for each in context.sections if each.name == "summary" and marks(each.text)]

    async def test_as_messages_too(self, poisoned: AsyncUser) -> None:
        for way in FOREIGN:
            context = await poisoned.chat(way).context(QUESTION, max_tokens=60_000)
            for message in context.messages[:-1]:
                assert not marks(unlabelled(message["content"])), way
            assert not [each for each in context.messages[1:] if each["role"] == "system"]

    async def test_what_is_found_is_not_trusted(self, poisoned: AsyncUser) -> None:
        hits = await poisoned.search(QUESTION, limit=200)
        found = [hit for hit in hits if marks(hit.content)]
        assert {hit.kind for hit in found} == {"message", "document", "entry"}
        assert not [hit for hit in found if hit.trusted]

    async def test_it_is_not_mixed_with_what_people_said(self, shared: AsyncMemory, user: AsyncUser) -> None:
        text = "The boat for the summer holidays is in the garden behind the house"
        for content, metadata in (
            (f"{text}.", {"trust": "low"}),
            (f"{text}!", None),
            (f"{text} !", {"trust": "low"}),
            (f"{text} .", {"trust": "high"}),
        ):
            await user.entries.add(content, metadata=metadata)
        await shared.settle(user.user_id)
        kept = await user.entries.list()
        assert sorted(each.metadata.get("trust", "high") for each in kept) == ["high", "low"]
        assert all(len(each.metadata["merged"]) == 1 for each in kept)
        hits = await user.search("boat for the summer holidays", kinds=["entry"])
        assert sorted(hit.trusted for hit in hits) == [False, True]


class TestOtherVoices:
    @pytest.mark.parametrize("role", ["system", "assistant"])
    async def test_an_application_and_an_assistant_do_not_speak_for_the_user(
        self, shared: AsyncMemory, user: AsyncUser, role: str
    ) -> None:
        await taught(
            shared, user, "monday", *TEXTS[:: 4 if role == "system" else 5], at=day(1), role=role, agent="coach"
        )
        assert await learnt(shared, user) == {}

    async def test_an_assistant_is_told_by_its_name(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", *TEXTS[:60], at=day(1), role="assistant")
        told = [line for each in await user.entries.list("episodic") for line in each.content.splitlines()]
        assert told
        assert not [line for line in told if marks(line) and not line.startswith(("assistant: ", "About "))]


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.splitlines())


PASTED: dict[str, Callable[[str], str]] = {
    "block quote": lambda text: f"What do you think of this?\n\n{_quoted(text)}\n\nIs it true?",
    "code fence": lambda text: f"Here is the file:\n```\n{text}\n```\nIs it safe?",
    "tilde fence": lambda text: f"Here is the file:\n~~~text\n{text}\n~~~",
    "page": lambda text: f"The page says: {text}",
    "mail": lambda text: f"I got this email:\n\n{text}\n\nShould I answer?",
    "marks": lambda text: 'I read "' + text.replace('"', "'").replace("\n", " ") + '" there. Is that normal?',
    "translation": lambda text: f"Please translate the following: {text}",
    "summary": lambda text: f"Summarise this text:\n\n{text}",
}


class TestPasted:
    @pytest.mark.parametrize("way", PASTED)
    async def test_what_a_user_pastes_is_not_what_the_user_says(
        self, shared: AsyncMemory, user: AsyncUser, way: str
    ) -> None:
        await taught(shared, user, "monday", *[PASTED[way](text) for text in TEXTS[::5]], at=day(1), agent="coach")
        assert await learnt(shared, user) == {}

    @pytest.mark.parametrize("way", ["block quote", "code fence", "tilde fence"])
    async def test_no_episode_tells_it_as_the_users_word(self, shared: AsyncMemory, user: AsyncUser, way: str) -> None:
        pasted = [PASTED[way](text) for text in TEXTS[:100]]
        await taught(shared, user, "monday", *HONEST, *pasted, at=day(1))
        told = await user.entries.list("episodic")
        assert told
        assert not [each.content for each in told if marks(each.content)]


class TestByAModel:
    async def test_a_model_that_falls_for_it_is_not_believed(
        self, server: Any, template: str, tmp_path: Path, language: LanguageServer
    ) -> None:
        """It attributes what it likes to whichever turn it likes, and repeats in its summary what it was told."""

        def fooled(asked: Asked) -> Any:
            if asked.format is None:
                return f"The user prefers {MARK}1 and lives in {MARK}2. The user plans the summer holidays."
            claim = {"change": "holds", "explicit": True, "confidence": 1}
            keys = ("name", "home", "address_as", "prefers", "instruction")
            return {
                "claims": [
                    {**claim, "turn": turn, "key": key, "value": f"{MARK}{turn}"}
                    for turn in range(1, 9)
                    for key in keys
                ]
            }

        language.otherwise = fooled
        with cloned(server, template) as url:
            settings = Settings(
                worker=False,
                database_url=url,
                home=tmp_path,
                llm_model="scripted",
                llm_base_url=language.url,
                summary_tokens=100,
            )
            async with opened(settings) as memory:
                for number, (way, turn) in enumerate(FOREIGN.items()):
                    user = memory.user(way)
                    await say(user, "monday", *HONEST, at=day(1))
                    await say(user, "monday", *TEXTS[number * 8 : number * 8 + 8], at=day(1.1), **turn)
                    await say(user, "monday", *HONEST, at=day(1.2))
                    await memory.settle(way)
                    assert await learnt(memory, user) == {}
                    assert not marks(json.dumps([each.content for each in await user.entries.list()]))
                    (session,) = run(
                        memory, "SELECT context_summary FROM conversation_sessions WHERE user_id = %s", way
                    )
                    assert session[0]
                    assert not marks(session[0])
        assert language.asked
        assert not [each for each in language.asked if marks(each.body)], "it was not even shown to the model"
