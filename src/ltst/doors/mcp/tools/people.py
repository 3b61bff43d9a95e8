"""Tools for the user as a whole: search, context, profile, export, erasure."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, StrictStr

from ltst.doors.mcp import shapes
from ltst.doors.mcp.quotes import PREAMBLE
from ltst.doors.mcp.shapes import FROM_TEXT, Identifier, Items, Moment, Page, Score, Text, one_of
from ltst.doors.mcp.telling import in_json
from ltst.doors.mcp.toolbox import ADDS, READS, REMOVES, Asked, tool
from ltst.errors import Invalid
from ltst.records import KINDS

Kind = Annotated[StrictStr, one_of(*KINDS)]
Query = Annotated[Text, Field(description="What to look for, as a question or in words. Dates count: last May.")]


@tool("Search memory", READS, Page[shapes.Hit], nothing="Nothing is remembered about this.", everyday=True)
async def search_memory(
    asked: Asked,
    query: Query,
    kinds: Annotated[
        Annotated[list[Kind], FROM_TEXT] | None,
        Field(description=f"Only these kinds: {', '.join(KINDS)}; else all."),
    ] = None,
    limit: Annotated[shapes.Few, Field(description="How many at most.")] = 10,
    session_id: Annotated[
        Identifier | None, Field(description="Only in this conversation and those related to it.")
    ] = None,
    since: Annotated[Moment | None, Field(description="Only what happened at this time or later.")] = None,
    until: Annotated[Moment | None, Field(description="Only what happened before this time.")] = None,
    where: Annotated[
        shapes.Object | None,
        Field(description='Conditions on metadata: {"topic": "food"} or {"price": {"gte": 5, "lt": 10}}.'),
    ] = None,
    floor: Annotated[Score | None, Field(description="The least relevance, from 0 to 1, of the best.")] = None,
    entry_type: Annotated[
        Annotated[StrictStr, one_of("long_term", "episodic")] | None, Field(description="Only entries of this type.")
    ] = None,
    without: Annotated[Text | None, Field(description="Leave out messages that say exactly this.")] = None,
    now: Annotated[Moment | None, Field(description="The time that last week counts from; now, if left out.")] = None,
) -> Any:
    """Search everything that is remembered about the user, by meaning, words and time, the best first.

    It finds messages, facts, notes and documents. Use it before you answer from memory, and before you say that you do
    not know something about the user. Nothing comes back when nothing is relevant.
    """
    found = await asked.user.search(
        query,
        kinds=kinds,
        limit=limit,
        session_id=session_id,
        since=since,
        until=until,
        where=where,
        floor=floor,
        entry_type=entry_type,
        without=without,
        now=now,
    )
    return Items(found)


@tool("Get context", READS, shapes.Packed, say=lambda done: done["text"] or "Nothing is remembered yet.", everyday=True)
async def get_context(
    asked: Asked,
    session_id: Annotated[
        Identifier | None, Field(description="The conversation that goes on; left out, a new one.")
    ] = None,
    query: Annotated[Text | None, Field(description="What the user asks now; it stands last.")] = None,
    about: Annotated[Text | None, Field(description="What to recall, where nothing is asked.")] = None,
    max_tokens: Annotated[shapes.Budget, Field(description="How many tokens it may have.")] = 4000,
    agent: Annotated[Identifier | None, Field(description="The agent whose instructions to include.")] = None,
    window: Annotated[shapes.WindowSize | None, Field(description="At most so many messages word for word.")] = None,
    strategy: Annotated[
        StrictStr,
        one_of("sliding_window", "sliding_window_summary"),
        Field(description="sliding_window_summary also summarises the older half of a long conversation."),
    ] = "sliding_window",
    parts: Annotated[shapes.Flag, Field(description="Also as messages and sections, for programs.")] = False,
) -> Any:
    """All that is remembered and matters now, in one text within a budget of tokens.

    It holds the user's instructions, preferences, facts, what is recalled about the query, working memory and the
    newest messages. Use it when a conversation begins or goes on.
    """
    packed = await asked.user.chat(session_id, agent=agent).context(
        query, max_tokens=max_tokens, strategy=strategy, window=window, about=about
    )
    plain = {name: getattr(packed, name) for name in ("text", "tokens", "sources", "references", "dropped", "notes")}
    return {**plain, "messages": packed.messages, "sections": packed.sections} if parts else plain


@tool(
    "Get the profile",
    READS,
    shapes.Profile,
    say=lambda done: "\n".join([PREAMBLE, in_json(done, kind="profile")]),
    everyday=True,
)
async def get_profile(asked: Asked) -> Any:
    """Who the user is: their id, the facts that hold now, and their preferences."""
    return await asked.user.profile()


@tool(
    "Export everything",
    READS,
    shapes.Exported,
    say=lambda done: "The structured answer has everything that the user owns, sensitive values in clear.",
    whole=True,
)
async def export_memory(asked: Asked) -> Any:
    """Everything the user owns, sensitive values in clear, as a document that import_memory reads back."""
    return {"document": await asked.user.export()}


@tool("Import", ADDS, shapes.Restored, say=lambda done: f"Added {sum(done['added'].values())} rows.")
async def import_memory(
    asked: Asked, document: Annotated[shapes.Object, Field(description="What export_memory gave, all of it.")]
) -> Any:
    """Put an exported document into the user's memory, all of it or nothing; what is there already stays."""
    return {"added": await asked.user.restore(document)}


@tool("Erase everything", REMOVES, shapes.Receipt)
async def erase_memory(
    asked: Asked,
    confirm: Annotated[Identifier, Field(description="The user's id, as get_profile tells it, so that it is meant.")],
) -> Any:
    """Remove everything the user owns, for good, and give a receipt. Only when the user asks for exactly this."""
    if confirm != asked.user.user_id:
        raise Invalid("confirm must be the id of the user whose memory is to be erased")
    return await asked.user.erase()


TOOLS = (search_memory, get_context, get_profile, export_memory, import_memory, erase_memory)
