"""Chats with an agent, said and answered."""

from __future__ import annotations

from ltst import AsyncUser
from ltst.agents.turns import TurnResult, Turns


async def say(turns: Turns, user: AsyncUser, text: str, chat: str = "today") -> TurnResult:
    """Say something in a chat; the turn, once it is answered."""
    return await (await turns.begin(user, text, chat_id=chat)).done()


async def stored(user: AsyncUser, chat: str = "today") -> list[tuple[str, str]]:
    """The messages of a chat: who said what."""
    return [(each.role, each.content) for each in await user.chat(chat).history()]
