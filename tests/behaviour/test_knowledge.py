"""Preferences, instructions, entries and documents: what a user wants, orders, knows and has read."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import ltst
from helpers.probes import Connection, left_out_with_a_note, pass_time

pytestmark = pytest.mark.asyncio(loop_scope="session")

THEN = datetime(2020, 1, 1, tzinfo=UTC)
DEFAULTS = {"language", "tone", "answer_length", "code_style"}


@pytest.mark.parametrize("type", ["general", "coding", "communication", "project"])
@pytest.mark.parametrize("source", ["learned", "explicit", "inferred"])
async def test_a_preference_comes_back_with_its_type_and_source(user: Any, type: str, source: str) -> None:
    stored = await user.preferences.set("editor", "vim", type=type, source=source, confidence=0.5)
    assert (stored.key, stored.value, stored.preference_type, stored.source) == ("editor", "vim", type, source)
    assert (stored.confidence_score, stored.sensitive, stored.user_id) == (0.5, False, user.user_id)
    assert await user.preferences.get("editor") == stored
    assert await user.preferences.list() == [stored]


async def test_a_preference_takes_the_place_of_the_one_before(user: Any) -> None:
    first = await user.preferences.set("editor", "vim", type="coding", confidence=0.5)
    second = await user.preferences.set("editor", "emacs")
    assert second.preference_id == first.preference_id
    assert (second.value, second.preference_type, second.confidence_score) == ("emacs", "general", 1.0)
    assert (second.created_at, second.updated_at > first.updated_at) == (first.created_at, True)
    assert await user.preferences.list() == [second]


@pytest.mark.parametrize("value", ["x", "no nuts, severe allergy", "naïve ☕\nصباح", "sealed:1:AAAA", "a" * 5000])
async def test_a_sensitive_preference_reads_in_clear(user: Any, value: str) -> None:
    stored = await user.preferences.set("diet", value, sensitive=True)
    assert (stored.value, stored.sensitive) == (value, True)
    assert await user.preferences.get("diet") == stored
    assert await user.preferences.list() == [stored]


async def test_a_preference_may_become_sensitive_and_plain_again(user: Any) -> None:
    await user.preferences.set("diet", "nuts")
    await user.preferences.set("diet", "no nuts", sensitive=True)
    assert (await user.preferences.get("diet")).value == "no nuts"
    await user.preferences.set("diet", "nuts again")
    found = await user.preferences.get("diet")
    assert (found.value, found.sensitive) == ("nuts again", False)


async def test_first_sensitive_preferences_set_at_once_can_all_be_read(user: Any) -> None:
    keys = [f"key {number}" for number in range(8)]
    await asyncio.gather(*(user.preferences.set(key, f"value of {key}", sensitive=True) for key in keys))
    assert {each.key: each.value for each in await user.preferences.list()} == {key: f"value of {key}" for key in keys}


async def test_a_default_applies_until_the_user_sets_their_own(user: Any) -> None:
    default = await user.preferences.get("tone")
    assert (default.user_id, default.preference_type) == ("system", "communication")
    own = await user.preferences.set("tone", "formal")
    assert await user.preferences.get("tone") == own
    assert await user.preferences.forget("tone") is True
    assert await user.preferences.get("tone") == default


async def test_defaults_are_listed_only_when_asked_for_and_behind_the_users_own(user: Any) -> None:
    await user.preferences.set("tone", "formal")
    assert [each.key for each in await user.preferences.list()] == ["tone"]
    listed = await user.preferences.list(defaults=True)
    assert (listed[0].key, listed[0].user_id) == ("tone", user.user_id)
    assert {each.key for each in listed[1:]} == DEFAULTS - {"tone"}
    assert {each.user_id for each in listed[1:]} == {"system"}
    assert {each.key for each in await user.preferences.list("coding", defaults=True)} == {"code_style"}


async def test_a_default_cannot_be_forgotten(user: Any) -> None:
    assert await user.preferences.forget("tone") is False
    assert (await user.preferences.get("tone")).user_id == "system"


async def test_preferences_are_listed_by_type_and_forgotten_by_key(user: Any) -> None:
    await user.preferences.set("editor", "vim", type="coding")
    await user.preferences.set("colour", "blue")
    assert [each.key for each in await user.preferences.list("coding")] == ["editor"]
    assert [each.key for each in await user.preferences.list()] == ["colour", "editor"]
    assert await user.preferences.forget("editor") is True
    assert await user.preferences.forget("editor") is False
    assert await user.preferences.get("editor") is None


async def test_an_instruction_has_versions_of_which_the_last_is_active(user: Any) -> None:
    first = await user.instructions.set("cook", "No nuts.")
    second = await user.instructions.set("cook", "No nuts. Serve two.")
    assert (first.version, second.version, second.active, second.agent_name) == (1, 2, True, "cook")
    assert await user.instructions.get("cook") == second
    history = await user.instructions.history("cook")
    assert [(each.version, each.content, each.active) for each in history] == [
        (1, "No nuts.", False),
        (2, "No nuts. Serve two.", True),
    ]


async def test_the_same_instruction_again_is_no_new_version(user: Any) -> None:
    first = await user.instructions.set("cook", "No nuts.")
    assert await user.instructions.set("cook", "No nuts.") == first
    assert len(await user.instructions.history("cook")) == 1


async def test_an_old_instruction_may_come_back_as_a_new_version(user: Any) -> None:
    for content in ("one", "two", "one"):
        await user.instructions.set("cook", content)
    assert [(each.version, each.content) for each in await user.instructions.history("cook")] == [
        (1, "one"),
        (2, "two"),
        (3, "one"),
    ]


async def test_instructions_are_kept_by_agent(user: Any) -> None:
    await user.instructions.set("cook", "No nuts.")
    await user.instructions.set("coach", "Be brief.")
    assert [(each.agent_name, each.content) for each in await user.instructions.list()] == [
        ("coach", "Be brief."),
        ("cook", "No nuts."),
    ]
    assert await user.instructions.forget("cook") is True
    assert await user.instructions.forget("cook") is False
    assert await user.instructions.get("cook") is None
    assert await user.instructions.history("cook") == []
    assert [each.agent_name for each in await user.instructions.list()] == ["coach"]


async def test_instructions_set_at_once_get_versions_without_doubles(user: Any) -> None:
    await asyncio.gather(*(user.instructions.set("cook", f"version {number}") for number in range(8)))
    history = await user.instructions.history("cook")
    assert [each.version for each in history] == [*range(1, 9)]
    assert [each.active for each in history] == [False] * 7 + [True]


async def test_an_entry_comes_back_with_all_that_was_given(user: Any) -> None:
    expires = datetime(2200, 1, 1, tzinfo=UTC)
    added = await user.entries.add(
        "The oven runs hot.",
        type="episodic",
        importance=0.75,
        occurred_at=THEN,
        expires_at=expires,
        metadata={"a": [1, None]},
    )
    assert (added.content, added.memory_type, added.importance_score) == ("The oven runs hot.", "episodic", 0.75)
    assert (added.occurred_at, added.timestamp, added.expires_at) == (THEN, THEN, expires)
    assert (added.metadata, added.user_id) == ({"a": [1, None]}, user.user_id)
    assert await user.entries.get(added.entry_id) == added
    assert await user.entries.list() == [added]


async def test_an_entry_is_by_default_knowledge_of_middling_importance_from_now(user: Any) -> None:
    before = datetime.now(UTC)
    added = await user.entries.add("The oven runs hot.")
    assert (added.memory_type, added.importance_score, added.expires_at) == ("long_term", 0.55, None)
    assert before <= added.occurred_at <= datetime.now(UTC)


async def test_the_same_content_is_one_entry_with_the_higher_importance(user: Any) -> None:
    first = await user.entries.add("The oven runs hot.", importance=0.5, occurred_at=THEN)
    higher = await user.entries.add("The oven runs hot.", importance=0.75)
    lower = await user.entries.add("The oven runs hot.", importance=0.25)
    assert (higher.entry_id, higher.importance_score, higher.occurred_at) == (first.entry_id, 0.75, THEN)
    assert lower.importance_score == 0.75
    assert len(await user.entries.list()) == 1


async def test_the_same_content_of_another_type_is_another_entry(user: Any) -> None:
    for type in ("long_term", "episodic"):
        await user.entries.add("The oven runs hot.", type=type)
    assert [each.memory_type for each in await user.entries.list("episodic")] == ["episodic"]
    assert len(await user.entries.list()) == 2


async def test_an_expired_entry_is_not_there(user: Any) -> None:
    added = await user.entries.add("Over.", expires_at=THEN)
    assert await user.entries.get(added.entry_id) is None
    assert await user.entries.list() == []


async def test_an_entry_expires_when_its_time_comes(user: Any, database: Connection) -> None:
    added = await user.entries.add("Soon over.", expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert await user.entries.get(added.entry_id) == added
    pass_time(database, "memory_entries", user.user_id, timedelta(hours=1))
    assert await user.entries.get(added.entry_id) is None


async def test_an_expired_entry_added_again_lives_again(user: Any) -> None:
    await user.entries.add("Over and back.", expires_at=THEN)
    again = await user.entries.add("Over and back.")
    assert [each.entry_id for each in await user.entries.list()] == [again.entry_id]


async def test_entries_are_listed_the_latest_first_page_by_page(user: Any) -> None:
    for number in range(4):
        await user.entries.add(f"{number}", occurred_at=THEN + timedelta(days=number))
    assert [each.content for each in await user.entries.list(limit=2)] == ["3", "2"]
    assert [each.content for each in await user.entries.list(limit=2, offset=2)] == ["1", "0"]


async def test_an_entry_is_forgotten_once(user: Any) -> None:
    added = await user.entries.add("The oven runs hot.")
    assert await user.entries.forget(added.entry_id) is True
    assert await user.entries.forget(added.entry_id) is False
    assert await user.entries.get(added.entry_id) is None


@pytest.mark.parametrize("year", [2, 1066, 9998])
async def test_an_entry_of_any_time_and_weight_is_found_and_keeps_none_from_being_found(user: Any, year: int) -> None:
    when = datetime(year, 1, 2, tzinfo=UTC)
    await user.entries.add("The lighthouse was built.", occurred_at=when, importance=5e-324)
    await user.entries.add("The lighthouse was painted.")
    assert {hit.content for hit in await user.search("lighthouse")} == {
        "The lighthouse was built.",
        "The lighthouse was painted.",
    }


LONG = "\n\n".join(
    " ".join(f"Sentence {paragraph}.{number} is here!" for number in range(60)) for paragraph in range(5)
)
TEXTS = [
    "short",
    LONG,
    "  blank edges \n\n",
    "x" * 5000,
    "a\r\nb\r\n\r\nc\r\n",
    "lone\rreturns\r\rhere",
    "one。二！三？" * 700,
    "🏳️‍🌈" * 900,
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_the_chunks_of_a_document_joined_are_its_text(user: Any, text: str) -> None:
    added = await user.documents.add(text)
    found = await user.documents.get(added.document_id)
    assert found == added
    assert found.text == text
    assert [chunk.chunk_index for chunk in found.chunks] == [*range(1, len(found.chunks) + 1)]
    assert all(0 < len(chunk.content) <= 1200 for chunk in found.chunks)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_a_file_is_read_as_it_is(user: Any, tmp_path: Path, text: str) -> None:
    file = tmp_path / "naïve ☕.md"
    file.write_bytes(text.encode())
    added = await user.documents.add(file)
    assert (await user.documents.get(added.document_id)).text == text
    assert (added.title, added.uri) == (file.name, file.as_uri())
    assert added == await user.documents.add(text)


async def test_a_document_comes_back_with_all_that_was_given(user: Any, tmp_path: Path) -> None:
    file = tmp_path / "note.md"
    file.write_text("hello")
    added = await user.documents.add(file, title="Note", uri="note:1", metadata={"a": [1, None]})
    assert (added.title, added.uri, added.metadata, added.user_id) == ("Note", "note:1", {"a": [1, None]}, user.user_id)


async def test_text_is_never_taken_for_a_path(user: Any, tmp_path: Path) -> None:
    file = tmp_path / "secret.txt"
    file.write_text("secret")
    assert (await user.documents.add(str(file))).text == str(file)


async def test_the_same_text_is_one_document(user: Any) -> None:
    first = await user.documents.add("the same", title="First")
    assert await user.documents.add("the same", title="Second", metadata={"a": 1}) == first
    assert len(await user.documents.list()) == 1


async def test_documents_are_listed_the_latest_first_without_their_chunks(user: Any) -> None:
    for number in range(3):
        await user.documents.add(f"text {number}", title=f"{number}")
    listed = await user.documents.list(limit=2)
    assert [each.title for each in listed] == ["2", "1"]
    assert [each.chunks for each in listed] == [(), ()]
    assert [each.title for each in await user.documents.list(limit=2, offset=2)] == ["0"]


async def test_a_forgotten_document_is_gone_with_its_chunks_and_can_be_added_again(user: Any) -> None:
    added = await user.documents.add(LONG)
    assert await user.documents.forget(added.document_id) is True
    assert await user.documents.forget(added.document_id) is False
    assert await user.documents.get(added.document_id) is None
    assert (await user.export())["chunks"] == []
    assert (await user.documents.add(LONG)).document_id != added.document_id


async def test_a_file_that_cannot_be_read_as_text_is_invalid(user: Any, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "binary", tmp_path / "missing", tmp_path):
        with pytest.raises(ltst.Invalid, match="readable file of UTF-8 text"):
            await user.documents.add(path)
    assert await user.documents.list() == []


async def test_a_profile_holds_what_is_true_and_wanted_now(user: Any) -> None:
    said = await user.chat().add("user", "I live in Porto", at=THEN)
    await user.facts.set("home", "Porto", confidence=0.5, source_message_id=said.message_id)
    await user.facts.set("work", "Braga")
    await user.facts.set("work", "Lisbon")
    await user.facts.reject("name", "Nobody")
    await user.preferences.set("editor", "vim")
    await user.preferences.set("diet", "no nuts", sensitive=True)
    assert await user.profile() == {
        "user_id": user.user_id,
        "facts": [
            {"key": "home", "value": "Porto", "confidence": 0.5, "source_message_id": said.message_id},
            {"key": "work", "value": "Lisbon", "confidence": 1.0, "source_message_id": None},
        ],
        "preferences": {"diet": "no nuts", "editor": "vim"},
        "notes": [],
    }


async def test_a_sensitive_value_whose_key_is_lost_is_left_out_with_a_note(user: Any, database: Connection) -> None:
    await user.preferences.set("editor", "vim")
    await user.preferences.set("diet", "no nuts", sensitive=True)
    database.execute("DELETE FROM user_keys WHERE user_id = %s", (user.user_id,))
    profile, context, document = await user.profile(), await user.chat().context(), await user.export()
    left_out_with_a_note(profile, context, document)
    assert [bool(each.note) for each in await user.preferences.list()] == [True, False]
    with pytest.raises(ltst.Unavailable, match="cannot be read any more"):
        await user.preferences.get("diet")


async def test_the_profile_of_a_new_user_is_empty(user: Any) -> None:
    assert await user.profile() == {"user_id": user.user_id, "facts": [], "preferences": {}, "notes": []}


async def test_a_retention_policy_is_set_listed_and_forgotten(user: Any) -> None:
    week, day = timedelta(days=7), timedelta(days=1)
    await user.retention.set(archive_after=day, delete_after=week)
    await user.retention.set("support", delete_after=60.5)
    await user.retention.set("*", archive_after=week)
    listed = [(each.session_type, each.archive_after, each.delete_after) for each in await user.retention.list()]
    assert listed == [("*", week, None), ("support", None, timedelta(seconds=60.5))]
    assert await user.retention.forget() is True
    assert await user.retention.forget() is False
    assert [each.session_type for each in await user.retention.list()] == ["support"]


async def test_a_search_goes_on_page_by_page(user: Any) -> None:
    for number in range(12):
        await user.chat("monday").add("user", f"The ferry number {number} is late.")
    whole = [hit.id for hit in await user.search("ferry", limit=12, floor=0.0)]
    assert len({*whole}) == 12
    pages = [await user.search("ferry", limit=5, offset=offset, floor=0.0) for offset in (0, 5, 10, 15)]
    assert [[hit.id for hit in page] for page in pages] == [whole[:5], whole[5:10], whole[10:], []]


async def test_without_a_question_a_search_finds_the_newest_that_passes_the_filters(user: Any) -> None:
    for number in range(4):
        at = datetime(2026, 3, 1 + number, tzinfo=UTC)
        await user.chat("monday").add("user", f"Note {number}", at=at, metadata={"even": number % 2 == 0})
    await user.entries.add("An entry.")
    said = [hit.content for hit in await user.search(kinds=["message"])]
    assert said == ["Note 3", "Note 2", "Note 1", "Note 0"]
    found = await user.search(kinds=["message"], until=datetime(2026, 3, 4, tzinfo=UTC), limit=1, offset=1)
    assert [hit.content for hit in found] == ["Note 1"]
    assert {hit.kind for hit in await user.search()} == {"message", "entry"}
    with pytest.raises(ltst.Invalid, match="floor is the least relevance to a question"):
        await user.search(floor=0.5)
