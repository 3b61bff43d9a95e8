"""Sensitive values: sealed, refused when touched, readable while keys rotate, gone with their user."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import logging
import os
import random
import secrets
import stat
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import ltst
from helpers.household import SECRET_KEY, furnish
from helpers.probes import Connection, holding, left_out_with_a_note, logger_restored, superuser, value
from helpers.waiting import soon
from ltst import AsyncMemory, Memory, Settings
from ltst.db.embedded import EmbeddedServer
from ltst.records import Check
from ltst.support.crypto import MasterKeys, UserCipher, WrappedKey

CANARY = "CANARY-of-the-secret"
ENOUGH = 1000


def key() -> str:
    return base64.b64encode(secrets.token_bytes(32)).decode()


def python(script: str, *arguments: str) -> subprocess.Popen[str]:
    """Another process that runs this, talking over its standard streams."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture(scope="module")
def keys() -> tuple[str, str]:
    """A new and an old master key."""
    return key(), key()


@pytest.fixture(scope="module")
def shared(url: str, keys: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """A memory with two master keys: Ana's data key is wrapped by the new one, Old Joe's by the old one."""
    new, old = keys
    home = tmp_path_factory.mktemp("home")
    with Memory(settings=Settings(worker=False, database_url=url, home=home, master_key=old, metrics=False)) as before:
        before.user("joe").preferences.set("pin", "1234", sensitive=True)
    settings = Settings(worker=False, database_url=url, home=home, master_key=f"{new},{old}", metrics=False)
    with Memory(settings=settings) as opened:
        for length in (1, 2, 3):
            opened.user("ana").preferences.set(f"of {length}", "x" * length, sensitive=True)
        opened.user("bob").preferences.set("of 1", "y", sensitive=True)
        yield opened


@pytest.fixture(scope="module")
def database(url: str) -> Iterator[Connection]:
    with superuser(url) as connection:
        yield connection


def refused(attempt: Callable[[], Any]) -> bool:
    """Whether this is refused as a forgery; a value, right or wrong, is none."""
    try:
        attempt()
    except ltst.Denied:
        return True
    return False


class Forger:
    """Writes things into the table that the program did not, and puts back what was there."""

    def __init__(self, connection: Connection, memory: Memory) -> None:
        self._connection = connection
        self._memory = memory
        self.attempts = 0
        self.accepted: list[str] = []

    def sealed(self, user: str, name: str) -> str:
        query = "SELECT preference_value FROM user_preferences WHERE user_id = %s AND preference_key = %s"
        return str(value(self._connection, query, user, name))

    def write(self, user: str, name: str, sealed: str) -> None:
        self._connection.execute(
            "UPDATE user_preferences SET preference_value = %s WHERE user_id = %s AND preference_key = %s",
            (sealed, user, name),
        )

    def try_value(self, user: str, name: str, *forgeries: str) -> None:
        """Read forged values in the place of a genuine one."""
        genuine, reader = self.sealed(user, name), self._memory.user(user).preferences
        for forged in forgeries:
            self.write(user, name, forged)
            self._judge(f"{user} {name}: {forged}", lambda: reader.get(name))
        self.write(user, name, genuine)

    def key_row(self, user: str) -> tuple[int, bytes, str]:
        row = self._connection.execute(
            "SELECT key_version, wrapped_key, master_key_id FROM user_keys WHERE user_id = %s", (user,)
        ).fetchone()
        assert row is not None
        return row[0], row[1], row[2]

    def write_key(self, user: str, row: tuple[int, bytes, str]) -> None:
        self._connection.execute(
            "UPDATE user_keys SET key_version = %s, wrapped_key = %s, master_key_id = %s WHERE user_id = %s",
            (*row, user),
        )

    def try_key(self, user: str, name: str, forged: tuple[int, bytes, str]) -> None:
        """Read a genuine value with a forged key."""
        genuine = self.key_row(user)
        self.write_key(user, forged)
        self._judge(f"key of {user}: {forged}", lambda: self._memory.user(user).preferences.get(name))
        self.write_key(user, genuine)

    def _judge(self, what: str, attempt: Callable[[], Any]) -> None:
        self.attempts += 1
        if not refused(attempt):
            self.accepted.append(what)


def flipped(text: str) -> Iterator[str]:
    """Every text that differs in one bit and that Postgres can store."""
    for position, bit in itertools.product(range(len(text)), range(7)):
        forged = chr(ord(text[position]) ^ (1 << bit))
        if forged != "\x00":
            yield text[:position] + forged + text[position + 1 :]


def test_a_thousand_values_that_differ_in_one_bit_are_all_refused(
    shared: Memory, database: Connection, rounds: Callable[[int], int]
) -> None:
    forger, enough = Forger(database, shared), rounds(ENOUGH)
    for name in ("of 1", "of 2", "of 3"):
        forger.try_value("ana", name, *[*flipped(forger.sealed("ana", name))][:: ENOUGH // enough])
    assert forger.attempts >= enough
    assert forger.accepted == []
    assert [each.value for each in shared.user("ana").preferences.list()] == ["x", "xx", "xxx"]


def test_keys_that_differ_in_one_bit_are_all_refused(shared: Memory, database: Connection) -> None:
    forger = Forger(database, shared)
    version, wrapped, master = forger.key_row("ana")
    for position in range(len(wrapped)):
        forged = bytearray(wrapped)
        forged[position] ^= 1 << position % 8
        forger.try_key("ana", "of 1", (version, bytes(forged), master))
    assert forger.attempts == len(wrapped) > 32
    assert forger.accepted == []


def test_values_moved_between_rows_users_and_key_versions_are_refused(shared: Memory, database: Connection) -> None:
    forger = Forger(database, shared)
    places = [("ana", "of 1"), ("ana", "of 2"), ("ana", "of 3"), ("bob", "of 1"), ("joe", "pin")]
    for (user, name), (other, other_name) in itertools.permutations(places, 2):
        forger.try_value(user, name, forger.sealed(other, other_name))
    for forged_version in (0, 2, -1, 2**31 - 1):
        _, wrapped, master = forger.key_row("ana")
        forger.try_key("ana", "of 1", (forged_version, wrapped, master))
    for user, other in itertools.permutations(("ana", "bob", "joe"), 2):
        forger.try_key(user, "pin" if user == "joe" else "of 1", forger.key_row(other))
    version, wrapped, master = forger.key_row("ana")
    forger.try_key("ana", "of 1", (version, wrapped, forger.key_row("joe")[2]))
    assert forger.key_row("joe")[2] != master
    assert forger.attempts == 20 + 4 + 6 + 1
    assert forger.accepted == []


def test_values_that_were_never_sealed_are_refused(shared: Memory, database: Connection) -> None:
    forger = Forger(database, shared)
    sealed = forger.sealed("ana", "of 1")
    shuffled = list(sealed)
    random.Random(1).shuffle(shuffled)
    for forged in (
        "plain",
        "",
        "sealed:1:",
        "sealed:1:!!!!",
        "sealed:2:" + sealed[9:],
        sealed[:-4],
        sealed[:40],
        sealed + "AAAA",
        sealed + "=",
        sealed + "\n",
        " " + sealed,
        sealed.upper(),
        sealed[9:],
        "".join(shuffled),
        "sealed:1:" + base64.b64encode(b"\x00" * 12).decode(),
    ):
        forger.try_value("ana", "of 1", forged)
    for forged_key in (b"", b"\x00", b"\x00" * 60, forger.key_row("ana")[1][:-1]):
        version, _, master = forger.key_row("ana")
        forger.try_key("ana", "of 1", (version, forged_key, master))
    assert forger.accepted == []


@pytest.mark.parametrize(
    "read",
    [
        lambda user: user.preferences.get("of 1"),
        lambda user: user.preferences.list(),
        lambda user: user.profile(),
        lambda user: user.export(),
    ],
    ids=["get", "list", "profile", "export"],
)
def test_every_way_to_read_refuses_a_forgery_without_telling_what_it_holds(
    shared: Memory, database: Connection, read: Callable[[Any], Any]
) -> None:
    forger = Forger(database, shared)
    genuine = forger.sealed("ana", "of 1")
    forger.write("ana", "of 1", forger.sealed("ana", "of 3"))
    try:
        with pytest.raises(ltst.Denied, match="changed or does not belong here") as refusal:
            read(shared.user("ana"))
    finally:
        forger.write("ana", "of 1", genuine)
    assert "xxx" not in str(refusal.value)
    assert shared.user("bob").preferences.get("of 1").value == "y"  # type: ignore[union-attr]


READER = """
import asyncio, sys
from pathlib import Path
from ltst import AsyncMemory, Settings

async def read(settings, stopped):
    reads = 0
    while not stopped.is_set():
        async with AsyncMemory(settings=settings) as memory:
            for _ in range(20):
                for name in ("ana", "bob", "cleo"):
                    found = await memory.user(name).preferences.get("diet")
                    assert found.value == f"secret of {name}", found.value
                    reads += 1
    return reads

async def main():
    settings = Settings(worker=False, database_url=sys.argv[1], home=Path(sys.argv[2]), metrics=False, pool_size=2)
    stopped = asyncio.Event()
    readers = [asyncio.create_task(read(settings, stopped)) for _ in range(2)]
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.read)
    stopped.set()
    print(sum(await asyncio.gather(*readers)), flush=True)

asyncio.run(main())
"""


async def test_reads_go_on_in_two_processes_while_the_master_key_rotates(settings: Settings) -> None:
    other = python(READER, str(settings.database_url), str(settings.home))
    async with AsyncMemory(settings=settings) as memory:
        for name in ("ana", "bob", "cleo"):
            await memory.user(name).preferences.set("diet", f"secret of {name}", sensitive=True)
        assert other.stdout is not None
        assert await asyncio.to_thread(other.stdout.readline) == "ready\n"
        stopped, reads = asyncio.Event(), 0

        async def read(name: str) -> None:
            nonlocal reads
            while not stopped.is_set():
                found = await memory.user(name).preferences.get("diet")
                assert found is not None
                assert found.value == f"secret of {name}"
                reads += 1

        readers = [asyncio.create_task(read(name)) for name in ("ana", "bob", "cleo") * 4]
        rotated = []
        for _ in range(6):
            rotated.append(await memory.rotate_master_key())
            await asyncio.sleep(0.1)
        await soon(lambda: reads > 100)
        stopped.set()
        await asyncio.gather(*readers)
    said, complained = await asyncio.to_thread(other.communicate, "")
    assert rotated == [3] * 6
    assert other.returncode == 0, complained
    assert int(said) > 0


@pytest.mark.parametrize(
    "read",
    [
        lambda user: user.preferences.get("diet").value,
        lambda user: user.preferences.list()[0].value,
        lambda user: user.export()["preferences"][0]["preference_value"],
    ],
    ids=["get", "list", "export"],
)
def test_a_read_survives_that_its_master_key_is_dropped_before_it_is_used(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, read: Callable[[ltst.User], str]
) -> None:
    with Memory(settings=settings) as other, Memory(settings=settings) as memory:
        other.user("ana").preferences.set("diet", "secret", sensitive=True)
        unwrap, rotations = MasterKeys.cipher, iter(range(2))

        def late(keys: MasterKeys, wrapped: WrappedKey) -> UserCipher:
            for _ in rotations:
                other.rotate_master_key()
            return unwrap(keys, wrapped)

        monkeypatch.setattr(MasterKeys, "cipher", late)
        assert read(memory.user("ana")) == "secret"
        assert next(rotations, None) is None


def test_a_rotation_wraps_every_key_anew_and_leaves_the_values_alone(settings: Settings) -> None:
    with Memory(settings=settings) as memory, superuser(str(settings.database_url)) as connection:
        for number in range(3):
            memory.user(f"user {number}").preferences.set("diet", f"secret {number}", sensitive=True)
        file = settings.home / "master.key"
        seen = "SELECT array_agg(wrapped_key ORDER BY user_id), array_agg(DISTINCT master_key_id) FROM user_keys"
        sealed = "SELECT array_agg(preference_value ORDER BY user_id) FROM user_preferences WHERE sensitive"
        keys_before, values_before = connection.execute(seen).fetchone(), value(connection, sealed)
        first = file.read_text()
        assert memory.rotate_master_key() == 3
        keys_after = connection.execute(seen).fetchone()
        assert keys_before is not None
        assert keys_after is not None
        assert set(keys_before[0]).isdisjoint(keys_after[0])
        assert keys_before[1] != keys_after[1]
        assert len(keys_after[1]) == 1
        assert value(connection, sealed) == values_before
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for _ in range(2):
            memory.rotate_master_key()
        assert first.strip() not in file.read_text()
        for number in range(3):
            assert memory.user(f"user {number}").preferences.get("diet").value == f"secret {number}"  # type: ignore[union-attr]


ROTATE_TWICE = """
import asyncio, sys
from pathlib import Path
from ltst import AsyncMemory, Settings

async def main():
    settings = Settings(worker=False, database_url=sys.argv[1], home=Path(sys.argv[2]))
    async with AsyncMemory(settings=settings) as memory, AsyncMemory(settings=settings) as other:
        await memory.user("ana").preferences.set("diet", "secret", sensitive=True)
        await asyncio.gather(memory.rotate_master_key(), other.rotate_master_key())
        print((await memory.user("ana").preferences.get("diet")).value)

asyncio.run(main())
"""


def test_two_rotations_at_once_follow_each_other(settings: Settings) -> None:
    process = python(ROTATE_TWICE, str(settings.database_url), str(settings.home))
    try:
        said, complained = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        pytest.fail("the rotations wait for each other for ever")
    finally:
        process.kill()
        process.wait()
    assert (said, process.returncode) == ("secret\n", 0), complained


CREATE_KEY = """
import sys, time
from pathlib import Path
from ltst.support.crypto import MasterKeys, UserCipher, WrappedKey
file, start = Path(sys.argv[1]), Path(sys.argv[2])
print("ready", flush=True)
while not start.exists():
    pass
print(MasterKeys(None, file).new_user_key("ana").master_key_id)
"""


def test_processes_that_create_the_key_file_at_once_agree_on_one_key(tmp_path: Path) -> None:
    file, start = tmp_path / "home" / "master.key", tmp_path / "start"
    processes = [python(CREATE_KEY, str(file), str(start)) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    start.touch()
    told = {process.communicate(timeout=120)[0].strip() for process in processes}
    assert told == {MasterKeys(None, file).newest_id()}
    assert [each.name for each in file.parent.iterdir()] == ["master.key"]


def test_the_key_file_is_made_for_its_owner_alone_and_only_when_needed(settings: Settings) -> None:
    file = settings.home / "master.key"
    previous = os.umask(0)
    try:
        with Memory(settings=settings) as memory:
            memory.user("ana").preferences.set("editor", "vim")
            memory.user("ana").preferences.list()
            assert not file.exists()
            memory.user("ana").preferences.set("diet", "secret", sensitive=True)
    finally:
        os.umask(previous)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(settings.home.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o660, 0o777])
def test_a_key_file_that_others_can_reach_is_refused(settings: Settings, mode: int) -> None:
    with Memory(settings=settings) as memory:
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
    file = settings.home / "master.key"
    file.chmod(mode)
    with Memory(settings=settings) as memory:
        with pytest.raises(ltst.Denied, match="chmod 600"):
            memory.user("ana").preferences.get("diet")
        file.chmod(0o600)
        assert memory.user("ana").preferences.get("diet").value == "secret"  # type: ignore[union-attr]


RAW = bytes(range(200, 232))


@pytest.mark.parametrize(
    "written",
    [
        base64.b64encode(RAW).decode(),
        base64.urlsafe_b64encode(RAW).decode(),
        RAW.hex(),
        RAW.hex().upper(),
        f"  {RAW.hex()}\n",
        f"{RAW.hex()},",
    ],
)
def test_a_master_key_may_be_written_in_base64_or_hex(tmp_path: Path, written: str) -> None:
    assert MasterKeys(written, tmp_path / "none").newest_id() == MasterKeys(RAW.hex(), tmp_path / "none").newest_id()
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    "written",
    ["secret", "ab" * 31, "ab" * 33, base64.b64encode(b"x" * 31).decode(), ",", "é" * 32, f"{RAW.hex()},oops"],
)
def test_a_master_key_that_is_none_is_refused_with_how_to_make_one(
    monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.setenv("LTST_MASTER_KEY", written)
    with pytest.raises(ltst.Invalid, match=r"LTST_MASTER_KEY.*32 bytes in base64 or hex") as refusal:
        Memory("postgresql://nowhere")
    assert written == "," or written not in str(refusal.value)


def test_a_master_key_from_the_environment_is_rotated_by_putting_the_new_one_first(
    database_url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, new = key(), key()

    def reading(master: str) -> str:
        monkeypatch.setenv("LTST_MASTER_KEY", master)
        with Memory(database_url) as memory:
            return memory.user("ana").preferences.get("diet").value  # type: ignore[union-attr]

    monkeypatch.setenv("LTST_MASTER_KEY", old)
    with Memory(database_url) as memory:
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
    assert reading(f"{new},{old}") == "secret"
    with pytest.raises(ltst.Unavailable, match="LTST_MASTER_KEY"):
        reading(new)
    monkeypatch.setenv("LTST_MASTER_KEY", f"{new},{old}")
    with Memory(database_url) as memory:
        assert memory.rotate_master_key() == 1
        assert memory.rotate_master_key() == 0
    assert reading(new) == "secret"
    with pytest.raises(ltst.Unavailable, match="LTST_MASTER_KEY"):
        reading(old)
    assert not (tmp_path / "home" / "master.key").exists()


def test_without_its_master_key_a_value_cannot_be_read_and_the_error_says_which_key_is_missing(
    settings: Settings, tmp_path: Path
) -> None:
    with Memory(settings=settings) as memory, superuser(str(settings.database_url)) as connection:
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
        wanted = value(connection, "SELECT master_key_id FROM user_keys")
    elsewhere = Settings(worker=False, database_url=settings.database_url, home=tmp_path / "elsewhere")
    with Memory(settings=elsewhere) as memory:
        user = memory.user("ana")
        for call in (
            lambda: user.preferences.get("diet"),
            lambda: user.preferences.set("diet", "new", sensitive=True),
        ):
            with pytest.raises(ltst.Unavailable, match=f"{wanted}.*{elsewhere.home}.*put it back"):
                call()
        user.preferences.set("editor", "vim")
        assert user.preferences.get("editor").value == "vim"  # type: ignore[union-attr]
    with Memory(settings=settings) as memory:
        assert memory.user("ana").preferences.get("diet").value == "secret"  # type: ignore[union-attr]


def _lost(settings: Settings, how: str, tmp_path: Path) -> Settings:
    """Settings with which the sensitive values of the database can no longer be read."""
    if how == "the key file is gone":
        (settings.home / "master.key").unlink()
    if how == "the key file is another's":
        MasterKeys(None, tmp_path / "elsewhere" / "master.key").new_user_key("eve")
        return replace(settings, home=tmp_path / "elsewhere")
    if how == "the variable holds another key":
        return replace(settings, master_key=key())
    if how == "the data key is gone":
        with superuser(str(settings.database_url)) as connection:
            connection.execute("DELETE FROM user_keys")
    return settings


LOSSES = (
    "the key file is gone",
    "the key file is another's",
    "the variable holds another key",
    "the data key is gone",
)


@pytest.mark.parametrize("how", LOSSES)
def test_a_value_whose_key_is_lost_is_left_out_with_a_note(settings: Settings, tmp_path: Path, how: str) -> None:
    with Memory(settings=settings) as memory:
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
        memory.user("ana").preferences.set("editor", "vim")
    with Memory(settings=_lost(settings, how, tmp_path)) as memory:
        user = memory.user("ana")
        profile, context, document = user.profile(), user.chat("one").context("What do I use?"), user.export()
        listed = {each.key: each for each in user.preferences.list()}
        assert (listed["diet"].value, listed["editor"].value, listed["editor"].note) == ("", "vim", None)
        assert "key" in str(listed["diet"].note)
        left_out_with_a_note(profile, context, document)
        memory.user("bob").restore(document)
        assert memory.user("bob").profile()["preferences"] == {"editor": "vim"}
        assert user.preferences.forget("diet")
        assert user.profile()["notes"] == []


def test_to_read_makes_no_master_key(settings: Settings) -> None:
    file = settings.home / "master.key"
    with Memory(settings=settings) as memory:
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
        file.unlink()
    with Memory(settings=settings) as memory:
        user = memory.user("ana")
        with pytest.raises(ltst.Unavailable):
            user.preferences.get("diet")
        assert not file.exists()
        for read in (user.preferences.list, user.profile, user.export, user.chat("one").context, memory.health):
            read()
        assert not file.exists()


def _master_key(memory: Memory) -> Check:
    return next(check for check in memory.health().checks if check.name == "master key")


def test_health_tells_whether_the_master_key_fits(settings: Settings, tmp_path: Path) -> None:
    with Memory(settings=settings) as memory:
        assert _master_key(memory).status == "ok"
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
        assert _master_key(memory).status == "ok"
        assert _master_key(memory).detail.endswith("opens the data keys of 1 user")
    used = MasterKeys(None, settings.home / "master.key").newest_id()
    kept = (settings.home / "master.key").rename(tmp_path / "kept")
    with Memory(settings=settings) as memory:
        seen = _master_key(memory)
        assert seen.status == "error"
        assert used in seen.detail
        assert "put it back" in seen.detail
        assert not memory.health().ok
    kept.rename(settings.home / "master.key").chmod(0o644)
    with Memory(settings=settings) as memory:
        assert "chmod 600" in _master_key(memory).detail


def test_health_tells_on_both_hosts_that_they_have_different_master_keys(settings: Settings, tmp_path: Path) -> None:
    other = replace(settings, home=tmp_path / "other host")
    with Memory(settings=settings) as one, Memory(settings=other) as two:
        one.user("ana").preferences.set("diet", "secret", sensitive=True)
        two.user("bob").preferences.set("diet", "secret", sensitive=True)
        for memory in (one, two):
            seen = _master_key(memory)
            assert seen.status == "error"
            assert "every host" in seen.detail
    both = ",".join((each.home / "master.key").read_text().strip() for each in (settings, other))
    with Memory(settings=replace(settings, master_key=both)) as memory:
        assert "master-key rotate" in _master_key(memory).detail
        assert memory.rotate_master_key() == 1
        assert _master_key(memory).status == "ok"


def test_a_rotation_leaves_alone_what_a_lost_key_wraps(settings: Settings, tmp_path: Path) -> None:
    with Memory(settings=replace(settings, home=tmp_path / "other host")) as memory:
        memory.user("bob").preferences.set("diet", "secret of bob", sensitive=True)
    with Memory(settings=settings) as memory:
        memory.user("ana").preferences.set("diet", "secret", sensitive=True)
        assert memory.rotate_master_key() == 1
        assert memory.user("ana").preferences.get("diet").value == "secret"  # type: ignore[union-attr]
    with Memory(settings=replace(settings, home=tmp_path / "other host")) as memory:
        assert memory.user("bob").preferences.get("diet").value == "secret of bob"  # type: ignore[union-attr]


def test_after_an_erasure_no_word_of_the_user_is_in_any_column_of_any_table_or_view(settings: Settings) -> None:
    with Memory(settings=settings) as memory, superuser(str(settings.database_url)) as connection:
        connection.execute("SELECT set_config('ltst.user_id', 'CANARY-user', false)")
        furnish(memory.user("CANARY-user"), CANARY)
        furnish(memory.user("bystander"), "other")
        memory.stats()
        before = holding(connection, CANARY)
        assert {each.split(".")[0] for each in before} > {"conversation_messages", "chat_message_history", "user_facts"}
        assert value(connection, "SELECT count(*) FROM user_keys WHERE user_id = 'CANARY-user'") == 1
        memory.user("CANARY-user").erase()
        memory.stats()
        assert holding(connection, CANARY) == set()
        assert holding(connection, "CANARY-user") == set()
        assert value(connection, "SELECT count(*) FROM user_keys") == 1


def test_a_sensitive_value_is_nowhere_in_clear(
    settings: Settings, server: EmbeddedServer, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("ltst", "psycopg", "asyncio"):
        caplog.set_level(logging.DEBUG, name)
    with (
        logger_restored(),
        Memory(
            settings=Settings(worker=False, database_url=settings.database_url, home=settings.home, log="debug")
        ) as memory,
        superuser(str(settings.database_url)) as connection,
    ):
        user = memory.user("ana")
        user.preferences.set(SECRET_KEY, CANARY, sensitive=True)
        user.preferences.get(SECRET_KEY)
        user.preferences.list()
        user.profile()
        document = user.export()
        memory.user("bob").restore(document)
        memory.rotate_master_key()
        connection.execute("UPDATE user_keys SET wrapped_key = wrapped_key || '\\x00' WHERE user_id = 'bob'")
        with pytest.raises(ltst.Denied):
            memory.user("bob").preferences.get(SECRET_KEY)
        memory.stats()
        memory.maintain()
        assert holding(connection, CANARY) == set()
        assert holding(connection, base64.b64encode(CANARY.encode()).decode().rstrip("=")) == set()
    assert CANARY in json.dumps(document)
    assert CANARY not in caplog.text
    assert CANARY not in "".join(capfd.readouterr())
    assert CANARY not in (server.data_dir.parent / "log").read_text(errors="replace")
