"""Items against a plain dictionary: the same results, whatever is done, by two users at once; and what is refused."""

from __future__ import annotations

import asyncio
import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import ltst
from helpers.probes import Connection, superuser
from ltst import AsyncMemory, Memory, Settings, User
from ltst.rooms.items import MOST_AT_ONCE

ANA = ("users", "ana")
HOUR = 3600.0
NAMESPACES = [("a",), ("a", "b"), ("a", "b", "c"), ("ab",), ("b", "c"), ("b", "é\n")]
KEYS = ["1", "2", "k\x01", "%"]
VALUES: list[Any] = [
    None,
    7,
    "text\x00",
    b"\xff",
    {"n": 1, "s": "x"},
    {"n": 2.5, "s": "y", "deep": {"n": 1}},
    {"n": "2", "list": [1, 2]},
    {"$bytes": "n"},
    {"n": 10**20, "s": "x"},
]
FILTERS: list[tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = [
    ({"n": 1}, lambda it: it.get("n") == 1),
    ({"n": {"$ne": 1}}, lambda it: it.get("n") != 1),
    ({"n": {"$gt": 1}}, lambda it: not isinstance(it.get("n", ""), str) and it["n"] > 1),
    ({"n": {"$gte": 1, "$lt": 3}}, lambda it: not isinstance(it.get("n", ""), str) and 1 <= it["n"] < 3),
    ({"s": {"$lte": "x"}}, lambda it: isinstance(it.get("s"), str) and it["s"] <= "x"),
    ({"deep": {"n": {"$eq": 1}}, "s": "y"}, lambda it: it.get("deep", {}).get("n") == 1 and it.get("s") == "y"),
    ({"list": [1, 2]}, lambda it: it.get("list") == [1, 2]),
    ({"s": None}, lambda it: it.get("s") is None),
]

Name = tuple[tuple[str, ...], str]


class Refused(Exception):
    """The model's word for a conflict."""


@dataclass
class Kept:
    """An item of the model."""

    value: Any
    revision: int
    turn: int
    ttl: float | None
    until: float | None


@dataclass
class Model:
    """What items are: a dictionary with a clock."""

    clock: float = 0.0
    turn: int = 0
    kept: dict[Name, Kept] = field(default_factory=dict)

    def do(self, do: str, **given: Any) -> Any:
        self.kept = {name: each for name, each in self.kept.items() if each.until is None or each.until > self.clock}
        return getattr(self, f"_{do}")(**given)

    def batch(self, operations: list[dict[str, Any]]) -> list[Any]:
        before = {name: Kept(**vars(each)) for name, each in self.kept.items()}
        try:
            return [self.do(**each) for each in operations]
        except Refused:
            self.kept = before
            raise

    def _expect(self, name: Name, revision: int | None) -> None:
        held = self.kept[name].revision if name in self.kept else 0
        if revision is not None and revision != held:
            raise Refused

    def _put(self, namespace: Any, key: str, value: Any, ttl: float | None = None, revision: int | None = None) -> Any:
        name = (tuple(namespace), key)
        self._expect(name, revision)
        held = self.kept.get(name)
        self.turn += 1
        until = None if ttl is None else self.clock + ttl
        self.kept[name] = Kept(value, held.revision + 1 if held else 1, self.turn, ttl, until)
        return self._told(name)

    def _get(self, namespace: Any, key: str, refresh: bool = False) -> Any:
        name = (tuple(namespace), key)
        if name not in self.kept:
            return None
        self._live(name, refresh)
        return self._told(name)

    def _delete(self, namespace: Any, key: str, revision: int | None = None) -> bool:
        self._expect((tuple(namespace), key), revision)
        return self.kept.pop((tuple(namespace), key), None) is not None

    def _list(self, namespace: Any = (), limit: int = 100, offset: int = 0) -> list[Any]:
        return [self._told(name) for name in sorted(self._below(namespace))][offset : offset + limit]

    def _search(
        self, namespace: Any = (), filter: Any = None, refresh: bool = False, limit: int = 10, offset: int = 0
    ) -> list[Any]:
        meets = next((meets for wanted, meets in FILTERS if wanted == filter), lambda it: True)
        found = [name for name in self._below(namespace) if meets(_fields(self.kept[name].value))]
        found = sorted(found, key=lambda name: -self.kept[name].turn)[offset : offset + limit]
        for name in found:
            self._live(name, refresh)
        return [self._told(name) for name in found]

    def _list_namespaces(
        self, prefix: Any = (), suffix: Any = (), max_depth: int | None = None, limit: int = 100, offset: int = 0
    ) -> list[Any]:
        spaces = {
            space[:max_depth]
            for space, _ in self.kept
            if _alike(space[: len(prefix)], prefix) and _alike(space[-len(suffix) :] if suffix else (), suffix)
        }
        return sorted(spaces)[offset : offset + limit]

    def _below(self, namespace: Any) -> list[Name]:
        return [name for name in self.kept if name[0][: len(namespace)] == tuple(namespace)]

    def _live(self, name: Name, refresh: bool) -> None:
        each = self.kept[name]
        if refresh and each.ttl is not None:
            each.until = self.clock + each.ttl

    def _told(self, name: Name) -> Any:
        return (*name, self.kept[name].value, self.kept[name].revision)


def _fields(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _alike(labels: Any, wanted: Any) -> bool:
    return len(labels) == len(wanted) and all(a in (b, "*") for a, b in zip(wanted, labels, strict=True))


def told(result: Any) -> Any:
    """A result in the model's words."""
    if isinstance(result, ltst.Item):
        return (result.namespace, result.key, result.value, result.revision)
    return [told(each) for each in result] if isinstance(result, list) else result


def anything(chance: random.Random, model: Model) -> dict[str, Any]:
    """One operation, mostly on what is there."""
    name = {"namespace": chance.choice(NAMESPACES), "key": chance.choice(KEYS)}
    held = model.kept.get((name["namespace"], name["key"]))
    right = held.revision if held else 0
    revision: dict[str, Any] = (
        {"revision": chance.choice([right, right, right, right + 1])} if chance.random() < 0.3 else {}
    )
    page = {"limit": chance.randint(1, 8), "offset": chance.randint(0, 3)}
    below = chance.choice([(), ("a",), ("a", "b"), ("b",), ("c",)])
    match chance.choice(["put"] * 8 + ["get"] * 5 + ["delete"] * 2 + ["list", "search", "search", "list_namespaces"]):
        case "put":
            ttl = chance.choice([None, 1.5 * HOUR, 2.5 * HOUR])
            return {"do": "put", **name, "value": chance.choice(VALUES), "ttl": ttl, **revision}
        case "get":
            return {"do": "get", **name, "refresh": chance.random() < 0.5}
        case "delete":
            return {"do": "delete", **name, **revision}
        case "list":
            return {"do": "list", "namespace": below, **page}
        case "search":
            wanted = chance.choice([None, *(each for each, _ in FILTERS)])
            return {"do": "search", "namespace": below, "filter": wanted, "refresh": chance.random() < 0.3, **page}
        case _:
            spaces = {
                "prefix": chance.choice([(), ("a",), ("*", "b")]),
                "suffix": chance.choice([(), ("c",), ("b", "*")]),
            }
            return {"do": "list_namespaces", **spaces, "max_depth": chance.choice([None, 1, 2]), **page}


async def tried(items: Any, model: Model, chance: random.Random) -> None:
    """Do the same to both, and compare."""
    if chance.random() < 0.15:
        operations = [anything(chance, model) for _ in range(chance.randint(1, 6))]
        call = items.batch(operations)
        expected = lambda: model.batch(operations)  # noqa: E731
    else:
        operation = anything(chance, model)
        call = getattr(items, operation["do"])(**{name: each for name, each in operation.items() if name != "do"})
        expected = lambda: model.do(**operation)  # noqa: E731
    try:
        wanted = expected()
    except Refused:
        with pytest.raises(ltst.Conflict):
            await call
        return
    assert told(await call) == wanted


async def advance(database: Any, user_id: str, model: Model) -> None:
    """An hour goes by."""
    model.clock += HOUR
    hour_less = "UPDATE items SET expires_at = expires_at - interval '1 hour' WHERE user_id = %s"
    # In a thread: it may wait for upkeep, which this loop must go on with meanwhile.
    await asyncio.to_thread(database.execute, hour_less, (user_id,))


async def test_they_do_what_a_dictionary_does(
    settings: Settings, database_url: str, rounds: Callable[[int], int]
) -> None:
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    async with AsyncMemory(settings=settings) as memory:
        with superuser(database_url) as database:

            async def live(user_id: str) -> Model:
                chance, model, items = random.Random(f"{seed} {user_id}"), Model(), memory.user(user_id).items
                for step in range(rounds(10_000) // 2):
                    await tried(items, model, chance)
                    if step % 25 == 24:
                        await advance(database, user_id, model)
                    if step % 200 == 199:
                        await memory.maintain()
                return model

            for user_id, model in zip(("ana", "bo"), await asyncio.gather(live("ana"), live("bo")), strict=True):
                items = memory.user(user_id).items
                assert told(await items.list(limit=1000)) == model.do("list", limit=1000)
                assert told(await items.list_namespaces()) == model.do("list_namespaces")


async def test_of_many_who_compare_and_set_each_counts_once(settings: Settings, rounds: Callable[[int], int]) -> None:
    async with AsyncMemory(settings=settings) as memory:

        async def count(user_id: str, times: int) -> None:
            items = memory.user(user_id).items
            while times:
                held = await items.get(("counts",), "it")
                try:
                    value, revision = (held.value, held.revision) if held else (0, 0)
                    await items.put(("counts",), "it", value + 1, revision=revision)
                    times -= 1
                except ltst.Conflict:
                    continue

        times = max(5, rounds(200) // 4)
        await asyncio.gather(*(count(user_id, times) for user_id in ("ana", "bo") for _ in range(4)))
        for user_id in ("ana", "bo"):
            found = await memory.user(user_id).items.get(("counts",), "it")
            assert found is not None and (found.value, found.revision) == (4 * times, 4 * times)


async def test_batches_in_any_order_do_not_wait_for_each_other_for_ever(settings: Settings) -> None:
    async with AsyncMemory(settings=settings) as memory:
        items, chance = memory.user("ana").items, random.Random(1)

        async def write(value: int) -> None:
            keys = chance.sample([f"k{number}" for number in range(12)], 12)
            await items.batch([{"do": "put", "namespace": ["x"], "key": key, "value": {"n": value}} for key in keys])

        await asyncio.gather(*(write(value) for value in range(40)))
        found = await items.list(("x",))
        assert {each.revision for each in found} == {40} and len({each.value["n"] for each in found}) == 1


# What is refused, and what is not there any more.


@pytest.fixture(scope="module")
def database(url: str) -> Iterator[Connection]:
    with superuser(url) as connection:
        yield connection


@pytest.fixture
def user(shared: Memory) -> User:
    return shared.user(f"user-{uuid.uuid4().hex}")


@pytest.mark.parametrize(
    ("namespace", "key", "more", "words"),
    [
        ((), "k", {}, "1 to 32 labels"),
        (["a"] * 33, "k", {}, "1 to 32 labels"),
        (["é" * 256], "k", {}, "1 to 255 characters"),
        (("a", ""), "k", {}, "label of namespace"),
        (("a", 1), "k", {}, "label of namespace"),
        (("a\x00",), "k", {}, "NUL"),
        ("users", "k", {}, "must be a list"),
        (ANA, "k" * 1025, {}, "1 to 1024 characters"),
        (ANA, "", {}, "1 to 1024 characters"),
        (ANA, "k", {"ttl": -1}, "ttl"),
        (ANA, "k", {"fields": ["a..b"]}, "author.name"),
        (ANA, "k", {"fields": "title"}, "must be a list"),
        (ANA, "k", {"revision": -1}, "revision"),
        (ANA, "k", {"vectors": [[]]}, "1 to 16,000"),
        (ANA, "k", {"vectors": [["x"]]}, "finite number"),
    ],
)
def test_what_is_wrong_is_refused_in_words(
    user: User, namespace: Any, key: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(ltst.Invalid, match=words):
        user.items.put(namespace, key, 1, **more)
    assert user.items.list() == []


def test_a_value_is_of_json_and_of_a_stated_size(user: User) -> None:
    circle: list[Any] = []
    circle.append(circle)
    for value, words in (
        (object(), "JSON"),
        (float("nan"), "JSON"),
        ({1: 2}, "text keys"),
        ("\ud800", "Unicode"),
        (circle, "circle"),
        ("x" * 2**20, "1,048,576 bytes"),
        (bytes(800_000), "1,048,576 bytes"),
    ):
        with pytest.raises(ltst.Invalid, match=words):
            user.items.put(ANA, "k", value)
    user.items.put(ANA, "k", bytes(700_000), fields=[])
    found = user.items.get(ANA, "k")
    assert found is not None and found.value == bytes(700_000)


def test_the_largest_name_is_kept(shared: Memory) -> None:
    user = shared.user("😀" * 255)
    namespace, key = ("😀" * 255,) * 32, "😀" * 1024
    user.items.put(namespace, key, 1)
    user.items.put((*namespace[:31], "\U0010ffff"), key, 2)
    assert user.items.get(namespace, key) is not None
    for depth in range(32):
        assert [each.value for each in user.items.list(namespace[:depth])] == [1, 2]
    assert [each.value for each in user.items.list(namespace)] == [1]
    assert user.items.list(("😀" * 254,)) == []


def test_one_that_has_expired_is_not_there_and_is_cleaned_away(
    shared: Memory, user: User, database: Connection
) -> None:
    user.items.put(ANA, "soon", {"text": "an umbrella"}, ttl=60, vectors=[[1, 0]])
    user.items.put(("users", "bo"), "late", {"text": "an umbrella stand"})
    assert {each.key for each in user.items.search((), "umbrella", floor=0)} == {"soon", "late"}
    database.execute("UPDATE items SET expires_at = now() - interval '1 second' WHERE key = 'soon'")
    assert user.items.get(ANA, "soon", refresh=True) is None
    assert [each.key for each in user.items.list()] == ["late"] == [each.key for each in user.items.search()]
    assert [each.key for each in user.items.search((), "umbrella", floor=0)] == ["late"]
    assert [hit.metadata["key"] for hit in user.search("umbrella", kinds=["item"], floor=0)] == ["late"]
    assert [each.key for each in user.items.search(vector=[1, 0])] == ["late"]
    assert user.items.list_namespaces() == [("users", "bo")]
    assert user.items.delete(ANA, "soon", revision=0) is False
    user.items.put(ANA, "soon", 1, ttl=60)
    again = user.items.put(ANA, "soon", 2, ttl=60, revision=1)
    database.execute("UPDATE items SET expires_at = now() - interval '1 second' WHERE key = 'soon'")
    fresh = user.items.put(ANA, "soon", 3, revision=0, ttl=60)
    assert (again.revision, fresh.revision) == (2, 1) and fresh.created_at > again.updated_at
    database.execute("UPDATE items SET expires_at = now() - interval '1 second' WHERE key = 'soon'")
    assert shared.maintain()["items_expired"] == 1
    assert [event.action for event in user.events.list()][-1] == "expire"


def test_hits_are_filtered_by_the_fields_of_values(user: User) -> None:
    user.items.put(ANA, "k", {"text": "The oven runs hot.", "room": "kitchen"})
    user.items.put(ANA, "t", "The oven runs cold.")
    (hit,) = user.search("oven hot", kinds=["item"], where={"room": "kitchen"})
    assert hit.metadata == {"namespace": [*ANA], "key": "k"}
    assert user.search("oven hot", kinds=["item"], where={"room": "cellar"}) == []


def test_what_is_put_together_is_put_in_as_many_statements_as_it_takes(user: User) -> None:
    many = MOST_AT_ONCE + 10
    put = [{"do": "put", "namespace": ["n"], "key": f"{number:04}", "value": number} for number in range(many)]
    assert [each.value for each in user.items.batch([*put, *put[:3]])] == [*range(many), 0, 1, 2]
    assert [each.revision for each in user.items.list(limit=4)] == [2, 2, 2, 1]


def test_what_is_exported_comes_back_with_bytes_vectors_and_revisions(shared: Memory, user: User) -> None:
    user.items.put(ANA, "b", {"raw": b"\x00", "nul": "\x00", "$bytes": 1}, vectors=[[1, 2]])
    user.items.put(ANA, "b", {"raw": b"\x00", "nul": "\x00", "$bytes": 1}, vectors=[[1, 2]])
    user.items.put(ANA, "n", None, ttl=60)
    document = json.loads(json.dumps(user.export()))
    other = shared.user(f"user-{uuid.uuid4().hex}")
    assert other.restore(document)["items"] == 2
    assert told(other.items.list()) == told(user.items.list())
    assert other.items.search(vector=[1, 2])[0].score == pytest.approx(1)
    forged = {**document, "items": [{**each, "item_id": str(uuid.uuid4())} for each in document["items"]]}
    assert other.restore(forged)["items"] == 0
    for wrong in ({"namespace": []}, {"namespace": None}, {"key": 1}, {"created_at": None}):
        with pytest.raises(ltst.Invalid):
            other.restore({**document, "items": [{**document["items"][0], **wrong}]})
