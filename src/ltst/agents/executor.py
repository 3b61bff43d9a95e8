"""The executor: answers one user as one agent."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ltst.agents import quoting
from ltst.agents.asking import ask
from ltst.agents.loader import DEFAULT_MODEL, NO_MODEL, Agent
from ltst.agents.memories import Memory, distinct, left_out, plain
from ltst.agents.tools import Outcome, Toolbox
from ltst.arguments import FEWEST_TOKENS
from ltst.errors import ModelUnavailable
from ltst.memory import AsyncChat, AsyncUser
from ltst.providers.endpoint import Endpoint
from ltst.recall.context import Context
from ltst.records import ConversationMessage, Instruction
from ltst.settings import Settings
from ltst.support import tokens


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an answer, as it arrives. The last one has no text but the memories that the answer rests on.

    `about` is further metadata for the stored answer; `context` is the prompt that the model was sent.
    """

    text: str
    memories: tuple[Memory, ...] | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    context: Context | None = None


class AgentExecutor:
    """Answers one user as one agent, under the instructions that the user gave it."""

    def __init__(
        self,
        user: AsyncUser,
        agent: Agent,
        instruction: Instruction | None,
        endpoint: Endpoint | None,
        settings: Settings,
    ) -> None:
        """Created by `Executors`; the endpoint is shared, or None if no model is configured."""
        self.user, self.agent, self.instruction = user, agent, instruction
        self.model = _model(agent, settings)
        self._endpoint = endpoint
        self._count = settings.token_counter or tokens.count
        # The agent's own prompt goes to the model too, so it counts against the budget.
        self._budget = max(FEWEST_TOKENS, agent.max_tokens - self._count(agent.system_prompt))

    async def reply(self, chat: AsyncChat, message: ConversationMessage) -> AsyncIterator[Piece]:
        """Yields the answer to a stored message, piece by piece."""
        if self.agent.model == NO_MODEL:
            said = await quoting.answer(self.user, message)
            yield Piece(said.text)
            yield Piece("", said.memories, said.about)
            return
        async for piece in self._ask_model(chat, message):
            yield piece

    async def _ask_model(self, chat: AsyncChat, message: ConversationMessage) -> AsyncIterator[Piece]:
        if self._endpoint is None or self.model is None:
            raise ModelUnavailable(f"the agent {self.agent.name!r} needs a language model: set LTST_LLM_MODEL")
        context = await chat.context(
            message, max_tokens=self._budget, strategy=self.agent.strategy, window=self.agent.window
        )
        memories = [*left_out(context, chat.session_id), *map(plain, context.memories)]
        tools = Toolbox(self.agent.tools, self.user, self.agent.name, message)
        async for heard in ask(self._endpoint, self._request(context), tools):
            if isinstance(heard, Outcome):
                memories += [plain(hit) for hit in heard.found]
            else:
                yield Piece(heard)
        yield Piece("", tuple(distinct(memories)), context=context)

    def _request(self, context: Context) -> dict[str, Any]:
        request: dict[str, Any] = {"model": self.model, "messages": self._messages(context)}
        if self.agent.temperature is not None:
            request["temperature"] = self.agent.temperature
        return request

    def _messages(self, context: Context) -> list[dict[str, str]]:
        """Returns the messages of a request with at most one system message, because some models accept no more."""
        told = [part for part in (self.agent.system_prompt, context.system) if part]
        head = [{"role": "system", "content": "\n\n".join(told)}] if told else []
        return head + context.turns


def _model(agent: Agent, settings: Settings) -> str | None:
    """Returns the name of the model to use, or None for an agent without a model."""
    if agent.model == NO_MODEL:
        return None
    return settings.llm_model if agent.model == DEFAULT_MODEL else agent.model
