"""Behind pgbouncer in transaction mode, with fewer server connections than callers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import ltst
from helpers.bouncer import BOUNCER, MISSING, POOL, Behind, bounced
from helpers.household import SECRET_KEY, furnish
from helpers.probes import connected, superuser, value
from ltst import AsyncMemory, CallableEmbedder, ConversationStorage, Memory, Settings
from ltst.db import vectors

pytestmark = pytest.mark.skipif(BOUNCER is None, reason=MISSING)


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    """An empty database, straight and through a bouncer with two connections."""
    with bounced(tmp_path_factory.mktemp("bounced")) as made:
        yield made


async def live(memory: AsyncMemory, name: str) -> None:
    """One user's life: everything they read is theirs."""
    user = memory.user(name)
    chat = user.chat("monday")
    for number in range(8):
        await chat.add("user", f"{name} {number}", key=f"{number}")
        assert {message.content.split()[0] for message in await chat.window()} == {name}
    await chat.add_interaction(f"{name} asks", f"{name} answers")
    await user.facts.set("home", f"home of {name}")
    await user.preferences.set("diet", f"diet of {name}", sensitive=True)
    await chat.working.set("draft", name, ttl=60)
    fact, preference = await asyncio.gather(user.facts.get("home"), user.preferences.get("diet"))
    assert fact is not None
    assert preference is not None
    assert (fact.value, preference.value) == (f"home of {name}", f"diet of {name}")
    assert await chat.working.all() == {"draft": name}
    assert [message.user_id for message in await chat.history()] == [name] * 10
    with pytest.raises(ltst.NotFound):
        await chat.add("user", "an answer to nothing", parent="01900000-0000-7000-8000-000000000000")
    assert len((await user.export())["messages"]) == 10


async def test_many_users_on_few_connections_never_mix(behind: Behind, tmp_path: Path) -> None:
    settings = Settings(worker=False, database_url=behind.url, home=tmp_path, pool_size=10)
    async with (
        AsyncMemory(settings=settings) as one,
        AsyncMemory(settings=settings) as two,
        AsyncMemory(settings=settings) as three,
    ):
        await asyncio.gather(
            *(
                live(memory, f"user-{number}-{part}")
                for part, memory in enumerate((one, two, three))
                for number in range(8)
            )
        )
        assert (await one.health()).ok
        with superuser(behind.straight) as connection:
            backends = (
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
            assert 1 <= value(connection, backends) <= POOL
            assert (
                value(connection, "SELECT count(*) FROM conversation_messages WHERE user_id LIKE 'user-%'") == 24 * 10
            )
            assert (
                value(
                    connection,
                    "SELECT count(*) FROM conversation_messages "
                    "WHERE user_id LIKE 'user-%' AND split_part(content, ' ', 1) <> user_id",
                )
                == 0
            )
            assert value(connection, "SELECT count(*) FROM conversation_sessions WHERE session_length <> 10") == 0


async def test_a_crowd_migrates_through_the_bouncer_once(behind: Behind, tmp_path: Path) -> None:
    with superuser(behind.straight) as connection:
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    async def opened() -> None:
        async with AsyncMemory(settings=Settings(worker=False, database_url=behind.url, home=tmp_path)) as memory:
            assert (await memory.health()).ok

    await asyncio.gather(*(opened() for _ in range(8)))
    with superuser(behind.straight) as connection:
        assert value(connection, "SELECT count(*) FROM user_preferences") == 8
        assert value(connection, "SELECT count(DISTINCT xmin::text) FROM ltst_migrations") == 1


def test_everything_works_through_the_bouncer(behind: Behind, tmp_path: Path) -> None:
    with Memory(settings=Settings(worker=False, database_url=behind.url, home=tmp_path)) as memory:
        user = memory.user("household")
        furnish(user, "words")
        document = user.export()
        assert memory.rotate_master_key() >= 1
        assert user.preferences.get(SECRET_KEY).value == "words secret"  # type: ignore[union-attr]
        memory.maintain()
        assert memory.stats().operations
        assert set(user.erase().remaining.values()) == {0}
        user.restore(document)
        assert user.export() == document
        user.erase()
    with ConversationStorage(behind.url) as storage:
        assert storage.get_user_sessions("household") == []


async def test_a_search_finds_the_same_through_the_bouncer(behind: Behind, tmp_path: Path) -> None:
    """What waits for its index is indexed on the way, and what is found by its meaning is found."""
    said = ["I moved to Lisbon in March.", "My sister is a nurse."]
    said += [f"I like tea number {number}." for number in range(40)]
    found = {}
    for name, url in (("bounced", behind.url), ("straight", behind.straight)):
        async with AsyncMemory(settings=Settings(worker=False, database_url=url, home=tmp_path)) as memory:
            user = memory.user(name)
            await user.chat("one").add_many({"role": "user", "content": each} for each in said)
            first = await user.search("tea number 7")
            await memory.settle(name)
            found[name] = [
                [hit.content for hit in hits]
                for hits in (first, *[await user.search(each) for each in ("where do I live?", "sister", "tea")])
            ]
    assert found["bounced"] == found["straight"]
    assert found["bounced"][0][0] == "I like tea number 7."
    assert found["bounced"][1][0] == said[0]


async def test_the_model_is_changed_through_the_bouncer(behind: Behind, tmp_path: Path) -> None:
    """Also while another process asks for the same, and so that nobody is shut out afterwards."""

    def embedder(size: int) -> CallableEmbedder:
        return CallableEmbedder(lambda texts: [[len(each) % 7 + 1.0] * size for each in texts], f"of {size}", size)

    settings = Settings(worker=False, database_url=behind.url, home=tmp_path)
    async with AsyncMemory(settings=settings, embedder=embedder(8)) as memory:
        await memory.user("switching").chat("one").add("user", "My dog is called Rex.")
        await memory.settle("switching")
        for size in (16, 8):
            assert await memory.switch_embedder(embedder(size)) > 0
            assert await memory.embedder_model() == f"of {size}"
        async with connected(behind.url) as database, vectors.switching(database):
            with pytest.raises(ltst.Conflict, match="another process"):
                await memory.switch_embedder(embedder(16))
        assert [hit.content for hit in await memory.user("switching").search("dog")] == ["My dog is called Rex."]


def test_no_connection_behind_the_bouncer_remembers_a_user(behind: Behind, tmp_path: Path) -> None:
    with Memory(settings=Settings(worker=False, database_url=behind.url, home=tmp_path)) as memory:
        for number in range(6):
            memory.user(f"passing {number}").chat("one").add("user", "hello")
            memory.user(f"passing {number}").facts.get("home")
    for _ in range(6):
        with psycopg.connect(behind.url, prepare_threshold=None) as connection:
            row = connection.execute(
                "SELECT coalesce(current_setting('ltst.user_id', true), ''), current_user::text = session_user::text, "
                "(SELECT count(*) FROM pg_prepared_statements)"
            ).fetchone()
        assert row == ("", True, 0)
