"""Tools for what is learnt, how long conversations are kept, and what changed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictInt, StrictStr

from ltst.doors.mcp import shapes
from ltst.doors.mcp.shapes import Flag, Identifier, Items, Limit, Page, Seconds
from ltst.doors.mcp.telling import removed
from ltst.doors.mcp.toolbox import ADDS_ONCE, READS, REMOVES, REPLACES, Asked, tool

SessionType = Annotated[Identifier, Field(description="The type of conversations; * for all that have no own policy.")]
After = Annotated[
    StrictInt | StrictStr,
    Field(description="The event_id or cursor of the last one that was seen; 0 for the first."),
]


def _switched(done: dict[str, bool]) -> str:
    return ", ".join(f"{name}: {'on' if on else 'off'}" for name, on in done.items())


@tool("What is learnt", READS, shapes.Switches, say=_switched)
async def get_learning(asked: Asked) -> Any:
    """What is learnt from what the user says: facts, preferences, episodes, related conversations, consolidation."""
    return await asked.user.learning.get()


@tool("Switch learning", REPLACES, shapes.Switches, say=_switched)
async def set_learning(
    asked: Asked,
    extraction: Annotated[Flag | None, Field(description="Facts, preferences and instructions.")] = None,
    episodes: Annotated[Flag | None, Field(description="Summaries of past conversations.")] = None,
    relationships: Annotated[Flag | None, Field(description="Which conversations are related.")] = None,
    consolidation: Annotated[Flag | None, Field(description="Merging what says the same.")] = None,
) -> Any:
    """Switch what is learnt on or off for this user; what is left out stays as it is."""
    return await asked.user.learning.set(
        extraction=extraction,
        episodes=episodes,
        relationships=relationships,
        consolidation=consolidation,
    )


@tool("Learn now", ADDS_ONCE, shapes.Conversations, say=lambda done: f"Read {done['conversations']} conversations.")
async def catch_up_learning(
    asked: Asked, session_id: Annotated[Identifier | None, Field(description="In this conversation only.")] = None
) -> Any:
    """Learn at once from what was said since; else it is done in the background."""
    return {"conversations": await asked.user.learning.catch_up(session_id)}


@tool("Learn anew", REMOVES, shapes.Conversations, say=lambda done: f"{done['conversations']} are to be read anew.")
async def restart_learning(asked: Asked) -> Any:
    """Forget what was learnt and learn it anew from the messages; what was set or rejected by hand stays."""
    return {"conversations": await asked.user.learning.restart()}


@tool("List retention", READS, Page[shapes.Policy], nothing="Everything is kept for good.")
async def list_retention(asked: Asked) -> Any:
    """After how long conversations without activity are archived and deleted, by their type."""
    return Items(await asked.user.retention.list())


@tool("Set retention", REPLACES, shapes.Policy)
async def set_retention(
    asked: Asked,
    session_type: SessionType = "*",
    archive_after: Annotated[Seconds | None, Field(description="Seconds without activity.")] = None,
    delete_after: Annotated[Seconds | None, Field(description="Seconds without activity.")] = None,
) -> Any:
    """Have conversations archived or deleted after some time without activity; give at least one of the two."""
    return await asked.user.retention.set(session_type, archive_after=archive_after, delete_after=delete_after)


@tool("Forget retention", REMOVES, shapes.Removed, say=removed)
async def forget_retention(asked: Asked, session_type: SessionType = "*") -> Any:
    """Remove a policy: conversations of this type are kept for good."""
    return {"removed": int(await asked.user.retention.forget(session_type))}


@tool("List changes", READS, Page[shapes.Event], nothing="Nothing changed since.")
async def list_events(
    asked: Asked,
    after: After = 0,
    limit: Limit = 100,
    settled: Annotated[
        Flag, Field(description="Only those after which nothing can appear before them: to follow along.")
    ] = False,
) -> Any:
    """Every change of the user's memory in order, without contents."""
    events = asked.user.events
    return Items(await (events.feed(after=after, limit=limit) if settled else events.list(after=after, limit=limit)))


TOOLS = (
    get_learning,
    set_learning,
    catch_up_learning,
    restart_learning,
    list_retention,
    set_retention,
    forget_retention,
    list_events,
)
