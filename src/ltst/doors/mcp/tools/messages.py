"""Tools for messages: what is said, and free-standing notes."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictStr

from ltst.doors.mcp import shapes
from ltst.doors.mcp.shapes import (
    FROM_TEXT,
    Agent,
    Identifier,
    Items,
    Limit,
    Metadata,
    Moment,
    Offset,
    Page,
    Role,
    SessionId,
    SessionName,
    Text,
    one_of,
    page,
)
from ltst.doors.mcp.telling import removed, tell
from ltst.doors.mcp.toolbox import ADDS, READS, REMOVES, REPLACES, Asked, tool
from ltst.errors import Invalid, NotFound, Unavailable
from ltst.records import ConversationMessage
from ltst.support.logs import LOGGER
from ltst.support.validate import LONGEST_IDENTIFIER

SaidAt = Annotated[Moment, Field(description="When it was said, with the zone; now, if left out.")]
ONCE = "Stored again with the same key, it is stored once."
Key = Annotated[Identifier, Field(description=ONCE)]
# The message and the reply to it are kept under two keys of their own, which are longer by two characters.
PairKey = Annotated[StrictStr, Field(min_length=1, max_length=LONGEST_IDENTIFIER - 2, description=ONCE)]
MessageId = Annotated[Identifier, Field(description="The id of the message.")]
Parent = Annotated[Identifier, Field(description="The id of the message that it answers.")]
MostTokens = Annotated[shapes.Index, Field(description="How many tokens at most, together.")]
Speaker = Annotated[
    StrictStr,
    one_of("user", "assistant", "human", "ai", "system", "tool"),
    Field(description="Who says it. What a tool or a web page said is tool: it is kept, but never taken for the user."),
]


class Turn(BaseModel):
    """One message of several."""

    model_config = ConfigDict(extra="forbid")

    role: Role
    content: Text
    at: SaidAt | None = None
    metadata: Metadata | None = None
    parent: Parent | None = None
    key: Key | None = None

    def arguments(self) -> dict[str, Any]:
        """The arguments of `add`."""
        return {name: getattr(self, name) for name in type(self).model_fields}


def _remembered(done: dict[str, Any]) -> str:
    where = "" if done["session_id"] is None else " of the conversation"
    return f"Stored as {done['kind']}{where}: {', '.join(done['ids'])}."


@tool("Remember", ADDS, shapes.Remembered, say=_remembered, everyday=True)
async def remember(
    asked: Asked,
    content: Annotated[Text, Field(description="What to remember, word for word.")],
    session_id: Annotated[
        Identifier | None,
        Field(description="The conversation it was said in. Left out: keep it as a note that stands by itself."),
    ] = None,
    role: Speaker = "user",
    reply: Annotated[
        Text | None, Field(description="What the assistant answered; both are stored, or neither. Needs a session_id.")
    ] = None,
    at: SaidAt | None = None,
    key: PairKey | None = None,
) -> Any:
    """Store something in long-term memory: what the user said in a conversation, or a note.

    Use it whenever the user tells something worth knowing later, or asks to remember it. With session_id it is a
    message of that conversation, from which facts and preferences are learnt; without, a note. It is durable when
    this answers.
    """
    if session_id is None:
        if reply is not None or role not in ("user", "human") or key is not None:
            raise Invalid("role, reply and key are for messages of a conversation: give its session_id too")
        entry = await asked.user.entries.add(content, occurred_at=at)
        return {"kind": "entry", "ids": [str(entry.entry_id)], "session_id": None}
    said = [{"role": role, "content": content, "at": at}]
    if reply is not None:
        said.append({"role": "assistant", "content": reply, "at": at})
    keyed = [{**each, "key": key and f"{key}:{number}"} for number, each in enumerate(said, start=1)]
    stored = await asked.user.chat(session_id).add_many(keyed)
    await _learn(asked, session_id)
    return {"kind": "message", "ids": [str(each.message_id) for each in stored], "session_id": session_id}


async def _learn(asked: Asked, session_id: str) -> None:
    """A model asks for the facts in its next breath; where that fails, what is stored is learnt in the background."""
    try:
        await asked.user.learning.catch_up(session_id)
    except Unavailable as problem:
        LOGGER.warning("what was remembered is learnt later", extra={"reason": str(problem)})


@tool("Read a conversation", READS, Page[shapes.Message], nothing="This conversation has no messages.", everyday=True)
async def read_session(
    asked: Asked,
    session_id: SessionId,
    limit: Limit = 50,
    max_tokens: MostTokens | None = None,
) -> Any:
    """The newest messages of a conversation, oldest first, word for word."""
    return Items(await asked.user.chat(session_id).window(limit, max_tokens=max_tokens))


@tool(
    "Page through a conversation",
    READS,
    Page[shapes.MessageWithVector],
    nothing="There are no messages here.",
    everyday=True,
)
async def list_messages(
    asked: Asked,
    session_id: SessionId,
    limit: Limit = 100,
    offset: Offset = 0,
    vectors: Annotated[
        shapes.Flag, Field(description="With the vectors of those that have one, for programs.")
    ] = False,
) -> Any:
    """The messages of a conversation from its beginning on, page by page."""
    found = page(await asked.user.chat(session_id).history(limit=limit + 1, offset=offset), limit, offset)
    return found if vectors else Items([_plain(each) for each in found.items], found.next_offset)


@tool("Get a message", READS, shapes.Message, everyday=True)
async def get_message(
    asked: Asked, message_id: Annotated[Identifier, Field(description="The id of the message: a fact's source.")]
) -> Any:
    """One message by its id, word for word: what a fact or a hit rests on."""
    found = await asked.user.message(message_id)
    if found is None:
        raise NotFound(f"no message {message_id!r}")
    return found


@tool("Add a message", ADDS, shapes.Message)
async def add_message(
    asked: Asked,
    session_id: SessionId,
    role: Role,
    content: Annotated[Text, Field(description="What is said, word for word.")],
    at: SaidAt | None = None,
    metadata: Metadata | None = None,
    parent: Parent | None = None,
    key: Key | None = None,
    agent: Agent | None = None,
    name: SessionName | None = None,
) -> Any:
    """Store one message of a conversation, which begins with its first."""
    chat = asked.user.chat(session_id, agent=agent, name=name)
    return await chat.add(role, content, at=at, metadata=metadata, parent=parent, key=key)


@tool("Add messages", ADDS, Page[shapes.Message], nothing="No messages were given.")
async def add_messages(
    asked: Asked,
    session_id: SessionId,
    messages: Annotated[list[Turn], FROM_TEXT, Field(max_length=10_000, description="The messages, in their order.")],
    agent: Agent | None = None,
    name: SessionName | None = None,
) -> Any:
    """Store many messages of a conversation, all or none."""
    said = [each.arguments() for each in messages]
    return Items(await asked.user.chat(session_id, agent=agent, name=name).add_many(said))


@tool("Add an interaction", ADDS, Page[shapes.Message])
async def add_interaction(
    asked: Asked,
    session_id: SessionId,
    user_msg: Annotated[Text, Field(description="What the user said.")],
    ai_msg: Annotated[Text, Field(description="What the assistant answered.")],
    agent: Agent | None = None,
    name: SessionName | None = None,
) -> Any:
    """Store what the user said and what the assistant answered, both or neither."""
    return Items(await asked.user.chat(session_id, agent=agent, name=name).add_interaction(user_msg, ai_msg))


@tool("Store a ready-made message", ADDS, shapes.Message)
async def store_message(
    asked: Asked,
    session_id: SessionId,
    role: Role,
    content: Annotated[Text, Field(description="What is said, word for word.")],
    message_type: Annotated[
        StrictStr,
        one_of("message", "system", "context", "preference"),
        Field(description="What kind of message it is."),
    ] = "message",
    message_index: Annotated[shapes.Index | None, Field(description="Its index, which must be the next one.")] = None,
    at: SaidAt | None = None,
    metadata: Metadata | None = None,
    parent: Parent | None = None,
    embedding: Annotated[
        shapes.Vector | None, Field(description="Its vector, of the model whose vectors are stored here.")
    ] = None,
    relevance_score: Annotated[shapes.Weight, Field(description="A score of your own.")] = 0.0,
    is_context_message: Annotated[shapes.Flag, Field(description="Whether it is context rather than speech.")] = False,
) -> Any:
    """Store a message that comes from elsewhere, with all that it says of itself."""
    message = ConversationMessage(
        session_id,
        role,
        content,
        message_type=message_type,
        message_index=message_index,
        parent_message_id=parent,
        metadata=metadata or {},
        embedding=embedding,
        relevance_score=relevance_score,
        is_context_message=is_context_message,
        timestamp=at,
    )
    return await asked.user.chat(session_id).store(message)


@tool("Replace a message", REPLACES, shapes.Message)
async def replace_message(
    asked: Asked,
    session_id: SessionId,
    message_id: MessageId,
    content: Annotated[Text, Field(description="What it says from now on, word for word.")],
    metadata: Annotated[Metadata | None, Field(description="Its metadata from now on; as it is, if left out.")] = None,
) -> Any:
    """Let a message of a conversation say something else in its place, when the user corrects or redacts it.

    What was learnt from its old words alone is forgotten; the new ones are learnt from.
    """
    return await asked.user.chat(session_id).replace(message_id, content, metadata=metadata)


@tool("Remove a message", REMOVES, shapes.Removed, say=removed)
async def remove_message(asked: Asked, session_id: SessionId, message_id: MessageId) -> Any:
    """Remove a message for good, when the user asks for it, with all that was learnt from it alone."""
    await asked.user.chat(session_id).remove(message_id)
    return {"removed": 1}


@tool(
    "Search one conversation",
    READS,
    Page[shapes.MessageFound],
    say=lambda done: tell(Items([each["message"] for each in done.items]), "No message here is about this."),
)
async def search_session(
    asked: Asked,
    session_id: SessionId,
    query: Annotated[Text, Field(description="What to look for, in words.")],
    limit: Annotated[shapes.Few, Field(description="How many at most.")] = 10,
    threshold: Annotated[shapes.Score, Field(description="The least relevance, from 0 to 1.")] = 0.0,
) -> Any:
    """Messages of one conversation about a question, the best first."""
    hits = await asked.user.chat(session_id).search(query, limit=limit, threshold=threshold)
    return Items([{"message": message, "score": score} for message, score in hits])


@tool("Short-term window", READS, shapes.Snapshot)
async def get_snapshot(asked: Asked, session_id: SessionId) -> Any:
    """The short-term window of a conversation, with the roles that models know."""
    return await asked.user.chat(session_id).snapshot()


def _plain(message: ConversationMessage) -> ConversationMessage:
    """A message without its vector."""
    return replace(message, embedding=None)


TOOLS = (
    remember,
    read_session,
    list_messages,
    get_message,
    add_message,
    add_messages,
    add_interaction,
    store_message,
    replace_message,
    remove_message,
    search_session,
    get_snapshot,
)
