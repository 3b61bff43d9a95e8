"""Backups: what is restored is what was there; what cannot be restored changes nothing; no password is on show."""

from __future__ import annotations

import re
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from helpers.probes import connected
from ltst import AsyncMemory, Conflict, Invalid, NotFound, Settings, Unavailable
from ltst.db import backup, migrate
from ltst.db.connections import ConnectionPool
from ltst.db.embedded import EmbeddedServer, binaries
from ltst.errors import DatabaseUnavailable

PASSWORD = "correct horse 'battery' \\staple"


async def write(url: str, file: Path, **options: bool) -> int:
    async with connected(url) as database:
        return await backup.backup(database, file, **options)


async def put_back(url: str, file: Path, **options: bool) -> list[migrate.MigrationStatus]:
    async with connected(url) as database:
        return await backup.restore(database, file, **options)


async def fill(settings: Settings) -> dict[str, Any]:
    """Something of every noun, for two users; what the first one exports."""
    async with AsyncMemory(settings=settings) as memory:
        for name in ("ann", "bob"):
            user = memory.user(name)
            chat = user.chat("monday", agent="coach", name="Plans")
            first = await chat.add(
                "user", f"I am {name}.\nTab:\t Backslash: \\. 🙂 'quoted'", metadata={"n": [1, None]}
            )
            await chat.add("assistant", "Hello.", parent=first.message_id)
            await chat.working.set("plan", {"step": 1}, ttl=3600)
            other = await chat.fork(session_id="fork")
            await other.add("user", "Another way.")
            await user.facts.set("city", "Berlin", source_message_id=first.message_id)
            await user.facts.set("city", "Lisbon")
            await user.facts.reject("city", "Paris")
            await user.preferences.set("units", "metric")
            await user.preferences.set("passport", "X1234567", sensitive=True)
            await user.instructions.set("coach", "Be brief.")
            await user.entries.add("Likes tea.")
            await user.documents.add("A text.\n\nIn two parts.", title="Text")
            await user.retention.set(delete_after=3600 * 24 * 365)
        return await memory.user("ann").export()


async def exported(settings: Settings, user: str = "ann") -> dict[str, Any]:
    async with AsyncMemory(settings=settings) as memory:
        return await memory.user(user).export()


def at(settings: Settings, url: str, home: Path | None = None) -> Settings:
    return Settings(worker=False, database_url=url, home=home or settings.home)


async def backed_up(settings: Settings, target: str, folder: Path) -> tuple[dict[str, Any], Settings]:
    """What was backed up, and the settings of the database that the backup is for."""
    before = await fill(settings)
    await write(str(settings.database_url), folder / "memory.dump")
    return before, at(settings, target)


def dumps(folder: Path) -> list[str]:
    """Finished and unfinished ones."""
    return [each.name for each in folder.iterdir() if "memory.dump" in each.name]


def dump_without_ltst(url: str, file: Path) -> None:
    subprocess.run([f"{binaries()}/pg_dump", "--format=custom", f"--file={file}", f"--dbname={url}"], check=True)


def tables(url: str) -> list[str]:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
        return sorted(str(name) for (name,) in found)


async def test_what_is_restored_is_what_was_there(settings: Settings, empty_database_url: str, tmp_path: Path) -> None:
    before = await fill(settings)
    others = await exported(settings, "bob")
    size = await write(str(settings.database_url), tmp_path / "memory.dump")
    assert size == (tmp_path / "memory.dump").stat().st_size > 0

    found = await put_back(empty_database_url, tmp_path / "memory.dump")

    assert {each.state for each in found} == {"applied"}
    target = at(settings, empty_database_url)
    assert await exported(target) == before
    assert await exported(target, "bob") == others
    assert before["preferences"][0]["preference_value"] == "X1234567"
    assert tables(empty_database_url) == tables(str(settings.database_url))


async def test_a_restored_database_goes_on(settings: Settings, empty_database_url: str, tmp_path: Path) -> None:
    await fill(settings)
    async with AsyncMemory(settings=settings) as memory:
        last = (await memory.user("ann").events.list(limit=1000))[-1].event_id
        newest = max(last, (await memory.user("bob").events.list(limit=1000))[-1].event_id)
    await write(str(settings.database_url), tmp_path / "memory.dump")
    await put_back(empty_database_url, tmp_path / "memory.dump")

    async with AsyncMemory(settings=at(settings, empty_database_url)) as memory:
        added = await memory.user("ann").chat("monday").add("user", "And on it goes.")
        assert added.message_index == 3
        assert (await memory.user("ann").sessions.get("monday")).session_length == 3  # type: ignore[union-attr]
        assert (await memory.user("ann").events.list(after=last, limit=1000))[-1].event_id > newest
        assert (await memory.health()).ok
        assert (await memory.user("eve").sessions.list()) == []


async def test_only_the_owner_can_read_a_backup(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "memory.dump"
    await write(str(settings.database_url), file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert dumps(tmp_path) == ["memory.dump"]


async def test_a_file_is_overwritten_only_on_request(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "memory.dump"
    file.write_text("precious")
    file.chmod(0o644)
    with pytest.raises(Conflict, match="exists"):
        await write(str(settings.database_url), file)
    assert file.read_text() == "precious"

    await write(str(settings.database_url), file, overwrite=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_a_backup_needs_a_place_and_something_to_back_up(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with pytest.raises(Invalid, match="no folder"):
        await write(str(settings.database_url), tmp_path / "nowhere" / "memory.dump")
    with pytest.raises(Invalid, match="is a folder"):
        await write(str(settings.database_url), tmp_path)
    with pytest.raises(NotFound, match="nothing of ltst"):
        await write(empty_database_url, tmp_path / "memory.dump")
    assert dumps(tmp_path) == []


async def test_a_failed_backup_leaves_no_file(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_choose", lambda _: _answer(["--schema=absent"]))
    with pytest.raises(DatabaseUnavailable, match="no matching schemas"):
        await write(str(settings.database_url), tmp_path / "memory.dump")
    assert dumps(tmp_path) == []


async def _answer(value: list[str]) -> list[str]:
    return value


async def test_sensitive_values_need_the_master_key(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    await fill(settings)
    await write(str(settings.database_url), tmp_path / "memory.dump")
    assert b"X1234567" not in (tmp_path / "memory.dump").read_bytes()
    await put_back(empty_database_url, tmp_path / "memory.dump")

    async with AsyncMemory(settings=at(settings, empty_database_url, home=tmp_path / "elsewhere")) as memory:
        user = memory.user("ann")
        with pytest.raises(Unavailable, match=r"master key \w+ is not in .*master\.key: put it back"):
            await user.preferences.get("passport")
        assert (await user.preferences.get("units")).value == "metric"  # type: ignore[union-attr]
        assert len(await user.chat("monday").window()) == 2


async def test_memories_are_replaced_only_on_request(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    before, target = await backed_up(settings, empty_database_url, tmp_path)
    async with AsyncMemory(settings=target) as memory:
        await memory.user("eve").chat("x").add("user", "I was here.")

    with pytest.raises(Conflict, match="holds memories"):
        await put_back(empty_database_url, tmp_path / "memory.dump")
    assert len((await exported(target, "eve"))["messages"]) == 1

    await put_back(empty_database_url, tmp_path / "memory.dump", replace=True)
    assert (await exported(target, "eve"))["messages"] == []
    assert await exported(target) == before


async def test_a_database_that_was_only_opened_counts_as_empty(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    before, target = await backed_up(settings, empty_database_url, tmp_path)
    assert (await exported(target))["messages"] == []
    await put_back(empty_database_url, tmp_path / "memory.dump")
    assert await exported(target) == before


async def test_what_is_no_backup_is_refused(settings: Settings, empty_database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "memory.dump"
    with pytest.raises(NotFound, match="no file"):
        await put_back(empty_database_url, file)
    for text in ("", "SELECT 1;", "PGDMP rubbish"):
        file.write_text(text)
        with pytest.raises(Invalid, match="not a backup"):
            await put_back(empty_database_url, file)
    dump_without_ltst(empty_database_url, file)
    with pytest.raises(Invalid, match="without ltst"):
        await put_back(empty_database_url, file)
    assert tables(empty_database_url) == []


async def test_a_failed_restore_leaves_an_empty_database_empty(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    await fill(settings)
    await write(str(settings.database_url), tmp_path / "memory.dump")
    whole = (tmp_path / "memory.dump").read_bytes()
    for missing, said in ((200, "the database is as it was"), (len(whole) // 2, "is not a backup")):
        (tmp_path / "torn.dump").write_bytes(whole[:-missing])
        with pytest.raises(Invalid, match=said):
            await put_back(empty_database_url, tmp_path / "torn.dump")
        assert tables(empty_database_url) == []
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT extname FROM pg_extension WHERE extname = 'vector'").fetchall() == []


async def test_a_failed_restore_leaves_memories_as_they_were(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    before = await fill(settings)
    await write(str(settings.database_url), tmp_path / "memory.dump")
    whole = (tmp_path / "memory.dump").read_bytes()
    (tmp_path / "torn.dump").write_bytes(whole[:-200])
    with pytest.raises(Invalid, match="the database is as it was"):
        await put_back(str(settings.database_url), tmp_path / "torn.dump", replace=True)
    assert await exported(settings) == before


async def test_a_table_of_someone_else_is_not_overwritten(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    await fill(settings)
    await write(str(settings.database_url), tmp_path / "memory.dump")
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("CREATE TABLE documents (theirs TEXT)")
    with pytest.raises(DatabaseUnavailable, match='as it was: relation "documents" already exists'):
        await put_back(empty_database_url, tmp_path / "memory.dump", replace=True)
    assert tables(empty_database_url) == ["documents"]


async def test_a_backup_of_a_newer_ltst_is_refused(
    settings: Settings, empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fill(settings)
    await write(str(settings.database_url), tmp_path / "memory.dump")
    known = migrate.migrations()
    monkeypatch.setattr(migrate, "migrations", lambda: known[:-1])
    with pytest.raises(DatabaseUnavailable, match="a newer ltst made this backup"):
        await put_back(empty_database_url, tmp_path / "memory.dump")
    assert tables(empty_database_url) == []
    with pytest.raises(DatabaseUnavailable, match="install a newer ltst"):
        await write(str(settings.database_url), tmp_path / "again.dump")


async def test_what_others_keep_in_the_same_schema_stays_out(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    url = str(settings.database_url)
    before = await fill(settings)
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TYPE mood AS ENUM ('good')")
        connection.execute('CREATE TABLE "Their ""things" (id SERIAL, feels mood)')
        connection.execute('INSERT INTO "Their ""things" (feels) VALUES (\'good\')')
        connection.execute('CREATE FUNCTION theirs(thing "Their ""things") RETURNS int LANGUAGE sql AS \'SELECT 1\'')
    await write(url, tmp_path / "memory.dump")

    await put_back(empty_database_url, tmp_path / "memory.dump")
    assert 'Their "things' not in tables(empty_database_url)
    assert await exported(at(settings, empty_database_url)) == before

    await put_back(url, tmp_path / "memory.dump", replace=True)
    with psycopg.connect(url) as connection:
        assert connection.execute('SELECT feels::text FROM "Their ""things"').fetchall() == [("good",)]
    assert await exported(settings) == before


async def test_a_backup_goes_back_to_the_schema_it_came_from(
    settings: Settings, empty_database_url: str, tmp_path: Path
) -> None:
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("CREATE SCHEMA brain")
        connection.execute("CREATE EXTENSION vector")
    inside = make_conninfo(empty_database_url, options="-c search_path=brain,public")
    before = await fill(at(settings, inside))
    await write(inside, tmp_path / "memory.dump")
    with pytest.raises(Invalid, match='of the schema "brain", and this connection works in "public"'):
        await put_back(str(settings.database_url), tmp_path / "memory.dump")
    await put_back(inside, tmp_path / "memory.dump", replace=True)
    assert await exported(at(settings, inside)) == before


def test_a_server_before_17_is_not_told_of_what_it_does_not_know() -> None:
    source = ["SET a = 0;\n", "SET transaction_timeout = 0;\n", "SET b = 0;\n"]

    def copied(version: int) -> bytes:
        with subprocess.Popen(["printf", "%s", "".join(source)], stdout=subprocess.PIPE) as reader:
            sink = _Sink()
            assert reader.stdout
            backup._copy(reader.stdout, sink, backup._Target(False, version))  # type: ignore[arg-type]
            return sink.taken

    assert copied(150000) == b"SET a = 0;\nSET b = 0;\n"
    assert copied(170000) == "".join(source).encode()


class _Sink:
    taken = b""

    def write(self, data: bytes) -> None:
        self.taken += bytes(data)


@pytest.fixture(scope="module")
def tcp_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server that roles with a password can log in to."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    held = EmbeddedServer.acquire(tmp_path_factory.mktemp("tcp"), port=port)
    with psycopg.connect(held.dsn, autocommit=True) as connection:
        quoted = psycopg.sql.Literal(PASSWORD)
        connection.execute(psycopg.sql.SQL("CREATE ROLE app LOGIN PASSWORD {}").format(quoted))
        connection.execute("CREATE ROLE ltst_user NOLOGIN")
        connection.execute("CREATE ROLE ltst_keeper NOLOGIN")
        connection.execute("GRANT ltst_user, ltst_keeper TO app")
    yield held
    held.release()


@pytest.fixture
def owned_urls(tcp_server: EmbeddedServer) -> Iterator[tuple[str, str]]:
    """Two databases in which a role that is no superuser may create tables, as a superuser would prepare them."""
    names = ("first", "second")
    with psycopg.connect(tcp_server.dsn, autocommit=True) as administrator:
        for name in names:
            administrator.execute(f"CREATE DATABASE {name}")
            with psycopg.connect(tcp_server.dsn, dbname=name) as inside:
                inside.execute("CREATE EXTENSION vector")
                inside.execute("GRANT USAGE, CREATE ON SCHEMA public TO app")
        first, second = (
            make_conninfo(tcp_server.tcp_dsn, dbname=name, user="app", password=PASSWORD) for name in names
        )
        yield first, second
        for name in names:
            administrator.execute(f"DROP DATABASE {name} WITH (FORCE)")


async def test_an_owner_who_is_no_superuser_backs_up_all_rows(owned_urls: tuple[str, str], tmp_path: Path) -> None:
    source, target = (Settings(worker=False, database_url=url, home=tmp_path / "home") for url in owned_urls)
    before = await fill(source)
    others = await exported(source, "bob")
    await write(owned_urls[0], tmp_path / "memory.dump")
    await put_back(owned_urls[1], tmp_path / "memory.dump")
    assert await exported(target) == before
    assert await exported(target, "bob") == others

    await put_back(owned_urls[1], tmp_path / "memory.dump", replace=True)
    assert await exported(target) == before
    async with AsyncMemory(settings=target) as memory:
        assert (await memory.health()).ok
        await memory.user("ann").chat("monday").add("user", "And on it goes.")


async def test_no_password_is_in_the_arguments_of_a_process(
    owned_urls: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []

    class Watched(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, arguments: list[str], **options: Any) -> None:
            started.append(arguments)
            assert "LTST_MASTER_KEY" not in (options.get("env") or {})
            super().__init__(arguments, **options)

    monkeypatch.setenv("LTST_MASTER_KEY", "00" * 32)
    await fill(Settings(worker=False, database_url=owned_urls[0], home=tmp_path / "home"))
    monkeypatch.setattr(subprocess, "Popen", Watched)
    await write(owned_urls[0], tmp_path / "memory.dump")
    await put_back(owned_urls[1], tmp_path / "memory.dump")

    programs = {Path(arguments[0]).name for arguments in started}
    assert programs == {"pg_dump", "pg_restore", "psql"}
    assert not [word for arguments in started for word in arguments if re.search("horse|staple|password=", word)]


async def test_what_a_database_lacks_is_said_before_anything_is_done(
    tcp_server: EmbeddedServer, owned_urls: tuple[str, str], tmp_path: Path
) -> None:
    await fill(Settings(worker=False, database_url=owned_urls[0], home=tmp_path / "home"))
    await write(owned_urls[0], tmp_path / "memory.dump")
    with psycopg.connect(tcp_server.dsn, dbname="second") as inside:
        inside.execute("DROP EXTENSION vector")
    with pytest.raises(DatabaseUnavailable, match="CREATE EXTENSION vector;"):
        await put_back(owned_urls[1], tmp_path / "memory.dump")


@pytest.mark.parametrize("written", ["nonsense", "postgres//ann:hunter2@host/db"])
def test_a_url_that_is_none_is_refused_without_repeating_it(written: str) -> None:
    with pytest.raises(Invalid, match="postgresql://user:password@host:5432/name") as refusal:
        ConnectionPool(written, size=1, timeout=1.0)
    assert "hunter2" not in str(refusal.value)


def test_a_place_is_named_without_the_password() -> None:
    assert backup.place("postgresql://ann:hunter2@db.example:5433/app") == "app on db.example"


def test_a_secret_that_cannot_be_handed_over_unseen_is_refused() -> None:
    with pytest.raises(Invalid, match="sslpassword"):
        backup._reach("host=db.example sslpassword=hunter2")


async def test_an_owner_who_inherits_nothing_never_loses_rows_silently(
    tcp_server: EmbeddedServer, owned_urls: tuple[str, str], tmp_path: Path
) -> None:
    source, target = (Settings(worker=False, database_url=url, home=tmp_path / "home") for url in owned_urls)
    before = await fill(source)
    with psycopg.connect(tcp_server.dsn, autocommit=True) as administrator:
        administrator.execute("GRANT ltst_user, ltst_keeper TO app WITH INHERIT FALSE")
        try:
            await write(owned_urls[0], tmp_path / "memory.dump")
        except DatabaseUnavailable:  # pg_dump wants to read a sequence, which is the owner's alone
            assert dumps(tmp_path) == []
        else:
            await put_back(owned_urls[1], tmp_path / "memory.dump")
            assert await exported(target) == before
        finally:
            administrator.execute("GRANT ltst_user, ltst_keeper TO app WITH INHERIT TRUE")
