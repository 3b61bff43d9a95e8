"""The memories that are searched: filled by the public interface, as large as the plan wants them."""

from __future__ import annotations

import asyncio
from contextlib import closing

from bench import bare, corpus
from bench.shelf import SESSION, Shelf
from bench.stage import Stage
from ltst import AsyncMemory

AGENT = "coach"
FACTS, PREFERENCES = 20, 10
LOOK_SECONDS = 2.0


async def fill(stage: Stage, memory: AsyncMemory, shelf: Shelf) -> None:
    """Write and index turn by turn, so that the rows of several users lie mixed on the disk as they do in life."""
    for user_id in shelf.user_ids:
        await _know(memory, user_id)
    for start in range(0, shelf.messages, shelf.turn):
        stage.say(f"filling {shelf.total:,}")
        for user, user_id in enumerate(shelf.user_ids):
            chat = memory.user(user_id).chat(f"session-{start // SESSION}")
            numbers = shelf.numbers(user)[start : start + shelf.turn]
            await chat.add_many({"role": "user", "content": corpus.text(number)} for number in numbers)
            await _settle(stage, memory, user_id)
        stage.tick()
    stage.say("vacuum")
    with closing(bare.connect(stage.dsn)) as connection:
        connection.execute("VACUUM (ANALYZE)")  # it would come by itself, in the middle of a measurement


async def _know(memory: AsyncMemory, user_id: str) -> None:
    """What a context holds beside the messages."""
    user = memory.user(user_id)
    await user.instructions.set(AGENT, "Answer briefly and ask back when something is unclear.")
    for number in range(FACTS):
        await user.facts.set(f"fact {number}", corpus.text(-number - 1))
    for number in range(PREFERENCES):
        await user.preferences.set(f"preference_{number}", "as brief as possible")


async def _settle(stage: Stage, memory: AsyncMemory, user_id: str) -> None:
    """Index what is due; when that is the turn of the HNSW index, it takes minutes, so tell how far it is."""
    work = asyncio.create_task(memory.settle(user_id))
    while not (await asyncio.wait([work], timeout=LOOK_SECONDS))[0]:
        async with await bare.connect_async(stage.dsn) as connection:
            marked = await (await connection.execute(bare.MARKED, (user_id,))).fetchone()
        if marked and marked[0]:
            stage.say(f"HNSW {marked[0]:,}")
    await work
