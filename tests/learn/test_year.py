"""A year in a user's life: what holds on each of its days, read from what the user said in passing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from helpers.embedders import opened
from ltst import AsyncMemory, AsyncUser, Settings
from ltst.support.text import normalised

pytestmark = pytest.mark.asyncio(loop_scope="module")

YEAR: dict[str, Any] = json.loads(Path(__file__).with_name("year.json").read_text(encoding="utf-8"))


def forms(key: str, value: str) -> set[str]:
    """The ways in which a value may be put."""
    return {normalised(each) for each in (value, *YEAR["accepted"].get(key, {}).get(value, ()))}


def agree(key: str, found: list[str], expected: list[str]) -> bool:
    left = [normalised(each) for each in found]
    for value in expected:
        known = next((each for each in left if each in forms(key, value)), None)
        if known is None:
            return False
        left.remove(known)
    return not left


async def live(memory: AsyncMemory, user: AsyncUser) -> None:
    """Everything in the order of the year; what was said is learnt before the next thing happens."""
    for item in YEAR["timeline"]:
        if item["kind"] == "reject":
            await memory.settle(user.user_id)
            await user.facts.reject(item["key"], item["value"])
        else:
            turns = [{**turn, "at": datetime.fromisoformat(turn["at"])} for turn in item["messages"]]
            await user.chat(item["session_id"]).add_many(turns)
    await memory.settle(user.user_id)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def lived(module_settings: Settings) -> AsyncIterator[AsyncUser]:
    async with opened(module_settings) as memory:
        user = memory.user("vera")
        await live(memory, user)
        yield user


async def test_every_probe_is_answered_rightly(lived: AsyncUser) -> None:
    wrong = []
    for probe in YEAR["probes"]:
        moment = datetime.fromisoformat(probe["as_of"])
        found = [fact.value for fact in await lived.facts.list(as_of=moment) if fact.key == probe["key"]]
        if not agree(probe["key"], found, probe["values"]):
            wrong.append((probe["key"], probe["as_of"], probe["values"], found))
    assert not wrong, f"{len(wrong)} of {len(YEAR['probes'])}: {wrong[:10]}"


async def test_no_rejected_value_ever_returns(lived: AsyncUser) -> None:
    rejected = [item for item in YEAR["timeline"] if item["kind"] == "reject"]
    assert len(rejected) >= 8
    for item in rejected:
        known = [
            fact
            for fact in await lived.facts.history(item["key"])
            if normalised(fact.value) == normalised(item["value"])
        ]
        assert known
        assert all(fact.rejected_at is not None for fact in known), item


async def test_what_holds_now_comes_alone_and_with_the_message_that_said_it(lived: AsyncUser) -> None:
    now = await lived.facts.list()
    for key, values in YEAR["current"].items():
        found = [fact for fact in now if fact.key == key]
        assert agree(key, [fact.value for fact in found], [each["value"] for each in values]), (key, found, values)
        for each in values:
            (fact,) = [fact for fact in found if normalised(fact.value) in forms(key, each["value"])]
            assert fact.source_message_id is not None
            spoken = await lived.chat(each["source"]).history()
            assert fact.source_message_id in [message.message_id for message in spoken], (key, each)
