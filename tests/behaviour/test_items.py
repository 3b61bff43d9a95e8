"""Items: JSON values under namespaces and keys, through every door."""

from __future__ import annotations

from typing import Any

import pytest

import ltst

pytestmark = pytest.mark.asyncio(loop_scope="session")

ANA = ("users", "ana")
LOSSLESS = [
    None,
    0,
    -1.5,
    True,
    "",
    "naïve 😀 \u202e",
    "a\x00b\x1a0\x1a1",
    b"",
    b"\x00\xff",
    {"$bytes": "aGk="},
    {"$$bytes": {"$bytes": 1}},
    {"a\x00b": [b"x", {"deep": [None, b"y"]}], "$other": 1},
    [1, [2, [3]]],
    10**30,
    1e300,
]


async def keys(user: Any, *args: Any, **wanted: Any) -> list[str]:
    return [each.key for each in await user.items.search(*args, **wanted)]


async def test_one_is_put_got_put_again_and_deleted(user: Any) -> None:
    first = await user.items.put(ANA, "theme", {"color": "dark"})
    assert (first.namespace, first.key, first.value, first.revision) == (ANA, "theme", {"color": "dark"}, 1)
    assert (first.user_id, first.ttl, first.expires_at, first.score) == (user.user_id, None, None, None)
    assert await user.items.get(ANA, "theme") == first
    second = await user.items.put(ANA, "theme", {"color": "light"})
    assert (second.revision, second.created_at, second.item_id) == (2, first.created_at, first.item_id)
    assert second.updated_at > first.updated_at
    assert await user.items.get(ANA, "theme") == second
    assert await user.items.get(("users",), "theme") is None
    assert await user.items.delete(ANA, "theme") is True
    assert await user.items.delete(ANA, "theme") is False
    assert await user.items.get(ANA, "theme") is None
    assert (await user.items.put(ANA, "theme", 1)).revision == 1


@pytest.mark.parametrize("value", LOSSLESS, ids=repr)
async def test_a_value_comes_back_as_it_was(user: Any, value: Any) -> None:
    await user.items.put(ANA, "it", value)
    found = await user.items.get(ANA, "it")
    assert found.value == value
    assert type(found.value) is type(value) or value == 1e300  # which Postgres keeps as the whole number that it is
    (listed,) = await user.items.list(ANA)
    assert listed == found


async def test_a_revision_is_compared_before_it_is_set(user: Any) -> None:
    await user.items.put(ANA, "count", 1, revision=0)
    with pytest.raises(ltst.Conflict, match="has revision 1"):
        await user.items.put(ANA, "count", 2, revision=0)
    assert (await user.items.put(ANA, "count", 2, revision=1)).revision == 2
    with pytest.raises(ltst.Conflict, match="has revision 2"):
        await user.items.delete(ANA, "count", revision=1)
    with pytest.raises(ltst.Conflict, match="is not there"):
        await user.items.put(ANA, "other", 1, revision=1)
    assert await user.items.delete(ANA, "count", revision=2) is True
    assert await user.items.list() == []


async def test_they_are_listed_below_a_namespace_label_by_label(user: Any) -> None:
    for namespace in [("foo",), ("foo", "child"), ("foo", "child", "deep"), ("foobar",), ("fo_",), ("fo%", "x")]:
        await user.items.put(namespace, "k", 1)
    assert [each.namespace for each in await user.items.list(("foo",))] == [
        ("foo",), ("foo", "child"), ("foo", "child", "deep"),
    ]  # fmt: skip
    assert [each.namespace for each in await user.items.list(("fo_",))] == [("fo_",)]
    assert await user.items.list(("fo",)) == []
    assert len(await user.items.list()) == 6
    assert [each.namespace for each in await user.items.list(limit=2, offset=1)] == [("fo_",), ("foo",)]


async def test_namespaces_are_listed_by_prefix_suffix_and_depth(user: Any) -> None:
    for namespace in [("a", "b", "x"), ("a", "c", "x"), ("a", "c", "y"), ("b",), ("b", "x\n")]:
        await user.items.put(namespace, "1", 1)
        await user.items.put(namespace, "2", 2)
    names = user.items.list_namespaces
    assert await names() == [("a", "b", "x"), ("a", "c", "x"), ("a", "c", "y"), ("b",), ("b", "x\n")]
    assert await names(["a", "*", "x"]) == [("a", "b", "x"), ("a", "c", "x")]
    assert await names(suffix=["x"]) == [("a", "b", "x"), ("a", "c", "x")]
    assert await names(suffix=["c", "*"]) == [("a", "c", "x"), ("a", "c", "y")]
    assert await names(["a"], max_depth=2) == [("a", "b"), ("a", "c")]
    assert await names(limit=2, offset=3) == [("b",), ("b", "x\n")]


async def test_they_are_filtered_by_fields_the_newest_first(user: Any) -> None:
    await user.items.put(("d",), "1", {"color": "red", "score": 4.5, "by": {"name": "Ana", "age": 30}})
    await user.items.put(("d",), "2", {"color": "green", "score": 10, "by": {"name": "Bo"}, "tags": ["a", "b"]})
    await user.items.put(("d", "deep"), "3", {"color": "Red", "score": "4.5"})
    await user.items.put(("e",), "4", "no object")
    assert await keys(user) == ["4", "3", "2", "1"]
    assert await keys(user, ("d",), filter={"color": "red"}) == ["1"]
    assert await keys(user, ("d",), filter={"score": {"$gt": 4, "$lt": 10}}) == ["1"]
    assert await keys(user, ("d",), filter={"score": {"$gte": 4.5, "$lte": 10}}) == ["2", "1"]
    assert await keys(user, ("d",), filter={"score": {"$gte": "4"}}) == ["3"]
    assert await keys(user, ("d",), filter={"color": {"$ne": "red"}}) == ["3", "2"]
    assert await keys(user, filter={"by": {"name": "Ana"}}) == ["1"]
    assert await keys(user, filter={"by": {"age": {"$gt": 29}}}) == ["1"]
    assert await keys(user, filter={"tags": ["a", "b"]}) == ["2"]
    assert await keys(user, filter={"tags": None}) == ["4", "3", "1"]
    assert await keys(user, ("d",), filter={"color": {"$eq": "red"}, "score": {"$gt": 9}}) == []
    assert await keys(user, limit=2, offset=1) == ["3", "2"]
    for wrong in ({"color": {"$in": ["red"]}}, {"$eq": 1}, {"color": {"$gt": 1, "name": 2, "$like": 3}}):
        with pytest.raises(ltst.Invalid, match=r"\$gte"):
            await user.items.search(filter=wrong)


async def test_a_query_finds_by_words_and_meaning_in_chosen_fields(user: Any) -> None:
    await user.items.put(("d",), "apple", {"text": "a red apple on the table", "note": "submarine"}, fields=["text"])
    await user.items.put(("d",), "car", {"text": "a blue car in the garage", "by": [{"n": "Ana"}, {"n": "Bo"}]})
    await user.items.put(("d",), "hidden", {"text": "another red apple"}, fields=[])
    await user.items.put(("e",), "elsewhere", {"text": "a green apple"})
    found = await user.items.search(("d",), "red apple")
    assert found[0].key == "apple" and found[0].score > 0 and "hidden" not in [each.key for each in found]
    assert (await keys(user, ("d",), "Where is the automobile?", floor=0))[0] == "car"
    assert (await keys(user, (), "Bo", floor=0))[0] == "car"
    assert await keys(user, ("d",), "apple", filter={"note": "submarine"}) == ["apple"]
    assert "apple" not in (await keys(user, ("d",), "submarine"))[:1]
    assert (await keys(user, ("e",), "apple", floor=0)) == ["elsewhere"]
    assert await keys(user, ("nowhere",), "apple", floor=0) == []
    await user.items.put(("d",), "apple", {"text": "a yellow banana"})
    assert (await keys(user, ("d",), "banana"))[0] == "apple"
    await user.items.delete(("d",), "apple")
    assert "apple" not in await keys(user, ("d",), "banana", floor=0)


async def test_they_do_not_come_up_where_nobody_asks_for_them(user: Any) -> None:
    await user.items.put(("d",), "k", {"text": "The oven runs hot."})
    await user.entries.add("The fridge runs cold.")
    assert [hit.kind for hit in await user.search("oven hot", floor=0)] == ["entry"]
    assert "runs hot" not in (await user.chat("monday").context("Does the oven run hot?")).text
    (hit,) = await user.search("oven hot", kinds=["item"])
    assert (hit.kind, hit.content, hit.metadata) == (
        "item",
        "text: The oven runs hot.",
        {"namespace": ["d"], "key": "k"},
    )


async def test_vectors_of_ones_own_are_compared(user: Any) -> None:
    await user.items.put(("v",), "both", 1, vectors=[[1, 0], [0, 1]])
    await user.items.put(("v",), "one", 2, vectors=[[0.6, 0.8]])
    await user.items.put(("v",), "other model", 3, vectors=[[1, 0, 0]])
    await user.items.put(("v",), "none", 4)
    found = await user.items.search(("v",), vector=[1, 0])
    assert [(each.key, round(each.score, 4)) for each in found[:2]] == [("both", 1), ("one", 0.6)]
    assert [(each.key, each.score) for each in found[2:]] == [("none", None), ("other model", None)]
    found = await user.items.search(("v",), vector=[2, 0], distance="inner_product")
    assert [(each.key, round(each.score, 4)) for each in found[:2]] == [("both", 2), ("one", 1.2)]
    found = await user.items.search(("v",), vector=[0.6, 0.8], distance="l2")
    assert [each.key for each in found[:2]] == ["one", "both"] and found[0].score == pytest.approx(0, abs=1e-6)


async def test_a_batch_is_done_in_order_and_sees_itself(user: Any) -> None:
    done = await user.items.batch(
        [
            {"do": "put", "namespace": ["b"], "key": "1", "value": b"\x00"},
            {"do": "put", "namespace": ["b"], "key": "1", "value": {"n": 2}, "revision": 1},
            {"do": "get", "namespace": ["b"], "key": "1"},
            {"do": "get", "namespace": ["b"], "key": "2"},
            {"do": "search", "namespace": ["b"], "filter": {"n": {"$gt": 1}}},
            {"do": "list_namespaces"},
            {"do": "delete", "namespace": ["b"], "key": "1"},
            {"do": "delete", "namespace": ["b"], "key": "1"},
            {"do": "list"},
        ]
    )
    put, again, got, missing, found, spaces, gone, not_there, left = done
    assert (put.value, put.revision, again.value, again.revision) == (b"\x00", 1, {"n": 2}, 2)
    assert (got, missing, [each.key for each in found], spaces) == (again, None, ["1"], [("b",)])
    assert (gone, not_there, left) == (True, False, [])


async def test_a_batch_is_done_whole_or_not_at_all(user: Any) -> None:
    await user.items.put(("b",), "kept", 1)
    with pytest.raises(ltst.Conflict):
        await user.items.batch(
            [
                {"do": "put", "namespace": ["b"], "key": "new", "value": 1},
                {"do": "delete", "namespace": ["b"], "key": "kept"},
                {"do": "put", "namespace": ["b"], "key": "new", "value": 2, "revision": 7},
            ]
        )
    assert [each.key for each in await user.items.list()] == ["kept"]
    for wrong in ([], [{"do": "put", "namespace": ["b"], "key": "x"}], [{"do": "erase"}], [{"do": "list", "what": 1}]):
        with pytest.raises(ltst.Invalid):
            await user.items.batch(wrong)
    events = [(each.action, each.noun) for each in await user.events.list(limit=1000)]
    assert events == [("put", "item")]


async def test_one_that_lives_for_a_time_can_be_read_to_live_longer(user: Any) -> None:
    put = await user.items.put(("t",), "k", 1, ttl=3600)
    assert put.ttl.total_seconds() == 3600 and (put.expires_at - put.updated_at).total_seconds() == pytest.approx(
        3600, abs=5
    )
    assert (await user.items.get(("t",), "k")).expires_at == put.expires_at
    later = await user.items.get(("t",), "k", refresh=True)
    assert later.expires_at > put.expires_at and later.revision == 1
    (found,) = await user.items.search(("t",), refresh=True)
    assert found.expires_at > later.expires_at
    assert (await user.items.put(("t",), "k", 1)).expires_at is None
