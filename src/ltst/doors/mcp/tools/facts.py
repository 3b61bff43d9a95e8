"""Tools for facts: what is known about the user, since when, and from where."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from ltst.doors.mcp import shapes
from ltst.doors.mcp.shapes import FactKey, Identifier, Items, Moment, Page, Score, Text
from ltst.doors.mcp.telling import removed
from ltst.doors.mcp.toolbox import ADDS_ONCE, READS, REMOVES, REPLACES, Asked, tool
from ltst.errors import NotFound

AsOf = Annotated[Moment, Field(description="What was true at this time, instead of now.")]


@tool("List facts", READS, Page[shapes.Fact], nothing="Nothing is known about the user yet.", everyday=True)
async def list_facts(asked: Asked, as_of: AsOf | None = None) -> Any:
    """What is known about the user now, or was true on a day: each fact with its key, value, source and time."""
    return Items(await asked.user.facts.list(as_of=as_of))


@tool("Get a fact", READS, shapes.Fact)
async def get_fact(asked: Asked, key: FactKey, as_of: AsOf | None = None) -> Any:
    """One fact about the user, as it holds now or held on a day."""
    found = await asked.user.facts.get(key, as_of=as_of)
    if found is None:
        raise NotFound(f"no fact {key!r}")
    return found


@tool("Set a fact", ADDS_ONCE, shapes.Fact, everyday=True)
async def set_fact(
    asked: Asked,
    key: FactKey,
    value: Annotated[Text, Field(description="What is true, such as Lisbon.")],
    confidence: Annotated[Score, Field(description="How sure it is, from 0 to 1.")] = 1.0,
    source_message_id: Annotated[Identifier | None, Field(description="The message in which the user said it.")] = None,
    valid_from: Annotated[Moment | None, Field(description="Since when it is true; now, if left out.")] = None,
    single_valued: Annotated[
        shapes.Flag, Field(description="False: the key can have several values at once, such as hobbies.")
    ] = True,
) -> Any:
    """Note a lasting fact about the user that they stated.

    A new value takes the place of the old, which stays in the history. A value that the user rejected is refused.
    """
    return await asked.user.facts.set(
        key,
        value,
        confidence=confidence,
        source_message_id=source_message_id,
        valid_from=valid_from,
        single_valued=single_valued,
    )


@tool("History of a fact", READS, Page[shapes.Fact], nothing="Nothing was ever known of this.", everyday=True)
async def fact_history(asked: Asked, key: FactKey) -> Any:
    """Every value that a fact ever had, oldest first, those that are over or rejected included."""
    return Items(await asked.user.facts.history(key))


@tool("Reject a fact", REPLACES, Page[shapes.Fact], nothing="It was not known; it is not learnt now.", everyday=True)
async def reject_fact(
    asked: Asked, key: FactKey, value: Annotated[Text, Field(description="The value that is wrong.")]
) -> Any:
    """Strike out a value that the user says is wrong. It is never learnt again; what it had replaced holds again."""
    return Items(await asked.user.facts.reject(key, value))


@tool("End a fact", ADDS_ONCE, Page[shapes.Fact], nothing="There was nothing to end.")
async def end_fact(
    asked: Asked,
    key: FactKey,
    value: Annotated[Text | None, Field(description="Which value is over; whatever holds, if left out.")] = None,
    at: Annotated[Moment | None, Field(description="Since when it is over; now, if left out.")] = None,
) -> Any:
    """Note that something was true and is over, although nothing takes its place."""
    return Items(await asked.user.facts.end(key, value, at=at))


@tool("Forget a fact", REMOVES, shapes.Removed, say=removed, everyday=True)
async def forget_fact(asked: Asked, key: FactKey) -> Any:
    """Remove a fact for good with its whole history, when the user asks for it.

    To correct one, use set_fact or reject_fact instead.
    """
    return {"removed": int(await asked.user.facts.forget(key))}


TOOLS = (list_facts, get_fact, set_fact, fact_history, reject_fact, end_fact, forget_fact)
