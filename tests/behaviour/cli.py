"""The command line as a way in: handles with the verbs of AsyncMemory, each of which runs the real `ltst`."""

from __future__ import annotations

import asyncio
import io
import json
import os
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import pytest
import typer

import ltst
from behaviour.http import written
from behaviour.plain import Plain, PlainUser, sent_operations, told_item, told_result
from behaviour.wired import record
from ltst import Settings
from ltst.doors.cli.main import app
from ltst.handles.documents import AsyncDocuments
from ltst.handles.entries import AsyncEntries
from ltst.handles.facts import AsyncFacts
from ltst.handles.instructions import AsyncInstructions
from ltst.handles.items import AsyncItems
from ltst.handles.learning import AsyncLearning
from ltst.handles.preferences import AsyncPreferences
from ltst.handles.retention import AsyncRetention
from ltst.handles.sessions import AsyncSessions
from ltst.handles.statements import AsyncStatements
from ltst.recall.context import Context
from ltst.support import lossless
from ltst.verbs.verb import Verb

R = TypeVar("R")

# The verbs that are no command, and why.
ABSENT = {
    "Chat.store": "a message with a vector of its own comes from a program",
    "Chat.keyed": "`ltst add --key` returns the message that is there",
    "Sessions.add_many": "`ltst import` reads them from files",
    "Entries.add_many": "`ltst import` reads them from files",
    "User.similar": "`ltst search` finds more; a bare number is for programs that go by it",
    "User.keyed": "keys are for programs: `ltst add --key` returns the message that is there",
    "User.message": "`ltst facts history` and `ltst search` show the words that something rests on",
}
# The system gives an argument 128 KiB at most; what is longer comes by standard input, as it would in a shell.
LONGEST_ARGUMENT = 100_000
EVERYTHING = 100_000
COMMAND = typer.main.get_command(app)


class Streams(threading.local):
    """Standard input, output and error of one thread, while it runs a command."""

    def __init__(self) -> None:
        self.stdin = self.stdout = self.stderr = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


class Routed:
    """A stream that leads each thread to its own: commands run at once, as they do in many shells."""

    def __init__(self, streams: Streams, name: str) -> None:
        self._streams, self._name = streams, name

    def __getattr__(self, name: str) -> Any:
        return getattr(getattr(self._streams, self._name), name)


class Shell:
    """Runs commands in this process, each in its own thread with streams of its own."""

    def __init__(self, settings: Settings) -> None:
        self.environment = {
            "DATABASE_URL": str(settings.database_url),
            "LTST_HOME": str(settings.home),
            # What was said is learnt when a test asks for it, as in the other ways in.
            "LTST_LEARN": "off",
        }
        self._streams = Streams()
        self._guard = threading.Lock()
        self._running = 0
        self._before: dict[str, Any] = {}

    def run(self, arguments: list[str], said: bytes = b"") -> tuple[int, str, str]:
        """The exit status of a command, and what it wrote to both streams."""
        streams = self._streams
        with self._taken():
            streams.stdin = io.TextIOWrapper(io.BytesIO(said), encoding="utf-8")
            streams.stdout, streams.stderr = (
                io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="", write_through=True) for _ in range(2)
            )
            try:
                COMMAND.main(arguments, prog_name="ltst")
                status = 0
            except SystemExit as ended:
                status = int(ended.code or 0)
            out, err = (stream.buffer.getvalue().decode() for stream in (streams.stdout, streams.stderr))
        return status, out, err

    @contextmanager
    def _taken(self) -> Iterator[None]:
        """The process's own streams and environment, from the first command that runs to the last."""
        with self._guard:
            if not self._running:
                self._take()
            self._running += 1
        try:
            yield
        finally:
            with self._guard:
                self._running -= 1
                if not self._running:
                    self._give_back()

    def _take(self) -> None:
        for name in ("stdin", "stdout", "stderr"):
            self._before[name] = getattr(sys, name)
            setattr(sys, name, Routed(self._streams, name))
        for name, value in self.environment.items():
            self._before[f"${name}"] = os.environ.get(name)
            os.environ[name] = value

    def _give_back(self) -> None:
        for name, value in self._before.items():
            if not name.startswith("$"):
                setattr(sys, name, value)
            elif value is None:
                del os.environ[name[1:]]
            else:
                os.environ[name[1:]] = value


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ltst.Invalid(f"an argument of a command is a text, not {type(value).__name__}")
    return value


def option(value: Any) -> str:
    """A value as it is written on a command line."""
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return f"{value.total_seconds()}s"
    return written(value).decode() if isinstance(value, Mapping) else str(value)


def options(**given: Any) -> list[str]:
    """`name=value` as `--name value`; a switch without one, what is None not at all, a list as often as it is long."""
    arguments = []
    for name, value in given.items():
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        if value is True:
            arguments.append(flag)
        elif value is not None and value is not False:
            each = value if isinstance(value, list | tuple) else [value]
            arguments += [word for one in each for word in (flag, option(one))]
    return arguments


class Line:
    """Commands for one user."""

    def __init__(self, shell: Shell, user_id: str) -> None:
        self.shell, self.user_id = shell, user_id

    async def ask(self, *command: str, say: Any = None, values: Iterable[Any] = (), **given: Any) -> Any:
        """What a command prints as JSON. `say` is its text, the last argument; an error raises what it tells of."""
        said, words = b"", [text(each) for each in values]
        if say is not None:
            long = text(say) == "-" or len(say) > LONGEST_ARGUMENT
            said = say.encode() + b"\n" if long else b""
            words.append("-" if long else say)
        arguments = [*command, *options(user=self.user_id, json=True, **given), "--", *words]
        return await self.run(arguments, said)

    async def run(self, arguments: list[str], said: bytes = b"") -> Any:
        status, out, err = await asyncio.to_thread(self.shell.run, arguments, said)
        assert "Traceback" not in err, err
        if status == 0:
            return json.loads(out)
        assert out == "", "an error prints nothing to standard output"
        if status == 2:
            raise ltst.Invalid(err)
        assert status == 1
        told = json.loads(err)["error"]
        raise getattr(ltst, told["type"])(told["message"])

    async def one(self, of: type[R], *command: str, **given: Any) -> R | None:
        try:
            return record(of, await self.ask(*command, **given))
        except ltst.NotFound:
            return None

    async def all(self, of: type[R], *command: str, **given: Any) -> list[R]:
        try:
            return [record(of, each) for each in await self.ask(*command, **given)]
        except ltst.NotFound:
            return []

    async def gone(self, *command: str, **given: Any) -> bool:
        try:
            await self.ask(*command, **given)
        except ltst.NotFound:
            return False
        return True


def absent(verb: str) -> NoReturn:
    pytest.skip(f"no command: {ABSENT[verb]}")


class CliDoor:
    """The command line as a way in."""

    def __init__(self, settings: Settings) -> None:
        self._shell = Shell(settings)

    def user(self, user_id: str) -> CliUser:
        return CliUser(Line(self._shell, _named(user_id)))


def _named(user_id: Any) -> str:
    if not isinstance(user_id, str):
        raise ltst.Invalid("user_id must be text: a command line holds nothing else")
    return user_id


class CliUser(PlainUser):
    actor = "cli"

    def __init__(self, line: Line) -> None:
        super().__init__(line, globals(), "Cli")

    async def search(
        self,
        query: str | None = None,
        *,
        kinds: list[str] | None = None,
        session_id: str | None = None,
        **more: Any,
    ) -> list[ltst.Hit]:
        say = query if query is None else text(query)
        return await self._line.all(ltst.Hit, "search", say=say, kind=kinds, chat=session_id, **more)

    async def similar(self, *arguments: Any, **more: Any) -> NoReturn:
        absent("User.similar")

    async def message(self, message_id: str) -> NoReturn:
        absent("User.message")

    async def keyed(self, key: str) -> NoReturn:
        absent("User.keyed")

    async def profile(self) -> Any:
        return await self._line.ask("profile", reveal=True)

    async def export(self) -> Any:
        return await self._line.run(["export", "--user", self.user_id])

    async def restore(self, document: Mapping[str, Any]) -> Any:
        return await self._line.run(["import", "-", "--user", self.user_id, "--json"], written(document))

    async def erase(self) -> ltst.Receipt:
        return record(ltst.Receipt, await self._line.ask("erase", yes=True))


class Noun(Plain):
    """A handle: what stands here says how a verb is typed; every other one is `ltst noun verb`, with its arguments."""

    owner: type

    def __init__(self, line: Line) -> None:
        super().__init__(self.owner, self._typed, record)
        self._line = line

    async def _typed(self, verb: Verb, arguments: dict[str, Any]) -> Any:
        noun = self.owner.__name__.removeprefix("Async").lower()
        name = command_of(noun, verb.does.__name__)
        known = {each.name: each for each in COMMAND.commands[noun].commands[name].params}
        values, given = [], dict[str, Any]()
        for key, value in arguments.items():
            if known[key].param_type_name == "option":
                given[known[key].opts[0].removeprefix("--").replace("-", "_")] = value
            elif value is not None:
                values.append(text(value))
        say = values.pop() if values else None
        try:
            answer = await self._line.ask(noun, name, values=values, say=say, **given)
        except ltst.NotFound:
            if verb.returns is bool:
                return False
            raise
        if verb.returns is bool:
            return True
        return {"items": answer} if isinstance(answer, list) else answer


def command_of(noun: str, verb: str) -> str:
    """The name of the command that is a verb: one record is shown."""
    known = getattr(COMMAND.commands.get(noun), "commands", {})
    return "show" if verb == "get" and "get" not in known else verb.replace("_", "-")


class CliSessions(Noun):
    owner = AsyncSessions

    async def put(self, session: ltst.ConversationSession) -> ltst.ConversationSession:
        told = {
            "name": session.session_name,
            "type": session.session_type,
            "status": session.status,
            "agent": session.agent_name,
            "summary": session.context_summary,
            "relevance": session.relevance_score,
            "created": session.created_at,
            "at": session.last_activity,
            "metadata": session.metadata,
        }
        return record(ltst.ConversationSession, await self._line.ask("sessions", "put", say=session.session_id, **told))

    async def add_many(self, conversations: Any) -> NoReturn:
        absent("Sessions.add_many")

    async def get(self, session_id: str) -> ltst.ConversationSession | None:
        return await self._line.one(ltst.ConversationSession, "sessions", "show", say=session_id, limit=1)

    async def delete(self, session_id: str) -> bool:
        return await self._line.gone("sessions", "delete", say=session_id, yes=True)

    async def list(self, *, where: Mapping[str, Any] | None = None, **narrowed: Any) -> list[ltst.ConversationSession]:
        told = [f"{key}{sign}{value}" for key, each in (where or {}).items() for sign, value in _compared(each)]
        return await self._line.all(ltst.ConversationSession, "sessions", "list", where=told, **narrowed)


def _compared(condition: Any) -> list[tuple[str, str]]:
    """A condition as it is written on a command line."""
    signs = {"gte": ">=", "gt": ">", "lte": "<=", "lt": "<"}
    ranges = condition if isinstance(condition, dict) else {"": condition}
    return [(signs.get(name, "="), json.dumps(bound)) for name, bound in ranges.items()]


class CliChat:
    def __init__(self, line: Line, session_id: str, agent: str | None = None, name: str | None = None) -> None:
        self._line = line
        self.user_id, self.session_id, self.agent, self._name = line.user_id, session_id, agent, name
        self.contexts = CliContexts(line, session_id, agent)
        self.working = CliWorking(line, session_id, agent)

    async def add(self, role: str, content: str, **more: Any) -> ltst.ConversationMessage:
        opening = {"chat": self.session_id, "agent": self.agent, "name": self._name}
        said = await self._line.ask("add", values=[role], say=text(content), **opening, **more)
        return record(ltst.ConversationMessage, said)

    async def replace(self, message_id: str, content: str, **more: Any) -> ltst.ConversationMessage:
        said = await self._line.ask(
            "messages", "replace", values=[message_id], say=text(content), chat=self.session_id, **more
        )
        return record(ltst.ConversationMessage, said)

    async def remove(self, message_id: str) -> None:
        await self._line.ask("messages", "remove", values=[message_id], chat=self.session_id, yes=True)

    async def add_many(self, messages: Iterable[Mapping[str, Any]]) -> list[ltst.ConversationMessage]:
        lines = b"\n".join(written(each) for each in messages)
        given = options(user=self.user_id, chat=self.session_id, agent=self.agent, name=self._name, json=True)
        stored = await self._line.run(["add-many", "-", *given], lines)
        return [record(ltst.ConversationMessage, each) for each in stored]

    async def add_interaction(self, user_msg: str, ai_msg: str) -> list[ltst.ConversationMessage]:
        said = [("user", text(user_msg)), ("assistant", text(ai_msg))]
        return await self.add_many({"role": role, "content": content} for role, content in said)

    async def store(self, message: ltst.ConversationMessage) -> NoReturn:
        absent("Chat.store")

    async def keyed(self, key: str) -> NoReturn:
        absent("Chat.keyed")

    async def window(self, limit: int = 50, *, max_tokens: int | None = None) -> list[ltst.ConversationMessage]:
        given = {"chat": self.session_id, "limit": limit, "max_tokens": max_tokens}
        return await self._line.all(ltst.ConversationMessage, "window", **given)

    async def history(self, *, limit: int = 100, offset: int = 0) -> list[ltst.ConversationMessage]:
        try:
            shown = await self._line.ask("sessions", "show", say=self.session_id, limit=limit, offset=offset)
        except ltst.NotFound:
            return []
        return [record(ltst.ConversationMessage, each) for each in shown["messages"]]

    async def fork(self, at: int | None = None, *, session_id: str | None = None) -> CliChat:
        made = await self._line.ask("sessions", "fork", say=self.session_id, at=at, as_=session_id)
        return CliChat(self._line, made["session_id"])

    async def summary(self) -> ltst.SessionSummary:
        return await CliSessions(self._line).summary(self.session_id)

    async def snapshot(self) -> Any:
        return await self._line.ask("sessions", "snapshot", say=self.session_id)

    async def context(self, query: str | None = None, **more: Any) -> Context:
        found = await self._line.ask("context", say=query, chat=self.session_id, agent=self.agent, **more)
        return record(Context, found)

    async def search(self, query: str, **more: Any) -> list[tuple[ltst.ConversationMessage, float]]:
        hits = await self._line.ask("sessions", "search", values=[self.session_id], say=text(query), **more)
        return [(record(ltst.ConversationMessage, hit["message"]), hit["score"]) for hit in hits]


class CliContexts:
    def __init__(self, line: Line, session_id: str, agent: str | None) -> None:
        self._line, self._chat, self._agent = line, session_id, agent

    async def set(
        self, type: str, key: str, value: str, *, expires_at: datetime | None = None, **more: Any
    ) -> ltst.ConversationContext:
        given = {"chat": self._chat, "agent": self._agent, "expires": expires_at, **more}
        stored = await self._line.ask("contexts", "set", values=[type, key], say=text(value), **given)
        return record(ltst.ConversationContext, stored)

    async def get(self, type: str, key: str) -> ltst.ConversationContext | None:
        return await self._line.one(ltst.ConversationContext, "contexts", "get", values=[type, key], chat=self._chat)

    async def list(self, type: str | None = None) -> list[ltst.ConversationContext]:
        return await self._line.all(ltst.ConversationContext, "contexts", "list", chat=self._chat, type=type)

    async def forget(self, type: str, key: str | None = None) -> int:
        values = [type] if key is None else [type, key]
        return int((await self._line.ask("contexts", "forget", values=values, chat=self._chat))["forgotten"])


class CliWorking:
    def __init__(self, line: Line, session_id: str, agent: str | None) -> None:
        self._line, self._chat, self._agent = line, session_id, agent

    async def set(self, key: str, value: Any, *, ttl: timedelta | float | None = None) -> None:
        given = {"chat": self._chat, "agent": self._agent, "ttl": ttl}
        await self._line.ask("working", "set", values=[key], say=written(value).decode(), **given)

    async def get(self, key: str) -> Any:
        try:
            return (await self._line.ask("working", "get", say=key, chat=self._chat))["value"]
        except ltst.NotFound:
            return None

    async def all(self) -> dict[str, Any]:
        return dict(await self._line.ask("working", "list", chat=self._chat))

    async def forget(self, key: str) -> bool:
        return await self._line.gone("working", "forget", say=key, chat=self._chat)

    async def clear(self) -> int:
        return int((await self._line.ask("working", "clear", chat=self._chat))["cleared"])


class CliStatements(Noun):
    owner = AsyncStatements

    async def list(
        self, *, current: bool | None = None, session_id: str | None = None, **given: Any
    ) -> list[ltst.Statement]:
        held = {} if current is None else {"current" if current else "over": True}
        return await self._line.all(ltst.Statement, "statements", "list", chat=session_id, **held, **given)


class CliItems(Noun):
    owner = AsyncItems

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self._record = told_item

    async def put(self, namespace: Any, key: str, value: Any, *, fields: Any = None, **more: Any) -> ltst.Item:
        vectors = more.pop("vectors", None)
        searched = {"unsearched": True} if fields == [] else {"fields": fields}
        given = {"in": listed(namespace), "vectors": vectors and json.dumps(vectors), **searched, **more}
        said = written(lossless.sent(value)).decode()
        return told_item(ltst.Item, await self._line.ask("items", "put", values=[key], say=said, **given))

    async def search(self, namespace: Any = (), query: str | None = None, *, vector: Any = None, **more: Any) -> Any:
        given = {"in": listed(namespace), "query": query, "vector": vector and json.dumps(vector), **more}
        return [told_item(ltst.Item, each) for each in await self._line.ask("items", "search", **given)]

    async def batch(self, operations: Any) -> list[Any]:
        said = written(sent_operations(operations)).decode()
        return [told_result(each) for each in await self._line.ask("items", "batch", say=said)]


def listed(labels: Any) -> list[str]:
    if isinstance(labels, str):
        raise ltst.Invalid("a namespace is a list of labels: an option names one")
    return [*labels]


class CliFacts(Noun):
    owner = AsyncFacts

    async def set(
        self,
        key: str,
        value: str,
        *,
        source_message_id: str | None = None,
        valid_from: datetime | None = None,
        single_valued: bool = True,
        **given: Any,
    ) -> ltst.Fact:
        given |= {"source": source_message_id, "from_": valid_from, "also": not single_valued}
        return record(ltst.Fact, await self._line.ask("facts", "set", values=[key], say=text(value), **given))

    async def history(self, key: str, *, about: str | None = None) -> Iterable[ltst.Fact]:
        return await self._line.all(ltst.Fact, "facts", "history", say=key, about=about)

    async def end(
        self, key: str, value: str | None = None, *, at: datetime | None = None, about: str | None = None
    ) -> Iterable[ltst.Fact]:
        words = [key, *([value] if value else [])]
        return await self._line.all(ltst.Fact, "facts", "end", values=words, at=at, about=about)


class CliPreferences(Noun):
    owner = AsyncPreferences

    async def set(self, key: str, value: str, *, sensitive: bool = False, **more: Any) -> ltst.UserPreference:
        if not sensitive:
            stored = await self._line.ask("preferences", "set", values=[key], say=text(value), **more)
            return record(ltst.UserPreference, stored)
        # It is typed, not written on the command line, and not shown.
        given = [*options(user=self._line.user_id, sensitive=True, json=True, **more), "--", key]
        shown = await self._line.run(["preferences", "set", *given], text(value).encode() + b"\n")
        assert shown["preference_value"] is None
        return record(ltst.UserPreference, await self._line.ask("preferences", "get", say=key))

    async def list(self, type: str | None = None, *, defaults: bool = False) -> list[ltst.UserPreference]:
        given = {"type": type, "defaults": defaults, "reveal": True}
        return await self._line.all(ltst.UserPreference, "preferences", "list", **given)


class CliInstructions(Noun):
    owner = AsyncInstructions

    async def history(self, agent: str) -> Iterable[ltst.Instruction]:
        return await self._line.all(ltst.Instruction, "instructions", "history", say=agent)


class CliEntries(Noun):
    owner = AsyncEntries

    async def add_many(self, entries: Any) -> NoReturn:
        absent("Entries.add_many")


class CliDocuments(Noun):
    owner = AsyncDocuments

    async def add(self, text_or_path: str | Path, **more: Any) -> ltst.Document:
        given = options(user=self._line.user_id, json=True, **more)
        if isinstance(text_or_path, Path):
            (added,) = await self._line.run(["documents", "add", *given, "--", str(text_or_path)])
        else:
            (added,) = await self._line.run(["documents", "add", "-", *given], text(text_or_path).encode())
        return record(
            ltst.Document, await self._line.ask("documents", "show", say=added["document_id"], limit=EVERYTHING)
        )

    async def get(self, document_id: str) -> ltst.Document | None:
        return await self._line.one(ltst.Document, "documents", "show", say=document_id, limit=EVERYTHING)


class CliRetention(Noun):
    owner = AsyncRetention


class CliLearning(Noun):
    owner = AsyncLearning

    async def set(self, **switches: bool) -> Any:
        for feature, state in switches.items():
            now = await self._line.ask("learning", "set", values=[feature, "on" if state else "off"])
        return now

    async def catch_up(self, session_id: str | None = None) -> Any:
        return (await self._line.ask("learning", "catch-up", chat=session_id))["sessions"]

    async def restart(self) -> Any:
        return (await self._line.ask("learning", "restart", yes=True))["sessions"]


class CliEvents:
    def __init__(self, line: Line) -> None:
        self._line = line

    async def list(self, **place: Any) -> list[ltst.Event]:
        return await self._line.all(ltst.Event, "events", "list", **place)

    async def feed(self, **place: Any) -> Iterable[ltst.Event]:
        return await self._line.all(ltst.Event, "events", "feed", **place)
