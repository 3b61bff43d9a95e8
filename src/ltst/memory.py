"""AsyncMemory and AsyncUser: where the verbs of ltst begin; those of each noun are in the handles.

`sync.py` is generated from this file and the handles; after a change run `make sync`.
"""

from __future__ import annotations

import asyncio
import atexit
import builtins
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Annotated, Any, Self, Unpack
from weakref import WeakSet

from ltst.adoption.outcomes import Adoption, Predecessor, Restitution
from ltst.arguments import (
    Agent,
    Content,
    Few,
    Identifier,
    MessageId,
    Passed,
    SearchFilters,
    SessionName,
    VectorOfAny,
)
from ltst.db import migrate
from ltst.db.distributed import over
from ltst.db.opening import Connected
from ltst.db.pool import Database
from ltst.errors import Invalid
from ltst.handles import adoption, archive, health, receipts, upkeep
from ltst.handles.chats import AsyncChat
from ltst.handles.desk import Core, Desk, checked_user
from ltst.handles.documents import AsyncDocuments
from ltst.handles.entries import AsyncEntries
from ltst.handles.events import AsyncEvents, checked_places
from ltst.handles.facts import AsyncFacts
from ltst.handles.instructions import AsyncInstructions
from ltst.handles.items import AsyncItems
from ltst.handles.keys import AsyncKeys
from ltst.handles.learning import AsyncLearning
from ltst.handles.models import Models
from ltst.handles.preferences import AsyncPreferences, left_out
from ltst.handles.recall import checked, find
from ltst.handles.retention import AsyncRetention
from ltst.handles.sessions import AsyncSessions
from ltst.handles.similarity import embedded, similar
from ltst.handles.statements import AsyncStatements
from ltst.handles.users import AsyncUsers
from ltst.measurements import Measurement, Stats
from ltst.protocols import Embedder, LanguageModel, Reranker, WindowCache
from ltst.providers.language import configured
from ltst.providers.windows import chosen
from ltst.recall.window import Windows
from ltst.records import ME, Changes, ConversationMessage, Event, Health, Hit, Receipt, Verification
from ltst.rooms import events, models
from ltst.rooms import windows as window_room
from ltst.settings import Settings
from ltst.support import logs, validate
from ltst.support.ids import is_id, new_id
from ltst.support.place import background, end
from ltst.worker import Worker

__all__ = ["AsyncChat", "AsyncMemory", "AsyncUser"]

FLUSH_SECONDS = 5.0
LONGEST_GOODBYE = 10.0
READS_OF_PARTS = (
    "this database is distributed, and reads go to the node that holds their user: leave LTST_READ_DATABASE_URL out"
)
LEFT_OPEN: WeakSet[AsyncMemory] = WeakSet()


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
            connected = Connected(self.settings)
            self._core.opened = await self._held.enter_async_context(connected)
            self._core.standby = connected.standby
            await migrate.migrate(self._core.opened)
            self._core.opened = await self._held.enter_async_context(over(self._core.opened))
            if self._core.opened.distributed and connected.standby is not None:
                raise Invalid(READS_OF_PARTS)
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
            self._core.opened = self._core.standby = self._core.windows = self._flusher = self._warming = None
            LEFT_OPEN.discard(self)
            await self._held.aclose()

    def user(self, user_id: str) -> AsyncUser:
        """Return the memory of one user; nothing reaches another's."""
        return AsyncUser(Desk(self._core, checked_user(user_id)))

    @property
    def keys(self) -> AsyncKeys:
        """The keys with which programs come in over the network."""
        return AsyncKeys(self._core)

    @property
    def users(self) -> AsyncUsers:
        """The users of this memory."""
        return AsyncUsers(self._core)

    async def feed(self, *, after: int | str = 0, limit: int = 100) -> builtins.list[Event]:
        """Return the changes of all users after one, to a program that follows the ledger; see `user.events.feed`."""
        place, most = checked_places(after), validate.limit(limit)
        return await events.list_of_all(self._core.database, place, limit=most)

    async def changed(self, after: str | None = None) -> Changes:
        """Return whose memories changed after a cursor of the feed, and the cursor to ask from next.

        Without a cursor nobody's did: it begins now. One call tells a program with many listeners whom to wake.
        """
        if after is None:
            return Changes(await events.last(self._core.database))
        return await events.changed(self._core.database, checked_places(after)) or Changes(after)

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
        """Return the name of the embedding model whose vectors the database holds; None before the first is made."""
        active = await models.get(self._core.database.keeper())
        return active.name if active else None

    async def next_embedder_model(self) -> str | None:
        """Return the name of the embedding model to which a change has begun that is not finished; None if none has."""
        following = await models.get(self._core.database.keeper(), models.NEXT)
        return following.name if following else None

    async def switch_embedder(
        self, embedder: Embedder | str, *, progress: Callable[[int, int], None] | None = None
    ) -> int:
        """Change the embedding model in place, while reads and writes go on; return how many rows got a vector.

        A name (joined, local, multilingual, local:FOLDER, openai:MODEL, openai:MODEL@BASE_URL) is one that every
        process can follow by itself; an embedder of your own must be given to each as `embedder`. Stopped, it goes on
        when it is asked for again.
        """
        validate.function(progress, "progress")
        return await self._core.models.switch(self._core.database, embedder, progress)

    async def cancel_switch(self) -> bool:
        """Give up a change of the embedding model that was begun and stopped; return whether there was one."""
        from ltst.indexing.switch import cancel

        return await cancel(self._core.database)

    async def maintain(self) -> dict[str, int]:
        """Expire, archive, delete and prune once, for all users; return how many rows each step touched."""
        return await upkeep.maintain(self._core)

    async def verify(self, receipt: Receipt | Mapping[str, Any]) -> Verification:
        """Check the receipt of an erasure, as `erase` gave it or read from JSON.

        It tells whether the receipt was changed, whether the ledger of this database has it, and whether anything of
        the user is in any table now.
        """
        return await receipts.verify(self._core, receipt)

    async def health(self) -> Health:
        """Check schema, extension, indexes, isolation, queries, work, master key and disk; return the state of each."""
        return await health.check_all(self._core)

    async def ready(self) -> Health:
        """Return whether this process can serve: the database answers, its schema is up to date, the worker runs."""
        return Health((await health.migrations(self._core.database), self._worker.check()))

    async def stats(self) -> Stats:
        """Return percentiles of each operation over the last day, and sizes and growth of the tables."""
        return await upkeep.stats(self._core)

    def watch(self, watcher: Callable[[Measurement], None]) -> None:
        """Call `watcher` with each operation when it is over: its name, milliseconds, results, error, cache_hit.

        It is called on the way of the operation, so it must return at once and not raise.
        """
        self._core.watchers.append(watcher)

    async def retry(self) -> int:
        """Try again what was set aside because it failed too often or took too long; return how much that is."""
        again = int(await self._core.database.keeper().value("work.retry"))
        for user_id in await self._worker.due():
            self._core.written(user_id)
        return again

    async def embed(self, texts: Iterable[str]) -> builtins.list[builtins.list[float]]:
        """Return the vectors of texts, each of length one, by the model of this database: for queries of your own.

        A long text has the mean of the vectors of its parts.
        """
        return await embedded(self._core, texts)

    async def sole_user(self) -> str:
        """Return the one user who has sessions; Conflict where several do, NotFound where nobody does."""
        return await upkeep.sole_user(self._core)

    async def session_owner(self, session_id: str) -> str:
        """Return the one user who has this session; Conflict where several do. For callers that know no users."""
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
        """Wrap every user's data key with a new master key, while reads go on; return how many were wrapped anew.

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
    def items(self) -> AsyncItems:
        """JSON values under namespaces and keys, such as a program keeps them."""
        return AsyncItems(self._desk)

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
        """Return a conversation, which its first write creates; without an id it gets a new one."""
        return AsyncChat(
            self._desk,
            new_id() if session_id is None else validate.identifier(session_id, "session_id"),
            validate.optional_identifier(agent, "agent"),
            validate.optional_text(name, "name", 500),
        )

    async def search(
        self,
        query: Annotated[Content | None, "What to look for, as a question or in words. Dates count: last May."] = None,
        *,
        limit: Few = 10,
        offset: Passed = 0,
        vector: Annotated[VectorOfAny | None, "The vector of the question, of the model that the memory uses."] = None,
        **filters: Unpack[SearchFilters],
    ) -> builtins.list[Hit]:
        """Return what is remembered about a question, the best first; nothing when nothing is relevant.

        Without a question it is the newest that passes the filters. A `vector` of the memory's own model, such as
        `memory.embed` makes, is compared instead of the question's; the words of a question count beside it.
        `kinds` are message, fact, entry, document and context; statements, which stand in the messages, are found where
        they are named too. `entry_type` keeps to the entries that are long_term or episodic. A session also brings the
        sessions related to it. `where` asks for metadata: {"topic": "food"} for equal values, {"price": {"gte": 5,
        "lt": 10}} for ranges. Dates in the question ("last May") count from `now`.
        `floor` is the least relevance, from 0 to 1, that the best must have. Messages that say exactly `without` are
        left out: a question that is stored already would find itself.
        """
        return await find(self._desk, checked(self._desk, query, limit, filters, offset=offset, vector=vector))

    async def similar(
        self, query: str, *, session_id: str | None = None, limit: int = 10, threshold: float | None = None
    ) -> builtins.list[tuple[ConversationMessage, float]]:
        """Return messages with their cosine similarity to the question, from -1 to 1, the most similar first.

        `search` finds more: it weighs words, time and speakers too. Without a `session_id` all conversations are
        compared. Less similar ones than the `threshold` are left out; without one it is the preference
        relevance_threshold, 0.7 unless that was changed.
        """
        return await similar(self._desk, query, session_id=session_id, limit=limit, threshold=threshold)

    async def message(self, message_id: MessageId) -> ConversationMessage | None:
        """Return a message by its id, from whichever conversation, or None: what the source of a fact says."""
        if not is_id(message_id):
            return None
        async with self._desk.reading("messages.get") as calls:
            return await calls.row("messages.get_many", ConversationMessage, message_ids=[message_id])

    async def keyed(self, key: str) -> ConversationMessage | None:
        """Return the message that was added under a key, in whichever conversation; the first, or None."""
        wanted = validate.identifier(key, "key")
        async with self._desk.reading("messages.keyed") as calls:
            return await calls.row("messages.keyed_anywhere", ConversationMessage, key=wanted)

    async def profile(self) -> dict[str, Any]:
        """Return the user's own facts that hold now and the preferences, for JSON; `notes` say which cannot be read."""
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
        """Return everything the user owns, as a document for JSON that `restore` reads back identically.

        Sensitive values are in clear in it; `notes` say which are left out because their key is lost. The ledger,
        metrics and vectors stay behind: they belong to the database.
        """
        return await archive.export(self._desk)

    async def restore(
        self, document: Annotated[Mapping[str, Any], "What an export gave, all of it."]
    ) -> dict[str, int]:
        """Put an exported document into this user's memory; what is there stays. Return the rows added, by noun."""
        return await archive.restore(self._desk, document)

    async def erase(self) -> Receipt:
        """Remove everything the user owns, the data key too, and clear its space; return a receipt that proves it.

        `memory.verify` checks a receipt later. A user who does not exist gets one too, whose `notes` say so.
        """
        return await archive.erase(self._desk)
