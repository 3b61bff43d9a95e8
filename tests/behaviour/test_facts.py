"""Facts: claims on a line of time, where a correction closes, a rejection strikes out, and history stays."""

from __future__ import annotations

import asyncio
import itertools
import uuid
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import ltst
from helpers.learning import timeline

pytestmark = pytest.mark.asyncio(loop_scope="session")

MISSING = "01900000-0000-7000-8000-000000000000"


def year(number: int) -> datetime:
    return datetime(number, 1, 1, tzinfo=UTC)


async def value(user: Any, key: str = "home", *, as_of: datetime | None = None) -> str | None:
    found = await user.facts.get(key, as_of=as_of)
    return found.value if found else None


async def test_a_fact_holds_from_now_on(user: Any) -> None:
    before = datetime.now(UTC)
    fact = await user.facts.set("home", "Porto")
    assert before <= fact.valid_from <= datetime.now(UTC)
    assert (fact.key, fact.value, fact.confidence, fact.user_id) == ("home", "Porto", 1.0, user.user_id)
    assert (fact.valid_to, fact.rejected_at, fact.superseded_by, fact.source_message_id) == (None, None, None, None)
    assert await user.facts.get("home") == fact
    assert await user.facts.get("home", as_of=before - timedelta(seconds=1)) is None


async def test_a_fact_that_was_never_set_is_none(user: Any) -> None:
    assert await user.facts.get("home") is None
    assert await user.facts.history("home") == []
    assert await user.facts.list() == []


async def test_a_fact_holds_from_when_its_source_was_said(user: Any) -> None:
    said = await user.chat().add("user", "I live in Porto", at=year(2020))
    fact = await user.facts.set("home", "Porto", source_message_id=said.message_id)
    assert (fact.source_message_id, fact.valid_from) == (said.message_id, year(2020))
    later = await user.facts.set("work", "Braga", source_message_id=said.message_id, valid_from=year(2021))
    assert later.valid_from == year(2021)


@pytest.mark.parametrize("source", [MISSING, "not an id"])
async def test_a_source_that_does_not_exist_is_not_found(user: Any, source: str) -> None:
    with pytest.raises(ltst.NotFound, match=f"no message '{source}'"):
        await user.facts.set("home", "Porto", source_message_id=source)
    assert await user.facts.get("home") is None


async def test_a_correction_closes_the_value_before_and_keeps_it(user: Any) -> None:
    first = await user.facts.set("home", "Porto", valid_from=year(2020))
    second = await user.facts.set("home", "Lisbon", valid_from=year(2022))
    closed, current = await user.facts.history("home")
    assert (closed.fact_id, closed.value, closed.valid_to) == (first.fact_id, "Porto", year(2022))
    assert closed.superseded_by == second.fact_id
    assert current == second
    assert await value(user) == "Lisbon"


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        (year(2019), None),
        (year(2020), "Porto"),
        (year(2022) - timedelta(microseconds=1), "Porto"),
        (year(2022), "Lisbon"),
        (year(2023), "Lisbon"),
    ],
)
async def test_as_of_asks_what_was_true_on_a_day(user: Any, moment: datetime, expected: str | None) -> None:
    await user.facts.set("home", "Porto", valid_from=year(2020))
    await user.facts.set("home", "Lisbon", valid_from=year(2022))
    assert await value(user, as_of=moment) == expected
    assert [fact.value for fact in await user.facts.list(as_of=moment)] == ([expected] if expected else [])


async def test_a_value_set_between_two_holds_until_the_later_one(user: Any) -> None:
    await user.facts.set("home", "Porto", valid_from=year(2010))
    await user.facts.set("home", "Lisbon", valid_from=year(2020))
    await user.facts.set("home", "Braga", valid_from=year(2015))
    assert await timeline(user) == [
        ("Porto", year(2010), year(2015)),
        ("Braga", year(2015), year(2020)),
        ("Lisbon", year(2020), None),
    ]
    assert await value(user) == "Lisbon"


async def test_a_value_set_before_all_others_holds_until_the_first(user: Any) -> None:
    await user.facts.set("home", "Lisbon", valid_from=year(2020))
    await user.facts.set("home", "Porto", valid_from=year(2010))
    assert await timeline(user) == [("Porto", year(2010), year(2020)), ("Lisbon", year(2020), None)]


async def test_a_correction_for_the_same_moment_takes_the_whole_time(user: Any) -> None:
    await user.facts.set("home", "Porto", valid_from=year(2020))
    await user.facts.set("home", "Lisbon", valid_from=year(2020))
    assert await timeline(user) == [("Lisbon", year(2020), None)]
    assert len(await user.facts.history("home")) == 2


async def test_a_value_for_the_future_does_not_hold_yet(user: Any) -> None:
    await user.facts.set("home", "Porto", valid_from=year(2020))
    await user.facts.set("home", "Mars", valid_from=year(2200))
    assert await value(user) == "Porto"
    assert await value(user, as_of=year(2201)) == "Mars"


async def test_a_value_may_come_back(user: Any) -> None:
    for number, place in [(2010, "Porto"), (2015, "Lisbon"), (2020, "Porto")]:
        await user.facts.set("home", place, valid_from=year(number))
    assert [place for place, _, _ in await timeline(user)] == ["Porto", "Lisbon", "Porto"]


async def test_the_same_value_again_raises_the_confidence_and_adds_nothing(user: Any) -> None:
    said = await user.chat().add("user", "Porto")
    first = await user.facts.set("home", "Porto", confidence=0.5, valid_from=year(2020))
    again = await user.facts.set("home", "Porto", confidence=0.75, source_message_id=said.message_id)
    lower = await user.facts.set("home", "Porto", confidence=0.25)
    assert (again.fact_id, again.confidence, again.valid_from) == (first.fact_id, 0.75, first.valid_from)
    assert lower.confidence == 0.75
    assert len(await user.facts.history("home")) == 1


async def test_a_confirmation_gives_a_fact_its_first_source_and_keeps_it(user: Any) -> None:
    chat = user.chat()
    one, two = await chat.add("user", "Porto"), await chat.add("user", "Porto!")
    await user.facts.set("home", "Porto", valid_from=year(2020))
    assert (await user.facts.set("home", "Porto", source_message_id=one.message_id)).source_message_id == one.message_id
    assert (await user.facts.set("home", "Porto", source_message_id=two.message_id)).source_message_id == one.message_id


async def test_rejecting_a_value_reopens_the_one_before(user: Any) -> None:
    first = await user.facts.set("home", "Porto", valid_from=year(2020))
    await user.facts.set("home", "Paris", valid_from=year(2022))
    (struck,) = await user.facts.reject("home", "Paris")
    assert (struck.value, struck.rejected_at is None) == ("Paris", False)
    assert await user.facts.get("home") == first
    assert [(fact.value, fact.rejected_at is None) for fact in await user.facts.history("home")] == [
        ("Porto", True),
        ("Paris", False),
    ]


async def test_rejecting_a_value_in_the_middle_gives_its_time_to_the_one_before(user: Any) -> None:
    for number, place in [(2010, "Porto"), (2015, "Paris"), (2020, "Lisbon")]:
        await user.facts.set("home", place, valid_from=year(number))
    await user.facts.reject("home", "Paris")
    assert await timeline(user) == [("Porto", year(2010), year(2020)), ("Lisbon", year(2020), None)]


async def test_rejecting_the_newest_reopens_a_value_that_was_set_between_later(user: Any) -> None:
    await user.facts.set("home", "Porto", valid_from=year(2010))
    await user.facts.set("home", "Paris", valid_from=year(2020))
    await user.facts.set("home", "Braga", valid_from=year(2015))
    await user.facts.reject("home", "Paris")
    assert await timeline(user) == [("Porto", year(2010), year(2015)), ("Braga", year(2015), None)]
    assert await value(user) == "Braga"


async def test_rejecting_the_newest_reopens_a_value_that_was_set_before_all_others(user: Any) -> None:
    await user.facts.set("home", "Paris", valid_from=year(2020))
    await user.facts.set("home", "Porto", valid_from=year(2010))
    await user.facts.reject("home", "Paris")
    assert await value(user) == "Porto"


async def test_rejecting_one_after_another_goes_back_step_by_step(user: Any) -> None:
    for number, place in [(2010, "Porto"), (2015, "Paris"), (2020, "Rome")]:
        await user.facts.set("home", place, valid_from=year(number))
    await user.facts.reject("home", "Paris")
    await user.facts.reject("home", "Rome")
    assert await timeline(user) == [("Porto", year(2010), None)]
    await user.facts.reject("home", "Porto")
    assert await user.facts.get("home") is None


async def test_rejecting_a_value_strikes_out_each_time_it_held(user: Any) -> None:
    for number, place in [(2005, "Paris"), (2010, "Porto"), (2015, "Paris"), (2020, "Paris, France")]:
        await user.facts.set("home", place, valid_from=year(number))
    assert len(await user.facts.reject("home", "Paris")) == 2
    assert await timeline(user) == [("Porto", year(2010), year(2020)), ("Paris, France", year(2020), None)]


@pytest.mark.parametrize("again", ["Paris", "paris", " PARIS ", "Paris\n", "\tparis"])
async def test_a_rejected_value_is_refused(user: Any, again: str) -> None:
    await user.facts.set("home", "Porto", valid_from=year(2020))
    await user.facts.set("home", "Paris", valid_from=year(2022))
    await user.facts.reject("home", "Paris")
    with pytest.raises(ltst.Conflict, match="rejected"):
        await user.facts.set("home", again)
    assert await value(user) == "Porto"


async def test_a_rejected_value_is_refused_for_the_past_too(user: Any) -> None:
    await user.facts.reject("home", "Paris")
    with pytest.raises(ltst.Conflict, match="rejected"):
        await user.facts.set("home", "Paris", valid_from=year(2000))
    assert await user.facts.get("home", as_of=year(2001)) is None


async def test_a_value_can_be_rejected_that_was_never_known(user: Any) -> None:
    (struck,) = await user.facts.reject("home", "Atlantis")
    assert (struck.value, struck.rejected_at is None) == ("Atlantis", False)
    assert await user.facts.get("home") is None
    assert await user.facts.list() == []
    with pytest.raises(ltst.Conflict, match="rejected"):
        await user.facts.set("home", "Atlantis")
    assert await user.facts.reject("home", "Atlantis") == []
    assert len(await user.facts.history("home")) == 1


async def test_a_rejection_holds_for_its_key_alone(user: Any) -> None:
    await user.facts.reject("home", "Paris")
    await user.facts.set("birthplace", "Paris")
    assert await value(user, "birthplace") == "Paris"


async def test_a_rejected_value_stays_rejected_when_an_older_export_is_restored(user: Any, door: Any) -> None:
    await user.facts.set("home", "Paris", valid_from=year(2020))
    document = await user.export()
    corrected = door.user(f"corrected-{uuid.uuid4().hex}")
    await corrected.facts.reject("home", "Paris")
    await corrected.restore(document)
    assert await corrected.facts.get("home") is None


async def test_forgetting_a_key_removes_its_history_and_its_rejections(user: Any) -> None:
    await user.facts.set("home", "Porto")
    await user.facts.set("work", "Braga")
    await user.facts.reject("home", "Paris")
    assert await user.facts.forget("home") is True
    assert await user.facts.history("home") == []
    assert await user.facts.forget("home") is False
    await user.facts.set("home", "Paris")
    assert [fact.value for fact in await user.facts.list()] == ["Paris", "Braga"]


async def test_facts_are_listed_by_key_one_value_each(user: Any) -> None:
    for key, place in [("work", "Braga"), ("home", "Porto"), ("home", "Lisbon")]:
        await user.facts.set(key, place)
    assert [(fact.key, fact.value) for fact in await user.facts.list()] == [("home", "Lisbon"), ("work", "Braga")]


async def test_changes_of_one_key_at_once_leave_one_line_of_time(user: Any) -> None:
    await asyncio.gather(*(user.facts.set("home", f"place {number}") for number in range(10)))
    line = await timeline(user)
    assert sum(end is None for _, _, end in line) == 1
    assert all(earlier[2] == later[1] for earlier, later in itertools.pairwise(line))
    assert len(await user.facts.history("home")) == 10


async def test_each_person_has_facts_of_their_own(user: Any) -> None:
    mine = await user.facts.set("home", "Porto", valid_from=year(2020))
    dani = await user.facts.set("home", "Leeds", valid_from=year(2020), about="Dani")
    sister = await user.facts.set("home", "Bonn", about="my sister Jo")
    assert (mine.about, dani.about, sister.about) == ("me", "Dani", "my sister Jo")
    assert await user.facts.get("home") == mine
    assert await user.facts.get("home", about="Dani") == dani
    assert await user.facts.get("home", about="Ben") is None
    moved = await user.facts.set("home", "York", valid_from=year(2022), about="Dani")
    assert await user.facts.get("home", about="Dani", as_of=year(2021)) == replace(
        dani, valid_to=year(2022), superseded_by=moved.fact_id
    )
    assert [fact.value for fact in await user.facts.history("home", about="Dani")] == ["Leeds", "York"]
    assert [fact.value for fact in await user.facts.history("home")] == ["Porto"]


async def test_facts_are_listed_about_everyone_or_one(user: Any) -> None:
    for whom, key, known in [("Dani", "home", "Leeds"), ("Dani", "allergy", "nuts"), ("me", "name", "Ann")]:
        await user.facts.set(key, known, about=whom)
    assert [(fact.about, fact.key) for fact in await user.facts.list()] == [
        ("me", "name"),
        ("Dani", "allergy"),
        ("Dani", "home"),
    ]
    assert [fact.key for fact in await user.facts.list(about="Dani")] == ["allergy", "home"]
    assert [fact.key for fact in await user.facts.list(about="me")] == ["name"]
    assert await user.facts.list(about="Ben") == []


async def test_a_name_is_the_same_in_any_capitals(user: Any) -> None:
    await user.facts.set("home", "Leeds", about="Dani")
    await user.facts.set("home", "York", about="dani")
    assert await user.facts.set("name", "Ann", about="Me") == await user.facts.get("name")
    assert [fact.value for fact in await user.facts.list(about="DANI")] == ["York"]
    assert [(fact.about, fact.value) for fact in await user.facts.history("home", about="Dani")] == [
        ("Dani", "Leeds"),
        ("dani", "York"),
    ]


async def test_a_rejection_holds_for_its_person_alone(user: Any) -> None:
    await user.facts.set("home", "Leeds", about="Dani", valid_from=year(2020))
    await user.facts.set("home", "Paris", about="Dani", valid_from=year(2022))
    (struck,) = await user.facts.reject("home", "Paris", about="Dani")
    assert (struck.about, struck.value) == ("Dani", "Paris")
    assert (await user.facts.get("home", about="Dani")).value == "Leeds"
    with pytest.raises(ltst.Conflict, match="rejected"):
        await user.facts.set("home", "Paris", about="dani")
    assert (await user.facts.set("home", "Paris")).value == "Paris"


async def test_what_is_over_for_one_goes_on_for_another(user: Any) -> None:
    for whom in ("me", "Dani"):
        await user.facts.set("employer", "Acme", about=whom)
    (ended,) = await user.facts.end("employer", about="Dani")
    assert (ended.about, ended.value) == ("Dani", "Acme")
    assert await user.facts.get("employer", about="Dani") is None
    assert await value(user, "employer") == "Acme"


async def test_forgetting_a_key_of_one_leaves_that_of_others(user: Any) -> None:
    for whom in ("me", "Dani", "Ben"):
        await user.facts.set("home", "Porto", about=whom)
    assert await user.facts.forget("home", about="Dani") is True
    assert await user.facts.forget("home", about="Dani") is False
    assert [fact.about for fact in await user.facts.list()] == ["me", "Ben"]
    assert await user.facts.forget("home") is True
    assert [fact.about for fact in await user.facts.list()] == ["Ben"]


async def test_several_values_of_one_person_join(user: Any) -> None:
    for whom, known in [("Dani", "chess"), ("Dani", "climbing"), ("me", "tennis")]:
        await user.facts.set("hobby", known, about=whom, single_valued=False)
    assert [fact.value for fact in await user.facts.list(about="Dani")] == ["chess", "climbing"]
    assert await value(user, "hobby") == "tennis"


@pytest.mark.parametrize("whom", ["", "  ", "x" * 256])
async def test_somebody_needs_a_name_of_at_most_255_characters(user: Any, whom: str) -> None:
    with pytest.raises(ltst.Invalid, match="about"):
        await user.facts.set("home", "Porto", about=whom)
    with pytest.raises(ltst.Invalid, match="about"):
        await user.facts.list(about=whom)
    assert await user.facts.list() == []


async def test_what_is_known_of_others_is_found_by_their_name(user: Any) -> None:
    await user.facts.set("allergy", "penicillin")
    await user.facts.set("allergy", "nuts", about="Dani")
    hit = (await user.search("what is Dani allergic to?", kinds=["fact"]))[0]
    assert hit.content == "Dani: allergy: nuts"
    assert hit.metadata == {"about": "Dani"}


async def test_a_context_says_whom_a_fact_is_about(user: Any) -> None:
    await user.facts.set("allergy", "penicillin")
    await user.facts.set("allergy", "nuts", about="Dani")
    context = await user.chat().context("what may Dani eat?")
    assert "] Dani: allergy: nuts" in context.text
    assert "] allergy: penicillin" in context.text


async def test_a_profile_is_the_users_own(user: Any) -> None:
    await user.facts.set("home", "Porto")
    await user.facts.set("home", "Leeds", about="Dani")
    assert [fact["value"] for fact in (await user.profile())["facts"]] == ["Porto"]


async def test_facts_about_others_are_exported_and_restored(user: Any, door: Any) -> None:
    await user.facts.set("home", "Porto", valid_from=year(2020))
    for number, place in [(2020, "Leeds"), (2022, "York")]:
        await user.facts.set("home", place, valid_from=year(number), about="Dani")
    await user.facts.reject("home", "Hull", about="Dani")
    document = await user.export()
    copy = door.user(f"copy-{uuid.uuid4().hex}")
    await copy.facts.set("home", "Bath", valid_from=year(2023), about="dani")
    await copy.restore(document)
    assert [fact.value for fact in await copy.facts.list()] == ["Porto", "Bath"]
    assert (await copy.facts.get("home", about="Dani", as_of=year(2022))).value == "York"
    with pytest.raises(ltst.Conflict, match="rejected"):
        await copy.facts.set("home", "Hull", about="Dani")


async def test_an_export_from_before_facts_had_a_person_is_about_the_user(user: Any, door: Any) -> None:
    await user.facts.set("home", "Porto")
    document = await user.export()
    document["facts"] = [{name: told for name, told in row.items() if name != "about"} for row in document["facts"]]
    copy = door.user(f"copy-{uuid.uuid4().hex}")
    await copy.restore(document)
    assert [(fact.about, fact.value) for fact in await copy.facts.list()] == [("me", "Porto")]


async def test_one_conversation_is_learnt_from_before_the_others(user: Any) -> None:
    await user.learning.set(extraction=True)
    await user.chat("monday").add("user", "I live in Porto.")
    await user.chat("tuesday").add("user", "I work as a nurse.")
    assert await user.learning.catch_up("tuesday") == 1
    assert await user.learning.catch_up("tuesday") == await user.learning.catch_up("sunday") == 0
    assert await user.learning.catch_up() == 1
