"""Pydantic AI: a store of conversations, whose messages are ltst's messages and whose records are items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ltst import adapters
from ltst.adapters import awaited
from ltst.errors import Conflict
from ltst.memory import AsyncUser
from ltst.records import ConversationMessage
from ltst.sync import User

with adapters.needed("pydantic-ai-slim", "pydantic-ai"):
    from pydantic import TypeAdapter
    from pydantic_ai.conversation_store import (
        ConversationConflict,
        ConversationEntry,
        ConversationRecord,
        ConversationStore,
    )
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

__all__ = ["LtstConversationStore"]

# The metadata key under which a message keeps Pydantic AI's own.
KEPT = "pydantic_ai"
RECORDS = (KEPT, "records")
MESSAGE: Any = TypeAdapter(ModelMessage)
RECORD: Any = TypeAdapter(ConversationRecord)
ROLES = {"user-prompt": "user", "system-prompt": "system"}


class LtstConversationStore(ConversationStore):
    """The conversations of a user; `load` and `save` them around each run.

    Each message is stored in ltst under the id of its entry. Deleting a conversation also deletes its messages, except
    those that a fork still needs.
    """

    def __init__(self, user: AsyncUser | User, *, agent: str | None = None) -> None:
        """Stores conversations of a user."""
        adapters.check_user(user)
        self._user, self._agent = user, agent

    async def read_record(self, conversation_id: str) -> Any:
        """Returns the record of a conversation, or None if there is none."""
        item = await awaited(self._user.items.get, RECORDS, conversation_id)
        return None if item is None else _record(item)

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[Any]:
        """Returns all records or those of a scope, the newest first."""
        found = await self._records({} if scope is None else {"record": {"scope": scope}})
        return sorted(map(_record, found), key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self, record: Any, *, new_entries: Sequence[Any] = (), expected_revision: str | None
    ) -> None:
        """Stores a record with its new entries, all or none, if the stored one has the expected revision."""
        stored = await awaited(self._user.items.get, RECORDS, record.conversation_id)
        if (None if stored is None else _record(stored).revision) != expected_revision:
            raise ConversationConflict(record.conversation_id)
        origin = None if stored or not record.forked_from else await self._origin(record)
        put = _put(record, _root(stored or origin, record.conversation_id), stored.revision if stored else 0)
        # The origin is written unchanged too, so that the fork fails if its origin changed meanwhile.
        source = [] if origin is None else [_put(_record(origin), origin.value["root"], origin.revision)]
        chat = self._user.chat(record.conversation_id, agent=self._agent)
        added = await awaited(chat.add_many, [_turn(entry) for entry in new_entries])
        try:
            await awaited(self._user.items.batch, [put, *source])
        except Conflict:
            await adapters.remove(self._user, added)
            raise ConversationConflict(record.conversation_id) from None

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Deletes a conversation, and those of its messages that no fork needs."""
        item = await awaited(self._user.items.get, RECORDS, conversation_id)
        if item is None or _record(item).revision != expected_revision:
            raise ConversationConflict(conversation_id)
        own = await self._reached([_record(item)])
        try:
            await awaited(self._user.items.delete, RECORDS, conversation_id, revision=item.revision)
        except Conflict:
            raise ConversationConflict(conversation_id) from None
        related = await self._records({"root": item.value["root"]})
        needed = {message.message_id for message in await self._reached(map(_record, related))}
        await adapters.remove(self._user, [message for message in own if message.message_id not in needed])
        for each in {conversation_id, *(message.session_id for message in own)}:
            if not await awaited(self._user.chat(each).window, 1):
                await awaited(self._user.sessions.delete, each)

    async def read_entry(self, entry_id: str) -> Any:
        """Returns an entry; raises LookupError if there is none."""
        return _entry(await self._message(entry_id))

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[Any]:
        """Returns the entries up to this one, oldest first, at most the last `limit`."""
        return [_entry(message) for message in await self._history(head_id, limit)]

    async def _history(self, head_id: str | None, limit: int | None = None) -> list[ConversationMessage]:
        """Returns the messages up to an entry; reads whole conversations at once, also those it was forked from."""
        found: list[ConversationMessage] = []
        held: dict[str, ConversationMessage] = {}
        wanted = head_id
        while wanted is not None and (limit is None or len(found) < limit):
            if wanted not in held:
                try:
                    held |= await self._beside(await self._message(wanted))
                except LookupError:
                    if not found:
                        raise
                    # It was removed from the conversation, so continue with the message before it.
                    wanted = _before(found[-1], held)
                    continue
            found.append(held[wanted])
            wanted = _parent(held[wanted])
        return found[::-1]

    async def _beside(self, message: ConversationMessage) -> dict[str, ConversationMessage]:
        """Returns all entries in the conversation of a message, by id."""
        stored = await awaited(self._user.chat(message.session_id).window, adapters.MOST)
        return {each.message_key: each for each in stored if each.message_key}

    async def _message(self, entry_id: str) -> ConversationMessage:
        found: ConversationMessage | None = await awaited(self._user.keyed, entry_id)
        if found is None:
            raise LookupError(f"there is no entry {entry_id!r}")
        return found

    async def _origin(self, record: Any) -> Any:
        """Returns the item a record was forked from; raises ConversationConflict if it or the fork point is gone."""
        origin = await awaited(self._user.items.get, RECORDS, record.forked_from)
        if origin is None or (record.head_id and await awaited(self._user.keyed, record.head_id) is None):
            raise ConversationConflict(record.conversation_id)
        return origin

    async def _records(self, wanted: dict[str, Any]) -> list[Any]:
        found: list[Any] = await awaited(self._user.items.search, RECORDS, filter=wanted or None, limit=adapters.MOST)
        return found

    async def _reached(self, records: Iterable[Any]) -> list[ConversationMessage]:
        """Returns the messages in the histories of records, including their abandoned branches."""
        ends = [end for record in records for end in (record.head_id, *record.branches)]
        return [message for end in ends for message in await self._history(end)]


def _put(record: Any, root: str, revision: int) -> dict[str, Any]:
    value = {"root": root, "record": RECORD.dump_python(record, mode="json")}
    # A program's own records are not searched.
    return {"do": "put", "namespace": RECORDS, "key": record.conversation_id, "value": value, "fields": [],
            "revision": revision}  # fmt: skip


def _record(item: Any) -> Any:
    return RECORD.validate_python(item.value["record"])


def _root(item: Any, conversation_id: str) -> str:
    """Returns the id of the conversation at the root of a tree of forks."""
    return conversation_id if item is None else str(item.value["root"])


def _turn(entry: Any) -> dict[str, Any]:
    whole = MESSAGE.dump_python(entry.message, mode="json")
    told = adapters.enclosed(KEPT, _role(entry.message), _words(entry.message), whole)
    told["metadata"][KEPT]["parent"] = entry.parent_id
    return {**told, "key": entry.id}


def _entry(message: ConversationMessage) -> Any:
    kept = adapters.whole(message, KEPT)
    told = _said(message) if kept is None else MESSAGE.validate_python(kept)
    return ConversationEntry(id=message.message_key, parent_id=_parent(message), message=told)


def _said(message: ConversationMessage) -> Any:
    """Returns a model message for a stored message whose text has changed."""
    if message.role == "ai":
        return ModelResponse(parts=[TextPart(message.content)])
    return ModelRequest(parts=[UserPromptPart(message.content)])


def _parent(message: ConversationMessage) -> str | None:
    found: str | None = message.metadata.get(KEPT, {}).get("parent")
    return found


def _before(message: ConversationMessage, held: Mapping[str, ConversationMessage]) -> str | None:
    """Returns the id of the entry just before a message in its conversation, if there is one."""
    mine = [each for each in held.values() if each.session_id == message.session_id]
    earlier = [each for each in mine if (each.message_index or 0) < (message.message_index or 0)]
    return max(earlier, key=lambda each: each.message_index or 0).message_key if earlier else None


def _role(message: Any) -> str:
    if message.kind == "response":
        return "assistant"
    kinds = [ROLES.get(part.part_kind, "tool") for part in message.parts]
    return next((kind for kind in ("user", "tool", "system") if kind in kinds), "system")


def _words(message: Any) -> str:
    return "\n".join(filter(None, (_part(part) for part in message.parts if part.part_kind != "thinking")))


def _part(part: Any) -> str:
    if hasattr(part, "args_as_json_str"):
        return f"{part.tool_name}({part.args_as_json_str()})"
    if hasattr(part, "model_response_str"):
        return str(part.model_response_str())
    said = getattr(part, "content", None)
    pieces = [said] if isinstance(said, str) else said if isinstance(said, list | tuple) else []
    return "\n".join(each for each in pieces if isinstance(each, str))
