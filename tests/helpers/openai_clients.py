"""The official OpenAI client against ltst's server, and what came of its requests."""

from __future__ import annotations

import openai

from ltst import Memory, Settings

# Fields of a request that nobody here has heard of.
UNKNOWN = {"top_k": 7, "vendor": {"deep": [1, None, {"é": "☕"}]}}


def client(address: str, user: str = "ana", chat: str | None = None, key: str = "of no use here") -> openai.OpenAI:
    """A client for a user and, if it is named, a chat."""
    headers = {"X-User-Id": user} | ({"X-Chat-Id": chat} if chat else {})
    return openai.OpenAI(base_url=f"{address}/v1", api_key=key, default_headers=headers, max_retries=0)


def stored(settings: Settings, user: str, chat: str) -> list[tuple[str, str]]:
    """The messages of a chat: who said what."""
    with Memory(settings=settings) as memory:
        return [(each.role, each.content) for each in memory.user(user).chat(chat).history()]
