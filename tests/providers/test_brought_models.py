"""Models that a caller brings: what lacks something is refused at once, and what fails is told by settle."""

from __future__ import annotations

from typing import Any

import pytest

import ltst
from helpers.embedders import Bare, hashed
from ltst import AsyncMemory, CallableEmbedder, Memory, Settings


def lacking(name: str) -> object:
    members = {key: member for key, member in vars(Bare).items() if not key.startswith("_") and key != name}
    return type("Lacking", (), members)()


@pytest.mark.parametrize("name", ["name", "dimensions", "parts", "embed"])
def test_an_embedder_that_lacks_something_is_refused_at_once(name: str) -> None:
    words = rf"embedder must be an object with name, dimensions, parts, embed.*Lacking lacks {name}"
    with pytest.raises(ltst.Invalid, match=words):
        Memory(embedder=lacking(name))  # type: ignore[arg-type]
    with pytest.raises(ltst.Invalid, match=words):
        AsyncMemory(embedder=lacking(name))  # type: ignore[arg-type]


@pytest.mark.parametrize("given", [Bare, lambda texts: texts, "local", 5])
def test_something_else_than_an_embedder_is_refused(given: Any) -> None:
    with pytest.raises(ltst.Invalid, match="embedder must be an object with name, dimensions, parts, embed"):
        Memory(embedder=given)


@pytest.mark.parametrize("what", ["language_model", "reranker", "window_cache"])
def test_other_models_that_lack_something_are_refused_at_once(what: str) -> None:
    with pytest.raises(ltst.Invalid, match=f"{what} must be an object with"):
        Memory(**{what: object()})  # type: ignore[arg-type]


def test_the_name_of_an_embedder_is_a_text() -> None:
    class Numbered(Bare):
        name = 5  # type: ignore[assignment]

    with pytest.raises(ltst.Invalid, match="the name of the embedder must be text"):
        Memory(embedder=Numbered())


def test_nothing_is_asked_of_a_model_when_it_is_given() -> None:
    class Far(Bare):
        @property
        def dimensions(self) -> int:  # type: ignore[override]
            raise AssertionError("it was asked")

    Memory(embedder=Far())


@pytest.mark.parametrize("given", [None, 5, object(), Bare])
async def test_a_switch_to_something_else_than_an_embedder_is_refused(memory: AsyncMemory, given: Any) -> None:
    with pytest.raises(ltst.Invalid, match="embedder"):
        await memory.switch_embedder(given)
    assert await memory.embedder_model() is None


async def test_progress_that_cannot_be_called_is_refused_before_anything_is_written(memory: AsyncMemory) -> None:
    wrong: Any = "x"
    with pytest.raises(ltst.Invalid, match="progress must be a function or None, not 'x'"):
        await memory.user("ana").documents.add("some text", progress=wrong)
    assert await memory.user("ana").documents.list() == []
    with pytest.raises(ltst.Invalid, match="progress"):
        await memory.switch_embedder(CallableEmbedder(hashed, "hashed", 384), progress=wrong)
    with pytest.raises(ltst.Invalid, match="progress"):
        await memory.settle(progress=wrong)


@pytest.mark.parametrize("broken", ["dimensions", "parts", "embed"])
async def test_settle_tells_that_an_embedder_fails(settings: Settings, broken: str) -> None:
    def fail(*_: object, **__: object) -> Any:
        raise AttributeError("an error of its own")

    embedder = type("Broken", (Bare,), {broken: property(fail) if broken == "dimensions" else fail})()
    async with AsyncMemory(settings=settings, embedder=embedder) as memory:
        await memory.user("ana").chat("one").add("user", "I live in Porto.")
        with pytest.raises(ltst.ModelUnavailable, match="an error of its own"):
            await memory.settle()
        with pytest.raises(ltst.ModelUnavailable, match="an error of its own"):
            await memory.settle("ana")
