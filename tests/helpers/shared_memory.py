"""A memory for all tests of a module, with a user of its own for each, and a way to look at what was derived."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from helpers.embedders import opened
from helpers.probes import cloned
from ltst import AsyncMemory, AsyncUser, Settings
from ltst.db.embedded import EmbeddedServer


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    server: EmbeddedServer, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[AsyncMemory]:
    with cloned(server, template) as url:
        async with opened(Settings(worker=False, database_url=url, home=tmp_path_factory.mktemp("home"))) as memory:
            yield memory


@pytest.fixture
def user(shared: AsyncMemory) -> AsyncUser:
    return shared.user(f"user-{uuid.uuid4().hex}")
