"""The beginning of a conversation as LangChain keeps it, with a call of a tool."""

from __future__ import annotations

from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage


def beginning(*, written: int, status: Literal["success", "error"]) -> list[BaseMessage]:
    """A system message, a question, the call of a tool that took so many tokens, and what came of it."""
    return [
        SystemMessage("You are a coach.", id="s-1"),
        HumanMessage("Hello! ☕ 'quoted' \\ %s", name="ana", additional_kwargs={"client": {"version": 2}}),
        AIMessage(
            "",
            id="run-1",
            tool_calls=[{"name": "weather", "args": {"city": "Porto", "days": 3}, "id": "call-1", "type": "tool_call"}],
            response_metadata={"model": "m", "finish_reason": "tool_calls"},
            usage_metadata={"input_tokens": 5, "output_tokens": written, "total_tokens": 5 + written},
        ),
        ToolMessage("21 degrees", tool_call_id="call-1", name="weather", status=status, artifact={"raw": [21.5]}),
    ]
