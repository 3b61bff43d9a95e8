"""The client of the crash test: writes from many tasks until told to stop, and reports what was acknowledged.

Each acknowledgement goes out in one write to a pipe, after `add` has returned: it survives this process.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import sys
from pathlib import Path

from ltst import AsyncMemory, ConversationMessage, DatabaseUnavailable, Settings
from ltst.memory import AsyncChat

SESSIONS = 4
WRITERS_PER_SESSION = 3
KEYED_SHARE = 0.4
PIECES = (
    "plain words",
    "naïve café",
    "日本語の文",
    "😀 emoji",
    "مرحبا",
    "'; DROP TABLE x; --",
    "back\\slash",
    "a\nb\tc",
)


async def main() -> None:
    """Write until standard input closes."""
    options = _options()
    over = asyncio.Event()
    async with AsyncMemory(settings=Settings(home=options.home)) as memory, asyncio.TaskGroup() as group:
        group.create_task(_await_end(over))
        user = memory.user(options.user)
        for number in range(SESSIONS * WRITERS_PER_SESSION):
            chat = user.chat(f"session-{number % SESSIONS}")
            group.create_task(_write(chat, number, random.Random(f"{options.seed} {number}"), over))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("user")
    parser.add_argument("seed", type=int)
    return parser.parse_args()


async def _await_end(over: asyncio.Event) -> None:
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()
    over.set()


async def _write(chat: AsyncChat, writer: int, chance: random.Random, over: asyncio.Event) -> None:
    number = 0
    while not over.is_set():
        number += 1
        content = _content(writer, number, chance)
        key = f"{writer}-{number}" if chance.random() < KEYED_SHARE else None
        await _add(chat, content, key, over)


async def _add(chat: AsyncChat, content: str, key: str | None, over: asyncio.Event) -> None:
    """Add once; with a key as often as it takes, since then a repetition is safe."""
    while True:
        try:
            message = await chat.add("user", content, key=key)
        except DatabaseUnavailable as problem:
            _tell({"failed": str(problem)})
            if key is None or over.is_set():
                return
            await asyncio.sleep(0.05)
        else:
            _acknowledge(message, content)
            return


def _content(writer: int, number: int, chance: random.Random) -> str:
    pieces = chance.choices(PIECES, k=chance.randint(1, 30))
    return f"{writer}/{number} {' '.join(pieces)}"


def _acknowledge(message: ConversationMessage, sent: str) -> None:
    # The hash is of what was sent, not of what came back, so that it proves the words themselves.
    digest = hashlib.sha256(sent.encode()).hexdigest()
    _tell(
        {
            "message_id": message.message_id,
            "session_id": message.session_id,
            "message_index": message.message_index,
            "sha256": digest,
        }
    )


def _tell(what: dict[str, object]) -> None:
    os.write(sys.stdout.fileno(), json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    asyncio.run(main())
