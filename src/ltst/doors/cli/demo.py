"""The demo: a conversation that is remembered, in the terminal, with no set-up, no model and no key."""

from __future__ import annotations

import sys
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from ltst.doors.cli import facts, show
from ltst.doors.cli.chat import converse
from ltst.doors.cli.options import Options, command
from ltst.records import ConversationMessage, ConversationSession
from ltst.settings import Settings

if TYPE_CHECKING:
    from ltst.sync import Chat, Memory, User

app = typer.Typer()

USER = "demo"
AGENT = "companion"
EARLIER_SHOWN = 5
SEARCHED_SESSIONS = 50


class Story(NamedTuple):
    """One short conversation: what is said, and the fact that is corrected in the middle of it."""

    name: str
    lines: list[tuple[str, str]]
    key: str
    before: tuple[int, str]  # the position of the line that states it, and the value
    after: tuple[int, str]
    preference: tuple[str, str]
    working: dict[str, object]
    question: str


STORIES = [Story(**each) for each in tomllib.loads(Path(__file__).with_name("demo.toml").read_text("utf-8"))["stories"]]


@command(app, "demo", json=False)
def demo(options: Options) -> None:
    """Show a conversation that is remembered.

    No set-up, no model, no key. Run it twice.

    Example: ltst demo
    """
    screen = show.out()
    screen.print(Panel(Text("ltst: memory for AI agents, in one Postgres"), border_style="cyan", expand=False))
    with _open_embedded(screen, options) as memory:
        user = memory.user(USER)
        earlier = user.sessions.list(limit=SEARCHED_SESSIONS)
        if earlier:
            _recall(screen, user, earlier)
        chat = _tell(screen, user, STORIES[len(earlier) % len(STORIES)])
        _part(screen, again=bool(earlier))
        if sys.stdin.isatty() and sys.stdout.isatty():
            _talk(screen, memory.settings, chat.session_id)


@contextmanager
def _open_embedded(screen: Console, options: Options) -> Iterator[Memory]:
    """Opens the embedded memory even if DATABASE_URL is set, because a demo must not write to a team's database."""
    from ltst.sync import Memory

    settings: Settings = replace(options.settings, database_url=options.database_url)
    began = time.perf_counter()
    with show.working("Starting Postgres"):
        memory = Memory(settings=settings)
        memory.open()
    where = f"in {settings.home}" if settings.database_url is None else "at the given URL"
    _step(screen, "Memory is open", f"a real Postgres {where}, after {time.perf_counter() - began:.1f} s")
    try:
        yield memory
    finally:
        memory.close()


def _recall(screen: Console, user: User, earlier: Sequence[ConversationSession]) -> None:
    count = "one earlier conversation" if len(earlier) == 1 else f"{len(earlier)} earlier conversations"
    _step(screen, f"It remembers {count}", "kept on disk since the last run")
    columns = {"When": "last_activity", "About": "session_name", "Messages": "session_length"}
    screen.print(show.table(earlier[:EARLIER_SHOWN], columns))
    newest = user.chat(earlier[0].session_id).window(2)
    screen.print(Text("The last one ended like this:", "dim"))
    screen.print(show.messages(newest))
    known = user.facts.list()
    if known:
        screen.print(show.table(known, {"Known": "key", "Value": "value", "Since": "valid_from"}))


def _tell(screen: Console, user: User, story: Story) -> Chat:
    chat = user.chat(f"demo-{datetime.now():%Y-%m-%d-%H%M%S}", agent=AGENT, name=story.name)
    said = _converse(screen, chat, story)
    _correct(screen, user, story, said)
    _prefer(screen, user, story)
    _work(screen, chat, story)
    _search(screen, user, chat, story.question)
    return chat


def _converse(screen: Console, chat: Chat, story: Story) -> list[ConversationMessage]:
    _step(screen, "A conversation", f"chat.add(…), each message on disk when it returns; session {chat.session_id}")
    said: list[ConversationMessage] = []
    for role, content in story.lines:
        began = time.perf_counter()
        said.append(chat.add(role, content))
        line = Text.assemble("  ", show.role(said[-1].role), "  ", content)
        line.append(f"  {(time.perf_counter() - began) * 1000:.1f} ms", "dim")
        screen.print(line)
    _step(screen, "The short-term window", "chat.window(3), what goes to a model next")
    screen.print(show.messages(chat.window(3)))
    return said


def _correct(screen: Console, user: User, story: Story, said: Sequence[ConversationMessage]) -> None:
    _step(screen, "A fact, corrected", "facts.set(…), twice; the old value is closed, not lost, and knows its source")
    for position, value in (story.before, story.after):
        user.facts.set(story.key, value, source_message_id=said[position].message_id)
    words = {each.message_id: each.content for each in said}
    columns: show.Columns = {
        story.key: "value",
        "State": facts.state,
        "From": "valid_from",
        "Source": lambda fact: words.get(fact.source_message_id),
    }
    screen.print(show.table(user.facts.history(story.key), columns))


def _prefer(screen: Console, user: User, story: Story) -> None:
    _step(screen, "A preference", "preferences.set(…), how the user wants things")
    user.preferences.set(*story.preference)
    screen.print(show.table(user.preferences.list(), {"Preference": "key", "Value": "value"}))


def _work(screen: Console, chat: Chat, story: Story) -> None:
    _step(screen, "Working memory", "chat.working.set(…, ttl=1 hour), for as long as the task takes")
    ((key, value),) = story.working.items()
    chat.working.set(key, value, ttl=timedelta(hours=1))
    screen.print(show.plain(f"  {key} = {chat.working.get(key)}"))


def _search(screen: Console, user: User, chat: Chat, question: str) -> None:
    _step(screen, f"Search: {question}", "user.search(…), by words and meaning, with a model on this machine")
    with show.working("Loading the model"):
        found = user.search(question, limit=3)
    columns = show.columns(
        "Score, When: occurred_at, Who, Found: content",
        {"Score": lambda hit: f"{hit.score:.2f}", "Who": lambda hit: hit.speaker or hit.kind},
    )
    screen.print(show.table(found, columns) if found else Text("  nothing"))
    prompt = chat.context(question, max_tokens=1000)
    parts = ", ".join(section.name for section in prompt.sections)
    _step(screen, "A prompt", f"chat.context(…, max_tokens=1000): {prompt.tokens} tokens of {parts}")


def _part(screen: Console, *, again: bool) -> None:
    screen.print()
    if again:
        screen.print("Every run adds a conversation, and nothing before it is lost.")
    else:
        screen.print("Run [bold]ltst demo[/] again: it will remember this conversation.")
    screen.print(
        f"Look around: [bold]ltst sessions list --user {USER}[/], [bold]ltst search --user {USER} Lisbon[/], "
        f"[bold]ltst stats[/]\nForget it all: [bold]ltst erase --user {USER}[/]",
        soft_wrap=True,
    )


def _talk(screen: Console, settings: Settings, chat_id: str) -> None:
    from ltst.doors.cli.conversation import Talk

    screen.print("\nNow you. What you say is kept and remembered; /help shows what else you can type, Ctrl-D leaves.")
    with Talk(replace(settings, user=USER), chat_id=chat_id) as talk:
        converse(talk, greeted=True)


def _step(screen: Console, title: str, detail: str) -> None:
    screen.print()
    screen.print(Text.assemble(("● ", "cyan"), (title, "bold"), (f"  {detail}", "dim")))
