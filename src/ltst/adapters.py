"""What the modules for other frameworks share: verbs of either memory, and messages that hold more than words."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from inspect import iscoroutinefunction
from typing import Any, TypeVar

from ltst.errors import Invalid
from ltst.memory import AsyncMemory, AsyncUser
from ltst.records import ConversationMessage
from ltst.support.extras import how_to_install
from ltst.support.text import sha256
from ltst.sync import Memory, User

R = TypeVar("R")
# As many messages as a window may have.
MOST = 100_000
SILENT = "(no text)"
# Who says a message to a model that knows no tool without its call.
SPOKEN = {"human": "user", "ai": "assistant", "system": "system", "tool": "assistant"}


@contextmanager
def needed(package: str, extra: str) -> Iterator[None]:
    """Say how to install the framework of an adapter, if what the block imports is missing."""
    try:
        yield
    except ImportError as problem:
        told = f"this adapter works with {package}, which is missing: {how_to_install(extra)} ({problem})"
        raise ImportError(told, name=problem.name) from problem


def check_memory(memory: object) -> None:
    """Refuse what is not a memory."""
    if not isinstance(memory, AsyncMemory | Memory):
        raise Invalid(f"memory must be a Memory or an AsyncMemory, not {type(memory).__name__}")


def check_user(user: object) -> None:
    """Refuse what is not the user of a memory."""
    if not isinstance(user, AsyncUser | User):
        raise Invalid(f"user must be memory.user(...), not {type(user).__name__}")


async def awaited(verb: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Returns what a verb returns: one of `AsyncMemory` is awaited, one of `Memory` runs in a thread."""
    if iscoroutinefunction(verb):
        return await verb(*arguments, **named)
    return await asyncio.to_thread(verb, *arguments, **named)


def at_once(verb: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Returns what a verb of `Memory` returns; one of `AsyncMemory` can only be awaited."""
    if iscoroutinefunction(verb):
        raise Invalid(
            "what is made from an AsyncMemory is awaited: use the methods that are (ainvoke, aget_messages, abatch), "
            "or make it from Memory"
        )
    return verb(*arguments, **named)


async def called(verb: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Returns what a verb of `Memory` returns, without ever waiting: `awaited`, for work that `finished` runs."""
    return at_once(verb, *arguments, **named)


def finished(work: Coroutine[Any, Any, R]) -> R:
    """Returns what work comes to that has `called` every verb, so that one text serves callers that do not await."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("work without await has waited")


def enclosed(under: str, role: str, words: str, whole: object) -> dict[str, Any]:
    """Returns the arguments of `add` for a message of another framework: its words, and beside them all of it.

    The whole is kept as JSON text, so that it comes back as it was, whatever it holds.
    """
    content = storable(words)
    return {"role": role, "content": content, "metadata": {under: {"words": sha256(content), "whole": as_json(whole)}}}


def whole(message: ConversationMessage, under: str) -> Any:
    """Returns what was enclosed with a message; None if nothing was, or if the message has other words by now."""
    kept = message.metadata.get(under)
    if not isinstance(kept, dict) or kept.get("words") != sha256(message.content):
        return None
    return json.loads(kept["whole"])


def storable(words: str) -> str:
    """Returns words that a message may have: none that Postgres cannot keep, and never none at all."""
    kept = words.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return kept if kept.strip() else SILENT


def as_json(value: object) -> str:
    """Returns JSON without NUL and lone surrogates: it has them escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
