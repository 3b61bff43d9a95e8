"""The scripted year is well-formed, and its expectations follow from its labels."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

SINGLE = {
    "name", "nickname", "age", "birthday", "home", "hometown", "nationality", "job", "employer", "studies", "school",
    "relationship_status", "partner", "diet", "car", "phone", "commute", "email",
}  # fmt: skip
MULTI = {
    "child", "sibling", "parent", "pet", "allergy", "dislike", "like", "hobby", "language", "learning", "tool",
    "possession", "health", "sport", "plan", "goal", "instrument",
}  # fmt: skip


@pytest.fixture(scope="module")
def year() -> dict[str, Any]:
    return json.loads(Path(__file__).with_name("year.json").read_text(encoding="utf-8"))


def moment(written: str) -> datetime:
    return datetime.fromisoformat(written)


def test_the_timeline_is_ordered(year: dict[str, Any]) -> None:
    timeline = year["timeline"]
    assert [item["at"] for item in timeline] == sorted(item["at"] for item in timeline)
    sessions = [item for item in timeline if item["kind"] == "session"]
    assert len(sessions) >= 200
    assert len({session["session_id"] for session in sessions}) == len(sessions)
    assert sum(1 for item in timeline if item["kind"] == "reject") >= 8
    for session in sessions:
        said = [message["at"] for message in session["messages"]]
        assert 2 <= len(said) <= 6
        assert said == sorted(said)
        assert said[0] == session["at"]


def test_what_is_rejected_is_said_before_and_after(year: dict[str, Any]) -> None:
    for rejection in (item for item in year["timeline"] if item["kind"] == "reject"):
        said = [
            session["at"]
            for session in year["timeline"]
            for state in session.get("states", [])
            if (state["key"], state["value"]) == (rejection["key"], rejection["value"])
        ]
        assert min(said) < rejection["at"] < max(said)


def expected(year: dict[str, Any], key: str, as_of: datetime) -> list[str]:
    """What the labels say about one key at one moment, read from the last word on each value."""
    rejected = {(item["key"], item["value"]) for item in year["timeline"] if item["kind"] == "reject"}
    known = [
        (moment(state["from"]), state["change"] == "holds", state["value"])
        for item in year["timeline"]
        for state in item.get("states", [])
        if state["key"] == key and (key, state["value"]) not in rejected and moment(state["from"]) <= as_of
    ]
    held = {value for _, holds, value in known if holds}
    standing = {value for value in held if max(word for word in known if word[2] == value)[1]}
    if key in SINGLE:
        standing &= {max((word for word in known if word[1]), default=(None, None, ""))[2]}
    return sorted(standing)


def test_the_probes_follow_from_the_labels(year: dict[str, Any]) -> None:
    probes = year["probes"]
    assert len(probes) >= 280
    assert len({(probe["key"], probe["as_of"]) for probe in probes}) == len(probes)
    for probe in probes:
        assert probe["key"] in SINGLE | MULTI
        assert probe["values"] == expected(year, probe["key"], moment(probe["as_of"])), probe


def test_what_is_current_names_its_source(year: dict[str, Any]) -> None:
    sessions = {item["session_id"]: item for item in year["timeline"] if item["kind"] == "session"}
    assert year["current"].keys() == {probe["key"] for probe in year["probes"]}
    for key, entries in year["current"].items():
        assert [entry["value"] for entry in entries] == expected(year, key, moment(year["to"]))
        for entry in entries:
            stated = [(state["key"], state["value"]) for state in sessions[entry["source"]]["states"]]
            assert (key, entry["value"]) in stated
