"""Sessions: `ltst sessions …`."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated, Any

import typer

from ltst.arguments import SESSION_STATES
from ltst.doors.cli import show
from ltst.doors.cli.options import (
    Limit,
    MetadataOption,
    Offset,
    Options,
    Yes,
    command,
    found,
    named,
    one_of,
    remembered,
    timed,
    typed,
)
from ltst.records import ConversationSession

app = typer.Typer(no_args_is_help=True, help="The conversations of a user.\n\nExample: ltst sessions list")

SessionId = Annotated[str, typer.Argument(metavar="ID", help="Which conversation.")]
LINKS = ("continuation", "related", "fork", "reference")

COLUMNS = {
    "Session": "session_id",
    "Name": "session_name",
    "Agent": "agent_name",
    "Status": "status",
    "Messages": "session_length",
    "Last activity": "last_activity",
}
SUMMARY = {
    "Session": "session_id",
    "Name": "session_name",
    "Status": "status",
    "Messages": "message_count",
    "Tokens": "token_count",
    "Created": "created_at",
    "Last activity": "last_activity",
}
COUNTS = {
    **SUMMARY,
    "By people": "human_messages",
    "By agents": "ai_messages",
    "By the system": "system_messages",
    "By tools": "tool_messages",
}
LINKED = {
    "From": "source_session_id",
    "To": "target_session_id",
    "Type": "relationship_type",
    "Strength": "relationship_strength",
    "Similarity": "similarity_score",
}
HITS: show.Columns = {
    "Score": lambda hit: f"{hit[1]:.2f}",
    "": lambda hit: hit[0].message_index,
    "When": lambda hit: hit[0].timestamp,
    "Who": lambda hit: hit[0].role,
    "Content": lambda hit: hit[0].content,
}


@command(app, "list", user=True)
def list_sessions(
    options: Options,
    status: Annotated[str | None, one_of("--status", "STATUS", SESSION_STATES, "Only {} ones.")] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> None:
    """List conversations, the most recently active first.

    Example: ltst sessions list --user ann --status active
    """
    with remembered(options) as user:
        known = user.sessions.list(status=status, limit=limit, offset=offset)
    show.records(options.json, known, COLUMNS, title="Sessions", empty="There are no conversations yet.")


@command(app, "show", user=True)
def show_session(options: Options, session_id: SessionId, limit: Limit = 100, offset: Offset = 0) -> None:
    """Show a conversation from its beginning, with its counts.

    Example: ltst sessions show monday
    """
    with remembered(options) as user:
        session = found(user.sessions.get(session_id), f"session {session_id!r}")
        summary = user.sessions.summary(session_id)
        said = user.chat(session_id).history(limit=limit, offset=offset)
    if options.json:
        show.document({**asdict(session), **asdict(summary), "messages": said})
        return
    show.record(False, summary, SUMMARY)
    show.out().print(show.messages(said))


@command(app, "summary", user=True)
def summary(options: Options, session_id: SessionId) -> None:
    """Count a conversation: messages by role, tokens, times.

    Example: ltst sessions summary monday
    """
    with remembered(options) as user:
        counted = user.sessions.summary(session_id)
    show.record(options.json, counted, COUNTS)


@command(app, "search", user=True)
def search(
    options: Options,
    session_id: SessionId,
    query: Annotated[str, typer.Argument(help="What to look for, in any words; - reads it.")],
    limit: Limit = 10,
    threshold: Annotated[float, named("--threshold", "N", "The least score, from 0 to 1.")] = 0.0,
) -> None:
    """Find messages within one conversation.

    Example: ltst sessions search monday "the flat"
    """
    asked = typed(query, ask="Query")
    with remembered(options) as user:
        hits = user.chat(session_id).search(asked, limit=limit, threshold=threshold)
    if options.json:
        show.document([{"message": message, "score": score} for message, score in hits])
    else:
        show.records(False, hits, HITS, title="Found", empty="Nothing like that was said in it.")


@command(app, "snapshot", user=True)
def snapshot(options: Options, session_id: SessionId) -> None:
    """Print the short-term window as JSON, as models read it.

    Example: ltst sessions snapshot monday
    """
    with remembered(options) as user:
        show.document(user.chat(session_id).snapshot())


@command(app, "put", user=True)
def put(
    options: Options,
    session_id: SessionId,
    name: Annotated[str | None, named("--name", "TEXT", "What it is called.")] = None,
    type: Annotated[str | None, named("--type", "TYPE", "Of which kind a new one is.")] = None,
    status: Annotated[str | None, one_of("--status", "STATUS", SESSION_STATES)] = None,
    agent: Annotated[str | None, named("--agent", "NAME", "The agent of a new one.")] = None,
    summary: Annotated[str | None, named("--summary", "TEXT", "What a new one is about.")] = None,
    relevance: Annotated[float | None, named("--relevance", "N", "How much a new one matters.")] = None,
    created_at: Annotated[datetime | None, timed("--created", "When a new one began.")] = None,
    last_activity: Annotated[datetime | None, timed("--at", "When it was last active; else now.")] = None,
    metadata: MetadataOption = None,
) -> None:
    """Create a conversation, or rename or restore one.

    Of one that exists, what is given changes, and its activity; the rest stays.

    Example: ltst sessions put monday --name "Flats in Lisbon"
    """
    given = {
        "session_name": name,
        "session_type": type,
        "status": status,
        "agent_name": agent,
        "context_summary": summary,
        "relevance_score": relevance,
        "created_at": created_at,
        "last_activity": last_activity,
        "metadata": metadata,
    }
    told: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
    with remembered(options) as user:
        known = user.sessions.get(session_id) or ConversationSession(session_id, user.user_id)
        fresh = replace(known, created_at=None, last_activity=None)
        stored = user.sessions.put(replace(fresh, **told))
    show.done(options.json, stored, f"{session_id} is kept.")


@command(app, "touch", user=True)
def touch(
    options: Options,
    session_id: SessionId,
    at: Annotated[datetime | None, timed("--at", "When it was active, if not now.")] = None,
) -> None:
    """Set the time of the last activity.

    Example: ltst sessions touch monday
    """
    with remembered(options) as user:
        found(user.sessions.touch(session_id, at=at), f"session {session_id!r}")
    show.done(options.json, {"touched": session_id}, f"The last activity of {session_id} is set.")


@command(app, "archive", user=True)
def archive(options: Options, session_id: SessionId) -> None:
    """Put a conversation aside.

    A new message makes it active again.

    Example: ltst sessions archive monday
    """
    with remembered(options) as user:
        archived = user.sessions.archive(session_id)
    show.done(options.json, archived, f"{session_id} is archived.")


@command(app, "fork", user=True)
def fork(
    options: Options,
    session_id: SessionId,
    at: Annotated[int | None, named("--at", "N", "Up to which message; all, if left out.")] = None,
    new_id: Annotated[str | None, named("--as", "ID", "What the copy is called.")] = None,
) -> None:
    """Begin a new conversation with a copy of this one.

    Example: ltst sessions fork monday --at 4 --as monday-again
    """
    with remembered(options) as user:
        copy = user.chat(session_id).fork(at, session_id=new_id)
    show.done(options.json, {"session_id": copy.session_id}, f"The copy is {copy.session_id}.")


@command(app, "link", user=True)
def link(
    options: Options,
    source: Annotated[str, typer.Argument(help="The earlier conversation.")],
    target: Annotated[str, typer.Argument(help="The later one.")],
    type: Annotated[str, one_of("--type", "TYPE", LINKS, "{}, or a word of yours.")] = "related",
    similarity: Annotated[float, named("--similarity", "N", "From 0 to 1.")] = 0.0,
    strength: Annotated[float, named("--strength", "N", "From 0 to 1.")] = 1.0,
    metadata: MetadataOption = None,
) -> None:
    """Link two conversations.

    Example: ltst sessions link monday tuesday --type continuation
    """
    with remembered(options) as user:
        linked = user.sessions.link(source, target, type, similarity=similarity, strength=strength, metadata=metadata)
    show.done(options.json, linked, f"{target} is linked to {source} as {type}.")


@command(app, "related", user=True)
def related(options: Options, session_id: SessionId) -> None:
    """List the links from and to a conversation.

    Example: ltst sessions related monday
    """
    with remembered(options) as user:
        links = user.sessions.related(session_id)
    show.records(options.json, links, LINKED, title=f"Links of {session_id}", empty="It is linked to none.")


@command(app, "delete", user=True)
def delete(options: Options, session_id: SessionId, yes: Yes = False) -> None:
    """Delete a conversation and all that hangs on it.

    Example: ltst sessions delete monday
    """
    with remembered(options) as user:
        known = found(user.sessions.get(session_id), f"session {session_id!r}")
        if not yes:
            typer.confirm(f"Delete {session_id} with {known.session_length} messages?", abort=True, err=True)
        user.sessions.delete(session_id)
    show.done(options.json, {"deleted": session_id}, f"{session_id} is deleted.")
