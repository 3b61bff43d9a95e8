"""The catalog of all verbs by noun; each entry becomes an HTTP route and an MCP tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ltst.handles.contexts import AsyncContexts, AsyncWorking
from ltst.handles.documents import AsyncDocuments
from ltst.handles.entries import AsyncEntries
from ltst.handles.facts import AsyncFacts
from ltst.handles.instructions import AsyncInstructions
from ltst.handles.items import AsyncItems
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


def _key_and_value(_: None, given: Mapping[str, Any]) -> Any:
    return {"key": given["key"], "value": given["value"]}


_made: Any = {"status": 201}
_session: Any = {"missing": "session {session_id!r}"}
_source: Any = {"renamed": {"session_id": "source"}}
SESSIONS = (
    Verb(AsyncSessions.list, READS, "GET /v1/sessions", "list_sessions"),
    Verb(AsyncSessions.get, READS, f"GET {SESSION}", "get_session", **_session),
    Verb(outside.put_session, REPLACES, f"PUT {SESSION}", "put_session", body="SessionInput"),
    Verb(AsyncSessions.delete, REMOVES, f"DELETE {SESSION}", "delete_session", **_session),
    Verb(AsyncSessions.archive, ADDS_ONCE, f"POST {SESSION}/archive", "archive_session"),
    Verb(AsyncSessions.touch, ADDS_ONCE, f"POST {SESSION}/touch", "touch_session", body="SessionActivity", **_session),
    Verb(AsyncSessions.summary, READS, f"GET {SESSION}/summary", "get_session_summary", "count_session"),
    Verb(AsyncSessions.related, READS, f"GET {SESSION}/links", "list_session_links", "related_sessions"),
    Verb(
        AsyncSessions.link, ADDS_ONCE, f"POST {SESSION}/links", "link_sessions", body="SessionLink", **_made, **_source
    ),
    Verb(outside.fork_session, ADDS, tool="fork_session"),
)

_searched: Any = {"body": "MessageQuery", "answers": Page[shapes.MessageHit], "shaped": _scored}
ONE = f"{SESSION}/messages/{{message_id}}"
MESSAGES = (
    Verb(
        AsyncChat.add,
        ADDS,
        f"POST {SESSION}/messages",
        "add_message",
        body="NewMessage",
        keyed=True,
        opens=OPENS,
        **_made,
    ),
    Verb(outside.add_messages, ADDS, f"POST {SESSION}/messages/batch", "add_messages", body="NewMessages", **_made),
    Verb(outside.store_message, ADDS, f"POST {SESSION}/messages/ready", "store_message", body="ReadyMessage", **_made),
    Verb(outside.add_interaction, ADDS, f"POST {SESSION}/interactions", "add_interaction", body="Interaction", **_made),
    Verb(outside.list_messages, READS, tool="list_messages", answers=Page[shapes.MessageWithVector]),
    Verb(AsyncChat.replace, REPLACES, f"PUT {ONE}", "replace_message", body="MessageReplacement"),
    Verb(AsyncChat.remove, REMOVES, f"DELETE {ONE}", "remove_message"),
    Verb(AsyncChat.window, READS, f"GET {SESSION}/window", "get_window", "read_session"),
    Verb(AsyncChat.snapshot, READS, f"GET {SESSION}/snapshot", "get_snapshot", answers=shapes.Snapshot),
    Verb(
        AsyncChat.context, READS, f"POST {SESSION}/context", "build_context", "-", body="ContextQuery", opens=("agent",)
    ),
    Verb(AsyncChat.search, READS, f"POST {SESSION}/search", "search_messages", "search_session", **_searched),
    Verb(AsyncUser.message, READS, "GET /v1/messages/{message_id}", "get_message", missing="message {message_id!r}"),
)

VALUES, TYPED = f"{SESSION}/working", f"{SESSION}/contexts/{{type}}"
VALUE, CONTEXT = f"{VALUES}/{{key}}", f"{TYPED}/{{key}}"
_value: Any = {"missing": "value {key!r} in the working memory of this session"}
_values: Any = {"answers": Page[shapes.WorkingMemoryValue], "shaped": _valued}
_kept_value: Any = {
    "body": "WorkingMemoryInput",
    "opens": OPENS,
    "answers": shapes.WorkingMemoryValue,
    "shaped": _key_and_value,
}
_context: Any = {"missing": "context {key!r} of the type {type}"}
_written: Any = {"body": "SessionContextInput", "opens": OPENS}
_removed: Any = {"counts": "removed"}
CONTEXTS = (
    Verb(AsyncWorking.all, READS, f"GET {VALUES}", "list_working_memory", **_values),
    Verb(outside.get_working, READS, f"GET {VALUE}", "get_working_memory", **_value),
    Verb(AsyncWorking.set, REPLACES, f"PUT {VALUE}", "set_working_memory", **_kept_value),
    Verb(AsyncWorking.forget, REMOVES, f"DELETE {VALUE}", "forget_working_memory", **_value),
    Verb(AsyncWorking.clear, REMOVES, f"DELETE {VALUES}", "clear_working_memory", **_removed),
    Verb(AsyncContexts.list, READS, f"GET {SESSION}/contexts", "list_session_contexts"),
    Verb(AsyncContexts.get, READS, f"GET {CONTEXT}", "get_session_context", **_context),
    Verb(AsyncContexts.set, REPLACES, f"PUT {CONTEXT}", "set_session_context", **_written),
    Verb(outside.forget_context, REMOVES, f"DELETE {CONTEXT}", "forget_session_context", "-", **_context),
    Verb(outside.forget_contexts, REMOVES, f"DELETE {TYPED}", "forget_session_contexts", "-", **_removed),
    Verb(AsyncContexts.forget, REMOVES, tool="forget_session_context", **_removed),
)

_fact: Any = {"missing": "fact {key!r}"}
FACT = "/v1/facts/{key}"
FACTS = (
    Verb(AsyncFacts.list, READS, "GET /v1/facts", "list_facts"),
    Verb(AsyncFacts.get, READS, f"GET {FACT}", "get_fact", **_fact),
    Verb(AsyncFacts.set, ADDS_ONCE, f"PUT {FACT}", "set_fact", body="FactInput"),
    Verb(AsyncFacts.history, READS, f"GET {FACT}/history", "get_fact_history", "fact_history"),
    Verb(AsyncFacts.reject, REPLACES, f"POST {FACT}/reject", "reject_fact", body="FactRejection"),
    Verb(AsyncFacts.end, ADDS_ONCE, f"POST {FACT}/end", "end_fact", body="FactEnd"),
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
    Verb(AsyncPreferences.set, REPLACES, f"PUT {PREFERENCE}", "set_preference", body="PreferenceInput"),
    Verb(AsyncPreferences.forget, REMOVES, f"DELETE {PREFERENCE}", "forget_preference", **_preference),
)

_instruction: Any = {"missing": "instruction for {agent!r}"}


def _instructions(all_: str, one: str, *names: str, tools: tuple[str, ...]) -> tuple[Verb, ...]:
    """Returns the verbs for instructions at one of their two addresses: their own, or an agent's customizations."""
    listed, got, written, gone, past = zip(names, tools, strict=True)
    return (
        Verb(AsyncInstructions.list, READS, f"GET {all_}", *listed),
        Verb(AsyncInstructions.get, READS, f"GET {one}", *got, **_instruction),
        Verb(AsyncInstructions.set, ADDS, f"PUT {one}", *written, body="InstructionInput"),
        Verb(AsyncInstructions.forget, REMOVES, f"DELETE {one}", *gone, **_instruction),
        Verb(AsyncInstructions.history, READS, f"GET {one}/history", *past),
    )


INSTRUCTIONS = (
    *_instructions(
        "/v1/instructions",
        "/v1/instructions/{agent}",
        *("list_instructions", "get_instruction", "set_instruction", "forget_instruction", "get_instruction_history"),
        tools=("", "get_instructions", "set_instructions", "forget_instructions", "instruction_history"),
    ),
    *_instructions(
        "/api/agents/customizations",
        "/api/agents/{agent}/customizations",
        *("list_customizations", "get_customization", "set_customization", "forget_customization"),
        "get_customization_history",
        tools=("-",) * 5,
    ),
)

_entry: Any = {"missing": "entry {entry_id!r}"}
ENTRY = "/v1/entries/{entry_id}"
ENTRIES = (
    Verb(AsyncEntries.add, ADDS_ONCE, "POST /v1/entries", "add_entry", body="EntryInput", **_made),
    Verb(AsyncEntries.list, READS, "GET /v1/entries", "list_entries"),
    Verb(AsyncEntries.get, READS, f"GET {ENTRY}", "get_entry", **_entry),
    Verb(AsyncEntries.forget, REMOVES, f"DELETE {ENTRY}", "forget_entry", **_entry),
)

_document: Any = {"missing": "document {document_id!r}"}
DOCUMENT = "/v1/documents/{document_id}"
DOCUMENTS = (
    Verb(outside.add_text, ADDS_ONCE, "POST /v1/documents", "add_document", "-", body="DocumentInput", **_made),
    Verb(outside.add_document, ADDS_ONCE, tool="add_document"),
    Verb(AsyncDocuments.list, READS, "GET /v1/documents", "list_documents", answers=Page[shapes.Document]),
    Verb(AsyncDocuments.get, READS, f"GET {DOCUMENT}", "get_document", **_document),
    Verb(AsyncDocuments.forget, REMOVES, f"DELETE {DOCUMENT}", "forget_document", **_document),
)


def _spaces(found: Any, _: Mapping[str, Any]) -> Any:
    return [{"namespace": [*each]} for each in found]


_item: Any = {"missing": "item {key!r} in {namespace}"}
_spread: Any = {"answers": Page[shapes.ItemNamespace], "shaped": _spaces}
ITEM = "/v1/items/{key}"
ITEMS = (
    Verb(outside.put_item, REPLACES, f"PUT {ITEM}", "put_item", body="NewItem"),
    Verb(AsyncItems.get, READS, f"GET {ITEM}", "get_item", **_item),
    Verb(AsyncItems.delete, REMOVES, f"DELETE {ITEM}", "delete_item", **_item),
    Verb(AsyncItems.list, READS, "GET /v1/items", "list_items"),
    Verb(AsyncItems.list_namespaces, READS, "GET /v1/namespaces", "list_namespaces", **_spread),
    Verb(AsyncItems.search, READS, "POST /v1/items/search", "search_items", body="ItemQuery"),
    Verb(outside.batch_items, REPLACES, "POST /v1/items/batch", "batch_items", body="ItemBatch"),
)

SEARCH = (Verb(AsyncUser.search, READS, "POST /v1/search", "search_memory", "-", body="SearchQuery"),)
PEOPLE = (
    Verb(AsyncUser.profile, READS, "GET /v1/profile", "get_profile", answers=shapes.Profile),
    Verb(AsyncUser.export, READS, "GET /v1/export", "export_memory"),
    Verb(AsyncUser.restore, ADDS, tool="import_memory"),
    Verb(outside.erase_memory, REMOVES, tool="erase_memory"),
    Verb(outside.list_events, READS, tool="list_events"),
)

POLICY, LEARN = "/v1/retention/{session_type}", "/v1/learning"
_policy: Any = {"missing": "policy for {session_type!r}"}
_switches: Any = {"body": "LearningSwitches", "some": True}
_read: Any = {"counts": "conversations"}
LEARNING = (
    Verb(AsyncLearning.get, READS, f"GET {LEARN}", "get_learning"),
    Verb(AsyncLearning.set, REPLACES, f"PATCH {LEARN}", "set_learning", **_switches),
    Verb(AsyncLearning.catch_up, ADDS_ONCE, f"POST {LEARN}/catch-up", "catch_up_learning", **_read),
    Verb(AsyncLearning.restart, REMOVES, f"POST {LEARN}/restart", "restart_learning", **_read),
)
RETENTION = (
    Verb(AsyncRetention.list, READS, "GET /v1/retention", "list_retention_policies", "list_retention"),
    Verb(
        AsyncRetention.set,
        REPLACES,
        f"PUT {POLICY}",
        "set_retention_policy",
        "set_retention",
        body="RetentionPolicyInput",
        some=True,
    ),
    Verb(AsyncRetention.forget, REMOVES, f"DELETE {POLICY}", "forget_retention_policy", "forget_retention", **_policy),
)

# By their heading in the server's docs.
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
    "items": ITEMS,
    "search": SEARCH,
    "user": PEOPLE,
    "learning": LEARNING,
    "retention": RETENTION,
}
