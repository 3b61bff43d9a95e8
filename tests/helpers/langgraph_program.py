"""An agent of LangGraph with its defaults; run by scripts/check_agents.py in an environment of its own.

OPENAI_BASE_URL=http://localhost:8000/v1 OPENAI_API_KEY=x python langgraph_program.py "Where do I live?"
"""

from __future__ import annotations

import sys

from langchain.agents import create_agent
from langchain_openai import ChatOpenAI


def book_table(city: str) -> str:
    """Book a table in a city."""
    return f"booked in {city}"


AGENT = create_agent(ChatOpenAI(model="scripted"), tools=[book_table], system_prompt="Be brief.")


def streamed(said: str) -> str:
    told = ""
    for messages, _ in AGENT.stream({"messages": [("user", said)]}, stream_mode="messages"):
        told = told + messages.text if messages.type == "AIMessageChunk" else ""
    return told


def main() -> None:
    said, *how = sys.argv[1:]
    print(streamed(said) if how else AGENT.invoke({"messages": [("user", said)]})["messages"][-1].text)


if __name__ == "__main__":
    main()
