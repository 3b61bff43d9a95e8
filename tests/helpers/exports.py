"""Exports of other programs, small ones of every kind, with words of our own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

NOON = 1_710_504_000.0  # 2024-03-15 12:00 UTC


def node(
    key: str, parent: str | None, role: str | None = None, text: str = "", *, at: float | None = None, **message: Any
) -> dict[str, Any]:
    """A node of ChatGPT's tree; without a role it has no message."""
    if role is None:
        return {"id": key, "message": None, "parent": parent, "children": []}
    said = {
        "id": key,
        "author": {"role": role, "name": None, "metadata": {}},
        "create_time": at,
        "content": {"content_type": "text", "parts": [text]},
        "metadata": {},
        "recipient": "all",
        **message,
    }
    return {"id": key, "message": said, "parent": parent, "children": []}


def chatgpt(*nodes: Mapping[str, Any], current: str | None, **fields: Any) -> dict[str, Any]:
    """A conversation of ChatGPT's from its nodes, in their order."""
    mapping = {each["id"]: dict(each) for each in nodes}
    for key, each in mapping.items():
        if each["parent"] in mapping:
            mapping[each["parent"]]["children"].append(key)
    return {
        "id": "pond",
        "title": "The pond",
        "create_time": NOON,
        "update_time": NOON + 600,
        "current_node": current,
        "mapping": mapping,
        **fields,
    }


def pond(**fields: Any) -> dict[str, Any]:
    """A question with two answers, of which the second is shown, and what followed it."""
    return chatgpt(
        node("root", None),
        node("hidden", "root", "system", "", at=None),
        node("ask", "hidden", "user", "How deep should a pond be?", at=NOON + 60),
        node("first", "ask", "assistant", "Half a metre.", at=NOON + 120),
        node("second", "ask", "assistant", "Eighty centimetres, so that fish survive.", at=NOON + 180),
        node("thanks", "second", "user", "Thank you.", at=NOON + 240),
        **{"current": "thanks", **fields},
    )


def claude(*messages: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """A conversation of Claude's."""
    return {
        "uuid": "hedge",
        "name": "The hedge",
        "created_at": "2024-03-15T12:00:00Z",
        "updated_at": "2024-03-15T12:10:00Z",
        "chat_messages": [*messages],
        **fields,
    }


def spoken(uuid: str, sender: str, text: str, minute: int = 0, **fields: Any) -> dict[str, Any]:
    """A message of Claude's."""
    return {
        "uuid": uuid,
        "sender": sender,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "created_at": f"2024-03-15T12:{minute:02}:00Z",
        "attachments": [],
        "files": [],
        **fields,
    }


def hedge() -> dict[str, Any]:
    return claude(
        spoken("m1", "human", "Which hedge keeps the wind away?", 1), spoken("m2", "assistant", "One of beech.", 2)
    )


def coded(uuid: str, parent: str | None, kind: str, content: Any, second: int = 0, **fields: Any) -> dict[str, Any]:
    """A line of Claude Code's."""
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": parent,
        "sessionId": "fence",
        "timestamp": f"2024-03-15T12:00:{second:02}.000Z",
        "cwd": "/home/ann/garden",
        "isSidechain": False,
        "message": {"role": kind, "content": content},
        **fields,
    }


def fence() -> list[dict[str, Any]]:
    """A session with a call of a tool; the user went back and asked anew."""
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file": "fence.py"}}
    return [
        {"type": "summary", "summary": "Mending the fence", "leafUuid": "a2"},
        coded("u0", None, "user", "Caveat: not the user", 0, isMeta=True),
        coded("u1", "u0", "user", "Mend the fence.", 1),
        coded(
            "a1", "u1", "assistant", [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Looking."}], 2
        ),
        coded("a1b", "a1", "assistant", [call], 3),
        coded("r1", "a1b", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "def fence(): ..."}], 4),
        coded("a2", "r1", "assistant", [{"type": "text", "text": "Mended."}], 5),
        coded("u2", "a2", "user", "Paint it green.", 6),
        coded("a3", "u2", "assistant", [{"type": "text", "text": "Green it is."}], 7),
        coded("u3", "a2", "user", "Paint it white.", 8),
        coded("a4", "u3", "assistant", [{"type": "text", "text": "White it is."}], 9),
        {"type": "file-history-snapshot", "messageId": "x", "snapshot": {}},
    ]


def item(kind: str, second: int = 0, **payload: Any) -> dict[str, Any]:
    """A line of Codex's."""
    moment = f"2024-03-15T12:00:{second:02}.000Z"
    return {"timestamp": moment, "type": "response_item", "payload": {"type": kind, **payload}}


def said(role: str, text: str, second: int = 0) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", second, role=role, content=[{"type": kind, "text": text}])


def shed() -> list[dict[str, Any]]:
    """A session of Codex's."""
    meta = {"id": "5f7a1c1e-0000-4000-8000-0000000000aa", "timestamp": "2024-03-15T12:00:00Z", "cwd": "/home/ann/shed"}
    return [
        {"timestamp": "2024-03-15T12:00:00Z", "type": "session_meta", "payload": meta},
        said("user", "<environment_context>a shell</environment_context>", 1),
        said("user", "List the tools in the shed.", 2),
        {"timestamp": "2024-03-15T12:00:02Z", "type": "event_msg", "payload": {"type": "user_message", "message": "x"}},
        item("reasoning", 3, summary=[], encrypted_content="…"),
        item("function_call", 4, name="shell", arguments='{"command":["ls"]}', call_id="c1"),
        item("function_call_output", 5, call_id="c1", output="spade\nrake"),
        said("assistant", "A spade and a rake.", 6),
    ]


def old_shed() -> list[dict[str, Any]]:
    """The same as Codex wrote it at first."""
    return [
        {"id": "old-shed", "timestamp": "2024-03-15T12:00:00Z", "instructions": None},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Is the shed dry?"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is."}]},
    ]


def rows() -> list[dict[str, Any]]:
    """Two sessions of an application, one row a message, alternating."""
    return [
        {"id": 1, "session_id": "s1", "role": "user", "content": "Hello.", "created_at": "2024-03-15 12:00:00+00"},
        {"id": 2, "session_id": "s2", "role": "human", "content": "Hi.", "created_at": "2024-03-15 12:00:30+00"},
        {"id": 3, "session_id": "s1", "role": "assistant", "content": "Hello!", "created_at": "2024-03-15 12:01:00+00"},
        {"id": 4, "session_id": "s2", "role": "ai", "content": "Hi!", "created_at": "2024-03-15 12:01:30+00"},
    ]


def langchain() -> list[dict[str, Any]]:
    """Rows of LangChain's table."""

    def row(id: int, kind: str, content: str, **data: Any) -> dict[str, Any]:
        message = {"type": kind, "data": {"content": content, "type": kind, "additional_kwargs": {}, **data}}
        return {"id": id, "session_id": "lc", "message": message, "created_at": f"2024-03-15T12:0{id}:00Z"}

    return [
        row(1, "human", "What is a coppice?"),
        row(2, "ai", "", tool_calls=[{"name": "look_up", "args": {"word": "coppice"}, "id": "c"}]),
        row(3, "tool", "A wood that is cut back.", tool_call_id="c"),
        row(4, "ai", "A wood that is cut back now and then."),
    ]


def mem0() -> dict[str, Any]:
    """What `get_all` of mem0 tells."""
    return {
        "results": [
            {
                "id": "e1",
                "memory": "Grows beans on the south wall",
                "hash": "abc",
                "metadata": {"topic": "garden"},
                "created_at": "2024-03-15T05:00:00-07:00",
                "updated_at": None,
                "user_id": "ann",
            },
            {"id": "e2", "memory": "Is afraid of wasps", "created_at": "2024-03-16T12:00:00Z", "user_id": "ann"},
        ]
    }


EVERY: Mapping[str, Any] = {
    "chatgpt.json": [pond()],
    "claude.json": [hedge()],
    "fence.jsonl": fence(),
    "rollout.jsonl": shed(),
    "old.jsonl": old_shed(),
    "rows.jsonl": rows(),
    "langchain.json": langchain(),
    "mem0.json": mem0(),
}
FORMATS = {
    "chatgpt.json": "chatgpt",
    "claude.json": "claude",
    "fence.jsonl": "claude-code",
    "rollout.jsonl": "codex",
    "old.jsonl": "codex",
    "rows.jsonl": "messages",
    "langchain.json": "langchain",
    "mem0.json": "mem0",
}


def written(file: Path, value: Any) -> Path:
    """A file with a value as JSON, or with lines of JSON if its name says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(lines(value) if file.suffix == ".jsonl" else json.dumps(value), encoding="utf-8")
    return file


def lines(values: Iterable[Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in values)
