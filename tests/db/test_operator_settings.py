"""The four numbers that an operator sets for the whole database: where they stand, what they do, who sees them."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from helpers.embedders import hashed
from helpers.probes import Connection, value
from ltst import AsyncMemory, CallableEmbedder, Settings
from ltst.db.pool import user_scope
from ltst.rooms.preferences import OPERATOR_SETTINGS, operator_setting

STORED = """
SELECT preference_key, preference_value, preference_type, source, confidence_score FROM user_preferences
WHERE user_id = 'system' AND preference_key = ANY(%s) ORDER BY preference_key
"""
CHANGE = "UPDATE user_preferences SET preference_value = %s WHERE user_id = 'system' AND preference_key = %s"
LIVES = "SELECT expires_at - created_at FROM memory_retrieval_cache WHERE user_id = 'ada'"


def test_they_are_preferences_of_the_system(database: Connection) -> None:
    assert database.execute(STORED, ([*OPERATOR_SETTINGS],)).fetchall() == [
        ("cache_ttl_hours", "1", "general", "explicit", 1.0),
        ("max_context_length", "10000", "general", "explicit", 1.0),
        ("memory_retention_days", "30", "general", "explicit", 1.0),
        ("relevance_threshold", "0.7", "general", "explicit", 1.0),
    ]


async def test_one_is_read_as_a_number_also_where_its_row_is_gone(memory: AsyncMemory, database: Connection) -> None:
    database.execute(CHANGE, ("0.25", "relevance_threshold"))
    database.execute("DELETE FROM user_preferences WHERE user_id = 'system' AND preference_key = 'max_context_length'")
    async with memory._core.database.snapshot(user_scope("ada")) as tx:
        assert await operator_setting(tx, "relevance_threshold") == 0.25
        assert await operator_setting(tx, "max_context_length") == 10_000


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("memory_retention_days", "0"),
        ("memory_retention_days", "soon"),
        ("max_context_length", "-1"),
        ("relevance_threshold", "1.2"),
        ("cache_ttl_hours", "an hour"),
    ],
)
def test_what_is_no_such_number_is_refused(database: Connection, key: str, words: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="operator_settings_are_numbers"):
        database.execute(CHANGE, (words, key))


async def test_they_are_nobodys_wish(memory: AsyncMemory) -> None:
    user = memory.user("ada")
    chat = user.chat("monday")
    await chat.add("user", "How long is the memory_retention_days of this?")
    listed = {each.key for each in await user.preferences.list(defaults=True)}
    assert not listed & {*OPERATOR_SETTINGS}
    assert (await user.profile())["preferences"] == {}
    told = (await chat.context("What is the relevance_threshold?")).text
    assert not [each for each in ("10000", "0.7", "max_context_length", "cache_ttl_hours") if each in told]
    found = await user.preferences.get("cache_ttl_hours")
    assert found is not None
    assert (found.user_id, found.value) == ("system", "1")


class TestTheCache:
    @pytest.mark.parametrize(("hours", "life"), [("2", timedelta(hours=2)), ("0.5", timedelta(minutes=30))])
    async def test_it_lives_as_long_as_the_operator_says(
        self, settings: Settings, database: Connection, hours: str, life: timedelta
    ) -> None:
        database.execute(CHANGE, (hours, "cache_ttl_hours"))
        await search_once(settings)
        assert value(database, LIVES) == life

    async def test_without_any_life_nothing_is_served_from_it(self, settings: Settings, database: Connection) -> None:
        database.execute(CHANGE, ("0", "cache_ttl_hours"))
        await search_once(settings)
        assert value(database, "SELECT count(*) FROM memory_retrieval_cache WHERE expires_at > now()") == 0

    def test_a_row_by_hand_lives_as_long(self, database: Connection) -> None:
        database.execute(CHANGE, ("3", "cache_ttl_hours"))
        database.execute(
            "INSERT INTO memory_retrieval_cache (user_id, cache_key, query_hash, retrieved_context) "
            "VALUES ('ada', 'a key', 'a hash', '[]')"
        )
        assert value(database, LIVES) == timedelta(hours=3)


async def search_once(settings: Settings) -> None:
    """A search whose result is kept."""
    async with AsyncMemory(settings=settings, embedder=CallableEmbedder(hashed, "hashed", 384)) as memory:
        user = memory.user("ada")
        await user.entries.add("An apple a day.")
        assert await user.search("apple")
        await memory._core.finish()
