"""What an operator asks of users as a whole: erased without a trace, proven later, listed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

import ltst
from helpers.household import furnish
from helpers.probes import Connection, value
from ltst import Memory, Receipt, Settings, Verification
from ltst.db.queries import queries


def status(seen: Verification) -> dict[str, str]:
    return {check.name: check.status for check in seen.checks}


def detail(seen: Verification, name: str) -> str:
    return next(check.detail for check in seen.checks if check.name == name)


class TestAge:
    def test_old_measurements_and_events_are_removed(self, settings: Settings, database: Connection) -> None:
        with Memory(settings=replace(settings, metrics_days=2, ledger_days=3)) as memory:
            ana, receipt = memory.user("ana"), _erased(memory, "ben")
            ana.chat("monday").add_many({"role": "user", "content": f"tea {number}"} for number in range(3))
            ana.facts.set("home", "Lisbon")
            memory.stats()
            seen = ana.events.feed()
            database.execute("UPDATE event_ledger SET occurred_at = occurred_at - interval '4 days'")
            database.execute("UPDATE memory_performance_metrics SET created_at = created_at - interval '3 days'")
            memory.user("cem").facts.set("home", "Porto")
            memory.stats()
            done = memory.maintain()
            assert done["events_pruned"] == len(seen) - 1 > 0
            assert done["metrics_pruned"] > 0
            for left in (ana.events.feed(), ana.events.feed(after=seen[0].cursor)):
                assert [event.event_id for event in left] == [seen[-1].event_id], "the version of the memory"
            assert value(database, "SELECT count(*) FROM event_ledger WHERE user_id = 'cem'") > 0
            assert value(database, "SELECT count(*) FROM memory_performance_metrics") > 0
            assert memory.verify(receipt).ok
            assert memory.maintain()["events_pruned"] == 0

    def test_events_are_kept_for_good_unless_somebody_says_otherwise(
        self, sync_memory: Memory, database: Connection
    ) -> None:
        user = sync_memory.user("ana")
        user.chat("monday").add("user", "tea")
        user.facts.set("home", "Lisbon")
        database.execute("UPDATE event_ledger SET occurred_at = occurred_at - interval '20 years'")
        assert sync_memory.maintain()["events_pruned"] == 0


class TestRetention:
    @pytest.mark.parametrize("name", ["sessions.archive_due", "sessions.delete_due"])
    def test_sessions_that_are_not_due_are_not_read(self, sync_memory: Memory, database: Connection, name: str) -> None:
        years = timedelta(days=3650)
        for number in range(20):
            sync_memory.user(f"user {number}").retention.set(archive_after=years, delete_after=years)
        database.execute(
            "INSERT INTO conversation_sessions (user_id, session_id) "
            "SELECT 'user ' || number, place FROM generate_series(0, 19) AS number, generate_series(1, 100) AS place"
        )
        database.execute("ANALYZE")
        plan = f"EXPLAIN (ANALYZE, FORMAT JSON) {queries()[name].decode()}"
        rows = database.execute(plan.encode(), {"now": datetime.now(UTC), "everybody": None}).fetchall()
        read = sum(count for table, count in _read(rows[0][0][0]["Plan"]) if table == "conversation_sessions")
        assert read <= 1, "a merge may look at one row before it sees that nothing is due"


def _read(plan: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Each table that a plan reads, and how many of its rows."""
    if "Relation Name" in plan and plan["Node Type"] != "ModifyTable":
        removed = [plan.get(f"Rows Removed by {why}", 0) for why in ("Filter", "Index Recheck")]
        yield plan["Relation Name"], plan["Actual Rows"] + sum(removed)
    for part in plan.get("Plans", ()):
        yield from _read(part)


class TestSpace:
    def test_what_was_erased_takes_no_space_any_more(self, sync_memory: Memory, database: Connection) -> None:
        chat = sync_memory.user("ana").chat("long")
        chat.add_many({"role": "user", "content": f"{number} " * 500} for number in range(200))
        taken = "SELECT pg_relation_size('conversation_messages')"
        assert value(database, taken) > 0
        receipt = sync_memory.user("ana").erase()
        assert value(database, taken) == 0
        assert {"conversation_messages", "conversation_sessions", "event_ledger"} <= {*receipt.vacuumed}
        assert receipt.notes == ()
        assert all(receipt.removed[table] for table in receipt.vacuumed)

    def test_a_role_that_may_not_says_so_in_the_receipt(self, settings: Settings, database: Connection) -> None:
        """The program then works as a role that only may become the two of ltst."""
        role = f"app_{settings.home.parent.name[:20]}"
        database.execute(f'CREATE ROLE "{role}" NOLOGIN')
        try:
            database.execute(f'GRANT ltst_user, ltst_keeper TO "{role}"')
            url = psycopg.conninfo.make_conninfo(str(settings.database_url), options=f"-c role={role}")
            with Memory(settings=replace(settings, database_url=url, metrics=False)) as memory:
                memory.user("ana").chat("one").add("user", "Hello.")
                receipt = memory.user("ana").erase()
                assert memory.verify(receipt).ok
            assert receipt.removed["conversation_messages"] == 1
            assert receipt.vacuumed == ()
            (note,) = receipt.notes
            assert "may not VACUUM conversation_messages" in note
        finally:
            database.execute(f'DROP ROLE "{role}"')

    def test_a_vacuum_that_fails_does_not_take_the_receipt_away(
        self, sync_memory: Memory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def broken(*_: object) -> None:
            raise ltst.DatabaseUnavailable("the server went away")

        monkeypatch.setattr("ltst.db.space.vacuum", broken)
        sync_memory.user("ana").chat("one").add("user", "Hello.")
        receipt = sync_memory.user("ana").erase()
        assert receipt.notes == ("the space of the removed rows was not cleared: the server went away",)
        assert sync_memory.verify(receipt).ok


def test_to_erase_a_user_who_does_not_exist_says_so(sync_memory: Memory) -> None:
    receipt = sync_memory.user("nobody").erase()
    assert receipt.notes == ("there was no user 'nobody': nothing was removed",)
    assert not any(receipt.removed.values())
    assert sync_memory.verify(receipt).ok
    sync_memory.user("ana").facts.set("home", "Porto")
    assert sync_memory.user("ana").erase().notes == ()


def _erased(memory: Memory, name: str = "ana") -> Receipt:
    furnish(memory.user(name), "gone")
    return memory.user(name).erase()


FORMS: dict[str, Callable[[Receipt], Any]] = {
    "as it is": lambda receipt: receipt,
    "as JSON": lambda receipt: json.loads(json.dumps(asdict(receipt), default=str)),
    "with a time in Z": lambda receipt: {**asdict(receipt), "erased_at": f"{receipt.erased_at:%Y-%m-%dT%H:%M:%S.%fZ}"},
}


class TestReceipts:
    @pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
    def test_a_genuine_one_holds(self, sync_memory: Memory, form: Callable[[Receipt], Any]) -> None:
        seen = sync_memory.verify(form(_erased(sync_memory)))
        assert seen.ok
        assert status(seen) == {"receipt": "ok", "ledger": "ok", "rows": "ok"}
        assert seen.user_id == "ana"

    @pytest.mark.parametrize(
        "change",
        [
            {"removed": {}},
            {"user_id": "bob"},
            {"remaining": {"conversation_messages": 1}},
            {"erased_at": "2020-01-01T00:00:00+00:00"},
            {"digest": "0" * 64},
        ],
        ids=lambda change: next(iter(change)),
    )
    def test_one_that_was_changed_does_not_hold(self, sync_memory: Memory, change: dict[str, Any]) -> None:
        seen = sync_memory.verify({**asdict(_erased(sync_memory)), **change})
        assert not seen.ok
        assert status(seen)["receipt"] == "error"

    def test_one_that_was_made_up_is_not_in_the_ledger(self, sync_memory: Memory, settings: Settings) -> None:
        from ltst.handles.receipts import made

        seen = sync_memory.verify(made("ana", {"conversation_messages": 5}, {"conversation_messages": 0}))
        assert status(seen) == {"receipt": "ok", "ledger": "error", "rows": "ok"}
        assert "knows no such receipt" in detail(seen, "ledger")

    def test_a_user_who_came_back_is_told(self, sync_memory: Memory) -> None:
        receipt = _erased(sync_memory)
        sync_memory.user("ana").facts.set("home", "Porto")
        seen = sync_memory.verify(receipt)
        assert status(seen) == {"receipt": "ok", "ledger": "ok", "rows": "error"}
        assert "user_facts (1)" in detail(seen, "rows")

    def test_a_row_in_any_table_is_found(self, sync_memory: Memory) -> None:
        """Whatever can be counted as removed can be found again."""
        receipt = _erased(sync_memory)
        furnish(sync_memory.user("ana"), "back")
        found = detail(sync_memory.verify(receipt), "rows")
        again = sync_memory.user("ana").erase().removed
        assert {table for table, rows in again.items() if rows} == {*re.findall(r"(\w+) \(\d+\)", found)}
        assert len(receipt.removed) > 20

    def test_another_erasure_leaves_the_proof_of_the_first(self, sync_memory: Memory) -> None:
        first = _erased(sync_memory)
        second = _erased(sync_memory)
        assert sync_memory.verify(first).ok
        assert sync_memory.verify(second).ok

    @pytest.mark.parametrize("given", [None, 5, "receipt", [], {}, {"receipt_id": "x"}])
    def test_what_is_no_receipt_is_refused(self, sync_memory: Memory, given: Any) -> None:
        with pytest.raises(ltst.Invalid, match="this is no receipt: it must be an object with receipt_id, user_id"):
            sync_memory.verify(given)

    @pytest.mark.parametrize(
        "change",
        [{"removed": [1]}, {"removed": {"a": "b"}}, {"remaining": {1: 1}}, {"erased_at": "soon"}, {"user_id": "\x00"}],
        ids=lambda change: next(iter(change)),
    )
    def test_what_a_receipt_cannot_hold_is_refused(self, sync_memory: Memory, change: dict[str, Any]) -> None:
        with pytest.raises(ltst.Invalid):
            sync_memory.verify({**asdict(sync_memory.user("ana").erase()), **change})


class TestUsers:
    def test_everyone_who_owns_something_is_listed_with_how_much(self, sync_memory: Memory) -> None:
        assert sync_memory.users.list() == []
        for name in ("zoe", "Ana", "ben"):
            sync_memory.user(name).chat("one").add("user", "Hello.")
        sync_memory.user("ben").chat("two").add_interaction("Hello.", "Hello, Ben.")
        seen = {each.user_id: (each.sessions, each.messages) for each in sync_memory.users.list()}
        assert seen == {"zoe": (1, 1), "Ana": (1, 1), "ben": (2, 3)}
        assert all(each.last_activity is not None for each in sync_memory.users.list())

    def test_one_row_of_any_kind_makes_a_user(self, sync_memory: Memory) -> None:
        sync_memory.user("a").facts.set("home", "Porto")
        sync_memory.user("b").preferences.set("units", "metric")
        sync_memory.user("c").entries.add("A note.")
        sync_memory.user("d").retention.set(delete_after=60)
        sync_memory.keys.create("e")
        sync_memory.keys.create(admin=True)
        assert [each.user_id for each in sync_memory.users.list()] == ["a", "b", "c", "d", "e"]
        assert sync_memory.users.list()[0].last_activity is None

    def test_pages_have_everyone_once(self, sync_memory: Memory) -> None:
        names = [f"user {number}" for number in range(7)]
        for name in names:
            sync_memory.user(name).facts.set("home", "Porto")
        found: list[str] = []
        while page := sync_memory.users.list(limit=3, after=found[-1] if found else None):
            found += [each.user_id for each in page]
        assert found == names

    def test_who_was_erased_is_not_there(self, sync_memory: Memory) -> None:
        sync_memory.user("ben").facts.set("home", "Porto")
        _erased(sync_memory)
        sync_memory.stats()
        assert [each.user_id for each in sync_memory.users.list()] == ["ben"]

    def test_bad_pages_are_refused(self, sync_memory: Memory) -> None:
        for wrong in ({"limit": 0}, {"limit": "x"}, {"after": ""}, {"after": 5}):
            with pytest.raises(ltst.Invalid):
                sync_memory.users.list(**wrong)  # type: ignore[arg-type]
