"""A search with a vector that the caller has made."""

from __future__ import annotations

import pytest

from ltst import AsyncMemory, ConversationMessage, ConversationSession, ConversationStorage, Invalid, Memory

SAID = ("The ferry to the island leaves at noon.", "My sister plays the cello.", "Leek soup needs potatoes.")


async def test_a_vector_is_compared_instead_of_a_question(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    await user.chat("monday").add_many([{"role": "user", "content": said} for said in SAID])
    (vector,) = await memory.embed(["What instrument does she play?"])
    assert (await user.search(vector=vector, limit=1))[0].content == SAID[1]
    assert [hit.content for hit in await user.search(vector=vector, limit=1, offset=1, floor=0.0)] != [SAID[1]]
    assert (await user.search("potatoes", vector=vector, floor=0.0, limit=3))[0].content in SAID[1:]
    assert await memory.user("ben").search(vector=vector) == []


async def test_a_vector_is_of_the_memorys_own_model(memory: AsyncMemory) -> None:
    user = memory.user("ana")
    await user.chat("monday").add("user", SAID[0])
    with pytest.raises(Invalid, match=r"vector must have \d+ numbers, as those of .* have, not 3"):
        await user.search(vector=[0.1, 0.2, 0.3])
    with pytest.raises(Invalid, match="vector must not be all zeros"):
        await user.search(vector=[0.0] * 384)
    with pytest.raises(Invalid, match="vector must be a list"):
        await user.search(vector="0.1")  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="offset must be a whole number from 0 to 1000"):
        await user.search("ferry", offset=1001)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_vectors_of_any_length_are_compared_by_their_directions(url: str, size: float) -> None:
    """The index keeps numbers of two bytes, which hold neither of these."""
    with Memory(url) as memory, ConversationStorage(url) as storage:
        name = f"sized-{size}"
        storage.create_session(ConversationSession(name, name))
        for content, vector in zip(SAID, memory.embed([*SAID]), strict=True):
            sized = [size * number for number in vector]
            storage.store_message(ConversationMessage(name, "user", content, embedding=sized))
        memory.settle(name)
        (vector,) = memory.embed(["What instrument does she play?"])
        (best, *_) = memory.user(name).search(vector=[size * number for number in vector], limit=1)
        assert best.content == SAID[1]
        assert 0.1 < best.scores["dense"] <= 1
