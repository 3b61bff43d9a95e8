"""LangChain: a retriever over everything remembered, and a middleware that recalls for a model and stores its turns."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ltst import adapters
from ltst.adapters import Ask, awaited, both, called, finished
from ltst.errors import Invalid
from ltst.langchain.history import written
from ltst.memory import AsyncUser
from ltst.records import Hit
from ltst.sync import User

with adapters.needed("langchain", "langchain"):
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.documents import Document
    from langchain_core.messages import AnyMessage, SystemMessage
    from langchain_core.retrievers import BaseRetriever
    from langgraph.config import get_config
    from pydantic import ConfigDict, Field

UNNAMED = "which conversation? Give session_id=…, or invoke with config={'configurable': {'thread_id': …}}"


class LtstRetriever(BaseRetriever):
    """Finds what is remembered about a user: messages, facts, entries and documents, the best first."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    user: Any
    k: int = Field(default=10, ge=1, le=200)
    filters: dict[str, Any] = Field(default_factory=dict)

    def model_post_init(self, context: Any, /) -> None:
        """Raises Invalid if `user` is not the user of a memory."""
        super().model_post_init(context)
        adapters.check_user(self.user)

    async def _found(self, ask: Ask, /, query: str, *, run_manager: Any, **asked: Any) -> list[Document]:
        limit = asked.pop("k", self.k)
        return [_document(hit) for hit in await ask(self.user.search, query, limit=limit, **{**self.filters, **asked})]

    _get_relevant_documents, _aget_relevant_documents = both(_found)


def _document(hit: Hit) -> Document:
    told = {
        "kind": hit.kind,
        "score": hit.score,
        "occurred_at": hit.occurred_at and hit.occurred_at.isoformat(),
        "session_id": hit.session_id,
        "role": hit.role,
        "sources": list(hit.sources),
    }
    return Document(id=hit.id, page_content=hit.content, metadata={k: v for k, v in told.items() if v is not None})


class LtstMemoryMiddleware(AgentMiddleware):
    """Gives an agent of `create_agent` a memory: recalls before each model call, and stores the conversation.

    Memories go into the system message of the call, never into the agent's state. Each message is stored once, whether
    or not the agent has a checkpointer.
    """

    def __init__(
        self,
        user: AsyncUser | User | Callable[[Any], AsyncUser | User],
        *,
        session_id: str | None = None,
        agent: str | None = None,
        max_tokens: int = 2000,
    ) -> None:
        """Remembers for a user, or for the one that a function returns for the runtime of the call.

        Without a `session_id`, the conversation is the call's `thread_id`. At most `max_tokens` of memory go into it.
        """
        super().__init__()
        if not callable(user):
            adapters.check_user(user)
        self._user, self._session_id, self._agent, self._most = user, session_id, agent, max_tokens

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        """Calls the model with what is remembered about the user's last message."""
        return handler(finished(self._remembering(called, request)))

    async def awrap_model_call(self, request: Any, handler: Callable[[Any], Awaitable[Any]]) -> Any:
        """Calls the model with what is remembered about the user's last message."""
        return await handler(await self._remembering(awaited, request))

    def _chat(self, runtime: Any) -> Any:
        user = self._user(runtime) if callable(self._user) else self._user
        adapters.check_user(user)
        session_id = self._session_id or get_config().get("configurable", {}).get("thread_id")
        if session_id is None:
            raise Invalid(UNNAMED)
        return user.chat(str(session_id), agent=self._agent)

    async def _store(self, ask: Ask, state: Any, runtime: Any) -> None:
        """Stores the last turn, each message under its id, so that those already stored stay unchanged."""
        turn = state["messages"][_last_question(state["messages"]) :]
        await ask(self._chat(runtime).add_many, [{**written(message), "key": message.id} for message in turn])

    before_agent, abefore_agent = both(_store)
    after_agent, aafter_agent = both(_store)

    async def _remembering(self, ask: Ask, request: Any) -> Any:
        at = _last_question(request.messages)
        question = str(request.messages[at].text) if request.messages else ""
        chat = self._chat(request.runtime)
        found = await adapters.recalled(ask, chat, question, self._most, shown=len(request.messages))
        if found is None:
            return request
        said = request.system_message.text if request.system_message else ""
        return request.override(system_message=SystemMessage(f"{said}\n\n{found}".strip()))


def _last_question(messages: Sequence[AnyMessage]) -> int:
    """Returns the position of the user's last message, where the last turn begins."""
    return next((at for at in range(len(messages) - 1, -1, -1) if messages[at].type == "human"), 0)
