"""Chatters: clients that chat over HTTP, whole or streamed, and note which turns were acknowledged."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.server_kills_check import Acknowledged
from bench.wire import Broken, Wire, written

KEYED_SHARE, STREAMED_SHARE = 0.6, 0.5
TURNS_A_CHAT = 12
PAUSE = 0.05  # seconds before a turn is tried again
PATIENCE = 60.0  # seconds for one answer
OK, UNAVAILABLE = 200, 503
PIECES = ("the bus was late", "naïve café", "日本語の文", "😀 again", "it rained", "a\nb\tc", "'; DROP TABLE x; --")


@dataclass(slots=True)
class Notes:
    """What the chatters were told."""

    acknowledged: list[Acknowledged] = field(default_factory=list)
    broken: int = 0
    unexpected: list[str] = field(default_factory=list)


async def chat(port: int, who: int, seed: int, notes: Notes, over: asyncio.Event) -> None:
    """Say one thing after the other until it is over."""
    chance, wire, number = random.Random(f"{seed} {who}"), Wire(port), 0
    while not over.is_set():
        said = f"{who}/{number} {' '.join(chance.choices(PIECES, k=chance.randint(1, 6)))}"
        about = {"user_id": f"chatter-{who}", "chat_id": f"chat-{number // TURNS_A_CHAT}", "said": said}
        await _say(wire, about, f"{who}-{number}" if chance.random() < KEYED_SHARE else None, chance, notes, over)
        number += 1
        if number % TURNS_A_CHAT == 0:
            await wire.close()  # the next chat may find another process
    await wire.close()


async def _say(
    wire: Wire, about: dict[str, str], key: str | None, chance: random.Random, notes: Notes, over: asyncio.Event
) -> None:
    """Once; with a key as often as it takes, since then a repetition is safe."""
    stream = chance.random() < STREAMED_SHARE
    body = {"message": about["said"], "chat_id": about["chat_id"], "agent_name": "recall", "stream": stream}
    headers = {"X-User-Id": about["user_id"], **({"Idempotency-Key": key} if key else {})}
    request = written("POST", "/api/chat", body, headers)
    while True:
        try:
            async with asyncio.timeout(PATIENCE):
                told = await (_streamed if stream else _whole)(wire, request)
            ids = {name: told[name] for name in ("message_id", "reply_id", "reply")}
            notes.acknowledged.append(Acknowledged(**about, **ids))
            return
        except Broken:
            notes.broken += 1
        except TimeoutError:
            notes.unexpected.append(f"no answer within {PATIENCE:g} seconds: {about}")
        except Unexpected as problem:
            notes.unexpected.append(f"{problem}: {about}")
        if key is None or over.is_set():
            return
        await asyncio.sleep(PAUSE)


class Unexpected(Exception):
    """An answer that should not have come."""


async def _whole(wire: Wire, request: bytes) -> Any:
    answer = await wire.ask(request)
    return _accepted(answer.status, answer.json())


async def _streamed(wire: Wire, request: bytes) -> Any:
    names: list[str] = []
    async for each in wire.events(request):
        names.append(each.name)
        if each.name == "refused":
            return _accepted(each.data["status"], each.data)
        if each.name == "error":
            return _accepted(each.data["status"], each.data)
        if each.name == "done":
            _check_order(names)
            done = each.data
    if names[-1:] != ["done"]:
        raise Broken("the stream ended before it was done")
    return done


def _accepted(status: int, told: Any) -> Any:
    """A server that shuts down says so, or says that it could not answer; that is as good as a broken connection."""
    if status == UNAVAILABLE or (status > UNAVAILABLE - 2 and "shut down" in str(told)):
        raise Broken(str(told))
    if status != OK:
        raise Unexpected(f"{status} {told}")
    return told


def _check_order(names: Sequence[str]) -> None:
    if names[0] != "start" or set(names[1:-1]) != {"delta"}:
        raise Unexpected(f"events came as {names}")
