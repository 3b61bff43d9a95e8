"""Statements: what people say of their lives, kept as spans of what they wrote, and gone with it."""

from __future__ import annotations

from typing import Any

import pytest

from helpers.learning import actions, day, rows, run, taught
from ltst import AsyncMemory, AsyncUser

pytestmark = pytest.mark.asyncio(loop_scope="module")

LIFE = "My sister Jo lives in Ghent. What's the weather like there? I bought a red bicycle last week."


async def said(user: AsyncUser, **wanted: Any) -> list[str]:
    return [each.content for each in await user.statements.list(**wanted)]


class TestReading:
    async def test_sentences_that_tell_something_are_kept_as_they_stand(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        (message,) = await taught(shared, user, "monday", LIFE, at=day(1))
        bought, lives = await user.statements.list()
        assert (lives.content, lives.about, lives.kind) == ("My sister Jo lives in Ghent.", "my sister Jo", "person")
        assert (bought.content, bought.about) == ("I bought a red bicycle last week.", "me")
        for each in (lives, bought):
            assert LIFE[each.start_at : each.end_at] == each.content
            assert (each.message_id, each.session_id, each.position, each.said_at) == (message, "monday", 1, day(1))
            assert (each.origin, each.trust, each.superseded_by) == ("gate", "normal", None)
        assert await actions(user, "statement") == ["learn", "learn"]

    async def test_spans_count_characters_beyond_the_basic_plane(self, shared: AsyncMemory, user: AsyncUser) -> None:
        text = "🐱🐱 Hello there! “Fine” — I moved to Zürich with my wife last month."
        await taught(shared, user, "monday", text, at=day(1))
        assert await said(user) == ["“Fine” — I moved to Zürich with my wife last month."]

    async def test_to_read_again_changes_nothing(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", LIFE, at=day(1))
        before = await user.statements.list()
        run(shared, "UPDATE conversation_sessions SET learned_index = 0 WHERE user_id = %s", user.user_id)
        await shared.settle(user.user_id)
        assert await user.statements.list() == before

    async def test_what_the_assistant_or_a_tool_says_is_none(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", "I live in Porto and I love to swim.", role="assistant", at=day(1))
        await taught(shared, user, "monday", "I live in Porto and I love to swim.", role="tool", at=day(2))
        assert await said(user) == []


class TestGoing:
    @pytest.mark.parametrize("replaced", [False, True])
    async def test_they_go_with_the_words(self, shared: AsyncMemory, user: AsyncUser, replaced: bool) -> None:
        first, second = await taught(shared, user, "monday", LIFE, "I have a dog called Rex.", at=day(1))
        if replaced:
            await user.chat("monday").replace(first, "I play the cello in an orchestra.")
        else:
            await user.chat("monday").remove(first)
        assert {each.message_id for each in await user.statements.list()} == {second}
        await shared.settle(user.user_id)
        played = ["I play the cello in an orchestra."] if replaced else []
        assert sorted(await said(user)) == sorted(["I have a dog called Rex.", *played])
        assert rows(shared, user).get("orphans") is None

    async def test_a_session_takes_them_along(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", LIFE, at=day(1))
        await user.sessions.delete("monday")
        assert await said(user) == []
        assert "statements" not in rows(shared, user)

    async def test_an_erasure_counts_them(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", LIFE, at=day(1))
        receipt = await user.erase()
        assert receipt.removed["statements"] == 2
        assert receipt.remaining["statements"] == 0

    async def test_they_come_back_from_an_archive(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", LIFE, at=day(1))
        known = await user.statements.list()
        document = await user.export()
        assert LIFE not in str(document["statements"])
        await user.erase()
        await user.restore(document)
        assert await user.statements.list() == known
        await shared.settle(user.user_id)
        assert await user.statements.list() == known

    async def test_a_fork_has_its_own(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", LIFE, at=day(1))
        await user.chat("monday").fork(session_id="copy")
        await shared.settle(user.user_id)
        assert await said(user, session_id="copy") == await said(user, session_id="monday")
        await user.sessions.delete("monday")
        assert len(await said(user)) == 2


class TestRejecting:
    async def test_it_is_never_read_from_that_span_again(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", LIFE, at=day(1))
        bought, lives = await user.statements.list()
        struck = await user.statements.reject(bought.statement_id)
        assert struck.rejected_at is not None
        assert await user.statements.reject(bought.statement_id) == struck
        await user.chat("monday").fork(session_id="copy")
        await user.learning.restart()
        await shared.settle(user.user_id)
        assert {*await said(user)} == {lives.content}
        assert (await user.statements.get(bought.statement_id)) == struck

    async def test_it_is_not_found_any_more(self, shared: AsyncMemory, user: AsyncUser) -> None:
        await taught(shared, user, "monday", LIFE, at=day(1))
        (hit, *_) = await user.search("which bicycle did I buy?", kinds=["statement"])
        assert (hit.kind, hit.content) == ("statement", "I bought a red bicycle last week.")
        await user.statements.reject(hit.id)
        await shared.settle(user.user_id)
        found = await user.search("which bicycle did I buy?", kinds=["statement"])
        assert hit.id not in {each.id for each in found}


class TestFinding:
    async def test_only_where_it_is_asked_for(self, shared: AsyncMemory, user: AsyncUser) -> None:
        (message,) = await taught(shared, user, "monday", LIFE, at=day(1))
        kinds = {hit.kind for hit in await user.search("which bicycle did I buy?")}
        assert "message" in kinds
        assert "statement" not in kinds
        (hit, *_) = await user.search("which bicycle did I buy?", kinds=["statement"])
        assert (hit.kind, hit.sources, hit.session_id) == ("statement", (message,), "monday")

    async def test_they_stand_at_the_place_of_their_message_without_words_of_their_own(
        self, shared: AsyncMemory, user: AsyncUser
    ) -> None:
        await taught(shared, user, "monday", LIFE, "I have a dog called Rex.", at=day(1))
        units = run(
            shared,
            "SELECT kind, place, position, words, EXISTS (SELECT FROM search_vectors AS made WHERE"
            " made.user_id = unit.user_id AND made.unit_no = unit.unit_no) FROM search_units AS unit"
            " WHERE user_id = %s AND kind IN ('message', 'statement')",
            user.user_id,
        )
        messages = {(place, position) for kind, place, position, _, _ in units if kind == "message"}
        stated = [each for each in units if each[0] == "statement"]
        assert {(place, position) for _, place, position, _, _ in stated} == messages
        # What is a whole message is found by the message's vector.
        assert sorted((words, vector) for *_, words, vector in stated) == [(0, False), (0, True), (0, True)]
