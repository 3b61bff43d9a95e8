"""A memory beside a scripted model, and the turns of its chats."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from ltst import AsyncMemory, AsyncUser, Settings
from ltst.agents.turns import Turns
from support.embedders import opened
from support.language_server import LanguageServer, language_server


@pytest.fixture
def upstream() -> Iterator[LanguageServer]:
    with language_server() as played:
        yield played


@pytest.fixture
def with_model(settings: Settings, upstream: LanguageServer) -> Settings:
    return replace(settings, llm_model="small", llm_base_url=upstream.url, llm_api_key="sk-secret", llm_timeout=10)


@pytest.fixture
async def modelled(with_model: Settings) -> AsyncIterator[AsyncMemory]:
    async with opened(with_model) as memory:
        yield memory


@pytest.fixture
async def turns(modelled: AsyncMemory) -> AsyncIterator[Turns]:
    made = Turns(modelled)
    yield made
    await made.close(grace=5)


@pytest.fixture
def ana(modelled: AsyncMemory) -> AsyncUser:
    return modelled.user("ana")


@pytest.fixture
async def plain(settings: Settings) -> AsyncIterator[AsyncMemory]:
    """A memory without any model."""
    async with opened(settings) as memory:
        yield memory
