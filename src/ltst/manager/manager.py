"""MemoryManager: one conversation and all that is remembered for it, behind four verbs; and ConversationContext."""

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
from ltst.manager.views import History, Message, Profile, ShortTermBuffer, VectorStore, WorkingMemory, spoken
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
# The preference that bounds a context, in characters, and what holds where nobody set it.
LENGTH, USUAL_LENGTH = "max_context_length", 10_000


class MemoryManager:
    """The memory of one conversation: what was said, what is at hand, what is known, and what happened before.

    It opens the database on the first call, and again after `close`; `async with` closes it.
    """

    def __init__(
        self,
        config_or_session_id: MemoryConfig | Mapping[str, Any] | Settings | str | None = None,
        *,
        user_id: str | None = None,
        agent: str | None = None,
    ) -> None:
        """Use a conversation by its id or a config, or begin a new one.

        A config is a `MemoryConfig`, a mapping with any of its attributes, or `Settings`. Without a user it is the one
        of the settings.
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
        self.history, self.profile = History(self._inside), Profile(self._inside)
        self.working_memory = WorkingMemory(self._inside)
        self.short_term_buffer = ShortTermBuffer(self._inside, self._config.window)
        self.vector_store = VectorStore(self._inside, self.search_memory)

    async def __aenter__(self) -> Self:
        await self._inside.ask(self._inside.memory.ready)
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the database."""
        await self._inside.close()

    async def add_interaction(self, user_msg: str, ai_msg: str) -> list[ConversationMessage]:
        """Store what the user said and what the assistant answered, both or neither."""
        return await self.history.add_pair(user_msg, ai_msg)

    async def get_context(self) -> dict[str, Any]:
        """Return what to send to a model now: the window, and what is remembered about its last question.

        `messages` have the roles system, user and assistant; what is remembered stands in the system message. `sources`
        are the ids of the messages that it rests on. What the last messages say of the user is learnt by now. It is no
        longer than `max_tokens`, nor than the preference max_context_length, in characters, allows.
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
        """Remember something: as a message, as working memory, as knowledge or as an episode.

        Of the metadata, `role` says who speaks in a message; `key` and `ttl` under what name and for how many seconds a
        working value is kept. `source` says where the memory comes from, and `importance`, from 0 to 1, weighs it. A
        datetime `timestamp` says when it happened, of all but working values; `expires_at` until when it holds, of all
        but messages. Without a zone they are local.
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
        """Return what one kind of memory holds about a question, best first, or nothing relevant.

        Messages and working memory are those of this conversation; knowledge (with the facts) and episodes are all of
        the user's. `filters` ask for metadata: {"topic": "food"} for equal values, {"price": {"gte": 5}} for ranges.
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
            # Tokens are what can be asked for; how many characters they are depends on who counts them.
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
        """Keep a value. Without a key, the hash of its words is the key, so that the same words stay one value."""
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
        """Return the messages that match; their role is not part of their stored metadata."""
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
        # What was forgotten since is in neither.
        return [found[hit.id] for hit in hits if hit.id in found]

    async def _facts(self, hits: list[Hit]) -> dict[str, MemoryEntry]:
        if not any(hit.kind == "fact" for hit in hits):
            return {}
        return {fact.fact_id: of_fact(fact) for fact in await self._inside.user.facts.list()}

    async def _with_vectors(self, found: list[MemoryEntry]) -> list[MemoryEntry]:
        """Return what was found, with the vector of its words wherever none is stored."""
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
    """A conversation and its memory. `ltst.ConversationContext`, the record of a context, is another thing."""

    def __init__(self, conversation_id: str, memory_config: MemoryConfig | Mapping[str, Any] | None = None) -> None:
        """Use the conversation with this id; a session in the config is ignored."""
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
        """Let go of the database."""
        await self.memory.close()

    async def add_message(self, message: Message | Mapping[str, Any]) -> MemoryEntry:
        """Store a message, once: what is in the history can be searched as short-term memory."""
        said = spoken(message)
        metadata = {"source": self.id, **said["metadata"], "role": said["role"]}
        if said["at"] is not None:
            metadata["timestamp"] = said["at"]
        return await self.memory.add_memory(said["content"], MemoryTypes.SHORT_TERM, metadata)


def _type(given: object) -> MemoryTypes:
    written = given.lower() if isinstance(given, str) else given
    return MemoryTypes(validate.choice(written, "memory_type", [each.value for each in MemoryTypes]))
