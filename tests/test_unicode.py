"""Any valid Unicode text is stored and returned unchanged, wherever text may stand."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ltst import ConversationStorage, Memory

EXAMPLES = [
    "'; DROP TABLE conversation_messages; --",
    "%s %(name)s {} {0} $1 :name ? \\ \\\\ \" ' `",
    "E'\\x00' $$body$$ /* comment */ -- line",
    "مرحبا بالعالم ‏שלום‏",
    "👩‍👩‍👧‍👦 🏳️‍🌈 🇵🇹 👍🏽",
    "e\u0301 é ﬁ Å Å ẞ İ ı",
    "\ufeffzero\u200bwidth\u2060 \u202eoverride\u202c",
    "\x01\x02\x1f\x7f\x85 control",
    "line\rline\r\nline\nline\u2028line\u2029end ",
    " leading and trailing \t",
    "\U0010ffff\ufffe\uffff\ue000",
    '{"json": [1, null]} \\u0000 \\ud800',
    "sealed:1:AAAA",
    "null",
]

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\x00")
ANY_TEXT = st.text(CHARACTERS, max_size=200)
CONTENT = ANY_TEXT.filter(lambda text: text.strip() != "")
IDENTIFIER = st.text(CHARACTERS, min_size=1, max_size=100).filter(lambda text: text.strip() not in ("", "system"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=10,
)
METADATA = st.dictionaries(ANY_TEXT, JSON, max_size=5)

checked = settings(
    max_examples=40,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


def with_examples(test: Any) -> Any:
    """Try the known troublemakers too."""
    for text in EXAMPLES:
        test = example(text)(test)
    return test


@pytest.fixture(scope="module")
def storage(url: str) -> Iterator[ConversationStorage]:
    with ConversationStorage(url) as opened:
        yield opened


def fresh() -> str:
    return uuid.uuid4().hex


@checked
@given(CONTENT)
@with_examples
def test_the_content_of_a_message(shared: Memory, text: str) -> None:
    chat = shared.user(fresh()).chat()
    assert chat.add("user", text, key="k").content == text
    assert chat.add_many([{"role": "assistant", "content": text}])[0].content == text
    assert [message.content for message in chat.window()] == [text, text]
    assert [message.content for message in chat.history()] == [text, text]
    assert [message.content for message in chat.fork().window()] == [text, text]
    assert chat.add("user", text, key="k").message_index == 1
    chat.search(text)


@checked
@given(METADATA)
@example({text: text for text in EXAMPLES} | {"": "", "nested": [{text: [text]} for text in EXAMPLES]})
def test_the_keys_and_values_of_metadata(shared: Memory, metadata: dict[str, Any]) -> None:
    user = shared.user(fresh())
    chat = user.chat()
    chat.add("user", "one", metadata=metadata)
    chat.add_many([{"role": "user", "content": "two", "metadata": metadata}])
    assert [message.metadata for message in chat.window()] == [metadata, metadata]
    chat.contexts.set("project", "key", "value", metadata=metadata)
    assert [context.metadata for context in chat.contexts.list()] == [metadata]
    user.entries.add("entry", metadata=metadata)
    assert [entry.metadata for entry in user.entries.list()] == [metadata]
    user.documents.add("document", metadata=metadata)
    assert [document.metadata for document in user.documents.list()] == [metadata]


@checked
@given(JSON)
@example({"text": EXAMPLES})
def test_a_working_value(shared: Memory, given: Any) -> None:
    chat = shared.user(fresh()).chat()
    chat.working.set("key", given)
    assert chat.working.get("key") == given


@checked
@given(IDENTIFIER)
@with_examples
def test_the_id_of_a_user(shared: Memory, name: str) -> None:
    user = shared.user(name)
    user.sessions.delete("monday")
    user.chat("monday").add("user", "hello")
    assert [message.user_id for message in user.chat("monday").window()] == [name]
    assert {event.user_id for event in user.events.list()} == {name}
    assert user.export()["user_id"] == name
    assert set(user.erase().remaining.values()) == {0}
    assert user.events.list() == []


@checked
@given(IDENTIFIER)
@with_examples
def test_the_id_of_a_session(shared: Memory, name: str) -> None:
    user = shared.user(fresh())
    chat = user.chat(name, agent=name, name=name)
    chat.add("user", "hello")
    chat.contexts.set("project", name, name)
    found = user.sessions.get(name)
    assert found is not None
    assert (found.session_id, found.agent_name, found.session_name) == (name, name, name)
    assert [each.session_id for each in user.sessions.list()] == [name]
    assert chat.summary().session_id == name
    assert [(each.context_key, each.context_value) for each in chat.contexts.list()] == [(name, name)]
    assert user.events.list()[0].row_id == name
    assert user.sessions.delete(name) is True


def keyed(test: Any) -> Any:
    """Try a test with any key and value, and with some of the worst."""
    for pair in (("'; --", "'; --"), ("%", "👩‍👩‍👧‍👦"), ("שלום", "مرحبا")):
        test = example(*pair)(test)
    return checked(given(IDENTIFIER, CONTENT)(test))


@keyed
def test_the_keys_and_values_of_facts(shared: Memory, key: str, text: str) -> None:
    user = shared.user(fresh())
    assert user.facts.set(key, text).value == text
    assert [(fact.key, fact.value) for fact in user.facts.list()] == [(key, text)]
    assert user.profile()["facts"][0]["value"] == text
    assert [fact.value for fact in user.facts.reject(key, text)] == [text]
    assert user.facts.get(key) is None


@keyed
def test_the_keys_and_values_of_preferences_and_instructions(shared: Memory, key: str, text: str) -> None:
    user = shared.user(fresh())
    user.preferences.set(key, text)
    assert [(each.key, each.value) for each in user.preferences.list()] == [(key, text)]
    user.preferences.set(key, text, sensitive=True)
    assert [(each.key, each.value) for each in user.preferences.list()] == [(key, text)]
    user.instructions.set(key, text)
    assert [(each.agent_name, each.content) for each in user.instructions.list()] == [(key, text)]


@checked
@given(CONTENT)
@with_examples
@example("".join(EXAMPLES) * 40)
def test_the_text_of_documents_and_entries(shared: Memory, text: str) -> None:
    user = shared.user(fresh())
    added = user.documents.add(text, title=text[:500], uri=text[:500])
    found = user.documents.get(added.document_id)
    assert found is not None
    assert (found.text, found.title, found.uri) == (text, text[:500], text[:500])
    assert user.documents.add(text).document_id == added.document_id
    assert user.entries.add(text).content == text
    assert [entry.content for entry in user.entries.list()] == [text]


@checked
@given(IDENTIFIER, CONTENT)
@example("'; --", "'; --")
def test_what_goes_through_an_export(shared: Memory, key: str, text: str) -> None:
    user, copy = shared.user(fresh()), shared.user(fresh())
    user.chat(key).add("user", text, key=key, metadata={key: text})
    user.facts.set(key, text)
    user.preferences.set(key, text, sensitive=True)
    user.documents.add(text)
    document = user.export()
    copy.restore(document)
    assert {**copy.export(), "user_id": user.user_id} == document


def test_what_goes_through_conversation_storage(storage: ConversationStorage) -> None:
    from ltst import ConversationContext, ConversationMessage, ConversationSession

    for text in EXAMPLES:
        storage.create_session(ConversationSession(text, text, session_name=text, metadata={text: text}))
        storage.store_message(ConversationMessage(text, "user", text, metadata={text: text}))
        storage.store_context(ConversationContext(text, "project", text, text))
        assert storage.get_session(text).metadata == {text: text}  # type: ignore[union-attr]
        assert [(each.content, each.metadata) for each in storage.get_messages(text)] == [(text, {text: text})]
        assert [(each.context_key, each.context_value) for each in storage.get_context(text)] == [(text, text)]


def name_of_255(seed: int) -> str:
    """A name of the greatest length, of letters that take four bytes each and do not compress."""
    letters = random.Random(seed)
    return "".join(chr(letters.randrange(0x20000, 0x2A6D0)) for _ in range(255))


def test_ids_and_keys_of_255_characters_work_in_every_script(shared: Memory) -> None:
    user, session, other, key = shared.user(name_of_255(1)), name_of_255(2), name_of_255(3), name_of_255(4)
    chat = user.chat(session, agent=key, name=key)
    chat.add("user", "hello")
    user.chat(other).add("user", "hello")
    user.facts.set(key, "value")
    user.preferences.set(key, "value", sensitive=True)
    user.instructions.set(key, "value")
    assert [each.session_id for each in user.sessions.list()] == [other, session]
    assert (user.facts.list()[0].key, user.instructions.list()[0].agent_name) == (key, key)


def test_a_message_key_of_255_characters_works_in_every_script(shared: Memory) -> None:
    chat = shared.user(name_of_255(5)).chat(name_of_255(6))
    assert chat.add("user", "hello", key=name_of_255(7)) == chat.add("user", "hello", key=name_of_255(7))


def test_a_context_key_of_255_characters_works_in_every_script(shared: Memory) -> None:
    chat = shared.user(name_of_255(8)).chat(name_of_255(9))
    chat.working.set(name_of_255(10), 1)
    assert chat.working.all() == {name_of_255(10): 1}


def test_sessions_of_255_characters_can_be_linked_in_every_script(shared: Memory) -> None:
    user = shared.user(name_of_255(11))
    for seed in (12, 13):
        user.chat(name_of_255(seed)).add("user", "hello")
    user.sessions.link(name_of_255(12), name_of_255(13))
    assert len(user.sessions.related(name_of_255(12))) == 1
