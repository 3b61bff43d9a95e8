"""The memories that are searched: filled by the public interface, as large as the plan wants them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from bench import bare, corpus
from bench.shelf import SESSION, Shelf
from bench.stage import Stage
from ltst import AsyncMemory

AGENT = "coach"
FACTS, PREFERENCES = 20, 10
MANY = 1_000  # are worth a word on how many are left


async def fill(stage: Stage, memory: AsyncMemory, shelf: Shelf, between: Callable[[], None] = lambda: None) -> None:
    """Write and index session by session; whoever else writes does so `between` two of them."""
    user = memory.user(shelf.user_id)
    await _know(memory, shelf.user_id)

    def tell(done: int, known: int) -> None:
        if known > MANY:
            stage.say(f"index {known - done:,}")

    for place in range(0, shelf.messages, SESSION):
        stage.say(f"filling {shelf}")
        numbers = shelf.numbers[place : place + SESSION]
        chat = user.chat(f"session-{place // SESSION}")
        await chat.add_many({"role": "user", "content": corpus.text(number)} for number in numbers)
        await memory.settle(shelf.user_id, progress=tell)
        between()
        stage.tick()


def vacuum(stage: Stage) -> None:
    """It would come by itself, in the middle of a measurement."""
    stage.say("vacuum")
    with closing(bare.connect(stage.dsn)) as connection:
        connection.execute("VACUUM (ANALYZE)")
        connection.execute("CHECKPOINT")


async def _know(memory: AsyncMemory, user_id: str) -> None:
    """What a context holds beside the messages."""
    user = memory.user(user_id)
    await user.instructions.set(AGENT, "Answer briefly and ask back when something is unclear.")
    for number in range(FACTS):
        await user.facts.set(f"fact {number}", corpus.text(-number - 1))
    for number in range(PREFERENCES):
        await user.preferences.set(f"preference_{number}", "as brief as possible")
