"""`python -m bench.pages`: the page over a memory of 10,000 conversations, beside the calls of the API behind it.

Each place is asked for in turn with the calls that return what it shows, by one client over one connection; counted is
the time to the first byte, and the median of a few rounds is told. What a person clicks is compared with the call that
changes the same. Nothing is derived meanwhile: vectors of the conversations would take longer than all the rest.
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from bench import commands
from bench.report import Comparison, Figure, Reading, Report, Row, readable
from bench.served import Server
from ltst import Memory, Settings
from ltst.records import ImportedConversation, ImportedMessage
from ltst.sync import User

BOUND = 3.0
CONVERSATIONS, MESSAGES, BATCH = 10_000, 10, 500
FACTS, PREFERENCES, DOCUMENTS, ITEMS = 500, 200, 100, 500
USER, PAGED = "many", 50
BEGAN = datetime(2025, 1, 1, tzinfo=UTC)
TOPICS = ("sailing", "bread", "the garden", "jazz", "the new flat", "a trip to Porto", "the dentist", "chess")
TOKEN = re.compile(r'name="token" value="([^"]+)"')
STREAMED = {"Accept": "text/event-stream"}
PATIENCE = 300.0  # seconds


@dataclass(frozen=True, slots=True)
class Ask:
    """A request; a body makes it one that changes something. `{n}` in it is another number each time."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def send(self, client: httpx.Client, number: int, *, form: bool = False) -> float:
        """Send it as JSON or as a form; return how many milliseconds went by until the first byte of its answer."""
        body = None if self.body is None else {name: _numbered(value, number) for name, value in self.body.items()}
        sent: dict[str, Any] = {"data" if form else "json": body} if body is not None else {}
        began = time.perf_counter()
        with client.stream(self.method, self.path, headers=self.headers, **sent) as answer:
            pieces = answer.iter_raw()
            first = next(pieces, b"")
            taken = time.perf_counter() - began
            for _ in pieces:  # the rest, so that it is over before the next begins
                pass
        if answer.status_code >= 400 or not (first or answer.is_redirect):
            raise SystemExit(f"{self.method} {self.path}: {answer.status_code}")
        return taken * 1000


def get(path: str) -> Ask:
    """Return a request that reads."""
    return Ask("GET", path)


def post(path: str, **body: Any) -> Ask:
    """Return a request with a body."""
    return Ask("POST", path, body)


READ = "/conversations/read?id=c5000"
SEARCHED = {"query": "chess on Sunday", "limit": 10}
# Each place, and the calls that return what it shows.
PLACES: dict[str, tuple[Ask, ...]] = {
    "/conversations": (get("/v1/sessions?limit=51"),),
    "/conversations?offset=5000": (get("/v1/sessions?limit=51&offset=5000"),),
    READ: (
        get("/v1/sessions/c5000"),
        get("/v1/sessions/c5000/messages?limit=51"),
        get("/v1/sessions/c5000/links"),
        get("/v1/statements?session_id=c5000"),
        get("/v1/facts"),
    ),
    "/conversations?q=chess": (post("/v1/search", query="chess", limit=30, kinds=["message"]),),
    "/search?q=chess+on+Sunday": (post("/v1/search", **SEARCHED),),
    "/search?q=chess+on+Sunday&missed=bread": (
        post("/v1/search", **SEARCHED),
        post("/v1/search", query="chess on Sunday", limit=200, floor=0),
        post("/v1/search", query="bread", limit=200, floor=0),
    ),
    "/context?q=chess+on+Monday": (post("/v1/sessions/new/context", query="chess on Monday"),),
    "/about": (get("/v1/facts"), get("/v1/statements?current=true"), get("/v1/statements?current=false")),
    "/wishes": (get("/v1/preferences?defaults=true"), get("/v1/instructions"), get("/v1/learning")),
    "/documents": (get("/v1/documents"),),
    "/items": (get("/v1/items?limit=51"), get("/v1/namespaces")),
    "/chat?id=c5000": (
        get("/v1/sessions/c5000"),
        get("/v1/sessions/c5000/window"),
        post("/v1/sessions/c5000/context", query="What about bread?", max_tokens=16000),
        get("/v1/facts"),
    ),
    "/bring": (get("/v1/retention"),),
    "/operations": (get("/v1/admin/health"), get("/v1/admin/stats"), get("/v1/admin/users"), get("/v1/admin/keys")),
    "/operations/ledger": (get("/v1/admin/events?limit=101"),),
}
# Each click, and the call that does the same.
CLICKS: dict[str, tuple[Ask, Ask]] = {
    "say something": (
        Ask("POST", "/chat", {"message": "What about bread {n}?"}, STREAMED),
        post("/api/chat", message="What about bread {n}?", stream=True),
    ),
    "correct a fact": (
        Ask("POST", "/about/correct", {"key": "key1", "value": "new {n}"}, {"HX-Request": "true"}),
        Ask("PUT", "/v1/facts/key2", {"value": "new {n}"}),
    ),
    "change a wish": (
        Ask("POST", "/wishes/preference", {"key": "key1", "value": "new {n}"}, {"HX-Request": "true"}),
        Ask("PUT", "/v1/preferences/key2", {"value": "new {n}"}),
    ),
    "put a conversation aside": (
        post("/conversations/archive", id="c7"),
        Ask("POST", "/v1/sessions/c8/archive"),
    ),
}


def main() -> int:
    """Fill, serve, measure and tell."""
    parser = commands.parser("pages", __doc__)
    parser.add_argument("--rounds", type=int, default=7, help="how often each is asked for")
    options = commands.measuring(parser)
    with (
        tempfile.TemporaryDirectory(prefix="ltst-pages-", ignore_cleanup_errors=True) as folder,
        Memory(settings=Settings(home=Path(folder), worker=False, warm=False)) as memory,
    ):
        fill(memory.user(USER))
        with Server(Path(folder), environment={"LTST_WORKER": "off"}) as server:
            report = Report([*rows(server.port, options.rounds)], "The page beside the calls behind it")
    report.show(readable())
    if options.json:
        report.save(options.json)
    return 1 if options.strict and not report.ok else 0


def fill(user: User) -> None:
    """Keep as much as somebody has after years."""
    for first in range(0, CONVERSATIONS, BATCH):
        user.sessions.add_many(_conversation(number) for number in range(first, first + BATCH))
    for number in range(FACTS):
        user.facts.set(f"key{number}", f"value {number}")
    for number in range(PREFERENCES):
        user.preferences.set(f"key{number}", f"value {number}")
    for number in range(DOCUMENTS):
        user.documents.add(f"Document {number} is about {TOPICS[number % len(TOPICS)]}.", title=f"Document {number}")
    for number in range(ITEMS):
        user.items.put(["kitchen", f"shelf{number % 9}"], f"key{number}", {"number": number})


def rows(port: int, rounds: int) -> Iterator[Row]:
    """Yield what each place and each click takes beside what is behind it."""
    cookies = {"ltst_user": USER.encode().hex()}
    base = f"http://localhost:{port}"
    with (
        httpx.Client(base_url=base, cookies=cookies, timeout=PATIENCE) as page,
        httpx.Client(base_url=base, headers={"X-User-Id": USER}, timeout=PATIENCE) as calls,
    ):
        found = TOKEN.search(page.get("/bring").text)
        assert found is not None
        page.headers["X-Token"] = found[1]
        places = [(name, get(name), behind) for name, behind in PLACES.items()]
        for name, ours, behind in [*places, *((name, form, (call,)) for name, (form, call) in CLICKS.items())]:
            taken = [
                (ours.send(page, number, form=True), sum(each.send(calls, number) for each in behind))
                for number in range(rounds + 1)
            ][1:]  # the first is not counted
            first, second = (Figure(statistics.median(each), "ms") for each in zip(*taken, strict=True))
            yield Comparison(name, first, " + ".join(each.path for each in behind), second, BOUND)
        listed = page.get("/conversations").text.count("grow name")
    yield Reading("conversations on a page", listed, "times", PAGED, PAGED)


def _numbered(value: Any, number: int) -> Any:
    return value.replace("{n}", str(number)) if isinstance(value, str) else value


def _conversation(number: int) -> ImportedConversation:
    began = BEGAN + timedelta(hours=number)
    said = [
        ImportedMessage(
            f"c{number}-{place}",
            "user" if place % 2 == 0 else "assistant",
            f"On day {number} we spoke about {TOPICS[(number + place) % len(TOPICS)]}, part {place}.",
            began + timedelta(minutes=place),
            parent=f"c{number}-{place - 1}" if place else None,
        )
        for place in range(MESSAGES)
    ]
    return ImportedConversation(
        f"c{number}", said, name=f"About {TOPICS[number % len(TOPICS)]} {number}" if number % 2 else None
    )


if __name__ == "__main__":
    commands.run(main)
