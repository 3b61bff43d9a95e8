"""What visitors of the soak test do, and what they expect to be told."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

from bench.wire import Wire, written

PATIENCE = 120.0  # seconds for one answer
OK, CREATED, NOT_FOUND, MISDIRECTED, UNPROCESSABLE = 200, 201, 404, 421, 422
TURNS_A_CHAT = 20
STATEMENTS = (
    "The bus was late again, number {n}.",
    "I live in {city} and work as a nurse, since day {n}.",
    "My cat is called {name} and likes fish, says note {n}.",
    "We planned the garden with beds for tomatoes and beans, plan {n}.",
    "I prefer short answers, and tea number {n}.",
)
QUESTIONS = ("Where do I live?", "What is my cat called?", "What do you know about me?", "Which plan was it, {n}?")
CITIES = ("Lisbon", "Porto", "Utrecht", "Bergen", "Kyoto", "Quito")
NAMES = ("Miso", "Ana", "Faro", "Gita")
PARAGRAPH = "The {n}th report says that the mast of the second boat was mended by a carpenter near {city}.\n\n"

Visit = Callable[[], Awaitable[None]]


class Strange(Exception):
    """An answer that nobody expected."""


class Chance(random.Random):
    """The choices of one visitor."""

    def words(self, texts: tuple[str, ...]) -> str:
        """One of the texts, filled in."""
        filled = {"n": self.randrange(10_000), "city": self.choice(CITIES), "name": self.choice(NAMES)}
        return self.choice(texts).format(**filled)


class Visitor:
    """Somebody with a memory, who uses all of it, and is another one once it was erased."""

    def __init__(self, port: int, number: int, chance: Chance) -> None:
        """Connects at the first visit."""
        self._port, self._number, self._chance = port, number, chance
        self._wire = Wire(port)
        self._lives = self._turns = 0
        self._visits: dict[Visit, int] = {
            self.chat: 20,
            self.stream: 8,
            self.stream_and_leave: 8,
            self.add: 20,
            self.window: 10,
            self.search: 8,
            self.context: 5,
            self.fact: 8,
            self.preference: 5,
            self.document: 3,
            self.feed: 3,
            self.follow: 3,
            self.nonsense: 8,
            self.erase: 1,
        }

    def choose(self) -> Visit:
        """What to do next."""
        return self._chance.choices([*self._visits], [*self._visits.values()])[0]

    async def leave(self) -> None:
        """For good."""
        await self._wire.close()

    async def chat(self) -> None:
        """A turn, answered at once."""
        told = await self._ask("POST", "/api/chat", self._said(stream=False))
        _must(bool(told["message_id"] and told["reply_id"] and told["reply"]), told)

    async def stream(self) -> None:
        """A turn, listened to until it is done."""
        wire = Wire(self._port)
        async with asyncio.timeout(PATIENCE):
            names = [each.name async for each in wire.events(self._written("POST", "/api/chat", self._said()))]
        await wire.close()
        _must(names[0] == "start" and names[-1] == "done", names)

    async def stream_and_leave(self) -> None:
        """A turn that nobody waits for."""
        wire = Wire(self._port)
        enough = self._chance.randint(0, 2)
        request = self._written("POST", "/api/chat", self._said())
        async with asyncio.timeout(PATIENCE):
            if not enough:
                await wire.send(request)
                await asyncio.sleep(self._chance.uniform(0, 0.02))
            else:
                await _some(wire, request, enough)
        await self._part(wire)

    async def add(self) -> None:
        """A message that is stored."""
        said = {"role": "user", "content": self._chance.words(STATEMENTS)}
        await self._ask("POST", f"/v1/sessions/{self._chat_id}/messages", said, expected=CREATED)

    async def window(self) -> None:
        """The newest messages."""
        await self._ask("GET", f"/v1/sessions/{self._chat_id}/window")

    async def search(self) -> None:
        """What is remembered."""
        await self._ask("POST", "/v1/search", {"query": self._chance.words(QUESTIONS)})

    async def context(self) -> None:
        """A prompt."""
        wanted = {"query": self._chance.words(QUESTIONS), "max_tokens": 1000}
        told = await self._ask("POST", f"/v1/sessions/{self._chat_id}/context", wanted)
        _must(told["tokens"] <= wanted["max_tokens"], told["tokens"])

    async def fact(self) -> None:
        """A fact that is set, and read back."""
        value = self._chance.choice(CITIES)
        await self._ask("PUT", "/v1/facts/favourite%2Fcity", {"value": value})
        told = await self._ask("GET", "/v1/facts/favourite%2Fcity")
        _must(told["fact_value"] == value, told)

    async def preference(self) -> None:
        """A preference, at times an encrypted one."""
        given = {"value": self._chance.choice(NAMES), "sensitive": self._chance.random() < 0.5}
        await self._ask("PUT", "/v1/preferences/tone", given)
        told = await self._ask("GET", "/v1/preferences/tone")
        _must(told["preference_value"] == given["value"], told)

    async def document(self) -> None:
        """A text of some pages, changed where it was there before."""
        text = "".join(self._chance.words((PARAGRAPH,)) for _ in range(self._chance.randint(2, 12)))
        given = {"text": text, "uri": f"file:///{self._chance.randrange(3)}", "title": "Report"}
        await self._ask("POST", "/v1/documents", given, expected=CREATED)

    async def feed(self) -> None:
        """A page of what changed."""
        await self._ask("GET", "/v1/events?limit=50")

    async def follow(self) -> None:
        """What changes, told while it does, for a while."""
        await self.add()
        wire = Wire(self._port)
        request = self._written("GET", "/v1/events", None, {"Accept": "text/event-stream"})
        async with asyncio.timeout(PATIENCE):
            heard = await _some(wire, request, 1)
        await self._part(wire)
        _must(bool(heard), "the feed told nothing")

    async def nonsense(self) -> None:
        """Requests that are refused, each in its way."""
        method, path, body, headers, expected = self._chance.choice(
            (
                ("POST", "/api/chat", b"{not json", {}, UNPROCESSABLE),
                ("POST", "/api/chat", {"message": "  "}, {}, UNPROCESSABLE),
                ("POST", "/api/chat", {"message": "hello", "agent_name": "nobody"}, {}, NOT_FOUND),
                ("POST", "/api/chat", {"message": "hello", "mood": "good"}, {}, UNPROCESSABLE),
                ("GET", "/v1/nothing/here", None, {}, NOT_FOUND),
                ("GET", "/v1/facts/unheard%20of", None, {}, NOT_FOUND),
                ("GET", "/v1/events", None, {"Host": "evil.example"}, MISDIRECTED),
                ("POST", "/v1/search", {"query": "x", "limit": 0}, {}, UNPROCESSABLE),
            )
        )
        told = await self._ask(method, path, body, headers, expected=expected)
        _must(told["status"] == expected and bool(told["detail"]), told)

    async def erase(self) -> None:
        """All that the visitor owns goes; whoever comes next is somebody else."""
        await self._ask("POST", "/v1/erase", {"user_id": self._user_id})
        self._lives += 1

    @property
    def _user_id(self) -> str:
        return f"visitor-{self._number}-{self._lives}"

    @property
    def _chat_id(self) -> str:
        return f"chat-{self._turns // TURNS_A_CHAT}"

    def _said(self, *, stream: bool = True) -> dict[str, Any]:
        self._turns += 1
        said = self._chance.words(QUESTIONS if self._chance.random() < 0.3 else STATEMENTS)
        return {"message": said, "chat_id": self._chat_id, "agent_name": "recall", "stream": stream}

    def _written(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> bytes:
        return written(method, path, body, {"X-User-Id": self._user_id, **(headers or {})})

    async def _ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None, *, expected: int = OK
    ) -> Any:
        async with asyncio.timeout(PATIENCE):
            answer = await self._wire.ask(self._written(method, path, body, headers))
        _must(answer.status == expected, f"{method} {path}: {answer.status} {answer.body[:300]!r}")
        return answer.json()

    async def _part(self, wire: Wire) -> None:
        """Some say goodbye, others are cut off."""
        if self._chance.random() < 0.5:
            await wire.close()
        else:
            wire.cut()


async def _some(wire: Wire, request: bytes, enough: int) -> list[str]:
    """The names of the first events."""
    names: list[str] = []
    async for each in wire.events(request):
        _must(each.name not in ("refused", "error"), each)
        names.append(each.name)
        if len(names) == enough:
            break
    return names


def _must(true: bool, told: object) -> None:
    if not true:
        raise Strange(str(told)[:300])
