"""MemoryManager: one conversation and everything remembered for it, behind four methods; and ConversationContext."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Self

from ltst.arguments import FEWEST_TOKENS
from ltst.errors import Invalid, ModelUnavailable
from ltst.manager.config import STRATEGY, MemoryConfig, config
from ltst.manager.entries import copied, matching, meets, moment, of_context, of_fact, of_message, source, weight
from ltst.manager.inside import Inside
from ltst.manager.views import History, Message, ProfileView, ShortTermBuffer, VectorStore, WorkingMemory, spoken
from ltst.recall.context import Context
from ltst.records import ConversationMessage, Hit, MemoryEntry, MemoryTypes, Metadata
from ltst.retelling.importance import kept
from ltst.settings import Settings
from ltst.support import validate
from ltst.support.ids import new_id
from ltst.support.logs import LOGGER
from ltst.support.text import sha256

MOST_FOUND = 200
RECENT = 50
# The preference that limits a context in characters, and its default.
LENGTH, USUAL_LENGTH = "max_context_length", 10_000


class MemoryManager:
    """The memory of one conversation: what was said, working memory, knowledge and past episodes.

    Opens the database on the first call, and again after `close`; `async with` closes it.
    """

    def __init__(
        self,
        config_or_session_id: MemoryConfig | Mapping[str, Any] | Settings | str | None = None,
        *,
        user_id: str | None = None,
        agent: str | None = None,
    ) -> None:
        """Uses a conversation by id or config, or begins a new one.

        A config is a `MemoryConfig`, a mapping with any of its attributes, or `Settings`. Without a user, the one of
        the settings is used.
        """
        given = config(config_or_session_id)
        self._config = replace(
            given,
            session_id=new_id() if given.session_id is None else given.session_id,
            user_id=given.user_id if user_id is None else user_id,
            agent=given.agent if agent is None else agent,
        )
        self._inside = Inside(self._config)
        chat = self._inside.chat
        self.session_id, self.user_id, self.agent = chat.session_id, chat.user_id, chat.agent
        self.history, self.profile = History(self._inside), ProfileView(self._inside)
        self.working_memory = WorkingMemory(self._inside)
        self.short_term_buffer = ShortTermBuffer(self._inside, self._config.window)
        self.vector_store = VectorStore(self._inside, self.search_memory)

    async def __aenter__(self) -> Self:
        await self._inside.ask(self._inside.memory.ready)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the database."""
        await self._inside.close()

    async def add_interaction(self, user_msg: str, ai_msg: str) -> list[ConversationMessage]:
        """Stores what the user said and what the assistant answered, both or neither."""
        return await self.history.add_pair(user_msg, ai_msg)

    async def get_context(self) -> dict[str, Any]:
        """Returns what to send to a model now: the window, and what is remembered about its last question.

        `messages` have the roles system, user and assistant; memories are in the system message. `sources` are the ids
        of the messages they rest on. Learns from the latest messages first. Stays within `max_tokens` and within the
        preference max_context_length, in characters.
        """
        packed = await self._inside.ask(self._packed)
        return {
            "session_id": self.session_id,
            "messages": packed.messages,
            STRATEGY: self._config.strategy,
            "max_tokens": self._config.max_tokens,
            "text": packed.text,
            "tokens": packed.tokens,
            "sources": [*packed.sources],
        }

    async def add_memory(
        self, content: str, memory_type: MemoryTypes | str, metadata: Metadata | None = None
    ) -> MemoryEntry:
        """Stores a memory: as a message, as working memory, as knowledge or as an episode.

        In the metadata, `role` is the speaker of a message; `key` and `ttl` are the name of a working value and how
        many seconds it is kept. `source` is where the memory comes from, and `importance` its weight from 0 to 1. A
        datetime `timestamp` is when it happened (not for working values), `expires_at` when it expires (not for
        messages). Both are local if they have no zone.
        """
        wanted, about = _type(memory_type), copied(metadata)
        text = validate.content(content, "content", self._inside.memory.settings.max_content_bytes)
        named = source(about)
        match wanted:
            case MemoryTypes.SHORT_TERM:
                return await self._inside.ask(lambda: self._say(text, about))
            case MemoryTypes.WORKING:
                return await self._inside.ask(lambda: self._keep_at_hand(text, about))
            case _:
                return await self._inside.ask(lambda: self._know(text, wanted, about, named))

    async def search_memory(
        self, query: str, memory_type: MemoryTypes | str, limit: int = 5, filters: Mapping[str, Any] | None = None
    ) -> list[MemoryEntry]:
        """Returns what one kind of memory holds about a query, best first; empty if nothing is relevant.

        Messages and working memory are those of this conversation; knowledge (with facts) and episodes are all of the
        user's. `filters` select by metadata: {"topic": "food"} for equal values, {"price": {"gte": 5}} for ranges.
        """
        wanted, most = _type(memory_type), validate.limit(limit, most=MOST_FOUND)
        text = validate.content(query, "query", self._inside.memory.settings.max_content_bytes)
        if not isinstance(filters, Mapping | None):
            raise Invalid('filters must be a mapping such as {"topic": "food"} or {"price": {"gte": 5}}')
        return await self._inside.ask(lambda: self._found(text, wanted, most, dict(filters or {})))

    async def _packed(self) -> Context:
        await self._inside.user.learning.catch_up(self.session_id)
        most, budget, about = await self._length(), self._config.max_tokens, await self._last_question()
        while True:
            packed = await self._inside.chat.context(
                about=about, max_tokens=budget, strategy=self._config.strategy, window=self._config.window
            )
            if len(packed.text) <= most or budget <= FEWEST_TOKENS:
                return packed
            # Only a token budget can be requested, and the characters per token depend on the counter.
            budget = max(FEWEST_TOKENS, min(budget - 1, packed.tokens * most // len(packed.text)))

    async def _length(self) -> int:
        wished = await self._inside.user.preferences.get(LENGTH)
        if wished is None:
            return USUAL_LENGTH
        if not wished.preference_value.isdecimal() or not int(wished.preference_value):
            raise Invalid(f"the preference {LENGTH} must be a number of characters, not {wished.preference_value!r}")
        return int(wished.preference_value)

    async def _last_question(self) -> str | None:
        recent = await self._inside.chat.window(RECENT)
        return next((each.content for each in reversed(recent) if each.role == "human"), None)

    async def _say(self, text: str, about: dict[str, Any]) -> MemoryEntry:
        role, said = about.pop("role", "user"), moment(about, "timestamp")
        return of_message(await self._inside.chat.add(role, text, at=said, metadata=about))

    async def _keep_at_hand(self, text: str, about: dict[str, Any]) -> MemoryEntry:
        """Stores a working value. Without a key, the hash of its text is used, so that equal texts are stored once."""
        key = validate.identifier(about.pop("key", sha256(text)), "key")
        lives, ends = validate.duration(about.pop("ttl", None), "ttl"), moment(about, "expires_at")
        given = weight(about)
        stored = await self._inside.chat.contexts.set(
            "working",
            key,
            json.dumps(text, ensure_ascii=False),
            relevance=kept(text) if given is None else given,
            expires_at=datetime.now(UTC) + lives if lives else ends,
            metadata=about,
        )
        return of_context(stored)

    async def _know(self, text: str, wanted: MemoryTypes, about: dict[str, Any], named: str | None) -> MemoryEntry:
        happened, ends = moment(about, "timestamp"), moment(about, "expires_at")
        return await self._inside.user.entries.add(
            text,
            type=wanted.value,
            importance=weight(about),
            occurred_at=happened,
            expires_at=ends,
            source=named,
            metadata=about,
        )

    async def _found(self, text: str, wanted: MemoryTypes, limit: int, filters: dict[str, Any]) -> list[MemoryEntry]:
        match wanted:
            case MemoryTypes.SHORT_TERM:
                found = await self._found_messages(text, limit, filters)
            case MemoryTypes.WORKING:
                held = matching(text, await self._inside.chat.contexts.list("working"))
                found = [each for each in held if meets(each.metadata, filters)][:limit]
            case MemoryTypes.LONG_TERM:
                found = await self._known(text, ("entry", "fact"), wanted, limit, filters)
            case MemoryTypes.EPISODIC:
                found = await self._known(text, ("entry",), wanted, limit, filters)
        return await self._with_vectors(found)

    async def _found_messages(self, text: str, limit: int, filters: dict[str, Any]) -> list[MemoryEntry]:
        """Returns the matching messages; filters the role separately because it is not in their stored metadata."""
        role = {name: filters.pop(name) for name in ("role",) if name in filters}
        most = MOST_FOUND if role else limit
        found = [of_message(each) for each, _ in await self._inside.chat.search(text, limit=most, where=filters)]
        return [each for each in found if meets(each.metadata, role)][:limit]

    async def _known(
        self, text: str, kinds: tuple[str, ...], wanted: MemoryTypes, limit: int, filters: dict[str, Any]
    ) -> list[MemoryEntry]:
        hits = await self._inside.user.search(text, kinds=kinds, entry_type=wanted.value, limit=limit, where=filters)
        facts = await self._facts(hits)
        entries = await asyncio.gather(*(self._inside.user.entries.get(hit.id) for hit in hits if hit.kind == "entry"))
        found = facts | {str(each.entry_id): each for each in entries if each is not None}
        # Leaves out what was forgotten since.
        return [found[hit.id] for hit in hits if hit.id in found]

    async def _facts(self, hits: list[Hit]) -> dict[str, MemoryEntry]:
        if not any(hit.kind == "fact" for hit in hits):
            return {}
        return {fact.fact_id: of_fact(fact) for fact in await self._inside.user.facts.list()}

    async def _with_vectors(self, found: list[MemoryEntry]) -> list[MemoryEntry]:
        """Returns the entries, with vectors computed for those that have none stored."""
        bare = [each for each in found if each.embedding is None]
        try:
            vectors = await self._inside.memory.embed([each.content for each in bare])
        except ModelUnavailable as problem:
            LOGGER.warning("memories are found without their vectors", extra={"reason": str(problem)})
            return found
        for entry, vector in zip(bare, vectors, strict=True):
            entry.embedding = vector
        return found


class ConversationContext:
    """A conversation and its memory. Not to be confused with the record `ltst.ConversationContext`."""

    def __init__(self, conversation_id: str, memory_config: MemoryConfig | Mapping[str, Any] | None = None) -> None:
        """Uses the conversation with this id; a session in the config is ignored."""
        settings = config(memory_config)
        settings.session_id = conversation_id
        self.memory = MemoryManager(settings)
        self.id, self.history = self.memory.session_id, self.memory.history

    async def __aenter__(self) -> Self:
        await self.memory.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the database."""
        await self.memory.close()

    async def add_message(self, message: Message | Mapping[str, Any]) -> MemoryEntry:
        """Stores a message; it is part of the history and found as short-term memory."""
        said = spoken(message)
        metadata = {"source": self.id, **said["metadata"], "role": said["role"]}
        if said["at"] is not None:
            metadata["timestamp"] = said["at"]
        return await self.memory.add_memory(said["content"], MemoryTypes.SHORT_TERM, metadata)


def _type(given: object) -> MemoryTypes:
    written = given.lower() if isinstance(given, str) else given
    return MemoryTypes(validate.choice(written, "memory_type", [each.value for each in MemoryTypes]))
