"""An agent of the OpenAI Agents SDK with its defaults; run by scripts/check_agents.py in an environment of its own.

OPENAI_BASE_URL=http://localhost:8000/v1 OPENAI_API_KEY=x python agents_sdk_program.py "Where do I live?"
"""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, Runner, function_tool


@function_tool
def book_table(city: str) -> str:
    """Book a table in a city."""
    return f"booked in {city}"


AGENT = Agent(name="Assistant", instructions="Be brief.", model="scripted", tools=[book_table])


async def streamed(said: str) -> str:
    result = Runner.run_streamed(AGENT, said)
    async for _ in result.stream_events():
        pass
    return str(result.final_output)


def main() -> None:
    said, *how = sys.argv[1:]
    print(asyncio.run(streamed(said)) if how else Runner.run_sync(AGENT, said).final_output)


if __name__ == "__main__":
    main()
