"""Bad input: refused with a sentence that names what is accepted, before anything is written anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import ltst
from helpers.probes import Connection, counts, superuser
from ltst import ConversationMessage, ConversationSession, Memory, Settings

MEBIBYTE = 1024 * 1024
MISSING = "01900000-0000-7000-8000-000000000000"

Bad = list[tuple[Any, str]]

TEXT = r"must be text \(str\), not "
UNSTORABLE: Bad = [("a\x00b", "must not contain NUL"), ("a\ud800b", "lone surrogate"), ("\udfff", "lone surrogate")]
NOT_TEXT: Bad = [(5, TEXT), (1.5, TEXT), (b"bytes", TEXT), (["list"], TEXT), ({"a": 1}, TEXT)]
NOTHING: Bad = [(None, TEXT)]

IDENTIFIER: Bad = [
    ("", "1 to 255 characters and not blank"),
    (" \t\n\u2003", "1 to 255 characters and not blank"),
    ("x" * 256, "1 to 255 characters and not blank"),
    ("é" * 256, "1 to 255 characters and not blank"),
    *UNSTORABLE,
    *NOT_TEXT,
]
CONTENT: Bad = [
    ("", "must not be empty or blank"),
    (" \r\n\t\u00a0\u3000", "must not be empty or blank"),
    ("x" * (MEBIBYTE + 1), "up to 1,048,576 bytes of UTF-8, not 1,048,577"),
    ("é" * (MEBIBYTE // 2 + 1), "up to 1,048,576 bytes of UTF-8, not 1,048,578"),
    ("😀" * (MEBIBYTE // 4 + 1), "up to 1,048,576 bytes of UTF-8, not 1,048,580"),
    *UNSTORABLE,
    *NOT_TEXT,
    *NOTHING,
]


def circle() -> dict[str, Any]:
    drawn: dict[str, Any] = {}
    drawn["again"] = {"list": [drawn]}
    return drawn


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


JSON = "must be JSON"
JSON_VALUES: Bad = [
    ({1, 2}, JSON),
    ([{1}], JSON),
    (float("nan"), JSON),
    ([float("inf")], JSON),
    ({"a": [{"b": -float("inf")}]}, JSON),
    (b"bytes", JSON),
    ({"a": object()}, JSON),
    ({"a": datetime.now(UTC)}, JSON),
    ({"a": 1j}, JSON),
    ({1: "a"}, "must have text keys, not 1"),
    ({"a": {None: "b"}}, "must have text keys, not None"),
    ([{True: "b"}], "must have text keys, not True"),
    ({("a", "b"): 1}, "must have text keys"),
    ({"a": ["b\x00"]}, "must not contain NUL"),
    ({"a\x00": 1}, "must not contain NUL"),
    ({"a": "\ud800"}, "lone surrogate"),
    ({"\udc00": 1}, "lone surrogate"),
    (circle(), "holds no circle"),
    ({"a": deep()}, "not nested so deeply"),
    ({"a": "x" * MEBIBYTE}, "up to 1,048,576 bytes of UTF-8"),
]
METADATA: Bad = [
    *[(value, words) for value, words in JSON_VALUES if isinstance(value, dict)],
    ({"a": {1}}, JSON),
    ({"a": float("nan")}, JSON),
    ([], "must be a mapping with text keys and JSON values"),
    ("text", "must be a mapping with text keys and JSON values"),
    (5, "must be a mapping with text keys and JSON values"),
    ({1}, "must be a mapping with text keys and JSON values"),
    ([("a", 1)], "must be a mapping with text keys and JSON values"),
]
WHOLE = "must be a whole number from 1 to "
LIMIT: Bad = [(bad, WHOLE) for bad in (0, -1, True, False, 1.0, 2.5, "5", [1], 2**31, 2**64, float("nan"))]
PAGE: Bad = [*LIMIT, (None, WHOLE), (100_001, WHOLE)]
OFFSET: Bad = [(bad, "whole number from 0 to 2147483647") for bad in (-1, True, 1.0, "5", None, 2**31)]
SCORE: Bad = [
    (bad, "must be a number from 0 to 1") for bad in (-0.1, 1.1, 2, float("nan"), float("inf"), "0.5", True, 1j, [0.5])
]
NUMBER: Bad = [
    (bad, "must be a finite number") for bad in (float("nan"), float("inf"), -float("inf"), "1", True, None, 1j, [1])
]
MOMENT: Bad = [
    (datetime(2024, 1, 1), "must have a time zone"),
    ("2024-01-01T00:00:00Z", "must be a datetime with a time zone, not str"),
    (date(2024, 1, 1), "must be a datetime with a time zone, not date"),
    (1700000000, "must be a datetime with a time zone, not int"),
    (datetime.min.replace(tzinfo=UTC), "years 2 to 9998"),
    (datetime.max.replace(tzinfo=UTC), "years 2 to 9998"),
]
DURATION: Bad = [
    (0, "longer than zero"),
    (-1, "longer than zero and at most 1,000 years, not -1 seconds"),
    (timedelta(0), "longer than zero"),
    (timedelta(days=-1), "longer than zero"),
    (timedelta(days=400_000), "at most 1,000 years"),
    (float("nan"), "timedelta or a number of seconds"),
    (float("inf"), "timedelta or a number of seconds"),
    ("5", "timedelta or a number of seconds"),
    (True, "timedelta or a number of seconds"),
    (10**400, "timedelta or a number of seconds"),
    ([5], "timedelta or a number of seconds"),
]


def words(*accepted: str) -> Bad:
    """What is not one of a few words."""
    named = f"must be one of {', '.join(accepted)}, not "
    return [(bad, named) for bad in ("", "other", accepted[0].upper(), f"{accepted[0]} ", 5, ["a"], "\x00", "\ud800")]


CONTEXT_TYPES = words("conversation", "preference", "project", "user_info", "working")
WORD: Bad = [*IDENTIFIER, ("x" * 101, "up to 100 characters")]
ROLES = [*words("human", "user", "ai", "assistant", "system", "tool"), (None, "must be one of human")]
NAME: Bad = [("x" * 501, "up to 500 characters, not 501"), *UNSTORABLE, *NOT_TEXT]
FLAG: Bad = [(bad, "(?i)true or false|bool") for bad in ("yes", "no", 1, 0, None, [True])]
RECORD: Bad = [(bad, "Conversation(Message|Session)") for bad in (None, {}, "text", 5)]


def message(**wrong: Any) -> ConversationMessage:
    return replace(ConversationMessage("kept", "user", "hello"), **wrong)


def session(**wrong: Any) -> ConversationSession:
    return replace(ConversationSession("kept", "owner"), **wrong)


def user(memory: Memory) -> Any:
    return memory.user("owner")


def chat(memory: Memory) -> Any:
    return user(memory).chat("kept")


CALLS: dict[str, tuple[Callable[[Memory, Any], Any], Bad]] = {
    "memory.user": (
        lambda m, bad: m.user(bad),
        [*IDENTIFIER, *NOTHING, ("system", "reserved"), ("erased:ana", "reserved")],
    ),
    "memory.session_owner": (lambda m, bad: m.session_owner(bad), [*IDENTIFIER, *NOTHING]),
    "memory.embed": (
        lambda m, bad: m.embed([bad]) if bad is not None else m.embed("text"),
        [*CONTENT[:-1], (None, "texts must be a list of texts")],
    ),
    "user.similar query": (lambda m, bad: user(m).similar(bad), CONTENT),
    "user.similar session": (lambda m, bad: user(m).similar("hello", session_id=bad), IDENTIFIER),
    "user.similar limit": (lambda m, bad: user(m).similar("hello", limit=bad), LIMIT),
    "user.similar threshold": (lambda m, bad: user(m).similar("hello", threshold=bad), SCORE),
    "user.chat session": (lambda m, bad: user(m).chat(bad), IDENTIFIER),
    "user.chat agent": (lambda m, bad: user(m).chat("kept", agent=bad), IDENTIFIER),
    "user.chat name": (lambda m, bad: user(m).chat("kept", name=bad), NAME),
    "chat.add role": (lambda m, bad: chat(m).add(bad, "hello"), ROLES),
    "chat.add content": (lambda m, bad: chat(m).add("user", bad), CONTENT),
    "chat.add at": (lambda m, bad: chat(m).add("user", "hello", at=bad), MOMENT),
    "chat.add metadata": (lambda m, bad: chat(m).add("user", "hello", metadata=bad), METADATA),
    "chat.add key": (lambda m, bad: chat(m).add("user", "hello", key=bad), IDENTIFIER),
    "chat.add_many content": (lambda m, bad: chat(m).add_many([{"role": "user", "content": bad}]), CONTENT),
    "chat.add_many": (
        lambda m, bad: chat(m).add_many(bad),
        [
            *[(each, "mapping") for each in (None, 5, "text", {"role": "user", "content": "a"}, [None], [5])],
            ([{"role": "user"}], "message 1 must be a mapping with role, content"),
            ([{"role": "user", "content": "a", "more": 1}], "message 1 must be a mapping with role, content"),
            ([{"role": "user", "content": "a"}, {"role": "x", "content": "a"}], "message 2: role must be one of"),
        ],
    ),
    "chat.add_interaction user": (lambda m, bad: chat(m).add_interaction(bad, "hello"), CONTENT),
    "chat.add_interaction ai": (lambda m, bad: chat(m).add_interaction("hello", bad), CONTENT),
    "chat.window limit": (lambda m, bad: chat(m).window(bad), PAGE),
    "chat.window max_tokens": (lambda m, bad: chat(m).window(max_tokens=bad), LIMIT),
    "chat.history limit": (lambda m, bad: chat(m).history(limit=bad), PAGE),
    "chat.history offset": (lambda m, bad: chat(m).history(offset=bad), OFFSET),
    "chat.fork at": (lambda m, bad: chat(m).fork(bad), [*LIMIT, (1000, r"1 to \d+, not 1000")]),
    "chat.fork session": (lambda m, bad: chat(m).fork(session_id=bad), IDENTIFIER),
    "chat.search query": (lambda m, bad: chat(m).search(bad), CONTENT),
    "chat.search limit": (lambda m, bad: chat(m).search("hello", limit=bad), PAGE),
    "chat.search threshold": (lambda m, bad: chat(m).search("hello", threshold=bad), SCORE),
    "chat.store": (lambda m, bad: chat(m).store(bad), RECORD),
    "chat.store role": (lambda m, bad: chat(m).store(message(role=bad)), ROLES),
    "chat.store content": (lambda m, bad: chat(m).store(message(content=bad)), CONTENT),
    "chat.store metadata": (lambda m, bad: chat(m).store(message(metadata=bad)), METADATA),
    "chat.store timestamp": (lambda m, bad: chat(m).store(message(timestamp=bad)), MOMENT),
    "chat.store relevance": (lambda m, bad: chat(m).store(message(relevance_score=bad)), NUMBER),
    "chat.store flag": (lambda m, bad: chat(m).store(message(is_context_message=bad)), FLAG),
    "chat.store type": (
        lambda m, bad: chat(m).store(message(message_type=bad)),
        words("message", "system", "context", "preference"),
    ),
    "chat.store index": (
        lambda m, bad: chat(m).store(message(message_index=bad)),
        [(each, r"message_index must be \d+, the next") for each in (0, -1, 1000, "2", 1.5, [2])],
    ),
    "chat.store embedding": (
        lambda m, bad: chat(m).store(message(embedding=bad)),
        [
            ([0.5] * 383, "list of 384 numbers"),
            ([0.5] * 385, "list of 384 numbers"),
            ("0.5", "list of 384 numbers"),
            ({0.5}, "list of 384 numbers"),
            ([0.0] * 384, "must not be all zeros"),
            ([float("nan")] * 384, "finite number"),
            (["0.5"] * 384, "finite number"),
            ([1e300] + [0.5] * 383, "number"),
        ],
    ),
    "contexts.set type": (lambda m, bad: chat(m).contexts.set(bad, "key", "value"), CONTEXT_TYPES),
    "contexts.set key": (lambda m, bad: chat(m).contexts.set("project", bad, "value"), [*IDENTIFIER, *NOTHING]),
    "contexts.set value": (lambda m, bad: chat(m).contexts.set("project", "key", bad), CONTENT),
    "contexts.set relevance": (lambda m, bad: chat(m).contexts.set("project", "key", "v", relevance=bad), NUMBER),
    "contexts.set expires": (lambda m, bad: chat(m).contexts.set("project", "key", "v", expires_at=bad), MOMENT),
    "contexts.set metadata": (lambda m, bad: chat(m).contexts.set("project", "key", "v", metadata=bad), METADATA),
    "contexts.get type": (lambda m, bad: chat(m).contexts.get(bad, "key"), CONTEXT_TYPES),
    "contexts.get key": (lambda m, bad: chat(m).contexts.get("project", bad), [*IDENTIFIER, *NOTHING]),
    "contexts.list type": (lambda m, bad: chat(m).contexts.list(bad), CONTEXT_TYPES),
    "contexts.forget type": (lambda m, bad: chat(m).contexts.forget(bad), CONTEXT_TYPES),
    "contexts.forget key": (lambda m, bad: chat(m).contexts.forget("project", bad), IDENTIFIER),
    "working.set key": (lambda m, bad: chat(m).working.set(bad, 1), [*IDENTIFIER, *NOTHING]),
    "working.set value": (lambda m, bad: chat(m).working.set("key", bad), [*JSON_VALUES, *UNSTORABLE]),
    "working.set ttl": (lambda m, bad: chat(m).working.set("key", 1, ttl=bad), DURATION),
    "working.get key": (lambda m, bad: chat(m).working.get(bad), [*IDENTIFIER, *NOTHING]),
    "sessions.put": (lambda m, bad: user(m).sessions.put(bad), RECORD),
    "sessions.put session": (lambda m, bad: user(m).sessions.put(session(session_id=bad)), [*IDENTIFIER, *NOTHING]),
    "sessions.put user": (
        lambda m, bad: user(m).sessions.put(session(user_id=bad)),
        [(each, "not to 'owner'") for each in ("other", "", None, 5)],
    ),
    "sessions.put name": (lambda m, bad: user(m).sessions.put(session(session_name=bad)), NAME),
    "sessions.put type": (
        lambda m, bad: user(m).sessions.put(session(session_type=bad)),
        [*WORD, *NOTHING],
    ),
    "sessions.put status": (
        lambda m, bad: user(m).sessions.put(session(status=bad)),
        [*IDENTIFIER, *NOTHING, ("x" * 51, "up to 50 characters")],
    ),
    "sessions.put agent": (lambda m, bad: user(m).sessions.put(session(agent_name=bad)), IDENTIFIER),
    "sessions.put summary": (
        lambda m, bad: user(m).sessions.put(session(context_summary=bad)),
        [*UNSTORABLE, *NOT_TEXT, ("x" * (MEBIBYTE + 1), "up to 1048576 characters")],
    ),
    "sessions.put relevance": (lambda m, bad: user(m).sessions.put(session(relevance_score=bad)), NUMBER),
    "sessions.put metadata": (lambda m, bad: user(m).sessions.put(session(metadata=bad)), METADATA),
    "sessions.put created": (lambda m, bad: user(m).sessions.put(session(created_at=bad)), MOMENT),
    "sessions.put activity": (lambda m, bad: user(m).sessions.put(session(last_activity=bad)), MOMENT),
    "sessions.list status": (lambda m, bad: user(m).sessions.list(status=bad), words("active", "archived")),
    "sessions.list limit": (lambda m, bad: user(m).sessions.list(limit=bad), PAGE),
    "sessions.list offset": (lambda m, bad: user(m).sessions.list(offset=bad), OFFSET),
    **{
        f"sessions.{verb}": (lambda m, bad, verb=verb: getattr(user(m).sessions, verb)(bad), [*IDENTIFIER, *NOTHING])
        for verb in ("get", "delete", "archive", "touch", "related", "summary")
    },
    "sessions.touch at": (lambda m, bad: user(m).sessions.touch("kept", at=bad), MOMENT),
    "sessions.link source": (lambda m, bad: user(m).sessions.link(bad, "kept"), [*IDENTIFIER, *NOTHING]),
    "sessions.link target": (
        lambda m, bad: user(m).sessions.link("kept", bad),
        [*IDENTIFIER, *NOTHING, ("kept", "linked to itself")],
    ),
    "sessions.link type": (
        lambda m, bad: user(m).sessions.link("kept", "other", bad),
        [*WORD, *NOTHING],
    ),
    "sessions.link similarity": (lambda m, bad: user(m).sessions.link("kept", "other", similarity=bad), SCORE),
    "sessions.link strength": (lambda m, bad: user(m).sessions.link("kept", "other", strength=bad), SCORE),
    "sessions.link metadata": (lambda m, bad: user(m).sessions.link("kept", "other", metadata=bad), METADATA),
    "facts.set key": (lambda m, bad: user(m).facts.set(bad, "value"), [*IDENTIFIER, *NOTHING]),
    "facts.set value": (lambda m, bad: user(m).facts.set("key", bad), CONTENT),
    "facts.set confidence": (lambda m, bad: user(m).facts.set("key", "value", confidence=bad), SCORE),
    "facts.set valid_from": (lambda m, bad: user(m).facts.set("key", "value", valid_from=bad), MOMENT),
    "facts.get key": (lambda m, bad: user(m).facts.get(bad), [*IDENTIFIER, *NOTHING]),
    "facts.get as_of": (lambda m, bad: user(m).facts.get("key", as_of=bad), MOMENT),
    "facts.list as_of": (lambda m, bad: user(m).facts.list(as_of=bad), MOMENT),
    "facts.history": (lambda m, bad: user(m).facts.history(bad), [*IDENTIFIER, *NOTHING]),
    "facts.reject key": (lambda m, bad: user(m).facts.reject(bad, "value"), [*IDENTIFIER, *NOTHING]),
    "facts.reject value": (lambda m, bad: user(m).facts.reject("key", bad), CONTENT),
    "facts.forget": (lambda m, bad: user(m).facts.forget(bad), [*IDENTIFIER, *NOTHING]),
    "preferences.set key": (lambda m, bad: user(m).preferences.set(bad, "value"), [*IDENTIFIER, *NOTHING]),
    "preferences.set value": (lambda m, bad: user(m).preferences.set("key", bad), CONTENT),
    "preferences.set secret": (lambda m, bad: user(m).preferences.set("key", bad, sensitive=True), CONTENT),
    "preferences.set type": (
        lambda m, bad: user(m).preferences.set("key", "value", type=bad),
        words("general", "coding", "communication", "project"),
    ),
    "preferences.set sensitive": (lambda m, bad: user(m).preferences.set("key", "value", sensitive=bad), FLAG),
    "preferences.set source": (
        lambda m, bad: user(m).preferences.set("key", "value", source=bad),
        [*WORD, *NOTHING],
    ),
    "preferences.set confidence": (lambda m, bad: user(m).preferences.set("key", "value", confidence=bad), SCORE),
    "preferences.get": (lambda m, bad: user(m).preferences.get(bad), [*IDENTIFIER, *NOTHING]),
    "preferences.list": (
        lambda m, bad: user(m).preferences.list(bad),
        words("general", "coding", "communication", "project"),
    ),
    "preferences.forget": (lambda m, bad: user(m).preferences.forget(bad), [*IDENTIFIER, *NOTHING]),
    "instructions.set agent": (lambda m, bad: user(m).instructions.set(bad, "content"), [*IDENTIFIER, *NOTHING]),
    "instructions.set content": (lambda m, bad: user(m).instructions.set("agent", bad), CONTENT),
    "instructions.get": (lambda m, bad: user(m).instructions.get(bad), [*IDENTIFIER, *NOTHING]),
    "instructions.history": (lambda m, bad: user(m).instructions.history(bad), [*IDENTIFIER, *NOTHING]),
    "instructions.forget": (lambda m, bad: user(m).instructions.forget(bad), [*IDENTIFIER, *NOTHING]),
    "entries.add content": (lambda m, bad: user(m).entries.add(bad), CONTENT),
    "entries.add type": (lambda m, bad: user(m).entries.add("content", type=bad), words("long_term", "episodic")),
    "entries.add importance": (lambda m, bad: user(m).entries.add("content", importance=bad), SCORE),
    "entries.add occurred": (lambda m, bad: user(m).entries.add("content", occurred_at=bad), MOMENT),
    "entries.add expires": (lambda m, bad: user(m).entries.add("content", expires_at=bad), MOMENT),
    "entries.add metadata": (lambda m, bad: user(m).entries.add("content", metadata=bad), METADATA),
    "entries.list type": (lambda m, bad: user(m).entries.list(bad), words("long_term", "episodic")),
    "entries.list limit": (lambda m, bad: user(m).entries.list(limit=bad), PAGE),
    "entries.list offset": (lambda m, bad: user(m).entries.list(offset=bad), OFFSET),
    "documents.add text": (
        lambda m, bad: user(m).documents.add(bad),
        [
            *[(bad, named) for bad, named in CONTENT if "1,048,576" not in named and not isinstance(bad, bytes)],
            (b"", "1 to 536,870,912 bytes, not 0"),
            (b"\x00\xff\xfe", "UTF-8"),
            ("x" * (64 * MEBIBYTE + 1), "up to 67,108,864 bytes of UTF-8"),
            (Path("/nowhere/at/all"), "readable file of UTF-8 text"),
        ],
    ),
    "documents.add title": (lambda m, bad: user(m).documents.add("text", title=bad), NAME),
    "documents.add uri": (
        lambda m, bad: user(m).documents.add("text", uri=bad),
        [("x" * 4097, "up to 4096 characters"), *UNSTORABLE, *NOT_TEXT],
    ),
    "documents.add metadata": (lambda m, bad: user(m).documents.add("text", metadata=bad), METADATA),
    "documents.list limit": (lambda m, bad: user(m).documents.list(limit=bad), PAGE),
    "documents.list offset": (lambda m, bad: user(m).documents.list(offset=bad), OFFSET),
    "retention.set type": (
        lambda m, bad: user(m).retention.set(bad, delete_after=1),
        [*WORD, *NOTHING],
    ),
    "retention.set archive": (lambda m, bad: user(m).retention.set(archive_after=bad), DURATION),
    "retention.set delete": (lambda m, bad: user(m).retention.set(delete_after=bad), DURATION),
    "retention.set nothing": (
        lambda m, bad: user(m).retention.set(bad),
        [("*", "archive_after, delete_after or both")],
    ),
    "retention.forget": (lambda m, bad: user(m).retention.forget(bad), [*IDENTIFIER, *NOTHING]),
    "events.list limit": (lambda m, bad: user(m).events.list(limit=bad), PAGE),
    "events.list after": (
        lambda m, bad: user(m).events.list(after=bad),
        [(each, "event_id or the cursor of an event, or 0") for each in (-1, True, 1.0, "1", None, 2**63)],
    ),
}


@pytest.fixture(scope="module")
def memory_of_owner(module_settings: Settings) -> Iterator[Memory]:
    """One session with one message, and no metrics, so that every row that appears is a fault."""
    with Memory(settings=replace(module_settings, metrics=False)) as opened:
        opened.user("owner").chat("kept").add("user", "hello")
        opened.user("owner").chat("other").add("user", "hello")
        yield opened


@pytest.fixture(scope="module")
def database(url: str) -> Iterator[Connection]:
    with superuser(url) as connection:
        yield connection


@pytest.mark.parametrize("name", sorted(CALLS))
def test_bad_input_is_refused_with_what_is_accepted_and_nothing_is_written(
    memory_of_owner: Memory, database: Connection, name: str
) -> None:
    before = counts(database)
    call, bad = CALLS[name]
    faults = []
    for position, (given, named) in enumerate(bad):
        try:
            call(memory_of_owner, given)
        except ltst.Invalid as refusal:
            if not re.search(named, str(refusal)):
                faults.append(f"{position}: {kind(given)} is refused, but not with {named!r}: {refusal}")
        except Exception as problem:
            faults.append(f"{position}: {kind(given)} raises {type(problem).__name__}: {str(problem)[:200]}")
        else:
            faults.append(f"{position}: {kind(given)} is accepted")
    assert faults == []
    assert counts(database) == before


def kind(value: Any) -> str:
    """A value in few words; some are a megabyte, some cannot be shown at all."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**20:
        return f"a whole number of {value.bit_length()} bits"
    if isinstance(value, str | bytes | bool | int | float | None):
        return repr(value)[:60]
    return f"a {type(value).__name__}"


@pytest.mark.parametrize("letter", ["x", "é", "水", "😀"])
def test_content_of_exactly_one_mebibyte_is_kept_unchanged(memory_of_owner: Memory, letter: str) -> None:
    width = len(letter.encode())
    content = letter * (MEBIBYTE // width) + "x" * (MEBIBYTE % width)
    assert len(content.encode()) == MEBIBYTE
    user = memory_of_owner.user(f"large {letter}")
    user.chat("s").add("user", content)
    user.chat("s").contexts.set("project", "key", content)
    user.facts.set("key", content)
    user.preferences.set("key", content)
    user.preferences.set("secret", content, sensitive=True)
    user.instructions.set("agent", content)
    user.entries.add(content)
    user.documents.add(content)
    assert user.chat("s").window()[0].content == content
    assert user.chat("s").contexts.list()[0].context_value == content
    assert user.facts.list()[0].value == content
    assert [each.value for each in user.preferences.list()] == [content, content]
    assert user.instructions.list()[0].content == content
    assert user.entries.list()[0].content == content
    assert user.documents.get(user.documents.list()[0].document_id).text == content  # type: ignore[union-attr]


def test_metadata_of_exactly_one_mebibyte_is_kept(memory_of_owner: Memory) -> None:
    chat, room = memory_of_owner.user("large metadata").chat("s"), MEBIBYTE - len('{"a": ""}')
    chat.add("user", "hello", metadata={"a": "x" * room})
    assert chat.window()[0].metadata == {"a": "x" * room}
    with pytest.raises(ltst.Invalid, match="not 1,048,577"):
        chat.add("user", "hello", metadata={"a": "x" * (room + 1)})


def test_the_largest_content_can_be_set(url: str, tmp_path: Path) -> None:
    with Memory(
        settings=Settings(worker=False, database_url=url, home=tmp_path, max_content_bytes=10, metrics=False)
    ) as memory:
        chat = memory.user("small").chat("s")
        chat.add("user", "0123456789")
        for call in (lambda: chat.add("user", "01234567890"), lambda: chat.add("user", "x", metadata={"a": "01234"})):
            with pytest.raises(ltst.Invalid, match="up to 10 bytes"):
                call()
        assert len(chat.window()) == 1


@pytest.mark.parametrize("given", [5, None, "", "not an id", b"id", MISSING.upper() + "0"])
def test_what_is_no_id_of_a_row_names_no_row(memory_of_owner: Memory, given: Any) -> None:
    user = memory_of_owner.user("owner")
    assert user.entries.get(given) is None
    assert user.entries.forget(given) is False
    assert user.documents.get(given) is None
    assert user.documents.forget(given) is False


def test_an_error_about_a_megabyte_is_short(memory_of_owner: Memory) -> None:
    with pytest.raises(ltst.Invalid) as refusal:
        memory_of_owner.user("x" * MEBIBYTE)
    assert len(str(refusal.value)) < 200


def test_every_refusal_is_a_value_error_of_ltst() -> None:
    assert issubclass(ltst.Invalid, ValueError)
    assert issubclass(ltst.Invalid, ltst.LtstError)
