"""The records: slotted dataclasses whose attributes are the columns of the tables, under the same names.

All are frozen but the four that programs make themselves (`ConversationSession`, `ConversationMessage`,
`ConversationContext`, `MemoryEntry`): their attributes can be set. Nothing in ltst keeps one of these after a call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

Metadata = Mapping[str, Any]
# Where the words of a message come from elsewhere, as its metadata may say.
FOREIGN = ("tool", "web", "document", "email", "file", "paste")
# What can be found.
KINDS = ("message", "fact", "entry", "document", "context", "statement", "item")
# What a search looks for unless it is told: statements lie in the messages that it finds, items are what programs keep.
SEARCHED = tuple(kind for kind in KINDS if kind not in ("statement", "item"))
# Whom a fact or a statement is about, where that is the user.
ME = "me"
STATEMENT_KINDS = ("about_me", "person", "activity", "taste", "event", "plan", "order")
# Who stands for everyone: owns the defaults, and the keys that open every user's memory. No user has this id.
EVERYONE = "system"
# What the ids begin with under which the ledger keeps the events of erasures.
ERASED = "erased:"


class MemoryTypes(StrEnum):
    """The four kinds of memory: messages, working contexts, knowledge, and past conversations."""

    SHORT_TERM = "short_term"
    WORKING = "working"
    LONG_TERM = "long_term"
    EPISODIC = "episodic"


@dataclass(slots=True)
class ConversationSession:
    """One conversation of one user."""

    session_id: str
    user_id: str
    session_name: str | None = None
    session_type: str = "conversation"
    status: str = "active"
    metadata: Metadata = field(default_factory=dict)
    context_summary: str | None = None
    relevance_score: float = 0.0
    session_length: int = 0
    created_at: datetime | None = None
    last_activity: datetime | None = None
    agent_name: str | None = None


@dataclass(slots=True)
class ConversationMessage:
    """One turn, verbatim: the source of truth. `timestamp` is when it was said, `created_at` when it was stored."""

    session_id: str
    role: str
    content: str
    message_type: str = "message"
    message_index: int | None = None
    parent_message_id: str | None = None
    metadata: Metadata = field(default_factory=dict)
    embedding: list[float] | None = None
    relevance_score: float = 0.0
    is_context_message: bool = False
    timestamp: datetime | None = None
    message_id: str | None = None
    user_id: str | None = None
    content_hash: str | None = None
    context_hash: str | None = None
    message_key: str | None = None
    token_count: int = 0
    created_at: datetime | None = None

    @property
    def trusted(self) -> bool:
        """Whether somebody speaks here for themself; what a tool, a page or a file said is nobody's word."""
        told = self.metadata
        return self.role != "tool" and told.get("trust") != "low" and told.get("source") not in FOREIGN


@dataclass(slots=True)
class ConversationContext:
    """A typed key and value attached to a session; it may expire. Working memory is the type `working`."""

    session_id: str
    context_type: str
    context_key: str
    context_value: str
    relevance_score: float = 0.0
    metadata: Metadata = field(default_factory=dict)
    expires_at: datetime | None = None
    context_id: str | None = None
    user_id: str | None = None
    context_hash: str | None = None
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Fact:
    """A claim about the user, or somebody else, with its confidence, its source message and the time in which it holds.

    `about` is "me" for the user, else a name or relation as said ("Dani", "my sister Jo").
    `learned` tells that it was drawn from messages and goes with them; `ended_at` when the user said that it is over.
    """

    fact_key: str
    fact_value: str
    confidence: float
    source_message_id: str | None
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    superseded_by: str | None
    rejected_at: datetime | None
    metadata: Metadata
    fact_id: str
    user_id: str
    learned: bool = False
    single_valued: bool = True
    ended_at: datetime | None = None
    about: str = ME

    @property
    def key(self) -> str:
        """What the fact tells."""
        return self.fact_key

    @property
    def value(self) -> str:
        """What is claimed."""
        return self.fact_value

    @property
    def line(self) -> str:
        """All of it in one line: "home: Lisbon", or "Dani: home: Porto"."""
        return f"{self.label}: {self.fact_value}"

    @property
    def label(self) -> str:
        """What stands before the value: the key, behind the person if it is not the user."""
        return self.fact_key if self.about == ME else f"{self.about}: {self.fact_key}"


@dataclass(frozen=True, slots=True)
class Claim:
    """What one message says about its speaker, before it is weighed against what is already known.

    It says that something begins or ends to hold at `valid_from`, or else when it was said.
    """

    noun: str  # fact, preference or instruction
    key: str
    value: str
    change: str = "holds"  # or ends
    single_valued: bool = True
    confidence: float = 0.8
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    details: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NewStatement:
    """A span of a message that says something about its writer's life, before it is stored."""

    start_at: int
    end_at: int
    kind: str
    about: str
    confidence: float
    since: datetime | None = None
    until: datetime | None = None
    origin: str = "gate"


@dataclass(frozen=True, slots=True)
class EarlierMessage:
    """What a user said before, in the same conversation."""

    message_id: str
    content: str


@dataclass(frozen=True, slots=True)
class MessageReading:
    """What was learned from one message."""

    claims: Sequence[Claim]
    statements: Sequence[NewStatement]


@dataclass(frozen=True, slots=True)
class Statement:
    """What the user said of their life, in their words: a span of one of their messages.

    `about` is "me", or a name or relation as said. `superseded_by` is the later statement that took its place, and
    `superseded_at` when that was said; `until` is when a plan is over.
    """

    content: str
    kind: str
    about: str
    said_at: datetime
    since: datetime | None
    until: datetime | None
    superseded_by: str | None
    superseded_at: datetime | None
    confidence: float
    trust: str
    origin: str
    message_id: str
    session_id: str
    position: int
    start_at: int
    end_at: int
    recorded_at: datetime
    rejected_at: datetime | None
    statement_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a language model answered, and how many tokens it read and wrote."""

    text: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Usage:
    """What a language model was asked for so far, in this process. `cost` is None where no price is set."""

    model: str
    calls: int = 0
    failures: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None


@dataclass(frozen=True, slots=True)
class UserPreference:
    """How the user wants things. A sensitive value is stored encrypted and reads in clear here.

    `note` says why a value is missing: its key is lost.
    """

    preference_key: str
    preference_value: str
    preference_type: str
    sensitive: bool
    confidence_score: float
    source: str
    usage_count: int
    last_used: datetime | None
    metadata: Metadata
    created_at: datetime
    updated_at: datetime
    preference_id: str
    user_id: str
    learned: bool = False
    note: str | None = None

    @property
    def key(self) -> str:
        """What the preference is about."""
        return self.preference_key

    @property
    def value(self) -> str:
        """What the user wants."""
        return self.preference_value


@dataclass(frozen=True, slots=True)
class Instruction:
    """What one user tells one agent to always do, in its versions."""

    agent_name: str
    content: str
    version: int
    active: bool
    created_at: datetime
    updated_at: datetime
    id: str
    user_id: str
    learned: bool = False


@dataclass(slots=True)
class MemoryEntry:
    """A free-standing memory: knowledge (`long_term`) or the summary of a past conversation (`episodic`)."""

    content: str
    embedding: list[float] | None = None
    metadata: Metadata = field(default_factory=dict)
    timestamp: datetime | None = None
    source: str | None = None
    importance_score: float = 0.5
    memory_type: str = MemoryTypes.LONG_TERM
    entry_id: str | None = None
    user_id: str | None = None
    agent_name: str | None = None
    session_id: str | None = None
    created_at: datetime | None = None
    expires_at: datetime | None = None
    last_used: datetime | None = None
    usage_count: int = 0
    learned: bool = False

    @property
    def occurred_at(self) -> datetime | None:
        """When what the entry tells of happened."""
        return self.timestamp


@dataclass(frozen=True, slots=True)
class ImportedMessage:
    """A message of an imported conversation; `key` is its id at the source, `parent` that of the message before it."""

    key: str
    role: str
    content: str
    at: datetime
    parent: str | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """An imported conversation: a tree of messages, each listed after its parent.

    The branch that ends with `current`, else with the last message, is the conversation; the others become forks.
    """

    session_id: str
    messages: Sequence[ImportedMessage]
    name: str | None = None
    created_at: datetime | None = None
    current: str | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Imported:
    """What came of an import: what was added, what was there already, and how much of that reads otherwise there."""

    conversations: int = 0
    forks: int = 0
    messages: int = 0
    entries: int = 0
    known: int = 0
    differing: int = 0

    def __add__(self, other: Imported) -> Imported:
        """Both together."""
        return Imported(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


@dataclass(frozen=True, slots=True)
class DocumentChunk:
    """A part of a document; the chunks of a document, joined in order, are its text.

    `metadata` tells where it stands: {"page": 12} in a PDF, {"heading": "Install > Linux"} in Markdown and HTML.
    """

    chunk_id: str
    document_id: str
    chunk_index: int
    content: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Document:
    """Knowledge given as text or as a file. `chunks` is filled by `documents.get`."""

    document_id: str
    user_id: str
    title: str | None
    uri: str | None
    content_hash: str
    metadata: Metadata
    created_at: datetime
    media_type: str = "text/plain"
    updated_at: datetime | None = None
    chunks: tuple[DocumentChunk, ...] = ()

    @property
    def text(self) -> str:
        """The whole text, from the chunks."""
        return "".join(chunk.content for chunk in self.chunks)


@dataclass(frozen=True, slots=True)
class Item:
    """A JSON value under a namespace and a key. `revision` counts how often it was put since it was created.

    It lives for good, or until `expires_at`. `score` is there where a search compared it with something.
    """

    namespace: tuple[str, ...]
    key: str
    value: Any
    created_at: datetime
    updated_at: datetime
    revision: int
    ttl: timedelta | None
    expires_at: datetime | None
    item_id: str
    user_id: str
    score: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that a search found. `scores` tells each arm's part; `sources` are the messages it rests on.

    What tools, documents or pages said, and what was stored with `{"trust": "low"}`, is not `trusted`: nobody's word.
    Of a document, `id` is the document's, and `metadata` tells where in it the content stands: its page or heading.
    """

    kind: str
    id: str
    content: str
    score: float
    scores: Mapping[str, float]
    occurred_at: datetime | None
    session_id: str | None
    role: str | None
    sources: tuple[str, ...]
    speaker: str | None = None
    trusted: bool = True
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SessionRelationship:
    """A directed link between two sessions of one user; the source is the one that came first."""

    source_session_id: str
    target_session_id: str
    relationship_type: str
    similarity_score: float
    relationship_strength: float
    metadata: Metadata
    created_at: datetime
    relationship_id: str
    user_id: str


@dataclass(frozen=True, slots=True)
class SessionSummary:
    """What a session holds, counted."""

    session_id: str
    session_name: str | None
    session_type: str
    status: str
    created_at: datetime
    last_activity: datetime
    message_count: int
    human_messages: int
    ai_messages: int
    system_messages: int
    tool_messages: int
    token_count: int
    first_message_at: datetime | None
    last_message_at: datetime | None
    average_relevance: float | None


@dataclass(frozen=True, slots=True)
class RetentionPolicy:
    """When sessions of a type ('*': every type without a policy of its own) are archived and deleted."""

    session_type: str
    archive_after: timedelta | None
    delete_after: timedelta | None
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class Event:
    """One change, as the ledger recorded it; never a content in clear."""

    event_id: int
    user_id: str
    occurred_at: datetime
    actor: str
    action: str
    noun: str
    row_id: str
    details: Metadata
    cursor: str = ""
    """Where to go on from after this event; `event_id` does as well while the event is there."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The users whose memories changed, and the cursor up to which changes were read."""

    cursor: str
    user_ids: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key with which a program comes in over the network; `secret` is there only when it has just been made."""

    key_id: str
    user_id: str
    name: str
    created_at: datetime
    last_used: datetime | None
    revoked_at: datetime | None
    secret: str | None = field(default=None, repr=False)

    @property
    def admin(self) -> bool:
        """Whether it opens every user's memory."""
        return self.user_id == EVERYONE


@dataclass(frozen=True, slots=True)
class Receipt:
    """The proof of an erasure: what was removed from which table, when, and that nothing is left.

    `digest` is the SHA-256 of the other values; the ledger keeps it, under a hash of the user's id, so that the
    receipt can be checked later without naming the user. `vacuumed` are the tables whose removed rows were cleared away
    after that, and `notes` say what was not done, or that there was no such user.
    """

    receipt_id: str
    user_id: str
    erased_at: datetime
    removed: Mapping[str, int]
    remaining: Mapping[str, int]
    digest: str
    vacuumed: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KnownUser:
    """A user of whom something is stored: how many conversations and messages, and when the last one was."""

    user_id: str
    sessions: int
    messages: int
    last_activity: datetime | None


@dataclass(frozen=True, slots=True)
class Check:
    """One look at the database: `status` is ok, warning or error; `detail` says what was seen and what to do."""

    name: str
    status: str
    detail: str


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the database; `ok` is false when any check is an error."""

    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.status != "error" for check in self.checks)


@dataclass(frozen=True, slots=True)
class Verification:
    """Whether a receipt holds: what was checked and what was seen; `ok` is false when any check is an error."""

    receipt_id: str
    user_id: str
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether the receipt is genuine and nothing of the user is there."""
        return all(check.status != "error" for check in self.checks)
