"""Claude's memory tool: files below /memories, each an item of the user."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from ltst import adapters
from ltst.adapters import Ask
from ltst.errors import Conflict, Invalid
from ltst.memory import AsyncUser
from ltst.records import Item
from ltst.sync import User

with adapters.needed("anthropic", "claude"):
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError

P = ParamSpec("P")

ROOT = "/memories"
NAMESPACE = ("claude", "memories")
MOST_LINES = 999_999
DEPTH = 2
AROUND = 2


class Files:
    """The files of one memory, and the replies to Claude in the tool's own wording."""

    def __init__(self, user: AsyncUser | User, namespace: tuple[str, ...], ask: Ask) -> None:
        adapters.check_user(user)
        self._items = user.items
        self._namespace = namespace
        self._ask = ask

    async def view(self, command: Any) -> str:
        """Returns the numbered lines of a file, or the contents of a directory."""
        path = _relative(command.path)
        item = await self._found(path) if path else None
        if item is not None:
            return _numbered(command.path, item.value["text"], command.view_range)
        below = await self._below(path)
        if path and not below:
            raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
        return _listed(command.path, path, below)

    async def create(self, command: Any) -> str:
        """Creates a file that does not exist yet."""
        path = _relative(command.path)
        above = [posixpath.dirname(path)]
        while above[-1]:
            above.append(posixpath.dirname(above[-1]))
        for each in above[:-1]:
            if await self._found(each):
                raise ToolError(f"The path {ROOT}/{each} is a file, and no directory")
        if not path or await self._below(path):
            raise ToolError(f"File {command.path} already exists")
        try:
            await self._write(path, command.file_text, revision=0)
        except Conflict:
            raise ToolError(f"File {command.path} already exists") from None
        return f"File created successfully at: {command.path}"

    async def str_replace(self, command: Any) -> str:
        """Replaces a text that occurs exactly once in a file."""
        line = 0

        def change(text: str) -> str:
            nonlocal line
            line = text.count("\n", 0, max(0, text.find(command.old_str)))
            return _replaced(text, command)

        lines, at = (await self._changed(command.path, change)).split("\n"), line
        shown = _lines(lines[max(0, at - AROUND) : at + AROUND + 1], max(0, at - AROUND) + 1)
        return f"The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{shown}"

    async def insert(self, command: Any) -> str:
        """Inserts lines into a file after a given line."""
        await self._changed(command.path, lambda text: _inserted(text, command))
        return f"The file {command.path} has been edited."

    async def delete(self, command: Any) -> str:
        """Removes a file, or a directory with everything in it."""
        path = _relative(command.path)
        if not path:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")
        await self._remove(await self._there(path, command.path))
        return f"Successfully deleted {command.path}"

    async def rename(self, command: Any) -> str:
        """Moves a file, or a directory with everything in it, to a path that does not exist yet."""
        old, new = _relative(command.old_path), _relative(command.new_path)
        if not old:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")
        moved = await self._there(old, command.old_path)
        if not new or await self._found(new) or await self._below(new) or f"{new}/".startswith(f"{old}/"):
            raise ToolError(f"The destination {command.new_path} already exists")
        try:
            await self._ask(self._items.batch, [*self._moves(moved, old, new)])
        except Conflict:
            raise ToolError(f"The destination {command.new_path} already exists") from None
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    async def clear_all_memory(self) -> str:
        """Removes all files."""
        await self._remove(await self._below(""))
        return "All memory cleared"

    async def _found(self, path: str) -> Item | None:
        return await self._ask(self._items.get, self._namespace, path)  # type: ignore[no-any-return]

    async def _below(self, path: str) -> list[Item]:
        """Returns the files in a directory and below it."""
        every = await self._ask(self._items.list, self._namespace, limit=adapters.MOST)
        return [item for item in every if not path or item.key.startswith(f"{path}/")]

    async def _there(self, path: str, told: str) -> list[Item]:
        """Returns the file at a path, or the files of the directory; raises ToolError if there is nothing."""
        item = await self._found(path)
        found = [item] if item is not None else await self._below(path)
        if not found:
            raise ToolError(f"The path {told} does not exist")
        return found

    async def _changed(self, told: str, change: Callable[[str], str]) -> str:
        """Changes the text of a file and returns it; retries if somebody else changed the file meanwhile."""
        path = _relative(told)
        while True:
            item = await self._found(path) if path else None
            if item is None:
                missing = "is not a file." if not path or await self._below(path) else ""
                raise ToolError(f"The path {told} {missing or 'does not exist. Please provide a valid path.'}")
            text = change(item.value["text"])
            try:
                await self._write(path, text, revision=item.revision)
            except Conflict:
                continue
            return text

    async def _write(self, path: str, text: str, *, revision: int) -> None:
        try:
            await self._ask(self._items.put, self._namespace, path, {"text": text}, revision=revision)
        except Invalid as refused:
            raise ToolError(f"The file {ROOT}/{path} cannot be kept: {refused}") from None

    async def _remove(self, files: list[Item]) -> None:
        if files:
            gone = [{"do": "delete", "namespace": self._namespace, "key": item.key} for item in files]
            await self._ask(self._items.batch, gone)

    def _moves(self, files: list[Item], old: str, new: str) -> Iterator[dict[str, Any]]:
        for item in files:
            place = {"namespace": self._namespace}
            yield {"do": "put", **place, "key": new + item.key[len(old) :], "value": item.value, "revision": 0}
            yield {"do": "delete", **place, "key": item.key, "revision": item.revision}


def _sync(verb: Callable[Concatenate[Files, P], Coroutine[Any, Any, str]]) -> Callable[..., str]:
    """Returns the method of the sync tool that does what a verb of its files does."""

    @wraps(verb)
    def method(self: LtstMemoryTool, *command: P.args, **named: P.kwargs) -> str:
        return adapters.finished(verb(self._files, *command, **named))

    return method


class LtstMemoryTool(BetaAbstractMemoryTool):
    """Claude's memory tool for a user of `Memory`; pass it to `client.beta.messages.tool_runner` among the tools."""

    def __init__(self, user: User, *, namespace: tuple[str, ...] = NAMESPACE, **options: Any) -> None:
        """Stores the files as items of a user in a namespace; `options` are those of the base class."""
        super().__init__(**options)
        self._files = Files(user, namespace, adapters.called)

    view = _sync(Files.view)
    create = _sync(Files.create)
    str_replace = _sync(Files.str_replace)
    insert = _sync(Files.insert)
    delete = _sync(Files.delete)
    rename = _sync(Files.rename)
    clear_all_memory = _sync(Files.clear_all_memory)


class AsyncLtstMemoryTool(Files, BetaAsyncAbstractMemoryTool):
    """Claude's memory tool for async code, for a user of `AsyncMemory` or `Memory`."""

    def __init__(self, user: AsyncUser | User, *, namespace: tuple[str, ...] = NAMESPACE, **options: Any) -> None:
        """Stores the files as items of a user in a namespace; `options` are those of the base class."""
        BetaAsyncAbstractMemoryTool.__init__(self, **options)
        Files.__init__(self, user, namespace, adapters.awaited)


def _relative(path: str) -> str:
    """Returns the path below /memories, "" for /memories itself; raises ToolError for a path outside it."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {path}")
    plain = posixpath.normpath(path)
    if plain != ROOT and not plain.startswith(f"{ROOT}/"):
        raise ToolError(f"Path {path} would escape {ROOT} directory")
    return plain[len(ROOT) + 1 :]


def _numbered(told: str, text: str, view_range: Any) -> str:
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise ToolError(f"File {told} exceeds maximum line limit of {MOST_LINES:,} lines.")
    first, last = 1, len(lines)
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        last = last if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {told} with line numbers:\n{_lines(lines[first - 1 : last], first)}"


def _lines(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(lines, start=first))


def _listed(told: str, path: str, below: list[Item]) -> str:
    """Returns the contents of a directory, two levels deep, with sizes; a directory's size covers everything in it."""
    sizes: dict[str, int] = {}
    for item in below:
        parts = item.key[len(path) :].strip("/").split("/")
        if any(part.startswith(".") for part in parts):
            continue
        for depth in range(1, min(len(parts), DEPTH) + 1):
            name = "/".join(parts[:depth]) + ("/" if depth < len(parts) else "")
            sizes[name] = sizes.get(name, 0) + len(item.value["text"].encode("utf-8", "surrogatepass"))
    whole = sum(len(item.value["text"].encode("utf-8", "surrogatepass")) for item in below)
    lines = [f"{_size(whole)}\t{told}", *(f"{_size(size)}\t{told}/{name}" for name, size in sorted(sizes.items()))]
    start = f"Here're the files and directories up to {DEPTH} levels deep in {told}, excluding hidden items:"
    return "\n".join([start, *lines])


def _size(count: int) -> str:
    return f"{count}B" if count < 1024 else f"{count / 1024:.1f}K" if count < 1024**2 else f"{count / 1024**2:.1f}M"


def _replaced(text: str, command: Any) -> str:
    old, told = command.old_str, command.path
    places = [at for at in range(len(text)) if text.startswith(old, at)] if text.count(old) > 1 else []
    if places:
        lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in places)
        raise ToolError(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
            "Please ensure it is unique"
        )
    if old not in text:
        raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {told}.")
    return text.replace(old, command.new_str)


def _inserted(text: str, command: Any) -> str:
    lines = text.removesuffix("\n").split("\n") if text else []
    if not 0 <= command.insert_line <= len(lines):
        raise ToolError(
            f"Invalid `insert_line` parameter: {command.insert_line}. It should be within the range [0, {len(lines)}]."
        )
    lines.insert(command.insert_line, command.insert_text.rstrip("\n"))
    return "\n".join(lines) + "\n"
