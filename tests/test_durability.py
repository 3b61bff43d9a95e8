"""What must survive a loss of power is on the disk: the bytes of a file, and the name under which its folder has it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers.shell import COMMAND
from ltst import Memory, Settings
from ltst.db.embedded import EmbeddedServer
from ltst.support.crypto import MasterKeys


class Disk:
    """Notes which folders were written out, and with which names in them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._names: dict[int, set[str]] = {}
        self._real = os.fsync
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fsync(self, opened: int) -> None:
        self._real(opened)
        found = os.fstat(opened)
        self._names[found.st_ino] = set(os.listdir(opened)) if stat.S_ISDIR(found.st_mode) else set()

    def holds(self, file: Path) -> bool:
        """Whether the file's name lasts; for a file also whether its bytes do."""
        named = file.name in self._names.get(file.parent.stat().st_ino, set())
        return named and (file.is_dir() or file.stat().st_ino in self._names)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_the_key_file_and_its_folders_are_on_the_disk_when_it_is_used(tmp_path: Path, disk: Disk) -> None:
    file = tmp_path / "new" / "home" / "master.key"
    MasterKeys(None, file).new_user_key("ana")
    assert all(map(disk.holds, (file, file.parent, file.parent.parent)))


def test_a_rotated_key_file_is_on_the_disk_before_anything_is_wrapped(tmp_path: Path, disk: Disk) -> None:
    keys = MasterKeys(None, tmp_path / "master.key")
    keys.new_user_key("ana")
    with keys.begin_rotation():
        assert disk.holds(tmp_path / "master.key")
    assert disk.holds(tmp_path / "master.key")


def test_the_home_of_the_embedded_postgres_is_on_the_disk(tmp_path: Path, disk: Disk) -> None:
    home = tmp_path / "new" / "home"
    server = EmbeddedServer.acquire(home)
    server.release()
    configured = home / "postgres" / "data" / "postgresql.conf"
    assert all(map(disk.holds, (home.parent, home, home / "postgres", home / "postgres" / "data", configured)))


@pytest.mark.parametrize("words", [("export",), ("db", "backup")])
def test_what_is_written_out_is_on_the_disk(
    words: tuple[str, ...], settings: Settings, tmp_path: Path, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Memory(settings=settings) as memory:
        memory.user("local").chat("one").add("user", "hello")
    monkeypatch.setenv("DATABASE_URL", str(settings.database_url))
    done = CliRunner().invoke(COMMAND, [*words, str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert disk.holds(tmp_path / "out")
