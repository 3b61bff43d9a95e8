"""A memory beside a scripted model, and the turns of its chats: one database a module, users of their own a test."""

from __future__ import annotations

import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from helpers.embedders import opened
from helpers.language_server import LanguageServer
from helpers.probes import cloned
from ltst import AsyncMemory, AsyncUser, Settings
from ltst.agents.relay import Relay
from ltst.agents.turns import Turns
from ltst.db.embedded import EmbeddedServer


@pytest.fixture(scope="module")
def database_url(server: EmbeddedServer, template: str) -> Iterator[str]:
    with cloned(server, template) as url:
        yield url


@pytest.fixture
def with_model(settings: Settings, upstream: LanguageServer) -> Settings:
    return replace(settings, llm_model="small", llm_base_url=upstream.url, llm_api_key="sk-secret", llm_timeout=60)


@pytest.fixture
async def modelled(with_model: Settings) -> AsyncIterator[AsyncMemory]:
    async with opened(with_model) as memory:
        yield memory


@pytest.fixture
def ana(modelled: AsyncMemory) -> AsyncUser:
    return modelled.user(f"ana-{uuid.uuid4().hex}")


@pytest.fixture
def bob(modelled: AsyncMemory) -> AsyncUser:
    return modelled.user(f"bob-{uuid.uuid4().hex}")


@pytest.fixture
async def turns(modelled: AsyncMemory) -> AsyncIterator[Turns]:
    made = Turns(modelled)
    yield made
    await made.close(grace=5)


@pytest.fixture
async def relay(modelled: AsyncMemory) -> AsyncIterator[Relay]:
    made = Relay(modelled)
    yield made
    await made.close(grace=5)


@pytest.fixture
def go() -> Iterator[threading.Event]:
    """Lets a stream that waits go on; at the end in any case."""
    made = threading.Event()
    yield made
    made.set()


@pytest.fixture
async def plain(settings: Settings) -> AsyncIterator[AsyncMemory]:
    """A memory without any model."""
    async with opened(settings) as memory:
        yield memory


@pytest.fixture
async def recall(plain: AsyncMemory) -> AsyncIterator[Turns]:
    """The turns of chats that are answered without a model."""
    made = Turns(plain)
    yield made
    await made.close()
