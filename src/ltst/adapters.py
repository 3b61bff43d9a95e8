"""Shared by the adapters for other frameworks: calls that work with both kinds of memory, and enclosed messages."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from inspect import iscoroutinefunction
from typing import Any, Concatenate, ParamSpec, TypeVar

from ltst.errors import Invalid, NotFound
from ltst.memory import AsyncMemory, AsyncUser
from ltst.records import ConversationMessage
from ltst.support.extras import how_to_install
from ltst.support.text import sha256
from ltst.sync import Memory, User

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
# Calls a method of a memory and returns its result: `awaited` or `called`.
Ask = Callable[..., Awaitable[Any]]
# The maximum number of messages in a window.
MOST = 100_000
SILENT = "(no text)"
# Roles for models that accept no tool message without its call.
SPOKEN = {"human": "user", "ai": "assistant", "system": "system", "tool": "assistant"}


@contextmanager
def needed(package: str, extra: str) -> Iterator[None]:
    """Adds a hint on how to install an adapter's framework if the imports of the block fail."""
    try:
        yield
    except ImportError as problem:
        told = f"this adapter works with {package}, which is missing: {how_to_install(extra)} ({problem})"
        raise ImportError(told, name=problem.name) from problem


def check_memory(memory: object) -> None:
    """Raises Invalid if this is not a memory."""
    if not isinstance(memory, AsyncMemory | Memory):
        raise Invalid(f"memory must be a Memory or an AsyncMemory, not {type(memory).__name__}")


def check_user(user: object) -> None:
    """Raises Invalid if this is not the user of a memory."""
    if not isinstance(user, AsyncUser | User):
        raise Invalid(f"user must be memory.user(...), not {type(user).__name__}")


async def awaited(verb: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Calls a method and returns its result: awaits one of `AsyncMemory`, runs one of `Memory` in a thread."""
    if iscoroutinefunction(verb):
        return await verb(*arguments, **named)
    return await asyncio.to_thread(verb, *arguments, **named)


def at_once(verb: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Calls a method of `Memory` and returns its result; raises Invalid for one of `AsyncMemory`."""
    if iscoroutinefunction(verb):
        raise Invalid(
            "what is made from an AsyncMemory is awaited: use the methods that are (ainvoke, aget_messages, abatch), "
            "or make it from Memory"
        )
    return verb(*arguments, **named)


async def called(verb: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Does the same as `at_once` in the form of `awaited`, for coroutines that `finished` runs."""
    return at_once(verb, *arguments, **named)


def finished(work: Coroutine[Any, Any, R]) -> R:
    """Runs a coroutine that never waits and returns its result, so that sync and async callers share their code."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("work without await has waited")


def both(
    work: Callable[Concatenate[S, Ask, P], Coroutine[Any, Any, R]],
) -> tuple[Callable[Concatenate[S, P], R], Callable[Concatenate[S, P], Coroutine[Any, Any, R]]]:
    """Returns the sync and the async method that a coroutine method makes, whose first argument asks the memory."""

    def sync(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        return finished(work(self, called, *arguments, **named))

    async def awaiting(self: S, /, *arguments: P.args, **named: P.kwargs) -> R:
        return await work(self, awaited, *arguments, **named)

    signature = inspect.signature(work)
    own, _ask, *others = signature.parameters.values()
    for method in (sync, awaiting):
        vars(update_wrapper(method, work))["__signature__"] = signature.replace(parameters=[own, *others])
    return sync, awaiting


async def recalled(ask: Ask, chat: Any, question: str, max_tokens: int, *, shown: int) -> str | None:
    """Returns what is remembered about a question, for a model that sees the newest `shown` messages anyway."""
    if not question.strip():
        return None
    found = await ask(chat.context, about=question, max_tokens=max_tokens, window=shown)
    return found.system  # type: ignore[no-any-return]


async def remove(user: AsyncUser | User, messages: Iterable[ConversationMessage]) -> None:
    """Removes messages, ignoring those that someone else removed."""
    for message in messages:
        try:
            await awaited(user.chat(message.session_id).remove, message.message_id)
        except NotFound:
            continue


def enclosed(under: str, role: str, words: str, whole: object) -> dict[str, Any]:
    """Returns the arguments of `add` for a message of another framework: its text, and the whole message as metadata.

    The whole message is stored as JSON text, so that it comes back unchanged, whatever it contains.
    """
    content = storable(words)
    return {"role": role, "content": content, "metadata": {under: {"words": sha256(content), "whole": as_json(whole)}}}


def whole(message: ConversationMessage, under: str) -> Any:
    """Returns what was enclosed with a message; None if nothing was, or if the text has changed since."""
    kept = message.metadata.get(under)
    if not isinstance(kept, dict) or kept.get("words") != sha256(message.content):
        return None
    return json.loads(kept["whole"])


def storable(words: str) -> str:
    """Returns a text that can be stored: without characters that Postgres rejects, and never blank."""
    kept = words.replace("\0", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return kept if kept.strip() else SILENT


def as_json(value: object) -> str:
    """Returns JSON in which lone surrogates are escaped, so that it can be stored."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
