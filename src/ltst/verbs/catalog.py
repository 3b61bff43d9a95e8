"""Every verb, by noun: a line here is a route of the server and a tool of MCP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ltst.handles.contexts import AsyncContexts, AsyncWorking
from ltst.handles.documents import AsyncDocuments
from ltst.handles.entries import AsyncEntries
from ltst.handles.facts import AsyncFacts
from ltst.handles.instructions import AsyncInstructions
from ltst.handles.learning import AsyncLearning
from ltst.handles.preferences import AsyncPreferences
from ltst.handles.retention import AsyncRetention
from ltst.handles.sessions import AsyncSessions
from ltst.handles.statements import AsyncStatements
from ltst.memory import AsyncChat, AsyncUser
from ltst.verbs import outside, shapes
from ltst.verbs.shapes import Page
from ltst.verbs.verb import ADDS, ADDS_ONCE, READS, REMOVES, REPLACES, Verb

SESSION = "/v1/sessions/{session_id}"
OPENS = ("agent", "name")


def _scored(hits: Any, _: Mapping[str, Any]) -> Any:
    return [{"message": message, "score": score} for message, score in hits]


def _valued(values: Any, _: Mapping[str, Any]) -> Any:
    return [{"key": key, "value": value} for key, value in values.items()]


def _kept(_: None, given: Mapping[str, Any]) -> Any:
    return {"key": given["key"], "value": given["value"]}


_session: Any = {"missing": "session {session_id!r}"}
SESSIONS = (
    Verb(AsyncSessions.list, READS, "GET /v1/sessions", "list_sessions"),
    Verb(AsyncSessions.get, READS, f"GET {SESSION}", "get_session", **_session),
    Verb(outside.put_session, REPLACES, f"PUT {SESSION}", "put_session", body="SessionWritten"),
    Verb(AsyncSessions.delete, REMOVES, f"DELETE {SESSION}", "delete_session", **_session),
    Verb(AsyncSessions.archive, ADDS_ONCE, f"POST {SESSION}/archive", "archive_session"),
    Verb(AsyncSessions.touch, ADDS_ONCE, f"POST {SESSION}/touch", "touch_session", body="Touch", **_session),
    Verb(AsyncSessions.summary, READS, f"GET {SESSION}/summary", "summarise_session", "count_session"),
    Verb(AsyncSessions.related, READS, f"GET {SESSION}/links", "list_links", "related_sessions"),
    Verb(
        AsyncSessions.link,
        ADDS_ONCE,
        f"POST {SESSION}/links",
        "link_sessions",
        body="Link",
        status=201,
        renamed={"session_id": "source"},
    ),
    Verb(outside.fork_session, ADDS, tool="fork_session"),
)

_adds: Any = {"opens": OPENS, "status": 201}
MESSAGES = (
    Verb(AsyncChat.add, ADDS, f"POST {SESSION}/messages", "add_message", body="NewMessage", keyed=True, **_adds),
    Verb(outside.add_messages, ADDS, f"POST {SESSION}/messages/batch", "add_messages", body="NewMessages", status=201),
    Verb(
        outside.store_message, ADDS, f"POST {SESSION}/messages/ready", "store_message", body="ReadyMessage", status=201
    ),
    Verb(
        outside.add_interaction, ADDS, f"POST {SESSION}/interactions", "add_interaction", body="Interaction", status=201
    ),
    Verb(outside.list_messages, READS, tool="list_messages", answers=Page[shapes.MessageWithVector]),
    Verb(
        AsyncChat.replace,
        REPLACES,
        f"PUT {SESSION}/messages/{{message_id}}",
        "replace_message",
        body="MessageReplaced",
    ),
    Verb(AsyncChat.remove, REMOVES, f"DELETE {SESSION}/messages/{{message_id}}", "remove_message"),
    Verb(AsyncChat.window, READS, f"GET {SESSION}/window", "window", "read_session"),
    Verb(AsyncChat.snapshot, READS, f"GET {SESSION}/snapshot", "snapshot", "get_snapshot", answers=shapes.Snapshot),
    Verb(AsyncChat.context, READS, f"POST {SESSION}/context", "context", "-", body="ContextWanted", opens=("agent",)),
    Verb(
        AsyncChat.search,
        READS,
        f"POST {SESSION}/search",
        "search_messages",
        "search_session",
        body="MessagesWanted",
        answers=Page[shapes.MessageFound],
        told=_scored,
    ),
    Verb(AsyncUser.message, READS, "GET /v1/messages/{message_id}", "get_message", missing="message {message_id!r}"),
)

VALUE, CONTEXT = f"{SESSION}/working/{{key}}", f"{SESSION}/contexts/{{type}}/{{key}}"
_value: Any = {"missing": "value {key!r} in the working memory of this session"}
_context: Any = {"missing": "context {key!r} of the type {type}"}
CONTEXTS = (
    Verb(
        AsyncWorking.all,
        READS,
        f"GET {SESSION}/working",
        "list_working",
        "list_working_memory",
        answers=Page[shapes.WorkingValue],
        told=_valued,
    ),
    Verb(outside.get_working, READS, f"GET {VALUE}", "get_working", "get_working_memory", **_value),
    Verb(
        AsyncWorking.set,
        REPLACES,
        f"PUT {VALUE}",
        "set_working",
        "set_working_memory",
        body="WorkingWritten",
        opens=OPENS,
        answers=shapes.WorkingValue,
        told=_kept,
    ),
    Verb(AsyncWorking.forget, REMOVES, f"DELETE {VALUE}", "forget_working", "forget_working_memory", **_value),
    Verb(
        AsyncWorking.clear,
        REMOVES,
        f"DELETE {SESSION}/working",
        "clear_working",
        "clear_working_memory",
        counts="removed",
    ),
    Verb(AsyncContexts.list, READS, f"GET {SESSION}/contexts", "list_contexts", "list_session_contexts"),
    Verb(AsyncContexts.get, READS, f"GET {CONTEXT}", "get_context", "get_session_context", **_context),
    Verb(
        AsyncContexts.set,
        REPLACES,
        f"PUT {CONTEXT}",
        "set_context",
        "set_session_context",
        body="ContextWritten",
        opens=OPENS,
    ),
    Verb(outside.forget_context, REMOVES, f"DELETE {CONTEXT}", "forget_context", "-", **_context),
    Verb(
        outside.forget_contexts,
        REMOVES,
        f"DELETE {SESSION}/contexts/{{type}}",
        "forget_contexts",
        "-",
        counts="removed",
    ),
    Verb(AsyncContexts.forget, REMOVES, tool="forget_session_context", counts="removed"),
)

_fact: Any = {"missing": "fact {key!r}"}
FACT = "/v1/facts/{key}"
FACTS = (
    Verb(AsyncFacts.list, READS, "GET /v1/facts", "list_facts"),
    Verb(AsyncFacts.get, READS, f"GET {FACT}", "get_fact", **_fact),
    Verb(AsyncFacts.set, ADDS_ONCE, f"PUT {FACT}", "set_fact", body="FactWritten"),
    Verb(AsyncFacts.history, READS, f"GET {FACT}/history", "fact_history"),
    Verb(AsyncFacts.reject, REPLACES, f"POST {FACT}/reject", "reject_fact", body="FactRejected"),
    Verb(AsyncFacts.end, ADDS_ONCE, f"POST {FACT}/end", "end_fact", body="FactEnded"),
    Verb(AsyncFacts.forget, REMOVES, f"DELETE {FACT}", "forget_fact", **_fact),
)

STATEMENT = "/v1/statements/{statement_id}"
STATEMENTS = (
    Verb(AsyncStatements.list, READS, "GET /v1/statements", "list_statements"),
    Verb(AsyncStatements.get, READS, f"GET {STATEMENT}", "get_statement", missing="statement {statement_id!r}"),
    Verb(AsyncStatements.reject, REPLACES, f"POST {STATEMENT}/reject", "reject_statement"),
)

_preference: Any = {"missing": "preference {key!r}"}
PREFERENCE = "/v1/preferences/{key}"
PREFERENCES = (
    Verb(AsyncPreferences.list, READS, "GET /v1/preferences", "list_preferences"),
    Verb(AsyncPreferences.get, READS, f"GET {PREFERENCE}", "get_preference", **_preference),
    Verb(AsyncPreferences.set, REPLACES, f"PUT {PREFERENCE}", "set_preference", body="PreferenceWritten"),
    Verb(AsyncPreferences.forget, REMOVES, f"DELETE {PREFERENCE}", "forget_preference", **_preference),
)

_instruction: Any = {"missing": "instruction for {agent!r}"}


def _instructions(all_: str, one: str, *names: str, tools: tuple[str, ...]) -> tuple[Verb, ...]:
    """Instructions have two addresses: their own, and that of customizations of an agent's prompt."""
    listed, got, written, gone, past = zip(names, tools, strict=True)
    return (
        Verb(AsyncInstructions.list, READS, f"GET {all_}", *listed),
        Verb(AsyncInstructions.get, READS, f"GET {one}", *got, **_instruction),
        Verb(AsyncInstructions.set, ADDS, f"PUT {one}", *written, body="InstructionWritten"),
        Verb(AsyncInstructions.forget, REMOVES, f"DELETE {one}", *gone, **_instruction),
        Verb(AsyncInstructions.history, READS, f"GET {one}/history", *past),
    )


INSTRUCTIONS = (
    *_instructions(
        "/v1/instructions",
        "/v1/instructions/{agent}",
        *("list_instructions", "get_instruction", "set_instruction", "forget_instruction", "instruction_history"),
        tools=("", "get_instructions", "set_instructions", "forget_instructions", ""),
    ),
    *_instructions(
        "/api/agents/customizations",
        "/api/agents/{agent}/customizations",
        *("list_customizations", "get_customization", "set_customization", "forget_customization"),
        "customization_history",
        tools=("-",) * 5,
    ),
)

_entry: Any = {"missing": "entry {entry_id!r}"}
ENTRY = "/v1/entries/{entry_id}"
ENTRIES = (
    Verb(AsyncEntries.add, ADDS_ONCE, "POST /v1/entries", "add_entry", body="EntryWritten", status=201),
    Verb(AsyncEntries.list, READS, "GET /v1/entries", "list_entries"),
    Verb(AsyncEntries.get, READS, f"GET {ENTRY}", "get_entry", **_entry),
    Verb(AsyncEntries.forget, REMOVES, f"DELETE {ENTRY}", "forget_entry", **_entry),
)

_document: Any = {"missing": "document {document_id!r}"}
DOCUMENT = "/v1/documents/{document_id}"
DOCUMENTS = (
    Verb(outside.add_text, ADDS_ONCE, "POST /v1/documents", "add_document", "-", body="DocumentWritten", status=201),
    Verb(outside.add_document, ADDS_ONCE, tool="add_document"),
    Verb(AsyncDocuments.list, READS, "GET /v1/documents", "list_documents", answers=Page[shapes.Document]),
    Verb(AsyncDocuments.get, READS, f"GET {DOCUMENT}", "get_document", **_document),
    Verb(AsyncDocuments.forget, REMOVES, f"DELETE {DOCUMENT}", "forget_document", **_document),
)

SEARCH = (Verb(AsyncUser.search, READS, "POST /v1/search", "search", "-", body="SearchWanted"),)
PEOPLE = (
    Verb(AsyncUser.profile, READS, "GET /v1/profile", "profile", "get_profile", answers=shapes.Profile),
    Verb(AsyncUser.export, READS, "GET /v1/export", "export", "export_memory"),
    Verb(AsyncUser.restore, ADDS, tool="import_memory"),
    Verb(outside.erase_memory, REMOVES, tool="erase_memory"),
    Verb(outside.list_events, READS, tool="list_events"),
)

POLICY = "/v1/retention/{session_type}"
LEARNING = (
    Verb(AsyncLearning.get, READS, "GET /v1/learning", "learning", "get_learning"),
    Verb(
        AsyncLearning.set, REPLACES, "PATCH /v1/learning", "switch_learning", "set_learning", body="Switches", some=True
    ),
    Verb(
        AsyncLearning.catch_up,
        ADDS_ONCE,
        "POST /v1/learning/catch-up",
        "catch_up",
        "catch_up_learning",
        counts="conversations",
    ),
    Verb(
        AsyncLearning.restart,
        REMOVES,
        "POST /v1/learning/restart",
        "restart",
        "restart_learning",
        counts="conversations",
    ),
)
RETENTION = (
    Verb(AsyncRetention.list, READS, "GET /v1/retention", "list_policies", "list_retention"),
    Verb(AsyncRetention.set, REPLACES, f"PUT {POLICY}", "set_policy", "set_retention", body="PolicyWritten", some=True),
    Verb(
        AsyncRetention.forget,
        REMOVES,
        f"DELETE {POLICY}",
        "forget_policy",
        "forget_retention",
        missing="policy for {session_type!r}",
    ),
)

# By the heading under which the docs of the server show them.
VERBS: Mapping[str, tuple[Verb, ...]] = {
    "sessions": SESSIONS,
    "messages": MESSAGES,
    "working memory and contexts": CONTEXTS,
    "facts": FACTS,
    "statements": STATEMENTS,
    "preferences": PREFERENCES,
    "instructions": INSTRUCTIONS,
    "entries": ENTRIES,
    "documents": DOCUMENTS,
    "search": SEARCH,
    "user": PEOPLE,
    "learning": LEARNING,
    "retention": RETENTION,
}
