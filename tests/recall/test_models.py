"""Embedding models: one for each database, never two compared; and when there is none, words are enough."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from helpers.embedders import Bare
from helpers.embedders import hashed as by_words
from helpers.probes import Connection, value
from ltst import (
    AsyncMemory,
    AsyncUser,
    CallableEmbedder,
    ConversationMessage,
    ConversationSession,
    ConversationStorage,
    LocalEmbedder,
    LtstError,
    ModelUnavailable,
    Settings,
)
from ltst.providers.vectors import TextRefused

Vectors = NDArray[np.float64]
MODELS = "SELECT name, dimensions, source, state FROM embedding_models ORDER BY name"
# Messages without a vector that is searched.
LACKING = """
SELECT count(*) FROM conversation_messages AS message
WHERE NOT EXISTS (
    SELECT FROM search_units JOIN search_vectors AS vector USING (user_id, unit_no)
    WHERE row_id = message_id AND vector.embedding IS NOT NULL)
"""
WITHOUT_WORDS = """
SELECT count(*) FROM conversation_messages WHERE message_id NOT IN (SELECT row_id FROM search_units WHERE words > 0)
"""
WITHOUT_VECTORS = "search goes without vectors"
SYNONYMS = {"vessel": "ship", "vessels": "ship", "ships": "ship"}


OF_ANOTHER_LENGTH = CallableEmbedder(lambda texts: np.ones((len(texts), 100)), "hashed", 100)


def hashed(texts: Sequence[str]) -> Vectors:
    """Bags of hashed words in which a vessel is a ship: what a model knows and words alone do not."""
    words = [re.findall(r"\w+", text.lower()) for text in texts]
    return by_words([" ".join(SYNONYMS.get(word, word) for word in each) for each in words])


class Model:
    """A model that notes what it is asked, and does what it is told to."""

    def __init__(self, name: str = "hashed") -> None:
        self.asked: list[str] = []
        self.fails: Callable[[Sequence[str]], Any] | None = None
        self.embedder = CallableEmbedder(self._embed, name, 384)

    def _embed(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        return hashed(texts) if self.fails is None else self.fails(texts)


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def opened(settings: Settings) -> Callable[..., Any]:
    """Opens a memory of the test's database, as another program would."""

    @asynccontextmanager
    async def open(embedder: Any = None) -> AsyncIterator[AsyncMemory]:
        async with AsyncMemory(settings=settings, embedder=embedder) as memory:
            yield memory

    return open


async def contents(user: AsyncUser, query: str, **others: Any) -> list[str]:
    return [hit.content for hit in await user.search(query, **others)]


async def furnish(user: AsyncUser) -> None:
    chat = user.chat("monday")
    for content in ("A ship lies in the harbour.", "The bakery opens at six.", "Grandmother knits socks."):
        await chat.add("user", content)


def warnings(caplog: pytest.LogCaptureFixture, message: str) -> list[str]:
    """The reasons of the warnings with this message."""
    return [str(record.__dict__.get("reason")) for record in caplog.records if record.message == message]


class TestTheFirst:
    async def test_the_local_model_is_the_one_of_a_new_database(
        self, opened: Callable[..., Any], database: Connection
    ) -> None:
        async with opened() as memory:
            user = memory.user("ana")
            await furnish(user)
            assert database.execute(MODELS).fetchall() == [], "not before it is needed"
            assert await memory.embedder_model() is None
            await user.search("ship")
            assert database.execute(MODELS).fetchall() == [("ltst-joined-1", 384, "joined", "active")]
            assert await memory.embedder_model() == "ltst-joined-1"

    async def test_a_given_one_is_that_of_a_new_database(
        self, opened: Callable[..., Any], database: Connection, model: Model
    ) -> None:
        async with opened(model.embedder) as memory:
            user = memory.user("ana")
            await furnish(user)
            assert (await contents(user, "vessel"))[0] == "A ship lies in the harbour."
            assert database.execute(MODELS).fetchall() == [("hashed", 384, None, "active")]

    async def test_settling_names_it_too(self, opened: Callable[..., Any], database: Connection, model: Model) -> None:
        async with opened(model.embedder) as memory:
            await furnish(memory.user("ana"))
            await memory.settle()
            assert value(database, LACKING) == 0
        assert database.execute(MODELS).fetchall() == [("hashed", 384, None, "active")]

    async def test_of_two_that_come_at_once_one_stays(self, opened: Callable[..., Any], database: Connection) -> None:
        models = [Model(f"model {number}") for number in range(4)]

        async def program(model: Model) -> None:
            async with opened(model.embedder) as memory:
                user = memory.user(model.embedder.name)
                await furnish(user)
                assert "A ship lies in the harbour." in await contents(user, "ship")

        await asyncio.gather(*map(program, models))
        ((name, *_),) = database.execute(MODELS).fetchall()
        embedded = database.execute("SELECT DISTINCT user_id FROM search_vectors")
        assert embedded.fetchall() == [(name,)]

    async def test_one_with_vectors_of_another_length_does_no_harm(
        self, opened: Callable[..., Any], database: Connection, model: Model
    ) -> None:
        """Either the database takes it, or it is refused and the next one is the first."""
        wide = CallableEmbedder(lambda texts: np.ones((len(texts), 512)), "wide", 512)
        async with opened(wide) as memory:
            await furnish(memory.user("ana"))
            try:
                assert "A ship lies in the harbour." in await contents(memory.user("ana"), "ship")
            except LtstError as problem:
                assert "512" in str(problem)
                async with opened(model.embedder) as other:
                    assert (await contents(other.user("ana"), "vessel"))[0] == "A ship lies in the harbour."
        assert len(database.execute(MODELS).fetchall()) == 1


class TestAnother:
    async def test_a_program_with_another_model_searches_by_words(
        self,
        opened: Callable[..., Any],
        database: Connection,
        model: Model,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        async with opened(model.embedder) as memory:
            await furnish(memory.user("ana"))
            await memory.user("ana").search("ship")
        stranger = Model("stranger")
        async with opened(stranger.embedder) as memory:
            user = memory.user("ana")
            await user.chat("tuesday").add("user", "Another ship left the harbour.")
            with caplog.at_level(logging.WARNING, logger="ltst"):
                hits = await user.search("ship")
            assert {hit.content for hit in hits} >= {"A ship lies in the harbour.", "Another ship left the harbour."}
            assert not any(arm.endswith("dense") for hit in hits for arm in hit.scores)
            assert await contents(user, "vessel") == [], "never compared"
        assert stranger.asked == []
        (reason, *_) = warnings(caplog, WITHOUT_VECTORS)
        assert "'hashed'" in reason
        assert value(database, LACKING) == 1, "no vectors of another model"
        assert value(database, WITHOUT_WORDS) == 0
        assert database.execute(MODELS).fetchall() == [("hashed", 384, None, "active")]

    @pytest.mark.parametrize("other", [None, OF_ANOTHER_LENGTH], ids=["none", "of the same name, of another length"])
    async def test_a_program_without_that_model_searches_by_words(
        self,
        opened: Callable[..., Any],
        database: Connection,
        model: Model,
        caplog: pytest.LogCaptureFixture,
        other: Any,
    ) -> None:
        async with opened(model.embedder) as memory:
            await furnish(memory.user("ana"))
            await memory.user("ana").search("ship")
        async with opened(other) as memory:
            await memory.user("ana").chat("tuesday").add("user", "Another ship left.")
            with caplog.at_level(logging.WARNING, logger="ltst"):
                assert "Another ship left." in await contents(memory.user("ana"), "ship")
        assert warnings(caplog, WITHOUT_VECTORS)
        assert value(database, LACKING) == 1

    async def test_what_it_wrote_gets_its_vectors_from_the_right_one(
        self, opened: Callable[..., Any], database: Connection, model: Model
    ) -> None:
        async with opened(model.embedder) as memory:
            await memory.user("ana").search("ship")
        async with opened(Model("stranger").embedder) as memory:
            await furnish(memory.user("ana"))
            assert "A ship lies in the harbour." in await contents(memory.user("ana"), "ship")
        async with opened(model.embedder) as memory:
            assert (await contents(memory.user("ana"), "vessel"))[0] == "A ship lies in the harbour."
        assert value(database, LACKING) == 0

    async def test_one_of_the_same_name_works(self, opened: Callable[..., Any], model: Model) -> None:
        async with opened(model.embedder) as memory:
            await furnish(memory.user("ana"))
            await memory.user("ana").search("ship")
        again = Model()
        async with opened(again.embedder) as memory:
            assert (await contents(memory.user("ana"), "vessel"))[0] == "A ship lies in the harbour."
        assert again.asked == ["vessel"], "what has its vector is not embedded again"

    async def test_the_local_one_given_by_hand_is_the_default(self, opened: Callable[..., Any]) -> None:
        for embedder in (None, LocalEmbedder(), None):
            async with opened(embedder) as memory:
                user = memory.user("ana")
                await user.chat("monday").add("user", "I moved to Lisbon in March.")
                hits = await user.search("where do I live?")
                assert {hit.content for hit in hits} == {"I moved to Lisbon in March."}, "no word of which was said"

    async def test_settling_needs_the_right_one(self, opened: Callable[..., Any], model: Model) -> None:
        async with opened(model.embedder) as memory:
            await memory.user("ana").search("ship")
        async with opened(Model("stranger").embedder) as memory:
            await furnish(memory.user("ana"))
            with pytest.raises(ModelUnavailable, match="'hashed'"):
                async with asyncio.timeout(120):
                    await memory.settle("ana")

    async def test_settling_ends_when_the_model_is_changed_meanwhile(
        self, opened: Callable[..., Any], database: Connection, model: Model
    ) -> None:
        def changed(texts: Sequence[str]) -> Vectors:
            database.execute("UPDATE embedding_models SET name = 'newer'")
            return hashed(texts)

        async with opened(model.embedder) as memory:
            await memory.user("ana").search("ship")
            await furnish(memory.user("ana"))
            model.fails = changed
            with pytest.raises(ModelUnavailable, match="'newer'"):
                async with asyncio.timeout(120):
                    await memory.settle("ana")
        assert (value(database, WITHOUT_WORDS), value(database, LACKING)) == (0, 3)


def raises(problem: Exception) -> Callable[[Sequence[str]], Any]:
    def fail(texts: Sequence[str]) -> Any:
        raise problem

    return fail


FAILURES: dict[str, Callable[[Sequence[str]], Any]] = {
    "unavailable": raises(ModelUnavailable("no network")),
    "another error": raises(ConnectionResetError("no network")),
    "too few": lambda texts: hashed(texts)[:-1],
    "too short": lambda texts: hashed(texts)[:, :100],
    "no numbers": lambda texts: ["vector"] * len(texts),
    "nothing": lambda texts: None,
    "zeros": lambda texts: np.zeros((len(texts), 384)),
    "not numbers": lambda texts: np.full((len(texts), 384), math.nan),
    "infinite": lambda texts: np.full((len(texts), 384), math.inf),
}


class TestUnavailable:
    @pytest.mark.parametrize("how", FAILURES)
    async def test_words_are_found_all_the_same_and_vectors_come_later(
        self,
        opened: Callable[..., Any],
        database: Connection,
        model: Model,
        caplog: pytest.LogCaptureFixture,
        how: str,
    ) -> None:
        async with opened(model.embedder) as memory:
            user = memory.user("ana")
            await furnish(user)
            model.fails = FAILURES[how]
            with caplog.at_level(logging.WARNING, logger="ltst"):
                assert "A ship lies in the harbour." in await contents(user, "ship")
            assert warnings(caplog, WITHOUT_VECTORS)
            assert (value(database, LACKING), value(database, WITHOUT_WORDS)) == (3, 0)
            await memory._core.finish()
            assert value(database, "SELECT count(*) FROM memory_retrieval_cache") == 0, "half an answer is not kept"
            model.fails = None
            assert (await contents(user, "vessel"))[0] == "A ship lies in the harbour."
            assert "A ship lies in the harbour." in await contents(user, "ship")
            assert value(database, LACKING) == 0

    async def test_an_embedder_of_ones_own_may_fail_in_its_own_way(
        self, opened: Callable[..., Any], caplog: pytest.LogCaptureFixture
    ) -> None:
        """It is not a function that ltst wraps: its errors are those of whatever it is made of."""

        class Own(Bare):
            def embed(self, texts: Sequence[str]) -> Any:
                raise ConnectionRefusedError("no network")

        async with opened(Own()) as memory:
            await furnish(memory.user("ana"))
            with caplog.at_level(logging.WARNING, logger="ltst"):
                assert "A ship lies in the harbour." in await contents(memory.user("ana"), "ship")
        assert warnings(caplog, WITHOUT_VECTORS)

    async def test_it_may_be_away_from_the_beginning_to_the_end(
        self, opened: Callable[..., Any], database: Connection, model: Model
    ) -> None:
        model.fails = raises(ModelUnavailable("no network"))
        async with opened(model.embedder) as memory:
            user = memory.user("ana")
            await furnish(user)
            await user.facts.set("transport", "ship")
            await user.entries.add("The ship was late.")
            await user.documents.add("How to build a ship")
            hits = await user.search("ship")
            assert {hit.kind for hit in hits} == {"message", "fact", "entry", "document"}
            assert all(0 <= hit.score <= 1 for hit in hits)
            assert (await user.chat("monday").context("ship")).messages[-1]["content"] == "ship"

    async def test_settling_tells_that_it_is_away(self, opened: Callable[..., Any], model: Model) -> None:
        model.fails = raises(ModelUnavailable("no network"))
        async with opened(model.embedder) as memory:
            await furnish(memory.user("ana"))
            with pytest.raises(ModelUnavailable, match="no network"):
                async with asyncio.timeout(120):
                    await memory.settle()

    async def test_what_has_a_vector_keeps_it_when_the_question_gets_none(
        self, opened: Callable[..., Any], model: Model
    ) -> None:
        async with opened(model.embedder) as memory:
            user = memory.user("ana")
            await furnish(user)
            await user.search("bakery")
            model.fails = raises(ModelUnavailable("no network"))
            assert "A ship lies in the harbour." in await contents(user, "ship")
            assert await contents(user, "vessel") == []
            model.fails = None
            assert (await contents(user, "vessel"))[0] == "A ship lies in the harbour."


def refusing(texts: Sequence[str]) -> Vectors:
    if any("UNSPEAKABLE" in text for text in texts):
        raise TextRefused("this text is not allowed")
    return hashed(texts)


def zeros_for_some(texts: Sequence[str]) -> Vectors:
    return np.array([vector * ("UNSPEAKABLE" not in text) for vector, text in zip(hashed(texts), texts, strict=True)])


def no_numbers_for_some(texts: Sequence[str]) -> Vectors:
    vectors = hashed(texts)
    vectors[["UNSPEAKABLE" in text for text in texts], 7] = math.nan
    return vectors


@pytest.mark.parametrize("refuse", [refusing, zeros_for_some, no_numbers_for_some])
class TestRefused:
    async def test_one_text_leaves_the_others_their_vectors(
        self,
        opened: Callable[..., Any],
        database: Connection,
        model: Model,
        caplog: pytest.LogCaptureFixture,
        refuse: Callable[[Sequence[str]], Vectors],
    ) -> None:
        model.fails = refuse
        async with opened(model.embedder) as memory:
            user = memory.user("ana")
            await furnish(user)
            await user.chat("monday").add("user", "An UNSPEAKABLE ship.")
            await user.chat("monday").add("user", "The last word.")
            with caplog.at_level(logging.WARNING, logger="ltst"):
                assert (await contents(user, "vessel"))[0] == "A ship lies in the harbour."
            assert len(warnings(caplog, "a text has no vector")) == 1
            assert (await contents(user, "speakable unspeakable"))[0] == "An UNSPEAKABLE ship."
            assert (value(database, LACKING), value(database, WITHOUT_WORDS)) == (1, 0)

    async def test_a_question_that_is_refused_is_asked_in_words(
        self, opened: Callable[..., Any], model: Model, refuse: Callable[[Sequence[str]], Vectors]
    ) -> None:
        model.fails = refuse
        async with opened(model.embedder) as memory:
            await furnish(memory.user("ana"))
            assert "A ship lies in the harbour." in await contents(memory.user("ana"), "UNSPEAKABLE ship")

    async def test_settling_comes_to_an_end(
        self, opened: Callable[..., Any], database: Connection, model: Model, refuse: Callable[[Sequence[str]], Vectors]
    ) -> None:
        model.fails = refuse
        async with opened(model.embedder) as memory:
            await memory.user("ana").chat("monday").add("user", "An UNSPEAKABLE ship.")
            await furnish(memory.user("eve"))
            for user_id in ("ana", None):
                async with asyncio.timeout(120):
                    await memory.settle(user_id)
        assert value(database, LACKING) == 1

    async def test_many_of_them_do_not_stand_before_the_others(
        self, opened: Callable[..., Any], database: Connection, model: Model, refuse: Callable[[Sequence[str]], Vectors]
    ) -> None:
        model.fails = refuse
        async with opened(model.embedder) as memory:
            user = memory.user("ana")
            await furnish(user)
            many = [{"role": "user", "content": f"UNSPEAKABLE {number}"} for number in range(70)]
            await user.chat("tuesday").add_many(many)
            assert (await contents(user, "ship"))[0] == "A ship lies in the harbour."
            for _ in range(16):  # each search embeds a handful
                await user.search("bakery")
            assert (await contents(user, "vessel"))[0] == "A ship lies in the harbour."
        assert (value(database, LACKING), value(database, WITHOUT_WORDS)) == (70, 0)


class TestStored:
    """Messages that come with a vector, from programs that know ConversationStorage."""

    def test_it_is_found_by_the_vector_it_came_with(self, database_url: str) -> None:
        vector = LocalEmbedder().embed(["I moved to Lisbon in March."])[0].tolist()
        with ConversationStorage(database_url) as storage:
            storage.create_session(ConversationSession("monday", "ana"))
            for content, embedding in (("Qwrtz.", vector), ("Grandmother knits socks.", None), ("Psdfg.", None)):
                storage.store_message(ConversationMessage("monday", "user", content, embedding=embedding))
            for asked, content in (("where do I live?", "Qwrtz."), ("grandmother", "Grandmother knits socks.")):
                found = storage.search_messages(asked, "monday", threshold=0.0)
                assert found[0][0].content == content

    @pytest.mark.parametrize("length", [1e-3, 1.0, 50.0])
    async def test_its_length_makes_no_difference(
        self, opened: Callable[..., Any], model: Model, length: float
    ) -> None:
        (direction,) = hashed(["ship"])
        vector = (direction / np.linalg.norm(direction) * length).tolist()
        async with opened(model.embedder) as memory:
            user = memory.user("ana")
            await furnish(user)
            message = ConversationMessage("tuesday", "user", "Qwrtz.", embedding=vector)
            await user.chat("tuesday").store(message)
            hits = await user.search("vessel", floor=0.0)
            assert hits[0].content == "Qwrtz."
            assert hits[0].score == pytest.approx(1 / 1.6, abs=0.01), "of the words none, of the meaning all"
            assert (await contents(user, "bakery"))[0] == "The bakery opens at six."

    async def test_without_a_vector_it_gets_one(
        self, opened: Callable[..., Any], database: Connection, model: Model
    ) -> None:
        async with opened(model.embedder) as memory:
            user = memory.user("ana")
            await user.chat("monday").store(ConversationMessage("monday", "user", "A ship.", embedding=[]))
            assert await contents(user, "vessel") == ["A ship."]
        assert value(database, LACKING) == 0


async def test_a_text_that_is_said_twice_is_embedded_once(opened: Callable[..., Any], model: Model) -> None:
    async with opened(model.embedder) as memory:
        user = memory.user("ana")
        await user.chat("monday").add_many([{"role": "user", "content": "A ship lies in the harbour."}] * 20)
        assert len(await user.search("ship", limit=50)) == 20
    assert len([text for text in model.asked if "harbour" in text]) == 2, "once with its label, once without"


async def test_a_fork_is_not_embedded_again(opened: Callable[..., Any], database: Connection, model: Model) -> None:
    async with opened(model.embedder) as memory:
        user = memory.user("ana")
        await user.chat("monday").add("user", "A ship lies in the harbour.")
        await memory.settle()
        model.asked.clear()
        await user.chat("monday").fork()
        await memory.settle()
        assert model.asked == []
        (first, copy) = [row for (row,) in database.execute("SELECT embedding::real[] FROM search_vectors").fetchall()]
        assert first == pytest.approx(copy, abs=1e-3)


async def test_the_model_reads_who_said_it_and_when(opened: Callable[..., Any], model: Model) -> None:
    async with opened(model.embedder) as memory:
        chat = memory.user("ana").chat("monday", name="Sea trip")
        said = await chat.add("user", "A ship.", metadata={"speaker": "Caroline"})
        await memory.settle("ana")
    assert said.timestamp is not None
    assert model.asked == [f"[{said.timestamp:%d %B %Y}, Sea trip] Caroline: A ship.", "A ship."]


async def test_a_closed_memory_asks_no_more(opened: Callable[..., Any], model: Model) -> None:
    async with opened(model.embedder) as memory:
        await furnish(memory.user("ana"))
    assert model.asked == []
