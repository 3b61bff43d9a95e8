"""Every way in, opened once, and a user of its own for every test."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from behaviour.doors import BOUNCED, Door, ManagerDoor, opened
from helpers.bouncer import Behind, bounced
from helpers.probes import Connection, cloned, superuser
from helpers.standby import FollowedServer
from ltst import Settings
from ltst.db.embedded import EmbeddedServer

WHOLE = ["AsyncMemory", "Memory", "HTTP", "CLI", "MCP", BOUNCED]

# The database behind each door, for what no door does: to move a stored time, to lose a key.
ADDRESSES: dict[int, str] = {}


@contextmanager
def _database(door: str, server: EmbeddedServer, template: str, home: Path) -> Iterator[Behind]:
    """The database of a way in, and the address by which it is reached."""
    if door == BOUNCED:
        with bounced(home) as made:
            yield made
    else:
        with cloned(server, template) as url:
            yield Behind(url, url)


def _each(doors: list[str], about: str) -> Any:
    """Return a fixture that opens each of these ways in once."""

    @pytest_asyncio.fixture(scope="session", loop_scope="session", params=doors)
    async def each(
        request: pytest.FixtureRequest, server: EmbeddedServer, template: str, tmp_path_factory: pytest.TempPathFactory
    ) -> AsyncIterator[Door]:
        home = tmp_path_factory.mktemp("home")
        with _database(request.param, server, template, home) as database:
            read = server.read_url(database.straight) if isinstance(server, FollowedServer) else None
            settings = Settings(worker=False, database_url=database.url, read_database_url=read, home=home)
            async with opened(request.param, settings) as door:
                ADDRESSES[id(door)] = database.straight
                yield door

    each.__doc__ = about
    return each


door = _each(WHOLE, "A way in that has every verb.")
any_door = _each([*WHOLE, "ConversationStorage"], "A way in that knows sessions, messages and contexts.")
every_door = _each([*WHOLE, "MemoryManager"], "A way in by which something is said, kept and found again.")


@pytest.fixture
def user(door: Door) -> Any:
    """A user whom nobody else has touched."""
    return door.user(f"user-{uuid.uuid4().hex}")


@pytest.fixture
def any_user(any_door: Door) -> Any:
    """A user whom nobody else has touched, through any way in."""
    return any_door.user(f"user-{uuid.uuid4().hex}")


@pytest.fixture
def database(door: Door) -> Iterator[Connection]:
    """The database behind the door, as a superuser sees it."""
    with superuser(ADDRESSES[id(door)]) as connection:
        yield connection


@pytest.fixture
def every_database(every_door: Door) -> Iterator[Connection]:
    """The database behind the door of `every_user`."""
    with superuser(ADDRESSES[id(every_door)]) as connection:
        yield connection


@pytest_asyncio.fixture(loop_scope="session")
async def every_user(every_door: Door) -> AsyncIterator[Any]:
    """A user whom nobody else has touched, through a way in that says, keeps and finds."""
    yield every_door.user(f"user-{uuid.uuid4().hex}")
    if isinstance(every_door, ManagerDoor):
        await every_door.__aexit__()
