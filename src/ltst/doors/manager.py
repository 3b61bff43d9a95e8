"""MemoryManager: one conversation and all that is remembered for it, behind four verbs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

from ltst.errors import Invalid
from ltst.learn.importance import importance
from ltst.memory import MODEL_ROLES, SNAPSHOT_TOKENS, AsyncChat, AsyncMemory, AsyncUser
from ltst.protocols import Embedder, LanguageModel, Reranker
from ltst.recall.context import STRATEGIES, checked_budget
from ltst.records import ConversationContext, ConversationMessage, Fact, Hit, MemoryEntry, MemoryTypes, Metadata
from ltst.settings import Settings
from ltst.support import validate
from ltst.support.ids import new_id
from ltst.support.terms import distinct, terms
from ltst.support.text import sha256

MOST_FOUND = 200
# What somebody took the trouble to keep is worth that much, unless they say otherwise.
MIDDLING = 0.5
RECENT = 50
# Where a memory comes from, when no one is named: it was said, or somebody wrote it down.
SAID, WRITTEN = "conversation", "explicit"


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """What a manager can be told; the keys of its config."""

    session_id: str | None = None
    user_id: str | None = None
    agent: str | None = None
    database_url: str | None = None
    settings: Settings | Mapping[str, Any] | None = None
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    language_model: LanguageModel | None = None
    window_strategy: str = STRATEGIES[0]
    max_tokens: int = SNAPSHOT_TOKENS

    def memory(self) -> AsyncMemory:
        """The memory it speaks of, not opened yet."""
        told = self.settings
        return AsyncMemory(
            self.database_url,
            embedder=self.embedder,
            reranker=self.reranker,
            language_model=self.language_model,
            settings=Settings.from_environment(**told) if isinstance(told, Mapping) else told,
        )


class MemoryManager:
    """The memory of one conversation: what was said, what is at hand, what is known, and what happened before.

    It opens the database on the first call, and again after `close`; `async with` closes it.
    """

    def __init__(
        self,
        config_or_session_id: Mapping[str, Any] | Settings | str | None = None,
        *,
        user_id: str | None = None,
        agent: str | None = None,
    ) -> None:
        """A conversation by its id, or by a config; without either a new one.

        A config is a mapping with any of session_id, user_id, agent, database_url, settings, embedder, reranker,
        language_model, window_strategy and max_tokens, or `Settings`. Without a user it is the one of the settings.
        """
        given = _config(config_or_session_id)
        self._config = replace(
            given,
            session_id=new_id() if given.session_id is None else given.session_id,
            user_id=given.user_id if user_id is None else user_id,
            agent=given.agent if agent is None else agent,
        )
        self._begin()

    @property
    def session_id(self) -> str:
        """Which conversation this is."""
        return self._chat.session_id

    @property
    def user_id(self) -> str:
        """Whose conversation this is."""
        return self._chat.user_id

    @property
    def agent(self) -> str | None:
        """The agent that the user talks with."""
        return self._chat.agent

    async def __aenter__(self) -> Self:
        """Open."""
        await self._open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        """Close."""
        await self.close()

    async def close(self) -> None:
        """Let go of the database."""
        self._leave_ended_loop()
        async with self._turn:
            await self._memory.close()

    async def add_interaction(self, user_msg: str, ai_msg: str) -> list[ConversationMessage]:
        """Store what the user said and what the assistant answered, both or neither."""
        await self._open()
        return await self._chat.add_interaction(user_msg, ai_msg)

    async def get_context(self) -> dict[str, Any]:
        """What to send to a model now, ready for JSON: the window, and all that is remembered about its last question.

        `messages` have the roles system, user and assistant; what is remembered stands in the system message. `sources`
        are the ids of the messages that it rests on.
        """
        await self._open()
        strategy, most = self._config.window_strategy, self._config.max_tokens
        packed = await self._chat.context(about=await self._last_question(), max_tokens=most, strategy=strategy)
        return {
            "session_id": self.session_id,
            "messages": packed.messages,
            "window_strategy": strategy,
            "max_tokens": most,
            "text": packed.text,
            "tokens": packed.tokens,
            "sources": [*packed.sources],
        }

    async def add_memory(
        self, content: str, memory_type: MemoryTypes | str, metadata: Metadata | None = None
    ) -> MemoryEntry:
        """Remember something: as a message, as working memory, as knowledge or as an episode.

        Of the metadata, `role` says who speaks in a message; `key` and `ttl` under what name and for how many seconds a
        working value is kept. `importance`, from 0 to 1, weighs the others.
        """
        wanted, told = _type(memory_type), _told(metadata)
        text = validate.content(content, "content", self._memory.settings.max_content_bytes)
        await self._open()
        match wanted:
            case MemoryTypes.SHORT_TERM:
                return await self._say(text, told)
            case MemoryTypes.WORKING:
                return await self._keep_at_hand(text, told)
            case _:
                weight = _weight(told)
                return await self._user.entries.add(text, type=wanted.value, importance=weight, metadata=told)

    async def search_memory(self, query: str, memory_type: MemoryTypes | str, limit: int = 5) -> list[MemoryEntry]:
        """What one kind of memory holds about a question, the best first; nothing when nothing is relevant.

        Messages and working memory are those of this conversation; knowledge (with the facts) and episodes are all of
        the user's.
        """
        wanted, most = _type(memory_type), validate.limit(limit, most=MOST_FOUND)
        text = validate.content(query, "query", self._memory.settings.max_content_bytes)
        await self._open()
        match wanted:
            case MemoryTypes.SHORT_TERM:
                return [_of_message(message) for message, _ in await self._chat.search(text, limit=most)]
            case MemoryTypes.WORKING:
                return _matching(text, await self._chat.contexts.list("working"))[:most]
            case MemoryTypes.LONG_TERM:
                return await self._known(text, ("entry", "fact"), wanted, most)
            case MemoryTypes.EPISODIC:
                return await self._known(text, ("entry",), wanted, most)

    def _begin(self) -> None:
        config = self._config
        self._memory: AsyncMemory = config.memory()
        whose = self._memory.settings.user if config.user_id is None else config.user_id
        self._user: AsyncUser = self._memory.user(whose)
        self._chat: AsyncChat = self._user.chat(config.session_id, agent=config.agent)
        self._turn = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    async def _open(self) -> None:
        """Open once, whoever comes first; the others wait for it."""
        self._leave_ended_loop()
        async with self._turn:
            self._loop = asyncio.get_running_loop()
            await self._memory.open()

    def _leave_ended_loop(self) -> None:
        """Begin anew where asyncio.run has ended since the last call: connections and tasks went with its loop."""
        if self._loop is not None and self._loop.is_closed():
            self._begin()

    async def _last_question(self) -> str | None:
        recent = await self._chat.window(RECENT)
        return next((each.content for each in reversed(recent) if each.role == "human"), None)

    async def _say(self, text: str, told: dict[str, Any]) -> MemoryEntry:
        role = told.pop("role", "user")
        return _of_message(await self._chat.add(role, text, metadata=told))

    async def _keep_at_hand(self, text: str, told: dict[str, Any]) -> MemoryEntry:
        """The same words without a key stay one value: their hash is the key."""
        key = validate.identifier(told.pop("key", sha256(text)), "key")
        lives = validate.duration(told.pop("ttl", None), "ttl")
        weight = _weight(told)
        kept = await self._chat.contexts.set(
            "working",
            key,
            json.dumps(text, ensure_ascii=False),
            relevance=MIDDLING if weight is None else weight,
            expires_at=datetime.now(UTC) + lives if lives else None,
            metadata=told,
        )
        return _of_context(kept)

    async def _known(self, text: str, kinds: tuple[str, ...], wanted: MemoryTypes, limit: int) -> list[MemoryEntry]:
        hits = await self._user.search(text, kinds=kinds, entry_type=wanted.value, limit=limit)
        facts = await self._facts(hits)
        entries = await asyncio.gather(*(self._user.entries.get(hit.id) for hit in hits if hit.kind == "entry"))
        found = facts | {str(each.entry_id): each for each in entries if each is not None}
        # What was forgotten since is in neither.
        return [found[hit.id] for hit in hits if hit.id in found]

    async def _facts(self, hits: list[Hit]) -> dict[str, MemoryEntry]:
        if not any(hit.kind == "fact" for hit in hits):
            return {}
        return {fact.fact_id: _of_fact(fact) for fact in await self._user.facts.list()}


def _config(given: object) -> Config:
    if given is None or isinstance(given, str):
        return Config(session_id=given)
    if isinstance(given, Settings):
        return Config(settings=given)
    accepted = Config.__slots__
    if not isinstance(given, Mapping):
        raise Invalid(f"MemoryManager takes a session id, Settings or a config with any of {', '.join(accepted)}")
    unknown = [str(key) for key in given if key not in accepted]
    if unknown:
        raise Invalid(f"the config knows no {', '.join(unknown)}; it may have {', '.join(accepted)}")
    config = Config(**given)
    if not isinstance(config.settings, Settings | Mapping | None):
        raise Invalid("settings in the config must be Settings, or a mapping of them")
    validate.choice(config.window_strategy, "window_strategy", STRATEGIES)
    checked_budget(config.max_tokens)
    return config


def _type(given: object) -> MemoryTypes:
    written = given.lower() if isinstance(given, str) else given
    return MemoryTypes(validate.choice(written, "memory_type", [each.value for each in MemoryTypes]))


def _told(metadata: Metadata | None) -> dict[str, Any]:
    if not isinstance(metadata, Mapping | None):
        raise Invalid(f"metadata must be a mapping with text keys and JSON values, not {type(metadata).__name__}")
    return dict(metadata or {})


def _weight(told: Metadata) -> float | None:
    """Anything else under that name is the caller's own and stays what it is."""
    given = told.get("importance")
    is_weight = isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1
    return given if is_weight else None


def _matching(query: str, kept: list[ConversationContext]) -> list[MemoryEntry]:
    """Those that hold words of the question, under their key or in themselves: the most first, then the newest."""
    asked = {*distinct(query)}
    found = [(_of_context(each), each.context_key) for each in kept]
    held = [(len(asked & {*terms(f"{key} {entry.content}")}), entry) for entry, key in found]
    held.sort(key=lambda each: (each[0], each[1].timestamp), reverse=True)
    return [entry for words, entry in held if words]


def _of_message(message: ConversationMessage) -> MemoryEntry:
    return MemoryEntry(
        message.content,
        message.embedding,
        {**message.metadata, "role": MODEL_ROLES.get(message.role, message.role)},
        message.timestamp,
        SAID,
        # A message is weighed when it is indexed, which may be later.
        message.relevance_score or importance(message.content, message.role),
        MemoryTypes.SHORT_TERM,
        message.message_id,
        message.user_id,
        session_id=message.session_id,
        created_at=message.created_at,
    )


def _of_context(context: ConversationContext) -> MemoryEntry:
    value = json.loads(context.context_value)
    return MemoryEntry(
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        None,
        {**context.metadata, "key": context.context_key},
        context.created_at,
        WRITTEN,
        context.relevance_score,
        MemoryTypes.WORKING,
        context.context_id,
        context.user_id,
        session_id=context.session_id,
        created_at=context.created_at,
        expires_at=context.expires_at,
    )


def _of_fact(fact: Fact) -> MemoryEntry:
    return MemoryEntry(
        f"{fact.fact_key}: {fact.fact_value}",
        None,
        {
            **fact.metadata,
            "key": fact.fact_key,
            "value": fact.fact_value,
            "source_message_id": fact.source_message_id,
        },
        fact.valid_from,
        SAID if fact.source_message_id else WRITTEN,
        fact.confidence,
        MemoryTypes.LONG_TERM,
        fact.fact_id,
        fact.user_id,
        created_at=fact.recorded_at,
        learned=fact.learned,
    )
