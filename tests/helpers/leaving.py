"""A program that ends in one of many ways while its memory is open; a test looks at what it says on the way out.

Run as a script: the first argument names the way, the second is a database URL, or nothing for the embedded Postgres.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable

from ltst import AsyncMemory, Memory, Settings

MESSAGES = 30
WAYS: dict[str, Callable[[Settings], object]] = {}
KEPT: list[object] = []  # what lives until the end of the process


def way(function: Callable[[Settings], object]) -> Callable[[Settings], object]:
    WAYS[function.__name__] = function
    return function


def use(memory: Memory) -> None:
    """Write, so that work is due in the background, and search, so that a model is at work."""
    for number in range(MESSAGES):
        memory.user("ana").chat("one").add("user", f"My name is Ana {number} and I live in Porto.")
    memory.user("ana").search("Where do I live?")


async def use_async(memory: AsyncMemory) -> None:
    for number in range(MESSAGES):
        await memory.user("ana").chat("one").add("user", f"My name is Ana {number} and I live in Porto.")
    await memory.user("ana").search("Where do I live?")


async def opened_async(settings: Settings) -> AsyncMemory:
    memory = AsyncMemory(settings=settings)
    KEPT.append(memory)
    await memory.open()
    await use_async(memory)
    return memory


def opened(settings: Settings) -> Memory:
    memory = Memory(settings=settings)
    KEPT.append(memory)
    memory.open()
    use(memory)
    return memory


def in_a_thread(way: Callable[[Settings], None], settings: Settings) -> None:
    thread = threading.Thread(target=way, args=(settings,))
    thread.start()
    thread.join()


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


@way
def close_at_exit(settings: Settings) -> None:
    atexit.register(opened(settings).close)


@way
def close_at_exit_from_a_thread(settings: Settings) -> None:
    in_a_thread(close_at_exit, settings)


@way
def leave(settings: Settings) -> None:
    opened(settings)


@way
def leave_from_a_thread(settings: Settings) -> None:
    in_a_thread(leave, settings)


@way
def leave_while_a_thread_goes_on(settings: Settings) -> None:
    going = threading.Event()

    def work() -> None:
        memory = opened(settings)
        going.set()
        while True:
            use(memory)

    threading.Thread(target=work, daemon=True).start()
    going.wait()


@way
def exit_inside_with(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        use(memory)
        sys.exit(0)


@way
def interrupted_inside_with(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        use(memory)
        threading.Timer(0.1, interrupt).start()
        while True:
            use(memory)


@way
def interrupted_while_open(settings: Settings) -> None:
    memory = opened(settings)
    threading.Timer(0.1, interrupt).start()
    while True:
        use(memory)


@way
def async_close_at_exit(settings: Settings) -> None:
    memory = asyncio.run(opened_async(settings))
    atexit.register(lambda: asyncio.run(memory.close()))


@way
def async_close_at_exit_on_its_loop(settings: Settings) -> None:
    loop = asyncio.new_event_loop()
    memory = loop.run_until_complete(opened_async(settings))
    atexit.register(lambda: loop.run_until_complete(memory.close()))


@way
def async_leave(settings: Settings) -> None:
    asyncio.run(opened_async(settings))


@way
def async_leave_a_loop_open(settings: Settings) -> None:
    loop = asyncio.new_event_loop()
    KEPT.append(loop)
    loop.run_until_complete(opened_async(settings))


@way
def async_exit_inside_with(settings: Settings) -> None:
    async def main() -> None:
        async with AsyncMemory(settings=settings) as memory:
            await use_async(memory)
            sys.exit(0)

    asyncio.run(main())


@way
def async_interrupted_inside_with(settings: Settings) -> None:
    async def main() -> None:
        async with AsyncMemory(settings=settings) as memory:
            await use_async(memory)
            threading.Timer(0.1, interrupt).start()
            while True:
                await use_async(memory)

    asyncio.run(main())


@way
def async_leave_a_running_thread(settings: Settings) -> None:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    asyncio.run_coroutine_threadsafe(opened_async(settings), loop).result()


if __name__ == "__main__":
    # Where the tests run in the background, the shell told them to ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        WAYS[sys.argv[1]](Settings.from_environment(database_url=sys.argv[2] or None, worker=True, idle_after=0.1))
    except KeyboardInterrupt:
        print("interrupted")
