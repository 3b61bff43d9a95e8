"""Worker processes for tests: forked from a clean process that has all they need, so that a kill costs little."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import ltst.learn.listen
import ltst.retelling.episodes
from helpers.embedders import hashed, opened
from ltst import Settings

POISON = "POISON"


def forked(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """A process of its own that has begun."""
    forks = multiprocessing.get_context("forkserver")
    forks.set_forkserver_preload(["helpers.workers"])
    process = forks.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def settle_or_die(settings: Settings) -> None:
    """Do what is due with a model that a poisonous text takes the whole process down with."""

    def deadly(texts: Sequence[str]) -> Any:
        if any(POISON in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return hashed(texts)

    async def settle() -> None:
        async with opened(settings, deadly) as memory:
            await memory.settle()

    asyncio.run(settle())


def settle_and_note(settings: Settings, journal: Path) -> None:
    """Do what is due, and note in a file each text that was embedded, each session that was read or told."""
    with journal.open("a", buffering=1) as lines:
        noted = Noted(lambda what: lines.write(" ".join(what.split()) + "\n"))

        async def settle() -> None:
            async with opened(settings, noted.embed) as memory:
                await memory.settle()

        ltst.learn.listen.listen = noted.around("learn", ltst.learn.listen.listen)
        ltst.retelling.episodes.tell = noted.around("tell", ltst.retelling.episodes.tell)
        asyncio.run(settle())


class Noted:
    """What workers did, each thing as often as it was done."""

    def __init__(self, note: Callable[[str], object] | None = None) -> None:
        self.times: Counter[str] = Counter()
        self._note = note or (lambda what: self.times.update([what]))

    def embed(self, texts: Sequence[str]) -> Any:
        for text in texts:
            self._note(f"embed {text}")
        return hashed(texts)

    def around(self, name: str, action: Any) -> Any:
        async def noted(database: Any, lease: Any, *more: Any, **named: Any) -> Any:
            done = await action(database, lease, *more, **named)
            self._note(f"{name} {lease.user_id} {lease.subject}")
            return done

        return noted
