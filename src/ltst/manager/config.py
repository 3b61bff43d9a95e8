"""The configuration of a MemoryManager."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ltst.arguments import STRATEGIES
from ltst.errors import Invalid
from ltst.handles.chats import SNAPSHOT_TOKENS
from ltst.memory import AsyncMemory
from ltst.protocols import Embedder, LanguageModel, Reranker
from ltst.recall.context import checked_budget
from ltst.settings import Settings
from ltst.support import validate

# Another name for the strategy, also used in the returned context.
STRATEGY = "window_strategy"


@dataclass(slots=True, kw_only=True)
class MemoryConfig:
    """Configures a MemoryManager: its user and conversation, its database, and the size of a context.

    `window` is how many messages a context shows word for word; None leaves that to the strategy.
    """

    session_id: str | None = None
    user_id: str | None = None
    agent: str | None = None
    window: int | None = None
    max_tokens: int = SNAPSHOT_TOKENS
    strategy: str = STRATEGIES[0]
    database_url: str | None = None
    settings: Settings | Mapping[str, Any] | None = None
    embedder: Embedder | None = None
    reranker: Reranker | None = None
    language_model: LanguageModel | None = None

    def checked(self) -> MemoryConfig:
        """Returns a checked copy, or raises Invalid."""
        if not isinstance(self.settings, Settings | Mapping | None):
            raise Invalid("settings in the config must be Settings, or a mapping of them")
        validate.choice(self.strategy, "strategy", STRATEGIES)
        checked_budget(self.max_tokens)
        if self.window is not None:
            validate.limit(self.window, "window")
        return replace(self)

    def memory(self) -> AsyncMemory:
        """Returns the configured memory, not opened yet."""
        settings = self.settings
        return AsyncMemory(
            self.database_url,
            embedder=self.embedder,
            reranker=self.reranker,
            language_model=self.language_model,
            settings=Settings.from_environment(**settings) if isinstance(settings, Mapping) else settings,
        )


def config(given: object) -> MemoryConfig:
    """Returns the config for a session id, settings, a mapping, a config or None."""
    if given is None or isinstance(given, str):
        return MemoryConfig(session_id=given)
    if isinstance(given, Settings):
        return MemoryConfig(settings=given)
    if isinstance(given, MemoryConfig):
        return given.checked()
    accepted = [each.name for each in fields(MemoryConfig)]
    if not isinstance(given, Mapping):
        raise Invalid(f"MemoryManager takes a session id, Settings or a config with any of {', '.join(accepted)}")
    options = {"strategy" if key == STRATEGY else key: value for key, value in given.items()}
    unknown = [str(key) for key in options if key not in accepted]
    if unknown:
        raise Invalid(f"the config knows no {', '.join(unknown)}; it may have {', '.join(accepted)}")
    return MemoryConfig(**options).checked()
