"""Messages as LangChain has them, with all that they can hold beside their words."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

WITH_IMAGE = HumanMessage(
    [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": "data:x"}}]
)


def asked_of_a_tool(*, written: int, status: str) -> list[BaseMessage]:
    """Return a beginning in which the assistant asks a tool: so many tokens written, and how the tool ended."""
    tokens = {"input_tokens": 5, "output_tokens": written, "total_tokens": 5 + written}
    call = {"name": "weather", "args": {"city": "Porto", "days": 3}, "id": "call-1", "type": "tool_call"}
    told = {"model": "m", "finish_reason": "tool_calls"}
    return [
        SystemMessage("You are a coach.", id="s-1"),
        HumanMessage("Hello! ☕ 'quoted' \\ %s", name="ana", additional_kwargs={"client": {"version": 2}}),
        AIMessage("", id="run-1", tool_calls=[call], response_metadata=told, usage_metadata=tokens),
        ToolMessage("21 degrees", tool_call_id="call-1", name="weather", status=status, artifact={"raw": [21.5]}),
    ]
