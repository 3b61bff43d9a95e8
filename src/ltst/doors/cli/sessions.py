"""Sessions: `ltst sessions …`."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltst.arguments import SESSION_STATES
from ltst.doors.cli import show
from ltst.doors.cli.options import (
    Limit,
    MetadataOption,
    Offset,
    Options,
    Yes,
    agreed,
    command,
    found,
    named,
    one_of,
    remembered,
    timed,
)
from ltst.doors.cli.verbs import Given, Noun, lined, listed, said
from ltst.records import ConversationSession

if TYPE_CHECKING:
    from ltst.sync import User

app = Noun("sessions", "The conversations of a user.", "list", missing="session {session_id!r}")

SessionId = Annotated[str, typer.Argument(metavar="ID", help="Which conversation.")]

COLUMNS = show.columns(
    "Session: session_id, Name: session_name, Agent: agent_name, Status: status, "
    "Messages: session_length, Last activity: last_activity"
)
SUMMARY = show.columns(
    "Session: session_id, Name: session_name, Status: status, Messages: message_count, Tokens: token_count, "
    "Created: created_at, Last activity: last_activity"
)
COUNTS: show.Columns = {
    **SUMMARY,
    **show.columns(
        "By people: human_messages, By agents: ai_messages, By the system: system_messages, By tools: tool_messages"
    ),
}
LINKED = show.columns(
    "From: source_session_id, To: target_session_id, Type: relationship_type, "
    "Strength: relationship_strength, Similarity: similarity_score"
)
HITS: show.Columns = {
    "Score": lambda hit: f"{hit[1]:.2f}",
    "": lambda hit: hit[0].message_index,
    "When": lambda hit: hit[0].timestamp,
    "Who": lambda hit: hit[0].role,
    "Content": lambda hit: hit[0].content,
}


def _rest(user: User, session: ConversationSession, given: Given) -> Any:
    said = user.chat(session.session_id).history(limit=given["limit"], offset=given["offset"])
    return user.sessions.summary(session.session_id), said


def _show_session(as_json: bool, session: ConversationSession, given: Given) -> None:
    summary, said = given["beside"]
    if as_json:
        show.document({**asdict(session), **asdict(summary), "messages": said})
        return
    show.record(False, summary, SUMMARY)
    show.out().print(show.messages(said))


def _hits(as_json: bool, hits: Any, _: Given) -> None:
    document = [{"message": message, "score": score} for message, score in hits]
    show.records(as_json, hits, HITS, title="Found", empty="Nothing like that was said in it.", instead=document)


def _window(_: bool, window: Any, __: Given) -> None:
    show.document(window)


def _copied(as_json: bool, copy: Any, _: Given) -> None:
    show.done(as_json, {"session_id": copy.session_id}, f"The copy is {copy.session_id}.")


LIST, SHOW = (
    "List conversations, the most recently active first.",
    "Show a conversation from its beginning, with its counts.",
)
_listed = listed(COLUMNS, "Sessions", "There are no conversations yet.")
SOME = {"limit": (Limit, 100), "offset": (Offset, 0)}
app.verb("list", LIST, "--user ann --status active", _listed)
app.verb("show", SHOW, "monday", _show_session, does="sessions.get", own=SOME, beside=_rest)
app.verb("summary", "Count a conversation: messages by role, tokens, times.", "monday", lined(COUNTS))
app.verb(
    "search",
    "Find messages within one conversation.",
    'monday "the flat"',
    _hits,
    does="chat.search",
    help={"where": "Of metadata: topic=food, 'price>=5'; all must hold."},
    chat=(SessionId,),
)
SNAPSHOT = "Print the short-term window as JSON, as models read it."
ASIDE = "Put a conversation aside.\n\nA new message makes it active again."
_touched = said("The last activity of {session_id} is set.", touched="session_id")
app.verb("snapshot", SNAPSHOT, "monday", _window, does="chat.snapshot", chat=(SessionId,))
app.verb("touch", "Set the time of the last activity.", "monday", _touched)
app.verb("archive", ASIDE, "monday", said("{session_id} is archived."))
app.verb(
    "fork",
    "Begin a new conversation with a copy of this one.",
    "monday --at 4 --as monday-again",
    _copied,
    does="chat.fork",
    chat=(SessionId,),
    flags={"at": "--at", "session_id": "--as"},
)
_linked = said("{target} is linked to {source} as {type}.")
_links = listed(LINKED, "Links of {session_id}", "It is linked to none.")
TYPE = {"type": "--type"}
app.verb("link", "Link two conversations.", "monday tuesday --type continuation", _linked, flags=TYPE)
app.verb("related", "List the links from and to a conversation.", "monday", _links)


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
    changed: dict[str, Any] = {field: value for field, value in given.items() if value is not None}
    with remembered(options) as user:
        known = user.sessions.get(session_id) or ConversationSession(session_id, user.user_id)
        fresh = replace(known, created_at=None, last_activity=None)
        stored = user.sessions.put(replace(fresh, **changed))
    show.done(options.json, stored, f"{session_id} is kept.")


@command(app, "delete", user=True)
def delete(options: Options, session_id: SessionId, yes: Yes = False) -> None:
    """Delete a conversation and all that hangs on it.

    Example: ltst sessions delete monday
    """
    with remembered(options) as user:
        known = found(user.sessions.get(session_id), f"session {session_id!r}")
        agreed(f"Delete {session_id} with {known.session_length} messages?", yes)
        user.sessions.delete(session_id)
    show.done(options.json, {"deleted": session_id}, f"{session_id} is deleted.")
