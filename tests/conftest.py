"""A real Postgres for every test that asks for one: a server per worker, a migrated template, a clone per test.

What takes long to import is imported by the fixtures that need it, so that a test without a database begins at once.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from ltst.settings import VARIABLES, Settings

if TYPE_CHECKING:
    from helpers.language_server import LanguageServer
    from helpers.probes import Connection
    from ltst import AsyncMemory, Memory
    from ltst.db.embedded import EmbeddedServer

ROOM_IN_MEMORY = 6 * 1024**3


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="Try everything as often as promised, which takes long.")
    parser.addoption("--shots", metavar="FOLDER", help="Where to put pictures of the page, such as docs/web.")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """What takes long and is also a command of its own waits for --full."""
    for item in items:
        if item.get_closest_marker("long") and not config.getoption("--full"):
            item.add_marker(pytest.mark.skip(reason="long: make full, make crash"))
        if (alone := item.get_closest_marker("one_server")) and os.environ.get("LTST_CITUS"):
            item.add_marker(pytest.mark.skip(reason=f"not on Citus: {alone.args[0]}"))


@pytest.fixture(scope="session")
def rounds(request: pytest.FixtureRequest) -> Callable[[int], int]:
    """How often to try something that is promised so many times: a tenth of it, unless all is asked for."""
    full = bool(request.config.getoption("--full"))
    return lambda promised: promised if full else max(1, promised // 10)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reaches the developer's own database or home."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("LTST_HOME", str(tmp_path / "home"))
    # What is due is done when a test asks for it; the worker has tests of its own.
    monkeypatch.setenv("LTST_WORKER", "off")
    # Nor is the model loaded before a test needs it, however its settings are made.
    monkeypatch.setenv("LTST_WARM", "off")
    monkeypatch.setitem(Settings.__init__.__kwdefaults__, "warm", False)


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """The embedded Postgres of this worker."""
    from helpers import citus, standby
    from ltst.db.embedded import EmbeddedServer

    with tempfile.TemporaryDirectory(prefix="ltst-", dir=_folder_in_memory()) as folder:
        if citus.PREFIX:
            cluster, spoken_for = citus.begun(Path(folder))
            yield cast("EmbeddedServer", spoken_for)
            cluster.kill()
            return
        if standby.WANTED:
            followed = standby.FollowedServer(Path(folder))
            yield cast("EmbeddedServer", followed)
            followed.kill()
            return
        held = EmbeddedServer.acquire(Path(folder))
        yield held
        held.release()


def _folder_in_memory() -> Path | None:
    """A database is some thousand files, and each test has its own: on a disk, to make them is half of the time."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free > ROOM_IN_MEMORY
    return memory if roomy else None


def create(server: EmbeddedServer, name: str, template: str | None = None) -> None:
    """A database, empty or a copy."""
    from helpers import probes

    probes.create(server, name, template)


def administer(server: EmbeddedServer, statement: str) -> None:
    """Run one statement as the superuser, outside the databases under test."""
    from helpers import probes

    probes.administer(server, statement)


def url_of(server: EmbeddedServer, database: str) -> str:
    """How to reach one database of the server."""
    from psycopg.conninfo import make_conninfo

    return make_conninfo(server.dsn, dbname=database)


@pytest.fixture(scope="session")
def template(server: EmbeddedServer) -> str:
    """A migrated, empty database to clone."""
    from helpers.citus import CitusServer
    from ltst import AsyncMemory

    create(server, "template_ltst")
    if isinstance(server, CitusServer):
        server.make_template("template_ltst")
        return "template_ltst"

    async def migrate() -> None:
        async with AsyncMemory(url_of(server, "template_ltst")):
            pass

    asyncio.run(migrate())
    return "template_ltst"


@pytest.fixture
def empty_database_url(server: EmbeddedServer) -> Iterator[str]:
    """A database without any schema."""
    name = f"test_{uuid.uuid4().hex}"
    create(server, name)
    yield url_of(server, name)
    administer(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database_url(server: EmbeddedServer, template: str) -> Iterator[str]:
    """A migrated, empty database of this test's own."""
    name = f"test_{uuid.uuid4().hex}"
    create(server, name, template)
    yield url_of(server, name)
    administer(server, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database(database_url: str) -> Iterator[Connection]:
    """A superuser's connection to it, who sees every row."""
    from helpers.probes import superuser

    with superuser(database_url) as connection:
        yield connection


@pytest.fixture
def upstream() -> Iterator[LanguageServer]:
    """A scripted language model behind an OpenAI-compatible endpoint."""
    from helpers.language_server import language_server

    with language_server() as played:
        yield played


@pytest.fixture(scope="module")
def url(server: EmbeddedServer, template: str) -> Iterator[str]:
    """A migrated database for all tests of a module."""
    from helpers.probes import cloned

    with cloned(server, template) as made:
        yield made


@pytest.fixture(scope="module")
def module_settings(url: str, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Settings for the database and the home of a module."""
    return Settings(worker=False, database_url=url, home=tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def shared(module_settings: Settings) -> Iterator[Memory]:
    """An open memory for all tests of a module, in which each uses a user of its own."""
    from ltst import Memory

    with Memory(settings=module_settings) as opened:
        yield opened


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    """Settings for this test's own database and home."""
    return Settings(worker=False, database_url=database_url, home=tmp_path / "home")


@pytest.fixture
async def memory(settings: Settings) -> AsyncIterator[AsyncMemory]:
    """An open memory."""
    from ltst import AsyncMemory

    async with AsyncMemory(settings=settings) as opened:
        yield opened


@pytest.fixture
def sync_memory(settings: Settings) -> Iterator[Memory]:
    """An open memory for code that does not await."""
    from ltst import Memory

    with Memory(settings=settings) as opened:
        yield opened
