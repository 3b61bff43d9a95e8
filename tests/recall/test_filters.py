"""What a search is limited to: dates, metadata, kinds; and what it refuses before it looks at anything."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from helpers.embedders import opened
from helpers.probes import counts, superuser
from ltst import AsyncMemory, AsyncUser, Invalid, ModelUnavailable, Settings
from ltst.recall import retrieve
from ltst.rooms.search import WORDS

pytestmark = pytest.mark.asyncio(loop_scope="module")

SECOND = timedelta(seconds=1)
HOSTILE = [
    "it's",
    '"quoted"',
    "a' OR '1'='1",
    "'; DROP TABLE conversation_messages; --",
    "$.price",
    "{a,b}",
    "%s",
    "%(user_id)s",
    "back\\slash",
    "a->>'b'",
    "größe",
    "価格",
    "🦩",
    "\u202eesrever",
    "line\nbreak",
    "user_id",
    " ",
]


def alike(texts: Sequence[str]) -> list[list[float]]:
    """Every text means the same: only the filters decide."""
    return [[1.0] * 384 for _ in texts]


def day(year: int, month: int = 1, date: int = 1) -> datetime:
    return datetime(year, month, date, tzinfo=UTC)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def memory(module_settings: Settings) -> AsyncIterator[AsyncMemory]:
    async with opened(module_settings, alike) as made:
        yield made


async def furnish(user: AsyncUser, **metadata: Any) -> None:
    """An apple for each name, with some metadata."""
    given = [{"role": "user", "content": f"apple {name}", "metadata": each} for name, each in metadata.items()]
    await user.chat("monday").add_many(given)


async def found(user: AsyncUser, **filters: Any) -> set[str]:
    """The names of the apples that pass."""
    return {hit.content.removeprefix("apple ") for hit in await user.search("apple", limit=200, **filters)}


class TestDates:
    async def test_since_is_included_and_until_is_not(self, user: AsyncUser) -> None:
        for year in (2021, 2022, 2023):
            await user.chat("monday").add("user", f"apple {year}", at=day(year))
        assert await found(user) == {"2021", "2022", "2023"}
        assert await found(user, since=day(2022)) == {"2022", "2023"}
        assert await found(user, since=day(2022) + SECOND) == {"2023"}
        assert await found(user, until=day(2022)) == {"2021"}
        assert await found(user, until=day(2022) + SECOND) == {"2021", "2022"}
        assert await found(user, since=day(2022), until=day(2023)) == {"2022"}
        assert await found(user, since=day(2023), until=day(2022)) == set()

    async def test_the_zone_of_a_date_counts(self, user: AsyncUser) -> None:
        await user.chat("monday").add("user", "apple late", at=datetime.fromisoformat("2022-01-01T01:00:00+02:00"))
        assert await found(user, until=datetime.fromisoformat("2021-12-31T23:30:00+00:00")) == {"late"}
        assert await found(user, since=datetime.fromisoformat("2022-01-01T00:00:00+00:00")) == set()

    async def test_every_kind_has_its_date(self, user: AsyncUser) -> None:
        await user.chat("monday").add("user", "apple message", at=day(2021))
        await user.facts.set("apple", "fact", valid_from=day(2022))
        await user.entries.add("apple entry", occurred_at=day(2023))
        await user.documents.add("apple document")
        between = {
            "message": (day(2021), day(2022)),
            "fact": (day(2022), day(2023)),
            "entry": (day(2023), day(2024)),
            "document": (datetime.now(UTC) - timedelta(hours=1), datetime.now(UTC) + timedelta(hours=1)),
        }
        for kind, (since, until) in between.items():
            assert {hit.kind for hit in await user.search("apple", since=since, until=until)} == {kind}

    async def test_dates_at_the_ends_of_the_calendar(self, user: AsyncUser) -> None:
        await user.chat("monday").add("user", "apple ancient", at=datetime(2, 1, 1, tzinfo=UTC))
        await user.chat("monday").add("user", "apple distant", at=datetime(9998, 12, 30, tzinfo=UTC))
        assert await found(user, until=day(1000)) == {"ancient"}
        assert await found(user, since=day(3000)) == {"distant"}


class TestManyPass:
    async def test_nothing_outside_of_the_filter_is_found_where_it_holds_no_word_of_the_question(
        self, module_settings: Settings, user: AsyncUser, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def unavailable(texts: Sequence[str]) -> list[list[float]]:
            raise ModelUnavailable("no model")

        monkeypatch.setattr(retrieve, "EVERY", 4)
        beds = [{"role": "user", "content": f"garden bed {number}", "at": day(2024)} for number in range(6)]
        await user.chat("monday").add_many(beds)
        await user.search("bed")  # what is indexed next to a hit is looked at too: others come in between
        between = [{"role": "user", "content": f"something else {number}", "at": day(2020)} for number in range(4)]
        await user.chat("wednesday").add_many(between)
        await user.search("something")
        await user.chat("tuesday").add("user", "The zeppelin costs 400 euros.", at=day(2020))
        async with opened(module_settings, unavailable) as wordy:
            same = wordy.user(user.user_id)
            assert (await same.search("zeppelin"))[0].session_id == "tuesday"
            assert await same.search("zeppelin", session_id="monday") == []
            assert await same.search("zeppelin", since=day(2023)) == []


class TestEqual:
    async def test_one_value_and_several(self, user: AsyncUser) -> None:
        await furnish(user, red={"color": "red", "n": 1}, green={"color": "green", "n": 1}, plain={})
        assert await found(user) == {"red", "green", "plain"}
        assert await found(user, where={}) == {"red", "green", "plain"}
        assert await found(user, where={"color": "red"}) == {"red"}
        assert await found(user, where={"n": 1}) == {"red", "green"}
        assert await found(user, where={"n": 1, "color": "green"}) == {"green"}
        assert await found(user, where={"n": 2}) == set()
        assert await found(user, where={"other": "red"}) == set()

    async def test_values_are_of_their_type(self, user: AsyncUser) -> None:
        await furnish(user, number={"v": 1}, text={"v": "1"}, truth={"v": True}, nothing={"v": None}, absent={})
        assert await found(user, where={"v": 1}) == {"number"}
        assert await found(user, where={"v": 1.0}) == {"number"}
        assert await found(user, where={"v": "1"}) == {"text"}
        assert await found(user, where={"v": True}) == {"truth"}
        assert await found(user, where={"v": None}) == {"nothing"}
        assert await found(user, where={"v": False}) == set()

    async def test_numbers_are_exact(self, user: AsyncUser) -> None:
        await furnish(user, large={"v": 2**60 + 1}, larger={"v": 2**60 + 2}, tenth={"v": 0.1}, huge={"v": 1e23})
        assert await found(user, where={"v": 2**60 + 1}) == {"large"}
        assert await found(user, where={"v": 0.1}) == {"tenth"}
        assert await found(user, where={"v": 1e23}) == {"huge"}

    async def test_nested_values(self, user: AsyncUser) -> None:
        await furnish(user, fuji={"shop": {"name": "Fuji", "city": "Rome"}}, gala={"shop": {"name": "Gala"}})
        assert await found(user, where={"shop": {"name": "Fuji", "city": "Rome"}}) == {"fuji"}
        assert await found(user, where={"shop": {"city": "Rome"}}) == {"fuji"}
        assert await found(user, where={"shop": {"name": "Gala"}}) == {"gala"}
        assert await found(user, where={"shop": "Fuji"}) == set()
        assert await found(user, where={"name": "Fuji"}) == set()

    async def test_lists(self, user: AsyncUser) -> None:
        await furnish(user, both={"tags": ["sweet", "red"]}, one={"tags": ["sweet"]}, none={"tags": []})
        assert await found(user, where={"tags": ["sweet", "red"]}) == {"both"}
        assert await found(user, where={"tags": ["red"]}) == {"both"}
        assert await found(user, where={"tags": ["sweet"]}) == {"both", "one"}
        assert await found(user, where={"tags": ["sour"]}) == set()

    @pytest.mark.parametrize("key", HOSTILE)
    async def test_any_key_and_any_value(self, user: AsyncUser, key: str) -> None:
        await furnish(user, same={key: key}, other={"key": "value"}, swapped={"value": key})
        assert await found(user, where={key: key}) == {"same"}
        assert await found(user, where={key: f"{key}!"}) == set()

    async def test_every_kind_but_facts_has_metadata(self, user: AsyncUser) -> None:
        mine = {"topic": "food"}
        await user.chat("monday").add("user", "apple message", metadata=mine)
        await user.chat("tuesday").add("user", "something else", metadata=mine)
        await user.facts.set("apple", "fact")
        await user.entries.add("apple entry", metadata=mine)
        await user.documents.add("apple document", metadata=mine)
        hits = await user.search("apple", where=mine)
        assert {hit.kind for hit in hits if "apple" in hit.content} == {"message", "entry", "document"}
        assert await user.search("apple", where={"topic": "drink"}) == []


class TestRanges:
    async def test_numbers(self, user: AsyncUser) -> None:
        await furnish(user, **{str(price): {"price": price} for price in (-5, 0, 2.5, 7, 10)})
        assert await found(user, where={"price": {"gt": 0}}) == {"2.5", "7", "10"}
        assert await found(user, where={"price": {"gte": 0}}) == {"0", "2.5", "7", "10"}
        assert await found(user, where={"price": {"lt": 7}}) == {"-5", "0", "2.5"}
        assert await found(user, where={"price": {"lte": 7}}) == {"-5", "0", "2.5", "7"}
        assert await found(user, where={"price": {"gte": 2.5, "lt": 10}}) == {"2.5", "7"}
        assert await found(user, where={"price": {"gt": 2.4999, "lte": 2.5}}) == {"2.5"}
        assert await found(user, where={"price": {"gt": 10}}) == set()
        assert await found(user, where={"price": {"gt": 7, "lt": 2}}) == set()

    async def test_numbers_are_compared_as_numbers(self, user: AsyncUser) -> None:
        await furnish(user, nine={"n": 9}, ten={"n": 10}, hundred={"n": 100})
        assert await found(user, where={"n": {"gt": 9}}) == {"ten", "hundred"}
        assert await found(user, where={"n": {"gte": 2**60, "lte": 2**61}}) == set()

    async def test_texts(self, user: AsyncUser) -> None:
        await furnish(user, **{date: {"date": date} for date in ("2023-01-31", "2023-02-01", "2023-11-05")})
        assert await found(user, where={"date": {"gte": "2023-02-01"}}) == {"2023-02-01", "2023-11-05"}
        assert await found(user, where={"date": {"gt": "2023-02-01"}}) == {"2023-11-05"}
        assert await found(user, where={"date": {"lt": "2023-02"}}) == {"2023-01-31"}

    async def test_other_types_and_absent_keys_do_not_pass(self, user: AsyncUser) -> None:
        odd = {"text": "7", "truth": True, "list": [7], "object": {"gte": 7}, "null": None, "number": 7}
        await furnish(user, **{name: {"v": value} for name, value in odd.items()}, absent={"w": 7})
        assert await found(user, where={"v": {"gte": 0}}) == {"number"}
        assert await found(user, where={"v": {"lte": 100}}) == {"number"}
        assert await found(user, where={"v": {"gte": ""}}) == {"text"}

    async def test_ranges_of_several_keys_beside_equal_values(self, user: AsyncUser) -> None:
        apples = {"a": (1, 5, "red"), "b": (2, 5, "red"), "c": (2, 9, "red"), "d": (2, 5, "green")}
        await furnish(user, **{name: {"x": x, "y": y, "color": color} for name, (x, y, color) in apples.items()})
        assert await found(user, where={"x": {"gte": 2}, "y": {"lt": 9}, "color": "red"}) == {"b"}

    @pytest.mark.parametrize("key", [key for key in HOSTILE if key.strip()])
    async def test_any_key(self, user: AsyncUser, key: str) -> None:
        await furnish(user, small={key: 1}, large={key: 9}, other={"key": 9})
        assert await found(user, where={key: {"gt": 5}}) == {"large"}

    @pytest.mark.parametrize("bound", [text for text in HOSTILE if text.strip()])
    async def test_any_text_as_a_bound(self, user: AsyncUser, bound: str) -> None:
        await furnish(user, same={"v": bound}, none={"w": bound})
        assert await found(user, where={"v": {"gte": bound, "lte": bound}}) == {"same"}
        assert await found(user, where={"v": {"gt": bound}}) == set()


async def test_filters_work_together_and_keep_to_their_user(memory: AsyncMemory, user: AsyncUser) -> None:
    other = memory.user(f"user-{uuid.uuid4().hex}")
    for each in (user, other):
        for session, year, color in (("one", 2021, "red"), ("one", 2022, "red"), ("two", 2022, "red")):
            content = f"apple {each.user_id} {session} {year}"
            await each.chat(session).add("user", content, at=day(year), metadata={"color": color})
        await each.entries.add(f"apple {each.user_id}", metadata={"color": "red"}, occurred_at=day(2022))
    limited: dict[str, Any] = {"session_id": "one", "since": day(2022), "where": {"color": "red"}, "kinds": ["message"]}
    assert await found(user, **limited) == {f"{user.user_id} one 2022"}


async def test_what_does_not_pass_changes_nothing_for_what_does(user: AsyncUser) -> None:
    """Scores are relative to what is searched: of that, what was left out is no part."""
    await furnish(user, red={"color": "red"}, crimson={"color": "red"})
    before = await user.search("apple red", where={"color": "red"})
    await user.chat("tuesday").add_many(
        [{"role": "user", "content": "red red apple", "metadata": {"color": "green"}}] * 20
    )
    assert await user.search("apple red", where={"color": "red"}) == before


NAIVE = datetime(2024, 1, 1)
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"query": ""}, "query must not be empty or blank"),
    ({"query": " \n\t"}, "query must not be empty or blank"),
    ({"query": 5}, r"query must be text \(str\)"),
    ({"query": b"apple"}, r"query must be text \(str\)"),
    ({"query": "a\x00b"}, "NUL"),
    ({"query": "\ud800"}, "lone surrogate"),
    ({"query": "x" * (1024 * 1024 + 1)}, "query may have up to 1,048,576 bytes"),
    ({"kinds": "message"}, "kinds must be a list of message, fact, entry, document"),
    ({"kinds": 5}, "kinds must be a list of message, fact, entry, document"),
    ({"kinds": []}, "kinds must name at least one of message, fact, entry, document"),
    ({"kinds": ()}, "kinds must name at least one of message, fact, entry, document"),
    ({"kinds": ["messages"]}, "each of kinds must be one of message, fact, entry, document"),
    ({"kinds": ["message", None]}, "each of kinds must be one of message, fact, entry, document"),
    ({"kinds": [["message"]]}, "each of kinds must be one of message, fact, entry, document"),
    ({"kinds": b"message"}, "each of kinds must be one of message, fact, entry, document"),
    *[
        ({"entry_type": bad}, "entry_type must be one of long_term, episodic")
        for bad in ("", "working", "LONG_TERM", 5, ["episodic"])
    ],
    *[({"limit": bad}, "limit must be a whole number from 1 to 200") for bad in (0, -1, 201, True, 1.5, "10", None)],
    ({"session_id": ""}, "session_id must be 1 to 255 characters"),
    ({"session_id": "x" * 256}, "session_id must be 1 to 255 characters"),
    ({"session_id": 5}, "session_id must be text"),
    *[({name: NAIVE}, f"{name} must have a time zone") for name in ("since", "until", "now")],
    *[({name: "2024-01-01"}, f"{name} must be a datetime") for name in ("since", "until", "now")],
    *[({name: 1704067200}, f"{name} must be a datetime") for name in ("since", "until", "now")],
    *[({"floor": bad}, "floor must be a number from 0 to 1") for bad in (2, -0.1, math.nan, math.inf, "0.5", True)],
    *[({"where": bad}, r"where must be a mapping such as") for bad in ("topic", 5, ["topic"], [("topic", "food")])],
    ({"where": {1: "food"}}, "where must have text keys"),
    ({"where": {"a": {2: "food"}}}, "where must have text keys"),
    ({"where": {None: {"gte": 1}}}, "each key of where must be text"),
    ({"where": {"topic": {1, 2}}}, "where must be JSON"),
    ({"where": {"topic": NAIVE}}, "where must be JSON"),
    ({"where": {"topic": math.nan}}, "where must be JSON"),
    ({"where": {"topic": "a\x00b"}}, "NUL"),
    ({"where": {"a\x00b": "food"}}, "NUL"),
    ({"where": {"a\x00b": {"gte": 1}}}, "NUL"),
    ({"where": {"topic": "\ud800"}}, "lone surrogate"),
    ({"where": {"topic": "x" * 100_001}}, "where may have up to 100,000 bytes"),
    *[
        ({"where": {"price": {"gte": bad}}}, "a range in where has numbers or texts as its bounds")
        for bad in (True, None, [1], {"n": 1}, NAIVE)
    ],
    *[({"where": {"price": {"lt": bad}}}, "where must be JSON") for bad in (math.nan, math.inf)],
    ({"where": {"price": {"lt": "a\x00b"}}}, "NUL"),
]


def circular() -> dict[str, Any]:
    knot: dict[str, Any] = {}
    knot["knot"] = knot
    return knot


@pytest.mark.parametrize(("arguments", "told"), REFUSED, ids=[repr(given)[:40] for given, _ in REFUSED])
async def test_bad_arguments_are_refused_before_anything_is_looked_at(arguments: dict[str, Any], told: str) -> None:
    """The memory is not open: whoever looks at the database gets DatabaseUnavailable."""
    with pytest.raises(Invalid, match=told):
        await AsyncMemory(settings=Settings(worker=False)).user("ana").search(**{"query": "apple", **arguments})


async def test_a_circle_in_where_is_refused() -> None:
    with pytest.raises(Invalid, match="where"):
        await AsyncMemory(settings=Settings(worker=False)).user("ana").search("apple", where=circular())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"query": " "}, "query must not be empty or blank"),
        ({"limit": 0}, "limit must be a whole number from 1 to 200"),
        ({"limit": 201}, "limit must be a whole number from 1 to 200"),
        ({"threshold": 2}, "threshold must be a number from 0 to 1"),
        ({"threshold": True}, "threshold must be a number from 0 to 1"),
        ({"threshold": math.nan}, "threshold must be a number from 0 to 1"),
    ],
)
async def test_a_chat_refuses_the_same(arguments: dict[str, Any], told: str) -> None:
    chat = AsyncMemory(settings=Settings(worker=False)).user("ana").chat("monday")
    with pytest.raises(Invalid, match=told):
        await chat.search(**{"query": "apple", **arguments})


async def test_a_refused_search_writes_nothing(memory: AsyncMemory, user: AsyncUser) -> None:
    await furnish(user, red={"color": "red"})
    with superuser(memory.database_url) as connection:
        before = counts(connection)
        for arguments, _ in REFUSED:
            with pytest.raises(Invalid):
                await user.search(**{"query": "apple", **arguments})
        assert counts(connection) == before
        due = "SELECT kind, stage FROM search_due WHERE user_id = %s"
        assert connection.execute(due, (user.user_id,)).fetchall() == [("message", WORDS)]


@pytest.mark.parametrize("kinds", [["message"], ("message",), {"message"}, {"message": 1}, iter(["message"])])
async def test_any_collection_of_kinds_will_do(user: AsyncUser, kinds: Any) -> None:
    await furnish(user, red={})
    assert await found(user, kinds=kinds) == {"red"}


@pytest.mark.parametrize("type", ["long_term", "episodic"])
async def test_entries_may_be_those_of_one_type(user: AsyncUser, type: str) -> None:
    await furnish(user, red={})
    await user.facts.set("fruit", "apple fact")
    for each in ("long_term", "episodic"):
        await user.entries.add(f"apple {each}", type=each)
    assert {hit.content for hit in await user.search("apple", kinds=["entry"], entry_type=type)} == {f"apple {type}"}
    everything = {hit.content for hit in await user.search("apple", entry_type=type)}
    assert everything == {"apple red", "fruit: apple fact", f"apple {type}"}


async def test_metadata_is_searched_as_it_was_given(user: AsyncUser) -> None:
    """What can be stored can be asked for."""
    given = json.loads('{"text": "\\u00e9", "number": -0.5, "list": [1, [2, {"x": null}]], "object": {"": {"y": []}}}')
    await furnish(user, red=given)
    assert await found(user, where=given) == {"red"}
