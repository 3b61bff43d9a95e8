"""AsyncMemory and its handles AsyncUser and AsyncChat: the verbs of ltst.

`sync.py` is generated from this file and the handles; after a change run `make sync`.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Any, Self, Unpack
from weakref import WeakSet

from ltst.arguments import (
    MESSAGE_TYPES,
    Agent,
    Budget,
    Content,
    Few,
    Identifier,
    Index,
    Limit,
    MessageId,
    Metadata,
    Offset,
    Role,
    SaidAt,
    Score,
    SearchFilters,
    SessionName,
    Strategy,
    WindowSize,
)
from ltst.db import migrate
from ltst.db.opening import Connected
from ltst.db.pool import Database, Transaction
from ltst.errors import Conflict, Invalid, NotFound, shown
from ltst.handles import adoption, archive, health, messages, receipts, upkeep, windows
from ltst.handles.contexts import AsyncContexts, AsyncWorking
from ltst.handles.desk import Core, Desk, checked_user, now
from ltst.handles.documents import AsyncDocuments
from ltst.handles.entries import AsyncEntries
from ltst.handles.events import AsyncEvents, checked_place
from ltst.handles.facts import AsyncFacts
from ltst.handles.instructions import AsyncInstructions
from ltst.handles.keys import AsyncKeys
from ltst.handles.learning import AsyncLearning
from ltst.handles.models import Models
from ltst.handles.preferences import AsyncPreferences, left_out
from ltst.handles.recall import assemble, checked, find, wanted_context
from ltst.handles.retention import AsyncRetention
from ltst.handles.sessions import AsyncSessions
from ltst.handles.similarity import embedded, similar
from ltst.handles.statements import AsyncStatements
from ltst.handles.users import AsyncUsers
from ltst.protocols import Embedder, LanguageModel, Reranker, WindowCache
from ltst.providers.language import configured
from ltst.providers.windows import chosen
from ltst.recall.context import Context
from ltst.recall.window import Windows
from ltst.records import (
    ME,
    Adoption,
    Changes,
    ConversationMessage,
    ConversationSession,
    Event,
    Health,
    Hit,
    Measurement,
    Predecessor,
    Receipt,
    Restitution,
    SessionSummary,
    Stats,
    Verification,
)
from ltst.rooms import events, relationships, search, sessions
from ltst.rooms import messages as message_room
from ltst.rooms import windows as window_room
from ltst.settings import Settings
from ltst.support import logs, validate
from ltst.support.ids import is_id, new_id
from ltst.support.place import background, end
from ltst.worker import Worker

FLUSH_SECONDS = 5.0
LONGEST_GOODBYE = 10.0
SNAPSHOT_MESSAGES = 50
SNAPSHOT_TOKENS = 4000
ADD_ARGUMENTS = frozenset({"role", "content", "at", "metadata", "parent", "key"})
LEFT_OPEN: WeakSet[AsyncMemory] = WeakSet()
MODEL_ROLES = {"human": "user", "ai": "assistant"}


class AsyncMemory:
    """Long-term and short-term memory in one Postgres: use it inside `async with`, or call `open` and `close`."""

    def __init__(
        self,
        database_url: str | None = None,
        *,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        language_model: LanguageModel | None = None,
        window_cache: WindowCache | None = None,
        settings: Settings | None = None,
    ) -> None:
        """Use the given database, else DATABASE_URL, else the embedded Postgres.

        Without an `embedder` it uses the model whose vectors the database holds, in a new one that of the settings: by
        default a local model that needs no key and no network. A `reranker` judges the best of each search anew. A
        `language_model`, given or named by the settings, helps to learn; without one everything works too. A
        `window_cache`, given or chosen by the settings, makes reading the window cheaper.
        """
        if not isinstance(settings, Settings | None) or not isinstance(database_url, str | None):
            raise Invalid("Memory takes a database URL as text, and settings=Settings(...)")
        given = settings or Settings.from_environment()
        language = configured(given, language_model)
        models = Models(
            embedder,
            reranker,
            given.embedder_api_key,
            language,
            default=given.embedder,
            parts=given.embedded_parts,
            threads=given.embedder_threads,
        )
        self._core = Core(given if database_url is None else replace(given, database_url=database_url), models)
        if window_cache is not None:
            validate.implements(window_cache, "window_cache", WindowCache)
        self._window_cache = window_cache
        self._worker = Worker(self._core, self.maintain)
        self._held = AsyncExitStack()
        self._flusher: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._parents: object = None

    @property
    def settings(self) -> Settings:
        """What this memory was set up with."""
        return self._core.settings

    @property
    def database_url(self) -> str:
        """The address of the database in use, as a URL that psql, psycopg and SQLAlchemy take."""
        return self._core.address

    async def __aenter__(self) -> Self:
        """Open."""
        await self.open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Close."""
        await self.close()

    async def open(self) -> None:
        """Start or join the embedded Postgres, or connect to the one that was given; bring the schema up to date."""
        if self._core.opened is not None and self._core.opened.place.is_foreign:
            self._forget()
        if self._core.opened is not None:
            self._core.opened.place.check()
            return
        if self.settings.log:
            logs.speak(self.settings.log)
        try:
            self._core.opened = await self._held.enter_async_context(Connected(self.settings))
            await migrate.migrate(self._core.opened)
            self._core.windows = await self._opened_windows(self._core.opened)
        except BaseException:
            await self.close()
            raise
        self._flusher = background(self._flush_now_and_then())
        self._worker.open()
        if self.settings.warm:
            self._warming = background(self.warm())
        LEFT_OPEN.add(self)

    async def close(self) -> None:
        """Write what is pending and let go; the last one to leave stops the embedded Postgres.

        In a forked child it only forgets what belongs to the parent.
        """
        if (opened := self._core.opened) is not None:
            if opened.place.is_foreign:
                self._forget()
                return
            opened.place.move()
            opened.place.check()
        try:
            await self._rest()
            await self._core.models.close()
        finally:
            self._core.opened = self._core.windows = self._flusher = self._warming = None
            LEFT_OPEN.discard(self)
            await self._held.aclose()

    def user(self, user_id: str) -> AsyncUser:
        """The memory of one user; nothing reaches another's."""
        return AsyncUser(Desk(self._core, checked_user(user_id)))

    @property
    def keys(self) -> AsyncKeys:
        """The keys with which programs come in over the network."""
        return AsyncKeys(self._core)

    @property
    def users(self) -> AsyncUsers:
        """Everyone of whom something is stored."""
        return AsyncUsers(self._core)

    async def feed(self, *, after: int | str = 0, limit: int = 100) -> builtins.list[Event]:
        """The changes of all users that follow one, for a program that follows the ledger; see `user.events.feed`."""
        place, most = checked_place(after), validate.limit(limit)
        return await events.list_of_all(self._core.database.keeper(), place, limit=most)

    async def changed(self, after: str | None = None) -> Changes:
        """Returns whose memories changed after a cursor of the feed, and the cursor to ask from next.

        Without a cursor nobody's did: it begins now. One call tells a program with many listeners whom to wake.
        """
        calls = self._core.database.keeper()
        if after is None:
            return Changes(await events.last(calls))
        return await events.changed(calls, checked_place(after)) or Changes(after)

    async def settle(self, user_id: str | None = None, *, progress: Callable[[int, int], None] | None = None) -> None:
        """Return when no derived work is due any more, for one user or for all.

        `progress` is called now and then with how much is done and how much is known to be due.
        """
        validate.function(progress, "progress")
        await self._worker.settle(None if user_id is None else validate.identifier(user_id, "user_id"), progress)

    async def warm(self) -> None:
        """Return when the embedding model is loaded, so that the first search need not wait for it.

        That is for a model of this machine, and begins by itself in the background of `open`, where the settings say
        so. One that cannot be loaded is told by the log, and by what needs its vectors.
        """
        await self._core.models.warm(self._core.database)

    async def embedder_model(self) -> str | None:
        """The name of the embedding model whose vectors the database holds; None before the first is made."""
        active = await search.model(self._core.database.keeper())
        return active.name if active else None

    async def switch_embedder(
        self, embedder: Embedder | str, *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Change the embedding model in place, while reads and writes go on; the number of rows that got a vector.

        A name (joined, local, multilingual, local:FOLDER, openai:MODEL, openai:MODEL@BASE_URL) is one that every
        process can follow by itself; an embedder of your own must be given to each as `embedder`. Stopped, it goes on
        when it is asked for again.
        """
        validate.function(progress, "progress")
        return await self._core.models.switch(self._core.database, embedder, progress)

    async def cancel_switch(self) -> bool:
        """Give up a change of the embedding model that was begun and stopped; whether there was one."""
        from ltst.indexing.switch import cancel

        return await cancel(self._core.database)

    async def maintain(self) -> dict[str, int]:
        """One pass of expiry, retention and pruning over all users; how many rows each step touched."""
        return await upkeep.maintain(self._core)

    async def verify(self, receipt: Receipt | Mapping[str, Any]) -> Verification:
        """Check the receipt of an erasure, as `erase` gave it or read from JSON.

        It tells whether the receipt was changed, whether the ledger of this database has it, and whether anything of
        the user is in any table now.
        """
        return await receipts.verify(self._core, receipt)

    async def health(self) -> Health:
        """Schema, extension, indexes, triggers, isolation, queries, work, master key, disk: each with its state."""
        return await health.look(self._core)

    async def ready(self) -> Health:
        """Whether this process can serve: the database answers, its schema is up to date, the worker runs."""
        return Health((await health.migrations(self._core.database), self._worker.check()))

    async def stats(self) -> Stats:
        """Percentiles of each operation over the last day, sizes and growth of the tables."""
        return await upkeep.stats(self._core)

    def watch(self, watcher: Callable[[Measurement], None]) -> None:
        """Call `watcher` with each operation when it is over: its name, milliseconds, results, error, cache_hit.

        It is called on the way of the operation, so it must return at once and not raise.
        """
        self._core.watchers.append(watcher)

    async def retry(self) -> int:
        """Try again what was set aside because it failed too often or took too long; how much that is."""
        again = int(await self._core.database.keeper().value("work.retry"))
        for user_id in await self._worker.due():
            self._core.written(user_id)
        return again

    async def embed(self, texts: Iterable[str]) -> builtins.list[builtins.list[float]]:
        """The vectors of texts by the model of this database, each of length one: for queries of your own.

        A long text has the mean of the vectors of its parts.
        """
        return await embedded(self._core, texts)

    async def sole_user(self) -> str:
        """The one user who has sessions; Conflict where several do, NotFound where nobody has. Likewise."""
        return await upkeep.sole_user(self._core)

    async def session_owner(self, session_id: str) -> str:
        """The one user who has this session; Conflict where several do. For callers that know no users."""
        return await upkeep.owner_of(self._core, validate.identifier(session_id, "session_id"))

    async def adopt(
        self,
        table: str,
        *,
        user_id: str | None = None,
        dry_run: bool = False,
        leave_out: bool = False,
        zone: str = "UTC",
    ) -> Adoption:
        """Make a chat table of another program part of this memory; under its name stands a view that works like it.

        Its rows become messages of the users that they name, else of `user_id`. A dry run tells what would happen and
        writes nothing. Where rows cannot become messages nothing is done, unless they are to be left out. `zone` is the
        zone of dates that do not say theirs.
        """
        return await adoption.adopt(self._core, table, user_id, dry_run=dry_run, leave_out=leave_out, zone=zone)

    async def give_back(self, table: str, *, keep: bool = False) -> Restitution:
        """End an adoption: the table is back, with all that was written since, and its sessions leave this memory.

        With `keep` they stay here too, as they are.
        """
        return await adoption.give_back(self._core, table, keep=keep)

    async def adopt_predecessor(
        self,
        schema: str = "public",
        *,
        user_id: str | None = None,
        dry_run: bool = False,
        leave_out: bool = False,
        zone: str = "UTC",
        switch: bool = False,
    ) -> Predecessor:
        """Copy the tables of the system before ltst, which lie in another schema, and compare both sides.

        Sessions keep their users; what names no user becomes `user_id`'s. What was copied before is not copied again.
        With `switch`, names in this database mean ltst's tables from now on. With `leave_out`, rows that cannot be
        taken over stay behind; else one such row stops all. See docs/migrating.md.
        """
        return await adoption.adopt_predecessor(
            self._core, schema, user_id, dry_run=dry_run, leave_out=leave_out, zone=zone, switch=switch
        )

    async def give_predecessor_back(
        self, schema: str = "public", *, user_id: str | None = None, zone: str = "UTC", drop: bool = False
    ) -> Predecessor:
        """Bring what was written since the switch into the tables of the system before, and let names mean them again.

        ltst's own schema stays beside them; with `drop` it is removed, and with it what the old tables have no place
        for.
        """
        return await adoption.give_predecessor_back(self._core, schema, user_id, zone=zone, drop=drop)

    async def rotate_master_key(self) -> int:
        """Wrap every user's data key with a new master key, while reads go on; how many were wrapped anew.

        Data keys whose master key is not here stay as they are; `health` tells of them.
        """
        return await upkeep.rotate_master_key(self._core)

    def _close_at_exit(self) -> None:
        """Close; where the loop still runs, in a thread that ends with the process, only write what is pending."""
        place = None if self._core.opened is None else self._core.opened.place
        # The loop of a forked child is that of its parent: to run it would disturb the parent's.
        if place is None or place.is_foreign:
            return
        if place.loop.is_closed():
            asyncio.run(self.close())
        elif place.loop.is_running():
            asyncio.run_coroutine_threadsafe(self._rest(), place.loop).result(LONGEST_GOODBYE)
        else:
            place.loop.run_until_complete(self.close())

    async def _rest(self) -> None:
        """Stop the work in the background and write what is pending."""
        await self._worker.stop()
        await self._core.finish()
        await end(self._flusher, self._warming)
        await self._core.flush()

    def _forget(self) -> None:
        """In a forked child: leave to the parent what is its own."""
        # Kept, since what is thrown away may end connections that the parent uses.
        self._parents = self._held, self._core.opened, self._flusher, self._warming
        self._held, self._flusher, self._warming = AsyncExitStack(), None, None
        self._core.forget()
        self._worker = Worker(self._core, self.maintain)

    async def _opened_windows(self, database: Database) -> Windows | None:
        cache = self._window_cache
        if cache is None:
            cache = await self._held.enter_async_context(chosen(self.settings))
        return None if cache is None else Windows(cache, await window_room.database_id(database.keeper()))

    async def _flush_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(FLUSH_SECONDS)
            await self._core.flush()


def _close_left_open() -> None:
    """At the end of the process: close what was left open; nobody is there any more to be told of a failure."""
    for memory in [*LEFT_OPEN]:
        try:
            memory._close_at_exit()
        except Exception as problem:  # noqa: BLE001 - the process ends in any case
            logs.LOGGER.warning("a memory could not be closed at exit", extra={"reason": repr(problem)})


atexit.register(_close_left_open)


class AsyncUser:
    """The memory of one user."""

    def __init__(self, desk: Desk) -> None:
        """Made by `memory.user(user_id)`."""
        self._desk = desk

    @property
    def user_id(self) -> str:
        """Whose memory this is."""
        return self._desk.user_id

    @property
    def sessions(self) -> AsyncSessions:
        """The conversations."""
        return AsyncSessions(self._desk)

    @property
    def facts(self) -> AsyncFacts:
        """What is known about the user."""
        return AsyncFacts(self._desk)

    @property
    def statements(self) -> AsyncStatements:
        """What the user said of their life, in their own words."""
        return AsyncStatements(self._desk)

    @property
    def preferences(self) -> AsyncPreferences:
        """How the user wants things."""
        return AsyncPreferences(self._desk)

    @property
    def instructions(self) -> AsyncInstructions:
        """What the user tells agents to always do."""
        return AsyncInstructions(self._desk)

    @property
    def entries(self) -> AsyncEntries:
        """Free-standing memories."""
        return AsyncEntries(self._desk)

    @property
    def documents(self) -> AsyncDocuments:
        """Knowledge given as text or files."""
        return AsyncDocuments(self._desk)

    @property
    def learning(self) -> AsyncLearning:
        """What is learnt about the user."""
        return AsyncLearning(self._desk)

    @property
    def retention(self) -> AsyncRetention:
        """After how long conversations are archived and deleted."""
        return AsyncRetention(self._desk)

    @property
    def events(self) -> AsyncEvents:
        """The ledger of every change."""
        return AsyncEvents(self._desk)

    def chat(
        self,
        session_id: Annotated[Identifier | None, "The conversation; left out, a new one."] = None,
        *,
        agent: Agent = None,
        name: SessionName = None,
    ) -> AsyncChat:
        """One conversation, created on its first write; without an id it gets a new one."""
        return AsyncChat(
            self._desk,
            new_id() if session_id is None else validate.identifier(session_id, "session_id"),
            validate.optional_identifier(agent, "agent"),
            validate.optional_text(name, "name", 500),
        )

    async def search(
        self,
        query: Annotated[Content, "What to look for, as a question or in words. Dates count: last May."],
        *,
        limit: Few = 10,
        **filters: Unpack[SearchFilters],
    ) -> builtins.list[Hit]:
        """What is remembered about a question, the best first; nothing when nothing is relevant.

        `kinds` are message, fact, entry, document and context; statements, which stand in the messages, are found where
        they are named too. `entry_type` keeps to the entries that are long_term or episodic. A session also brings the
        sessions related to it. `where` asks for metadata: {"topic": "food"} for equal values, {"price": {"gte": 5,
        "lt": 10}} for ranges. Dates in the question ("last May") count from `now`.
        `floor` is the least relevance, from 0 to 1, that the best must have. Messages that say exactly `without` are
        left out: a question that is stored already would find itself.
        """
        return await find(self._desk, checked(self._desk, query, limit, filters))

    async def similar(
        self, query: str, *, session_id: str | None = None, limit: int = 10, threshold: float | None = None
    ) -> builtins.list[tuple[ConversationMessage, float]]:
        """Messages by the cosine similarity of their words and the question, from -1 to 1, the most similar first.

        `search` finds more: it weighs words, time and speakers too. Without a `session_id` all conversations are
        compared. Less similar ones than the `threshold` are left out; without one it is the preference
        relevance_threshold, 0.7 unless that was changed.
        """
        return await similar(self._desk, query, session_id=session_id, limit=limit, threshold=threshold)

    async def message(self, message_id: MessageId) -> ConversationMessage | None:
        """A message by its id, in whichever conversation it stands, or None: what the source of a fact says."""
        if not is_id(message_id):
            return None
        async with self._desk.reading("messages.get") as calls:
            return (await message_room.get_many(calls, [message_id])).get(message_id.lower())

    async def profile(self) -> dict[str, Any]:
        """The user's own facts that hold now and the preferences, ready for JSON; `notes` say which cannot be read."""
        known = await self.facts.list(about=ME)
        wanted = await self.preferences.list()
        return {
            "user_id": self._desk.user_id,
            "facts": [
                {
                    "key": fact.fact_key,
                    "value": fact.fact_value,
                    "confidence": fact.confidence,
                    "source_message_id": fact.source_message_id,
                }
                for fact in known
            ],
            "preferences": {each.preference_key: each.preference_value for each in wanted if each.note is None},
            "notes": left_out(wanted),
        }

    async def export(self) -> dict[str, Any]:
        """Everything the user owns, as a document for JSON that `restore` reads back identically.

        Sensitive values are in clear in it; `notes` say which are left out because their key is lost. The ledger,
        metrics and vectors stay behind: they belong to the database.
        """
        return await archive.export(self._desk)

    async def restore(
        self, document: Annotated[Mapping[str, Any], "What an export gave, all of it."]
    ) -> dict[str, int]:
        """Put an exported document into this user's memory; what is there already stays. The rows added, by noun."""
        return await archive.restore(self._desk, document)

    async def erase(self) -> Receipt:
        """Remove everything the user owns, the data key included, and clear the space it took; the receipt proves it.

        `memory.verify` checks a receipt later. A user who does not exist gets one too, whose `notes` say so.
        """
        return await archive.erase(self._desk)


class AsyncChat:
    """One conversation of a user."""

    def __init__(self, desk: Desk, session_id: str, agent: str | None, name: str | None) -> None:
        """Made by `user.chat(session_id)`."""
        self._desk = desk
        self._session_id = session_id
        self._agent = agent
        self._opening = message_room.Opening(session_id, agent, name, desk.settings.actor)

    @property
    def user_id(self) -> str:
        """Whose conversation this is."""
        return self._desk.user_id

    @property
    def session_id(self) -> str:
        """Which conversation this is."""
        return self._session_id

    @property
    def agent(self) -> str | None:
        """The agent that the user talks with."""
        return self._agent

    @property
    def working(self) -> AsyncWorking:
        """Working memory: values that matter for this conversation, for a while."""
        return AsyncWorking(self._desk, self._opening)

    @property
    def contexts(self) -> AsyncContexts:
        """Typed keys and values attached to this conversation."""
        return AsyncContexts(self._desk, self._opening)

    async def add(
        self,
        role: Role,
        content: Annotated[Content, "What is said, word for word."],
        *,
        at: SaidAt = None,
        metadata: Metadata | None = None,
        parent: Annotated[Identifier | None, "The id of the message that it answers."] = None,
        key: Annotated[Identifier | None, "Stored again with the same key, it is stored once."] = None,
    ) -> ConversationMessage:
        """Store a message; it is durable when this returns.

        `at` is when it was said, `parent` the id of the message it answers. With a `key`, adding the same message
        again returns the one that is stored; other content under the same key is a Conflict.
        """
        message = self._message(role, content, at=at, metadata=metadata, parent=parent, key=key)
        core = self._desk.core
        async with core.measured("storage", "messages.add", self.user_id, self._session_id) as tally:
            stored = await message_room.add(core.database, self._opening, message)
            tally.rows = 1
        core.written(self.user_id)
        return stored

    async def add_many(self, messages: Iterable[Mapping[str, Any]]) -> builtins.list[ConversationMessage]:
        """Store many messages at once, all or none; each is a mapping with the arguments of `add`."""
        if not isinstance(messages, Iterable):
            raise Invalid("messages must be a list of mappings with the arguments of add")
        given = [self._one_of(position, each) for position, each in enumerate(messages, start=1)]
        if not given:
            return []
        async with self._desk.writing("messages.add_many", self._session_id) as tx:
            stored, added = await message_room.add_many(tx, self._opening, given)
            if added:
                details = {"session_id": self._session_id, "count": len(added)}
                await self._desk.tell(tx, "add", "message", str(added[0].message_id), details)
            tx.seen = len(added)  # not the rows of the session and of the ledger
        return stored

    async def add_interaction(
        self,
        user_msg: Annotated[Content, "What the user said."],
        ai_msg: Annotated[Content, "What the assistant answered."],
    ) -> builtins.list[ConversationMessage]:
        """Store what the user said and what the assistant answered, both or neither."""
        return await self.add_many([{"role": "user", "content": user_msg}, {"role": "assistant", "content": ai_msg}])

    async def window(
        self, limit: Limit = 50, *, max_tokens: Annotated[Index | None, "How many tokens at most, together."] = None
    ) -> builtins.list[ConversationMessage]:
        """The newest messages of the conversation, oldest first: at most `limit`, together at most `max_tokens`."""
        most = validate.limit(limit)
        budget = None if max_tokens is None else validate.limit(max_tokens, "max_tokens", validate.LARGEST_INTEGER)
        core = self._desk.core
        async with core.measured("retrieval", "messages.window", self.user_id, self._session_id) as tally:
            found = await windows.read(core, self.user_id, self._session_id, most, budget)
            tally.rows, tally.cache_hit = len(found.messages), found.hit
        return found.messages

    async def history(self, *, limit: Limit = 100, offset: Offset = 0) -> builtins.list[ConversationMessage]:
        """The messages from the beginning on, page by page."""
        most, passed = validate.limit(limit), validate.offset(offset)
        async with self._desk.reading("messages.list", self._session_id) as calls:
            return await message_room.list_all(calls, self._session_id, limit=most, offset=passed)

    async def fork(
        self,
        at: Annotated[Index | None, "The index of the last message to copy; else all."] = None,
        *,
        session_id: Annotated[Identifier | None, "The id of the copy; else a new one."] = None,
    ) -> AsyncChat:
        """A new conversation that begins with a copy of this one, up to the message with index `at`.

        Messages and living contexts are copied by value, so that each conversation can be deleted by itself; the two
        are linked as a fork.
        """
        fork_id = new_id() if session_id is None else validate.identifier(session_id, "session_id")
        last = None if at is None else validate.limit(at, "at", validate.LARGEST_INTEGER)
        async with self._desk.writing("sessions.fork", self._session_id) as tx:
            source = sessions.need(await sessions.get(tx, self._session_id), self._session_id)
            await self._copy(tx, source, fork_id, last)
        return AsyncChat(self._desk, fork_id, source.agent_name, source.session_name)

    async def summary(self) -> SessionSummary:
        """Messages by role, tokens, first and last message, average relevance."""
        return await AsyncSessions(self._desk).summary(self._session_id)

    async def snapshot(self) -> dict[str, Any]:
        """The short-term window, ready for JSON, with the roles that models know."""
        recent = await self.window(SNAPSHOT_MESSAGES, max_tokens=SNAPSHOT_TOKENS)
        return {
            "session_id": self._session_id,
            "messages": [{"role": MODEL_ROLES.get(each.role, each.role), "content": each.content} for each in recent],
            "window_strategy": "sliding_window",
            "max_tokens": SNAPSHOT_TOKENS,
        }

    async def store(self, message: ConversationMessage) -> ConversationMessage:
        """Store a ready-made message with all that it says of itself; a message_index must be the next one."""
        if not isinstance(message, ConversationMessage):
            raise Invalid(f"message must be a ConversationMessage, not {type(message).__name__}")
        at, parent = message.timestamp, message.parent_message_id
        validate.embedding(message.embedding)
        checked = replace(
            self._message(message.role, message.content, at=at, metadata=message.metadata, parent=parent),
            message_type=validate.choice(message.message_type, "message_type", MESSAGE_TYPES),
            embedding=message.embedding or None,
            relevance_score=validate.number(message.relevance_score, "relevance_score"),
            is_context_message=validate.flag(message.is_context_message, "is_context_message"),
        )
        async with self._desk.writing("messages.store", self._session_id) as tx:
            index = 1 + await message_room.open_session(tx, self._opening, checked.timestamp)
            _check_index(message.message_index, index)
            stored = await message_room.store(tx, replace(checked, message_index=index))
            await self._desk.tell(tx, "add", "message", str(stored.message_id), {"session_id": self._session_id})
        return stored

    async def replace(
        self,
        message_id: MessageId,
        content: Annotated[Content, "What it says from now on, word for word."],
        *,
        metadata: Annotated[Metadata | None, "Its metadata from now on; as it is, if left out."] = None,
    ) -> ConversationMessage:
        """Let a message say something else, in its place: it keeps its id, index, role, time and key.

        What was learnt from its old words alone is forgotten, and what tells of them is made anew; the new ones are
        indexed and learnt from. Without `metadata` it keeps its own. A message that this conversation does not have is
        NotFound.
        """
        return await messages.replace(self._desk, self._session_id, message_id, content, metadata)

    async def remove(self, message_id: MessageId) -> None:
        """Remove a message, with what was learnt from it alone and what tells of it, which is made anew without it.

        The others keep their indexes, and its own is not given again. What answered it answers what stood before it.
        Its key is free. A message that this conversation does not have is NotFound; copies in forks stay.
        """
        await messages.remove(self._desk, self._session_id, message_id)

    async def keyed(self, key: str) -> ConversationMessage | None:
        """The message of this conversation that was added under a key, or None."""
        wanted = validate.identifier(key, "key")
        async with self._desk.reading("messages.keyed", self._session_id) as calls:
            return (await message_room.keyed(calls, self._session_id, [wanted])).get(wanted)

    async def context(
        self,
        query: Annotated[Content | ConversationMessage | None, "What the user asks now; it stands last."] = None,
        *,
        max_tokens: Budget = 4000,
        strategy: Strategy = "sliding_window",
        window: WindowSize | None = None,
        about: Annotated[Content | None, "What to recall, where nothing is asked."] = None,
    ) -> Context:
        """What to send to a model: instructions, preferences, facts, what is recalled, working memory and the window.

        Never more than `max_tokens`. The parts that change seldom stand first, so that prompt caches hit. With a
        `query`, what is remembered about it is recalled; with `about`, what is remembered about that, and nothing is
        asked. `strategy` is sliding_window, or sliding_window_summary, which summarises the older half of a long
        conversation. At most `window` messages are shown word for word.

        A query that is stored in this conversation already is given as the message that it is: it stands once, last.
        """
        wanted = wanted_context(self._desk, query, about, max_tokens=max_tokens, strategy=strategy, window=window)
        return await assemble(self._desk, self._opening, wanted)

    async def search(
        self,
        query: Annotated[Content, "What to look for, in words."],
        *,
        limit: Few = 10,
        threshold: Annotated[Score, "The least relevance, from 0 to 1."] = 0.0,
        where: Annotated[Mapping[str, Any] | None, "Conditions on metadata."] = None,
    ) -> builtins.list[tuple[ConversationMessage, float]]:
        """Messages of this conversation with their relevance, from 0 to 1, the best first; `where` is for metadata."""
        least = validate.score(threshold, "threshold")
        narrowed: SearchFilters = {"kinds": ("message",), "session_id": self._session_id, "where": where}
        wanted = checked(self._desk, query, limit, {**narrowed, "floor": threshold or None})
        hits = await find(self._desk, replace(wanted, filters=replace(wanted.filters, related=False)))
        async with self._desk.reading("messages.get_many", self._session_id) as calls:
            found = await message_room.get_many(calls, [hit.id for hit in hits])
        return [(found[hit.id], hit.score) for hit in hits if hit.id in found and hit.score >= least]

    def _message(
        self,
        role: str,
        content: str,
        *,
        at: datetime | None = None,
        metadata: Metadata | None = None,
        parent: str | None = None,
        key: str | None = None,
    ) -> ConversationMessage:
        if parent is not None and not is_id(parent):
            raise NotFound(f"no message {parent!r}")
        return ConversationMessage(
            self._session_id,
            validate.role(role),
            self._desk.content(content, "content"),
            timestamp=now() if at is None else validate.moment(at, "at"),
            metadata={} if metadata is None else json.loads(self._desk.metadata(metadata)),
            parent_message_id=parent,
            message_key=validate.optional_identifier(key, "key"),
            user_id=self.user_id,
        )

    def _one_of(self, position: int, arguments: Mapping[str, Any]) -> ConversationMessage:
        if not isinstance(arguments, Mapping) or not {"role", "content"} <= arguments.keys() <= ADD_ARGUMENTS:
            raise Invalid(
                f"message {position} must be a mapping with role, content and any of at, metadata, parent, key"
            )
        try:
            return self._message(**arguments)
        except Invalid as problem:
            raise Invalid(f"message {position}: {problem}") from None

    async def _copy(self, tx: Transaction, source: ConversationSession, fork_id: str, at: int | None) -> None:
        last = await message_room.last_index(tx, source.session_id)
        if at is not None and at > last:
            raise Invalid(f"at must be the index of a message, 1 to {last}, not {at}")
        if await sessions.get(tx, fork_id) is not None:
            raise Conflict(f"this user has a session {fork_id!r} already")
        progress = await sessions.progress(tx, source.session_id)
        # A running summary may tell what is not copied; the copy gets its own.
        summary = None if progress is not None and progress.summarised_index else source.context_summary
        copy = replace(
            source, session_id=fork_id, status="active", context_summary=summary, created_at=None, last_activity=None
        )
        await sessions.put(tx, copy, metadata=json.dumps(dict(source.metadata)), now=now())
        copied = await message_room.fork(tx, source.session_id, fork_id, at or validate.LARGEST_INTEGER)
        await tx.run("contexts.fork", session_id=source.session_id, fork_id=fork_id)
        await relationships.link(tx, source.session_id, fork_id, type="fork", similarity=1.0, strength=1.0)
        await self._desk.tell(tx, "fork", "session", fork_id, {"from": source.session_id, "count": copied})


def _check_index(given: int | None, following: int) -> None:
    if given is None:
        return
    if not isinstance(given, int) or isinstance(given, bool) or given < 1 or given > following:
        raise Invalid(f"message_index must be {following}, the next of this session, or None; not {shown(given)}")
    if given < following:
        raise Conflict(f"this session has a message {given} already; the next is {following}")
