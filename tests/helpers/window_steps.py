"""Every way in which what a window shows can change: by the library, through the view, by SQL of one's own."""

from __future__ import annotations

import json
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import psycopg

from ltst import AsyncMemory, Conflict, ConversationMessage
from ltst.memory import AsyncChat, AsyncUser

USERS = ("ana", "bob")
SESSIONS = ("monday", "tuesday")
HERE = "user_id = %(user)s AND session_id = %(session)s"
ONE = f"(SELECT message_id FROM conversation_messages WHERE {HERE} ORDER BY random() LIMIT 1)"


class Steps:
    """Takes one of them at random, through one of several memories or on a connection of its own."""

    def __init__(self, memories: tuple[AsyncMemory, ...], hand: psycopg.Connection[Any], chance: random.Random) -> None:
        self._memories, self._hand, self._chance = memories, hand, chance
        self._user: AsyncUser = memories[0].user(USERS[0])
        self._chat: AsyncChat = self._user.chat(SESSIONS[0])
        self._text = ""
        self.done: list[str] = []
        self.ways: dict[Callable[[], Awaitable[None]], int] = {
            self.add: 8,
            self.add_many: 4,
            self.answer: 3,
            self.store: 2,
            self.fork: 1,
            self.delete_session: 1,
            self.make_again: 1,
            self.restore: 1,
            self.write_through_the_view: 2,
            self.delete_through_the_view: 2,
            self.insert: 2,
            self.change: 3,
            self.weigh: 3,
            self.renumber: 1,
            self.delete: 2,
            self.roll_back: 1,
            self.rewrite_the_table: 1,
            self.truncate: 1,
        }

    async def take(self, number: int) -> None:
        (way,) = self._chance.choices([*self.ways], [*self.ways.values()])
        self._user = self._chance.choice(self._memories).user(self._chance.choice(USERS))
        self._chat = self._user.chat(self._chance.choice(SESSIONS))
        self._text = f"{way.__name__} {number} {'words ' * self._chance.randrange(9)}"
        self.done.append(way.__name__)
        await way()

    def _by_hand(self, statement: str, **values: Any) -> None:
        known = {"user": self._chat.user_id, "session": self._chat.session_id, "text": self._text}
        self._hand.execute(statement, {**known, **values})

    async def add(self) -> None:
        await self._chat.add("user", self._text, metadata={"n": len(self.done)})

    async def add_many(self) -> None:
        amount = self._chance.randrange(1, 9)
        await self._chat.add_many([{"role": "user", "content": f"{self._text} {each}"} for each in range(amount)])

    async def answer(self) -> None:
        """A parent may be in another session, and go without this one."""
        asked = await self._user.chat(self._chance.choice(SESSIONS)).add("user", self._text)
        await self._chat.add("assistant", "answer", parent=asked.message_id)

    async def store(self) -> None:
        await self._chat.store(ConversationMessage(self._chat.session_id, "ai", self._text, relevance_score=0.5))

    async def fork(self) -> None:
        other = SESSIONS[self._chat.session_id == SESSIONS[0]]
        await self._user.sessions.delete(other)
        with suppress(Exception):  # there may be nothing to copy
            await self._chat.fork(session_id=other)

    async def delete_session(self) -> None:
        await self._user.sessions.delete(self._chat.session_id)

    async def make_again(self) -> None:
        """As many messages under the same indexes, none of them the same."""
        before = await self._chat.history(limit=1000)
        await self._user.sessions.delete(self._chat.session_id)
        await self._chat.add_many([{"role": "user", "content": f"again {self._text}"} for _ in before])

    async def restore(self) -> None:
        """The same messages, ids included; some of them changed."""
        document = json.loads(json.dumps(await self._user.export()))
        for message in document["messages"][::2]:
            message["content"] += " restored"
        await self._user.erase()
        with suppress(Conflict):
            await self._user.restore(document)

    async def write_through_the_view(self) -> None:
        self._by_hand("SELECT set_config('ltst.user_id', %(user)s, false)")
        message = {"type": "human", "data": {"content": self._text}}
        self._by_hand(
            "INSERT INTO chat_message_history (session_id, message) VALUES (%(session)s, %(message)s::jsonb)",
            message=json.dumps(message),
        )

    async def delete_through_the_view(self) -> None:
        self._by_hand("SELECT set_config('ltst.user_id', %(user)s, false)")
        self._by_hand(
            "DELETE FROM chat_message_history WHERE session_id = %(session)s AND id > %(after)s",
            after=self._chance.randrange(20),
        )

    async def insert(self) -> None:
        await self._chat.add("user", "so that there is a session")
        self._by_hand(
            "INSERT INTO conversation_messages (user_id, session_id, role, content) "
            "VALUES (%(user)s, %(session)s, 'human', %(text)s)"
        )

    async def change(self) -> None:
        self._by_hand(f"UPDATE conversation_messages SET content = %(text)s WHERE {HERE} AND message_id = {ONE}")

    async def weigh(self) -> None:
        self._by_hand(f"UPDATE conversation_messages SET relevance_score = random() WHERE {HERE}")

    async def renumber(self) -> None:
        self._by_hand(f"UPDATE conversation_messages SET message_index = -message_index WHERE {HERE}")
        self._by_hand(f"UPDATE conversation_messages SET message_index = abs(message_index) WHERE {HERE}")

    async def delete(self) -> None:
        self._by_hand(f"DELETE FROM conversation_messages WHERE {HERE} AND message_id = {ONE}")

    async def roll_back(self) -> None:
        with suppress(ZeroDivisionError), self._hand.transaction():
            self._by_hand(f"UPDATE conversation_messages SET content = %(text)s WHERE {HERE}")
            raise ZeroDivisionError

    async def rewrite_the_table(self) -> None:
        self._hand.execute("VACUUM FULL conversation_messages")

    async def truncate(self) -> None:
        """No trigger for rows sees this."""
        self._hand.execute("TRUNCATE conversation_messages CASCADE")
