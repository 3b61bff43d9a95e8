"""Catching up: what was said is known at once, without vectors and without a worker."""

from __future__ import annotations

import pytest

from helpers import slow_rules
from helpers.embedders import opened
from helpers.probes import superuser, value
from ltst import Settings
from ltst.learn import listen


async def test_what_was_said_is_known_without_a_vector(settings: Settings) -> None:
    async with opened(settings) as memory:
        user = memory.user("ana")
        await user.chat("monday").add("user", "I live in Porto.")
        assert await user.learning.catch_up() == 1
        home = await user.facts.get("home")
        assert home is not None and home.value == "Porto"
        assert await user.learning.catch_up() == 0
    assert settings.database_url is not None
    with superuser(settings.database_url) as database:
        assert value(database, "SELECT count(*) FROM search_vectors") == 0


async def test_one_that_cannot_be_read_does_not_keep_the_others_from_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "read_message", slow_rules.read_message)
    async with opened(settings) as memory:
        user = memory.user("ana")
        await user.chat("bad").add("user", f"This is {slow_rules.POISON}.")
        await user.chat("good").add("user", "I live in Porto.")
        assert await user.learning.catch_up() == 1
        assert [fact.value for fact in await user.facts.list()] == ["Porto"]


async def test_what_is_switched_off_is_not_learnt(settings: Settings) -> None:
    async with opened(settings) as memory:
        user = memory.user("ana")
        await user.learning.set(extraction=False)
        await user.chat("monday").add("user", "I live in Porto.")
        assert await user.learning.catch_up() == 0
        assert await user.facts.list() == []
