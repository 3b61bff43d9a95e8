"""A memory for all tests of a module, with a user of its own for each, and a way to look at what was derived."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from helpers.embedders import opened
from helpers.language_server import LanguageServer, language_server
from ltst import AsyncMemory, AsyncUser, Settings
from ltst.providers.language import OpenAILanguageModel


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(module_settings: Settings) -> AsyncIterator[AsyncMemory]:
    async with opened(module_settings) as memory:
        yield memory


@pytest.fixture
def user(shared: AsyncMemory) -> AsyncUser:
    return shared.user(f"user-{uuid.uuid4().hex}")


@pytest.fixture
def language() -> Iterator[LanguageServer]:
    """An endpoint of a language model, which says what a test tells it to."""
    with language_server() as played:
        yield played


@pytest.fixture
def small(language: LanguageServer) -> OpenAILanguageModel:
    return OpenAILanguageModel("small", base_url=language.url, timeout=60, retries=0)
