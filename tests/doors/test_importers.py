"""Importers: what each export becomes, what is refused and how, and that nothing is ever imported twice or by half."""

from __future__ import annotations

import copy
import gzip
import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
import uuid
import zipfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies
from typer.testing import CliRunner

from bench import exports as generated
from helpers import exports
from helpers.exports import EVERY, FORMATS, NOON, chatgpt, claude, coded, node, pond, spoken, written
from helpers.probes import UNINDEXED, cloned, counts, superuser
from ltst import Imported, ImportedConversation, ImportedMessage, Invalid, Memory, NotFound, Settings, User
from ltst.db import statistics
from ltst.db.embedded import EmbeddedServer
from ltst.doors.cli.main import app
from ltst.importers import documents, read, rows, trees
from ltst.support import branches
from ltst.support.branches import Tree

SAMPLES = Path(__file__).parents[3] / "shared" / "imports"
COMMAND = [sys.executable, "-m", "ltst.doors.cli.main", "import"]


def found(*files: Path, **wishes: Any) -> list[ImportedConversation]:
    """The conversations in files."""
    with read(files, **wishes) as export:
        return [each for batch in export.batches() for each in batch.conversations]


def only(file: Path, **wishes: Any) -> ImportedConversation:
    (conversation,) = found(file, **wishes)
    return conversation


def told(conversation: ImportedConversation) -> list[tuple[str, str]]:
    return [(each.role, each.content) for each in conversation.messages]


def at(hour: int, minute: int = 0, second: int = 0) -> datetime:
    return datetime(2024, 3, 15, hour, minute, second, tzinfo=UTC)


# --- files that are packed

SIMPLE = chatgpt(node("a", None, "user", "hello"), node("b", "a", "assistant", "good day"), current="b")


@pytest.mark.parametrize("name", ["conversations.json.gz", "conversations.JSON.GZ", "export"])
def test_a_gzip_is_read_like_what_is_in_it(tmp_path: Path, name: str) -> None:
    plain = written(tmp_path / "plain.json", [SIMPLE])
    packed = tmp_path / name
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert told(only(packed)) == told(only(plain))


def test_gzips_in_a_folder_are_found_by_the_name_inside(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    whole = json.dumps([SIMPLE]).encode()
    (folder / "conversations.json.gz").write_bytes(gzip.compress(whole))
    (folder / "picture.png.gz").write_bytes(gzip.compress(b"picture"))
    with read([folder]) as export:
        assert (export.conversations, len(export.files_passed_over)) == (1, 1)


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_a_gzip_comes_through_a_pipe(kind: str, settings: Settings) -> None:
    whole = json.dumps([SIMPLE]) if kind == "json" else "role,content,session_id\nuser,hello,one\n"
    environment = {**os.environ, "DATABASE_URL": str(settings.database_url)}
    done = subprocess.run(
        [*COMMAND, "-"], input=gzip.compress(whole.encode()), env=environment, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    with Memory(settings=settings) as memory:
        assert len(memory.user("local").sessions.list()) == 1


def test_a_broken_or_boundless_gzip_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "export.json.gz"
    whole = gzip.compress(json.dumps([SIMPLE]).encode())
    for broken in (whole[:-20], whole[:10] + b"broken" + whole[16:]):
        file.write_bytes(broken)
        with pytest.raises(Invalid, match=r"export\.json\.gz: this packed file is broken"):
            found(file)
    with gzip.open(file, "wb", compresslevel=9) as bomb:
        bomb.write(b"[")
        for _ in range(110):
            bomb.write(b" " * 1024**2)
    with pytest.raises(Invalid, match=r"export\.json\.gz: it unpacks to far more than texts do"):
        found(file)


def test_branches_that_repeat_too_much_are_refused_before_anything_is_written(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten conversations, each a trunk of 30 messages with 20 leaves: every leaf repeats the trunk."""
    monkeypatch.setattr(branches, "MOST_COPIES", 3_000)
    given = [_bushy(f"bush {number}") for number in range(10)]
    assert Tree("s", {"a": None, "b": "a", "c": "a", "d": "c"}, "d").copies == 1
    with Memory(settings=settings) as memory:
        user = memory.user("ana")
        with pytest.raises(Invalid, match=r"would repeat 5,700 messages, and 3,000 are the most"):
            user.sessions.add_many(given)
        assert user.sessions.list() == []
        assert user.sessions.add_many(given[:5]).forks == 5 * 19


def test_a_file_whose_branches_repeat_too_much_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = [node("a", None, "user", "one"), node("b", "a", "user", "two"), node("c", "a", "user", "three")]
    forked = [chatgpt(*said, current="c", id=f"c{number}", conversation_id=f"c{number}") for number in range(5)]
    file = written(tmp_path / "many.json", forked)
    assert len(found(file)) == 5
    monkeypatch.setattr(branches, "MOST_COPIES", 4)
    with pytest.raises(Invalid, match="would repeat 5 messages"):
        found(file)


def _bushy(name: str) -> ImportedConversation:
    trunk = [ImportedMessage(f"t{n}", "user", f"trunk {n}", at(12), f"t{n - 1}" if n else None) for n in range(30)]
    leaves = [ImportedMessage(f"l{n}", "user", f"leaf {n}", at(12), "t29") for n in range(20)]
    return ImportedConversation(name, [*trunk, *leaves])


# --- what each becomes


@pytest.mark.parametrize("name", EVERY)
def test_every_format_is_told_by_its_content(name: str, tmp_path: Path) -> None:
    with read([written(tmp_path / name, EVERY[name])]) as export:
        assert [each.format for each in export.files] == [FORMATS[name]]
        assert export.messages + export.entries > 1


def test_chatgpt_has_a_tree_whose_shown_branch_is_the_conversation(tmp_path: Path) -> None:
    conversation = only(written(tmp_path / "conversations.json", [pond()]))
    assert (conversation.session_id, conversation.name) == ("chatgpt-pond", "The pond")
    assert conversation.created_at == at(12) and conversation.current == "thanks"
    assert [(each.key, each.parent) for each in conversation.messages] == [
        ("ask", None),
        ("first", "ask"),
        ("second", "ask"),
        ("thanks", "second"),
    ]
    assert conversation.messages[0].at == at(12, 1)
    assert conversation.metadata == {"imported": {"format": "chatgpt", "id": "pond", "file": "conversations.json"}}


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"content_type": "text", "parts": ["one", "two"]}, "one\ntwo"),
        ({"content_type": "text", "parts": [None, "two"]}, "two"),
        (
            {
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "file-service://f"}],
            },
            "[image: file-service://f]",
        ),
        (
            {
                "content_type": "multimodal_text",
                "parts": [
                    {"content_type": "audio_transcription", "text": "spoken"},
                    {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://a"},
                ],
            },
            "spoken\n[audio: sediment://a]",
        ),
        ({"content_type": "code", "language": "python", "text": "a = 1"}, "```python\na = 1\n```"),
        ({"content_type": "code", "language": "unknown", "text": "```"}, "````\n```\n````"),
        ({"content_type": "execution_output", "text": "42"}, "42"),
        (
            {"content_type": "tether_quote", "title": "A page", "url": "https://p", "text": "words"},
            "[quote: A page https://p]\nwords",
        ),
        ({"content_type": "tether_browsing_display", "result": "a list", "summary": None}, "a list"),
        ({"content_type": "thoughts", "thoughts": [{"summary": "Ponds", "content": "deep"}]}, "Ponds: deep"),
        ({"content_type": "reasoning_recap", "content": "Thought for a second"}, "Thought for a second"),
        ({"content_type": "system_error", "name": "Timeout", "text": "too slow"}, "[error: Timeout] too slow"),
        ({"content_type": "not_known_yet", "blob": {"deep": 1}}, "[not_known_yet]"),
        ({"content_type": "multimodal_text", "parts": [{"content_type": "hologram", "shape": 3}]}, "[hologram]"),
    ],
)
def test_what_is_no_text_gets_words(content: dict[str, Any], expected: str, tmp_path: Path) -> None:
    given = chatgpt(node("a", None, "assistant", at=NOON, content=content), current="a")
    (message,) = only(written(tmp_path / "c.json", given)).messages
    assert message.content == expected
    if "[" in expected and "error" not in expected:
        assert message.metadata["parts"]


def test_chatgpt_s_calls_tools_files_and_hidden_messages(tmp_path: Path) -> None:
    file = {"id": "f", "name": "plan.pdf", "mime_type": "application/pdf"}
    given = chatgpt(
        node("ctx", None, "user", "profile", metadata={"is_visually_hidden_from_conversation": True}),
        node("ask", "ctx", "user", "Read it.", at=NOON, metadata={"attachments": [file]}),
        node("call", "ask", "assistant", '{"q": 1}', at=None, recipient="browser"),
        node("answer", "call", "tool", "found", author={"role": "tool", "name": "browser", "metadata": {}}),
        node("empty", "answer", "assistant", "  "),
        current="empty",
    )
    with read([written(tmp_path / "c.json", given)]) as export:
        (batch,) = export.batches()
        assert export.passed_over == {"hidden messages": 1, "empty messages": 1}
    (conversation,) = batch.conversations
    assert told(conversation) == [
        ("human", "Read it.\n[file: plan.pdf]"),
        ("ai", '[calls browser] {"q": 1}'),
        ("tool", "found"),
    ]
    assert conversation.current == "answer"
    assert [each.at for each in conversation.messages] == [at(12)] * 3
    assert [each.metadata.get("undated") for each in conversation.messages] == [None, True, True]
    assert conversation.messages[2].metadata["name"] == "browser"


def test_chatgpt_without_what_may_be_missing(tmp_path: Path) -> None:
    given = pond(current=None, title=None, create_time=None, update_time=None)
    del given["id"]
    conversation = only(written(tmp_path / "c.json", {"conversations": [given]}))
    assert conversation.session_id == "chatgpt-root" and conversation.name is None
    assert conversation.current == "thanks" and conversation.created_at == at(12, 1)


def test_claude_in_a_row_and_as_a_tree(tmp_path: Path) -> None:
    conversation = only(written(tmp_path / "c.json", exports.hedge()))
    assert conversation.session_id == "claude-hedge" and conversation.name == "The hedge"
    assert told(conversation) == [("human", "Which hedge keeps the wind away?"), ("ai", "One of beech.")]
    assert conversation.messages[1].at == at(12, 2)
    root = "00000000-0000-4000-8000-000000000000"
    branched = claude(
        spoken("a", "human", "Which?", parent_message_uuid=root),
        spoken("b", "assistant", "Beech.", parent_message_uuid="a"),
        spoken("c", "assistant", "Yew.", parent_message_uuid="a"),
        current_leaf_message_uuid="b",
    )
    conversation = only(written(tmp_path / "t.json", [branched]))
    assert [(each.key, each.parent) for each in conversation.messages] == [("a", None), ("b", "a"), ("c", "a")]
    assert conversation.current == "b"


def test_claude_s_blocks_and_files(tmp_path: Path) -> None:
    blocks = [
        {"type": "thinking", "thinking": "never said"},
        {"type": "text", "text": "Here."},
        {"type": "tool_use", "name": "artifacts", "input": {"id": "x", "content": "# Plan\nDig."}},
        {"type": "tool_result", "name": "artifacts", "content": [{"type": "text", "text": "OK"}]},
        {"type": "hologram", "shape": 3},
    ]
    file = {"file_name": "soil.txt", "extracted_content": "clay"}
    message = spoken("a", "assistant", "", content=blocks, attachments=[file], files=[{"file_name": "pond.jpg"}])
    (read,) = only(written(tmp_path / "c.json", claude(message))).messages
    assert read.content == (
        'Here.\n[calls artifacts] {"id": "x"}\n# Plan\nDig.\n[answer of artifacts]\nOK\n[hologram]\n'
        "[file: soil.txt]\nclay\n[file: pond.jpg]"
    )
    assert {"type": "thinking", "thinking": "never said"} in read.metadata["parts"]


def test_claude_code_keeps_what_the_user_said_apart_from_answers_of_tools(tmp_path: Path) -> None:
    conversation = only(written(tmp_path / "fence.jsonl", exports.fence()))
    assert conversation.session_id == "claude-code-fence" and conversation.name == "Mending the fence"
    assert conversation.metadata["project"] == "garden"
    assert told(conversation) == [
        ("human", "Mend the fence."),
        ("ai", "Looking."),
        ("ai", '[calls Read] {"file": "fence.py"}'),
        ("tool", "[answer]\ndef fence(): ..."),
        ("ai", "Mended."),
        ("human", "Paint it green."),
        ("ai", "Green it is."),
        ("human", "Paint it white."),
        ("ai", "White it is."),
    ]
    parents = {each.key: each.parent for each in conversation.messages}
    assert (parents["u2"], parents["u3"], parents["a4"]) == ("a2", "a2", "u3")


def test_claude_code_s_agents_have_conversations_of_their_own(tmp_path: Path) -> None:
    lines = [
        *exports.fence(),
        coded("s1", None, "user", "Search the sources.", 10, isSidechain=True, agentId="7"),
        coded("s2", "s1", "assistant", [{"type": "text", "text": "Searched."}], 11, isSidechain=True, agentId="7"),
        coded("z", "a4", "user", "This session is continued: it was about fences.", 12, isCompactSummary=True),
    ]
    main, agent = found(written(tmp_path / "fence.jsonl", lines))
    assert agent.session_id == "claude-code-fence-agent-7" and len(agent.messages) == 2
    assert main.messages[-1].role == "system"


def test_parallel_calls_of_tools_are_no_branches(tmp_path: Path) -> None:
    call = [{"type": "tool_use", "name": "Read", "input": {}}]
    result = [{"type": "tool_result", "content": "x"}]
    lines = [
        coded("u", None, "user", "Go."),
        coded("a", "u", "assistant", call, 1),
        coded("b", "a", "assistant", call, 2),
        coded("ra", "a", "user", result, 3),
        coded("rb", "b", "user", result, 4),
        coded("c", "rb", "assistant", [{"type": "text", "text": "Done."}], 5),
    ]
    conversation = only(written(tmp_path / "x.jsonl", lines))
    assert [each.parent for each in conversation.messages] == [None, "u", "a", "b", "ra", "rb"]


def test_codex_new_and_old(tmp_path: Path) -> None:
    conversation = only(written(tmp_path / "rollout.jsonl", exports.shed()))
    assert conversation.session_id == "codex-5f7a1c1e-0000-4000-8000-0000000000aa"
    assert conversation.name == "List the tools in the shed." and conversation.metadata["project"] == "shed"
    assert told(conversation) == [
        ("system", "<environment_context>a shell</environment_context>"),
        ("human", "List the tools in the shed."),
        ("ai", '[calls shell] {"command":["ls"]}'),
        ("tool", "[answer of shell]\nspade\nrake"),
        ("ai", "A spade and a rake."),
    ]
    old = only(written(tmp_path / "old.jsonl", exports.old_shed()))
    assert old.session_id == "codex-old-shed" and {each.at for each in old.messages} == {at(12)}


def test_rows_are_sorted_into_their_sessions(tmp_path: Path) -> None:
    first, second = found(written(tmp_path / "rows.jsonl", exports.rows()))
    assert (first.session_id, told(first)) == ("s1", [("human", "Hello."), ("ai", "Hello!")])
    assert (second.session_id, [each.key for each in second.messages]) == ("s2", ["2", "4"])
    assert [each.at for each in second.messages] == [at(12, 0, 30), at(12, 1, 30)]


def test_rows_without_ids_and_sessions_get_the_same_keys_again(tmp_path: Path) -> None:
    lines = [
        {"role": "user", "content": "Yes."},
        {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": "Yes."},
    ]
    once = only(written(tmp_path / "chat.jsonl", lines))
    longer = only(written(tmp_path / "chat.jsonl", [*lines, {"role": "assistant", "content": "No."}]))
    assert longer.session_id == once.session_id and once.session_id.startswith("messages-chat-")
    assert [each.key for each in longer.messages][:3] == [each.key for each in once.messages]
    assert len({each.key for each in longer.messages}) == 4


def test_dated_rows_have_the_same_keys_in_a_part_of_the_file(tmp_path: Path) -> None:
    lines = [
        {"role": "user", "content": "Yes.", "timestamp": 1_710_504_000 + place // 2, "session_id": "s"}
        for place in range(8)
    ]
    whole, part = only(written(tmp_path / "a.jsonl", lines)), only(written(tmp_path / "b.jsonl", lines[4:]))
    assert [each.key for each in part.messages] == [each.key for each in whole.messages][4:]
    assert len({each.key for each in whole.messages}) == 8


@pytest.fixture
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "PORTION", 4)


def numbered(count: int) -> list[dict[str, Any]]:
    """Rows of one session, each with an id and a time."""
    return [
        {"session_id": "s", "id": f"k{number}", "role": "user", "content": f"{number}", "timestamp": NOON + number}
        for number in range(1, count + 1)
    ]


@pytest.mark.usefixtures("small_portions")
@pytest.mark.parametrize("without_ids", [False, True])
def test_a_row_that_is_repeated_far_behind_is_known(without_ids: bool, tmp_path: Path) -> None:
    lines = numbered(12)
    lines.insert(6, lines[1])
    if without_ids:
        lines = [{name: value for name, value in line.items() if name != "id"} for line in lines]
    with read([written(tmp_path / "all.jsonl", lines)]) as export:
        assert export.passed_over == {"repeated messages": 1}
        said = [told(each) for batch in export.batches() for each in batch.conversations]
    assert [content for portion in said for _, content in portion] == [f"{number}" for number in range(1, 13)]


@pytest.mark.usefixtures("small_portions")
def test_an_id_that_is_used_again_far_behind_for_something_else_is_a_fault(tmp_path: Path) -> None:
    lines = [*numbered(9), {**numbered(2)[1], "content": "else"}]
    with pytest.raises(Invalid, match=r"line 10: there was another message with the id 'k2' in this session"):
        found(written(tmp_path / "all.jsonl", lines))
    assert len(found(written(tmp_path / "all.jsonl", [*lines[:9], {**lines[9], "session_id": "t"}]))) == 4


def test_rows_as_csv_with_lines_in_values(tmp_path: Path) -> None:
    file = tmp_path / "conversation_memory.csv"
    file.write_bytes(
        b'\xef\xbb\xbfid,session_id,role,content,created_at\r\n7,s,user,"a ""b""\r\nc",2024-03-15 12:00:00\r\n'
    )
    conversation = only(file)
    assert (conversation.session_id, told(conversation)) == ("s", [("human", 'a "b"\r\nc')])
    assert conversation.messages[0].at == at(12)


def test_conversations_as_lists_of_messages(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"at": "pond"}'}}
    messages = [
        {"role": "developer", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look."},
                {"type": "image_url", "image_url": {"url": "https://p/x.png"}},
            ],
        },
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "Fish."},
    ]
    first, second = found(
        written(tmp_path / "c.jsonl", [{"id": "x", "messages": messages}, {"messages": messages[:2]}])
    )
    assert first.session_id == "x" and second.session_id.startswith("messages-c-")
    assert told(first) == [
        ("system", "Be kind."),
        ("human", "Look.\n[image: https://p/x.png]"),
        ("ai", '[calls look] {"at": "pond"}'),
        ("tool", "Fish."),
    ]


def test_langchain_rows_keep_what_its_adapter_reads(tmp_path: Path) -> None:
    conversation = only(written(tmp_path / "l.json", exports.langchain()))
    assert told(conversation) == [
        ("human", "What is a coppice?"),
        ("ai", '[calls look_up] {"word": "coppice"}'),
        ("tool", "A wood that is cut back."),
        ("ai", "A wood that is cut back now and then."),
    ]
    assert conversation.messages[2].metadata["chat_message_history"]["tool_call_id"] == "c"
    plain = [row["message"] for row in exports.langchain()]
    assert len(only(written(tmp_path / "plain.json", plain)).messages) == 4
    as_text = [{**row, "message": json.dumps(row["message"])} for row in exports.langchain()]
    assert told(only(written(tmp_path / "text.jsonl", as_text))) == told(conversation)


def test_mem0_becomes_entries(tmp_path: Path) -> None:
    for name, value in {"a.json": exports.mem0(), "b.json": exports.mem0()["results"]}.items():
        with read([written(tmp_path / name, value)]) as export:
            (batch,) = export.batches()
        beans, wasps = batch.entries
        assert (beans.content, beans.timestamp, beans.source) == ("Grows beans on the south wall", at(12), "mem0")
        assert beans.metadata["metadata"] == {"topic": "garden"}
        assert wasps.metadata == {"imported": {"format": "mem0", "id": "e2", "user_id": "ann"}}


def test_what_cannot_be_stored_becomes_visible(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    given = json.dumps(pond(title="T\x00itle"))
    file.write_text(given.replace("Thank you.", r"nul \u0000 half \ud83d whole \ud83d\ude42"))
    conversation = only(file)
    assert conversation.name == "T�itle"
    assert conversation.messages[-1].content == "nul � half � whole 🙂"
    assert conversation.messages[-1].metadata["mended"] is True


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_any_unicode_and_any_line_ends(encoding: str, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    text = "\r\n".join(json.dumps(each, ensure_ascii=False) + "\r\n" for each in exports.rows())
    file.write_bytes(("\r\n\r\n" + text).replace("Hello!", "Grüße 🙂").encode(encoding))
    assert told(found(file)[0])[1] == ("ai", "Grüße 🙂")


def test_a_zip_and_a_folder_are_searched_for_what_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "export"
    written(folder / "conversations-000.json", [pond(id="a")])
    written(folder / "deep" / "conversations-001.json", [pond(id="b")])
    written(folder / "user.json", {"id": "user-1", "email": "ann@example.org"})
    written(folder / "message_feedback.json", [])
    (folder / "chat.html").write_text("<html>")
    packed = tmp_path / "export.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*.*")):
            archive.write(file, file.relative_to(tmp_path))
        archive.writestr("../../outside.json", json.dumps([pond(id="c")]))
        archive.writestr("__MACOSX/._conversations.json", "x")
    with read([folder]) as export:
        assert export.conversations == 2 and len(export.files_passed_over) == 3
    with read([packed]) as export:
        assert export.conversations == 3
        assert {Path(each).suffix for each in export.files_passed_over} == {".html", ".json"}
    assert not (tmp_path.parent / "outside.json").exists()


def test_of_several_users_one_is_wanted(tmp_path: Path) -> None:
    rows = [{**row, "user_id": "ann" if row["session_id"] == "s1" else "bob"} for row in exports.rows()]
    file = written(tmp_path / "rows.jsonl", rows)
    with pytest.raises(Invalid, match=r"rows.jsonl: line 2: it belongs to 'bob', .* 'ann'; say whose is wanted: --of"):
        found(file)
    assert only(file, of="bob").session_id == "s2"


def memory_of(user: str | None) -> list[dict[str, Any]]:
    return [{"id": f"of-{user}", "memory": f"Belongs to {user}", **({"user_id": user} if user else {})}]


def row_of(user: str | None) -> list[dict[str, Any]]:
    said = {"session_id": f"of-{user}", "role": "user", "content": "Hello.", "timestamp": NOON}
    return [{**said, "user_id": user} if user else said]


def packed(folder: Path) -> Path:
    """The files of a folder as a zip beside it."""
    file = folder.with_suffix(".zip")
    with zipfile.ZipFile(file, "w") as archive:
        for each in sorted(folder.iterdir()):
            archive.write(each, each.name)
    return file


@pytest.mark.parametrize("value", [memory_of, row_of])
def test_of_several_users_in_several_files_one_is_wanted(value: Callable[[str | None], Any], tmp_path: Path) -> None:
    folder = tmp_path / "dumps"
    files = [written(folder / f"{user}.json", value(user)) for user in ("ann", "bob", None)]
    for paths in (files, [folder], [packed(folder)]):
        said = r"bob.json: \[0\]: it belongs to 'bob', .*ann.json: \[0\].* to 'ann'; say whose is wanted: --of"
        with pytest.raises(Invalid, match=said):
            read(paths)
        with read(paths, of="bob") as export:
            (batch,) = export.batches()
            assert export.passed_over == {"rows of other users": 1, "rows without a user": 1}
        assert [each.content for each in batch.entries] + [each.session_id for each in batch.conversations] in (
            ["Belongs to bob"],
            ["of-bob"],
        )
        with read(paths, skip_invalid=True) as export:
            assert export.messages + export.entries == 2 and export.passed_over == {"invalid ones": 1}


def test_the_messages_of_a_conversation_may_name_its_user(tmp_path: Path) -> None:
    ask, answer = {"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hello!"}
    file = written(tmp_path / "c.jsonl", [{"messages": [{**ask, "user_id": "bob"}, answer]}])
    assert len(only(file, of="bob").messages) == 2
    assert found(file, of="ann") == []
    written(file, [{"user_id": "ann", "messages": [ask, {**answer, "user_id": "bob"}]}])
    with pytest.raises(Invalid, match=r"c.jsonl: it belongs to 'bob', .* to 'ann'; say whose"):
        found(file)
    assert told(only(file, of="ann")) == [("human", "Hello.")]


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples are not beside the repository")
def test_the_samples_beside_the_repository() -> None:
    conversation = only(SAMPLES / "chatgpt-conversation.json")
    assert len(conversation.messages) == 8 and conversation.current == "answer-active"
    assert [len(each.messages) for each in found(SAMPLES / "conversations.json")] == [2, 4]
    assert len(only(SAMPLES / "cooking.json").messages) == 6
    with pytest.raises(Invalid, match=r"conversation-with-errors.json: .*chat_messages\[7\] \(msg-8\).*12345"):
        found(SAMPLES / "conversation-with-errors.json")
    with pytest.raises(Invalid, match=r"simple-invalid.json: this is no export that ltst knows"):
        found(SAMPLES / "simple-invalid.json")


# --- what is refused


def without(value: Any, *path: Any) -> Any:
    return put(value, *path, drop=True)


def put(value: Any, *path: Any, to: Any = None, drop: bool = False) -> Any:
    """The value with something else at a path, or without what stands there."""
    changed = copy.deepcopy(value)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    if drop:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return changed


ASK = ("mapping", "ask", "message")
DEEP: Any = json.loads("[" * 200 + "]" * 200)

MALFORMED: dict[str, tuple[Any, str]] = {
    "mapping is a list": (put(pond(), "mapping", to=[]), "conversation pond: mapping must be an object, not a list"),
    "mapping is null": (put(pond(), "mapping", to=None), "mapping must be an object, not null"),
    "a node is a text": (put(pond(), "mapping", "ask", to="x"), 'mapping.ask must be an object, not "x"'),
    "a message is a number": (put(pond(), *ASK, to=5), "mapping.ask.message must be an object, not 5"),
    "no author": (without(pond(), *ASK, "author"), "mapping.ask.message.author must be an object, not null"),
    "an unknown role": (put(pond(), *ASK, "author", "role", to="robot"), "author.role must be one of user, assistant"),
    "content is a text": (put(pond(), *ASK, "content", to="x"), "mapping.ask.message.content must be an object"),
    "parts is a text": (put(pond(), *ASK, "content", "parts", to="x"), "content.parts must be a list"),
    "a part is a number": (
        put(pond(), *ASK, "content", "parts", to=[1]),
        "parts[0] must be a text or an object, not 1",
    ),
    "a time is a word": (put(pond(), *ASK, "create_time", to="noon"), "message.create_time must be a time"),
    "a time is far away": (put(pond(), *ASK, "create_time", to=1e300), "create_time must be a time"),
    "a time is true": (put(pond(), *ASK, "create_time", to=True), "create_time must be a time"),
    "a time of a conversation": (put(pond(), "create_time", to={}), "conversation pond: create_time must be a time"),
    "a title is a number": (put(pond(), "title", to=5), "title must be a text, not 5"),
    "an id is a list": (put(pond(), "id", to=[]), "id must be an id"),
    "children is a text": (put(pond(), "mapping", "ask", "children", to="x"), "mapping.ask.children must be a list"),
    "an unknown child": (put(pond(), "mapping", "ask", "children", to=["?"]), 'children[0] is "?", which is not in'),
    "an unknown parent": (
        put(pond(), "mapping", "ask", "parent", to="?"),
        "the parent of 'ask' is '?', which is not there",
    ),
    "a circle": (put(pond(), "mapping", "ask", "parent", to="thanks"), "its parents are a circle"),
    "its own parent": (put(pond(), "mapping", "root", "parent", to="root"), "its parents are a circle"),
    "an unknown current node": (pond(current="?"), "current_node is '?', which is not in the mapping"),
    "attachments": (put(pond(), *ASK, "metadata", to={"attachments": 1}), "metadata.attachments must be a list"),
    "metadata": (put(pond(), *ASK, "metadata", to=[]), "mapping.ask.message.metadata must be an object"),
    "too much": (put(pond(), *ASK, "content", "parts", to=["x" * 1_048_577]), "a message may have up to 1,048,576"),
    "claude: messages": (
        put(exports.hedge(), "chat_messages", to={}),
        "conversation hedge: chat_messages must be a list",
    ),
    "claude: a message": (put(exports.hedge(), "chat_messages", 1, to=None), "chat_messages[1] must be an object"),
    "claude: a sender": (
        put(exports.hedge(), "chat_messages", 1, "sender", to="?"),
        "chat_messages[1] (m2).sender must",
    ),
    "claude: content": (put(exports.hedge(), "chat_messages", 0, "content", to=5), "content must be a text or a list"),
    "claude: a block": (put(exports.hedge(), "chat_messages", 0, "content", to=[5]), "content[0] must be a text or"),
    "claude: a text": (put(exports.hedge(), "chat_messages", 0, "content", 0, "text", to=5), "content[0].text must be"),
    "claude: a date": (put(exports.hedge(), "chat_messages", 0, "created_at", to="soon"), "created_at must be a time"),
    "claude: the same uuid": (
        put(exports.hedge(), "chat_messages", 1, "uuid", to="m1"),
        "another message with the uuid 'm1'",
    ),
    "claude: a leaf": (
        claude(
            spoken("a", "human", "x"),
            spoken("b", "assistant", "y", parent_message_uuid="a"),
            current_leaf_message_uuid="?",
        ),
        "current_leaf_message_uuid is '?'",
    ),
    "claude: a parent": (
        claude(spoken("a", "human", "x"), spoken("b", "assistant", "y", parent_message_uuid="?")),
        "the parent of 'b' is '?', which is not there",
    ),
    "mem0: a memory": ({"results": [{"id": "1", "memory": 5}]}, "results[0]: memory must be a text, not 5"),
    "mem0: a date": ([{"id": "1", "memory": "x", "created_at": "?"}], "[0]: created_at must be a time"),
    "no export": (
        {"invalid": 1},
        "this is no export that ltst knows: it begins with an object of 'invalid'; known are",
    ),
    "no object": ([1, 2], "it begins with no object"),
    "nothing": ([], "there is nothing in it to import"),
    "an empty object": ({}, "begins with an object of nothing"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_fault_names_the_file_and_the_place(name: str, tmp_path: Path) -> None:
    value, said = MALFORMED[name]
    file = written(tmp_path / "export.json", value)
    with pytest.raises(Invalid) as problem:
        found(file)
    assert str(problem.value).startswith("export.json: ") and said in str(problem.value)
    if isinstance(value, dict) and ("mapping" in value or "chat_messages" in value):
        good = pond(id="good") if "mapping" in value else {**exports.hedge(), "uuid": "good"}
        with pytest.raises(Invalid, match=r"export.json: \[1\]: "):
            found(written(file, [good, value]))
        assert len(found(written(file, [good, value]), skip_invalid=True)) == 1


def test_a_message_of_very_many_parts_is_read_in_one_go(tmp_path: Path) -> None:
    files = [{"file_name": "a"}] * 90_000
    texts = {f"{number}": f"{number}\n" for number in range(90_000)}
    answers = [{"type": "tool_result", "name": f"{number}", "content": "x"} for number in range(20_000)]
    other = [{"type": "text", "text": f"{number}"} for number in range(20_000)]
    call = [{"type": "tool_use", "name": "write", "input": texts}]
    (message,) = only(written(tmp_path / "c.json", claude(spoken("a", "human", "Look.", attachments=files)))).messages
    assert message.content.count("[file: a]") == 90_000
    (message,) = only(written(tmp_path / "c.json", claude(spoken("a", "human", "", content=call)))).messages
    assert message.content.startswith("[calls write]\n0\n\n1\n")
    tool, human = only(written(tmp_path / "c.jsonl", [coded("u", None, "user", [*answers, *other])])).messages
    assert (tool.role, human.role) == ("tool", "human")


def test_what_was_read_out_of_files_is_kept_while_there_is_room(tmp_path: Path) -> None:
    files = [{"file_name": name, "extracted_content": name * 20_000} for name in "abc"]
    file = written(tmp_path / "c.json", claude(spoken("m", "human", "Look \ud83d", attachments=files)))
    (message,) = only(file, max_content_bytes=50_000).messages
    assert message.content == f"Look �\n[file: a]\n{'a' * 20_000}\n[file: b]\n{'b' * 20_000}\n[file: c]"


def test_a_circle_behind_a_long_conversation_is_found_in_one_go() -> None:
    parents = {f"n{number}": f"n{number - 1}" if number else None for number in range(200_000)}
    with pytest.raises(Invalid, match=r"'a' is reached from no root"):
        trees.ordered({**parents, "a": "b", "b": "a"}, "mapping")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "there is nothing in it to import"),
        (b"   \n ", "there is nothing in it to import"),
        (b"hello", "this is not JSON at line 1, column 1"),
        (b'[{"mapping": {}},\n {"mapping": }]', "this is not JSON at line 2, column 14"),
        (b'[{"mapping": {}},\n {"mapping": {}},]', "this is not JSON at line 2, column 18"),
        (b'[{"mapping": {}}\n {"mapping": {}}]', "this is not JSON at line 2, column 2"),
        (b'[{"mapping": {}}] x', "this is not JSON at line 1, column 19: Extra data"),
        (b'[{"mapping": {"a', "Unterminated string"),
        (b'[{"mapping": {}}', "this is not JSON at line 1, column 17"),
        (b'{"conversations": [{"mapping": {}}]', "this is not JSON at line 1, column 36"),
        (b'{"mapping": NaN}', "NaN is no number"),
        (b'{"mapping": ' + b"1" * 5000 + b"}", "this is not JSON at line 1, column 13"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"title": "\xff"}', "byte 12 is not UTF-8"),
        (b'\xef\xbb\xbf{"title": "\xff"}', "byte 15 is not UTF-8"),
        (
            b'{"role": "user", "content": "x"}\n{"role": "user", "content": 5}\n',
            "line 2: content must be a text or a list",
        ),
        (b'{"role": "user", "content": "x"}\n\n{"role": "robot", "content": "y"}\n', "line 3: role must be one of"),
        (b'{"role": "user", "content": "x"}\n{"role": "user", "con', "this is not JSON at line 2"),
        (b'{"role": "user", "content": "x"}\n[1]\n', "this is not JSON at line 2, column 1: Expecting an object"),
        (b'{"role": "user", "content": "x", "timestamp": "?"}\n', "timestamp must be a time"),
    ],
    ids=lambda value: repr(value[:24]) if isinstance(value, bytes) else None,
)
def test_what_is_no_json_is_told_with_line_and_column(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    file.write_bytes(content)
    with pytest.raises(Invalid) as problem:
        found(file)
    assert str(problem.value).startswith("export.json: ") and said in str(problem.value)


def test_a_place_is_right_however_the_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "export.json"
    pretty = json.dumps([pond(id=f"{number}") for number in range(400)], indent=1)
    lines = pretty.splitlines()
    lines[30_000] = lines[30_000].replace('"', "", 1) + " oops"
    file.write_text("\n".join(lines))
    with pytest.raises(Invalid, match=r"export.json: this is not JSON at line 3000[01], column"):
        found(file)


@pytest.mark.parametrize("chunk", [1, 60, 100_000])
def test_lines_are_counted_right_however_the_file_is_read(
    chunk: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "CHUNK", chunk)
    file = tmp_path / "rows.jsonl"
    good, bad = '{"role": "user",\n "content": "x"}', '{"role": "robot", "content": "x"}'
    file.write_text("\n\n".join([good] * 5 + [bad] + [good] * 5 + [bad, "{?"]))
    with read([file], skip_invalid=True) as export:
        places = [each.removeprefix("rows.jsonl: ") for each in export.faults]
        assert [each.partition(": ")[0] for each in places[:2]] == ["line 16", "line 33"]
        assert "line 35, column 2" in places[2] and len(places) == 3


def test_deep_nesting_that_is_still_json_is_kept_or_refused_but_never_breaks(tmp_path: Path) -> None:
    for depth in (200, 500, 900, 5000):
        part = f'{{"content_type": "hologram", "deep": {"[" * depth}{"]" * depth}}}'
        file = tmp_path / "deep.json"
        file.write_text(json.dumps(pond()).replace('"Thank you."', part))
        try:
            assert only(file).messages[-1].content == "[hologram]"
        except Invalid as problem:
            assert depth > 200 and "nested too deeply" in str(problem)


def test_a_broken_encrypted_or_boundless_zip(tmp_path: Path) -> None:
    good = io.BytesIO()
    with zipfile.ZipFile(good, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([pond(id=str(number)) for number in range(50)]))
    whole = good.getvalue()
    file = tmp_path / "export.zip"
    for broken in (whole[:100], whole[: len(whole) // 2], whole[:200] + b"\x00" * 200 + whole[400:]):
        file.write_bytes(broken)
        with pytest.raises(Invalid, match=r"export.zip"):
            found(file)
    flagged = bytearray(whole)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        flagged[flagged.index(mark) + offset] |= 1
    file.write_bytes(bytes(flagged))
    with pytest.raises(Invalid, match=r"export.zip: conversations.json: this zip is broken, encrypted"):
        found(file)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("c.json", "w") as target:
        for _ in range(110):
            target.write(b" " * 1024**2)
    with pytest.raises(Invalid, match=r"export.zip: c.json: it would unpack to 115,343,360 bytes"):
        found(file)


def test_what_is_not_there_or_not_known(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read([tmp_path / "nothing.json"])
    with pytest.raises(Invalid, match="there is no format 'telepathy'; there are ltst, chatgpt"):
        read([tmp_path], format="telepathy")
    (tmp_path / "notes.txt").write_text("x")
    with pytest.raises(Invalid, match="there is nothing to import in"):
        read([tmp_path])
    file = written(tmp_path / "rows.jsonl", exports.rows())
    with pytest.raises(Invalid, match=r"rows.jsonl: line 1: conversation 1: mapping must be an object"):
        read([file], format="chatgpt")


# --- what is written


def write(user: User, *files: Path, **wishes: Any) -> Imported:
    with read(files, **wishes) as export:
        return export.write(user).added


def held(user: User) -> dict[str, list[str | None]]:
    """Every session with the keys that it holds."""
    return {
        each.session_id: [message.message_key for message in user.chat(each.session_id).history()]
        for each in user.sessions.list(limit=1000)
    }


@pytest.fixture
def user(shared: Memory, request: pytest.FixtureRequest) -> User:
    return shared.user(request.node.name[:200])


def test_every_format_is_written_once(user: User, tmp_path: Path) -> None:
    for name, value in EVERY.items():
        written(tmp_path / "exports" / name, value)
    added = write(user, tmp_path / "exports")
    assert (added.conversations, added.forks, added.entries) == (8, 2, 2)
    before = user.export()
    again = write(user, tmp_path / "exports")
    assert again == Imported(known=added.messages + added.entries)
    assert user.export() == before
    assert held(user)["chatgpt-pond~first"] == ["ask", "first"]
    assert user.sessions.get("chatgpt-pond").last_activity == at(12, 4)  # type: ignore[union-attr]


def test_a_grown_export_adds_what_is_new_and_mixes_nothing(user: User, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    write(user, written(file, [pond(current="first")]))
    assert held(user) == {"chatgpt-pond": ["ask", "first"], "chatgpt-pond~second": ["ask", "second", "thanks"]}
    write(user, written(file, [pond(current="thanks")]))
    assert held(user) == {"chatgpt-pond": ["ask", "first"], "chatgpt-pond~second": ["ask", "second", "thanks"]}
    more = pond()
    more["mapping"]["more"] = node("more", "first", "user", "Why?", at=NOON + 300)
    more["mapping"]["first"]["children"].append("more")
    assert write(user, written(file, [more, pond(id="lawn")])).messages == 1 + 3 + 2
    assert held(user)["chatgpt-pond"] == ["ask", "first", "more"]


@pytest.mark.usefixtures("small_portions")
def test_a_repeated_row_makes_neither_forks_nor_holes(user: User, tmp_path: Path) -> None:
    lines = numbered(14)
    lines[6:6] = [lines[1]]
    file = written(tmp_path / "all.jsonl", lines)
    assert write(user, file) == Imported(conversations=1, messages=14)
    assert held(user) == {"s": [f"k{number}" for number in range(1, 15)]}
    assert write(user, file) == Imported(known=14)


@pytest.mark.parametrize("look", ["ANALYZE nothing_there", "SELECT pg_sleep(60)"], ids=["refused", "cut short"])
def test_what_is_stored_counts_though_the_tables_cannot_be_looked_at(
    look: str, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(statistics, "LOOK", "SET LOCAL statement_timeout = 50; " + look)
    file = written(tmp_path / "c.json", [pond(id=str(number)) for number in range(30)])
    opened = Memory(settings=Settings(worker=False, database_url=database_url))
    with opened as memory, caplog.at_level(logging.WARNING, logger="ltst"):
        assert write(memory.user("ann"), file).conversations == 30
    assert "the tables were not analyzed" in caplog.messages


def test_an_export_of_ltst_is_restored(shared: Memory, tmp_path: Path) -> None:
    ann, bob = shared.user("ann"), shared.user("bob")
    ann.chat("monday").add("user", "Hello.", key="k")
    ann.facts.set("city", "Lisbon")
    file = written(tmp_path / "ann.json", ann.export())
    with read([file, written(tmp_path / "c.json", pond())]) as export:
        report = export.write(bob)
        assert report.restored["messages"] == 1 and report.restored["facts"] == 1
        assert report.added.messages == 5
        assert not any(export.write(bob).restored.values())
    bobs = written(tmp_path / "bob.json", bob.export())
    with pytest.raises(Invalid, match=r"bob.json: it belongs to 'bob', what stands before \(ann.json\) to 'ann'; say"):
        read([file, bobs])
    with read([file, bobs], of="bob") as export:
        assert export.passed_over == {"exports of other users": 1}
    broken = {**ann.export(), "messages": {}}
    with pytest.raises(Invalid, match=r"ann.json: 'messages' of this export must be a list"):
        read([written(file, broken)])
    with pytest.raises(Invalid, match=r"ann.json: message_id of every object of 'messages' in"):
        read([written(file, {**ann.export(), "messages": [{"message_id": []}]})])


def test_a_fault_in_the_last_file_means_that_nothing_is_written(url: str, user: User, tmp_path: Path) -> None:
    written(tmp_path / "x" / "a.json", [pond(id=str(number)) for number in range(50)])
    bad = put(exports.hedge(), "chat_messages", 0, "sender", to="?")
    written(tmp_path / "x" / "b.json", [exports.hedge(), bad])
    with superuser(url) as connection:
        before = counts(connection)
        result = CliRunner().invoke(
            app, ["import", str(tmp_path / "x"), "--user", user.user_id, "--database-url", url, "--no-index"]
        )
        assert result.exit_code == 1 and counts(connection) == before
    (said,) = result.stderr.splitlines()
    assert "x/b.json: [1]: conversation hedge: chat_messages[0] (m1).sender must be human or assistant" in said


def test_no_name_of_a_file_breaks_an_import(user: User, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    for name, value in EVERY.items():
        written(folder / os.fsdecode(b"\xe9-" + name.encode()), value)
    (folder / os.fsdecode(b"\xe9.txt")).touch()
    with read([folder]) as export:
        assert [each.file for each in export.files] == [f"caf�/�-{name}" for name in sorted(EVERY)]
        assert export.files_passed_over == ["caf�/�.txt"]
        added = export.write(user).added
    assert (added.conversations, added.forks, added.entries) == (8, 2, 2)
    assert user.sessions.get("chatgpt-pond").metadata["imported"]["file"] == "caf�/�-chatgpt.json"  # type: ignore[union-attr]
    for missing in (folder / "missing.json", folder / "empty"):
        with pytest.raises((NotFound, Invalid)) as problem:
            (folder / "empty").mkdir(exist_ok=True)
            read([missing])
        assert str(problem.value).encode()


def test_a_zip_whose_names_are_broken_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("café.json", json.dumps(pond()))
    file.write_bytes(file.read_bytes().replace("é".encode(), b"\xe9\xe9"))
    with pytest.raises(Invalid, match=r"export.zip: this zip is broken"):
        read([file])


LARGE = {"large": "x" * 900}
TOO_LARGE: dict[str, tuple[str, Any, str]] = {
    "a row": ("rows.jsonl", put(exports.rows(), 1, "metadata", to=LARGE), "line 2: content: metadata may have up to"),
    "a memory": ("m.json", put(exports.mem0(), "results", 0, "metadata", to=LARGE), "results[0]: memory: metadata may"),
    "a part": (
        "c.json",
        [pond(), put(pond(id="lawn"), *ASK, "metadata", to={"attachments": [LARGE]})],
        "[1]: conversation lawn: mapping.ask.message.content: metadata may have up to 800 bytes",
    ),
    "a conversation": ("c.json", pond(id="x" * 900), "conversation chatgpt-xxx"),
    "a session": (
        "fence.jsonl",
        [coded("u", None, "user", "Go.", sessionId="x" * 900)],
        "conversation claude-code-xxx",
    ),
    "a thread": ("c.json", {**exports.hedge(), "uuid": "x" * 900}, "conversation claude-xxx"),
}


@pytest.mark.parametrize("name", TOO_LARGE)
def test_metadata_that_is_too_large_is_refused_before_anything_is_written(name: str, tmp_path: Path) -> None:
    called, value, said = TOO_LARGE[name]
    file = written(tmp_path / called, value)
    with pytest.raises(Invalid) as problem:
        read([file], max_content_bytes=800)
    assert str(problem.value).startswith(f"{called}: ") and said in str(problem.value)
    with read([file], max_content_bytes=800, skip_invalid=True) as export:
        assert len(export.faults) == 1
        for batch in export.batches():
            for each in (*batch.entries, *batch.conversations, *(m for c in batch.conversations for m in c.messages)):
                assert len(json.dumps(each.metadata)) <= 800


def test_what_is_nested_deeply_is_kept_as_text(tmp_path: Path) -> None:
    deep = {depth: json.loads("[" * depth + "]" * depth) for depth in (90, 110, 480)}
    lines = [{"role": "user", "content": "x", "metadata": {"deep": value}} for value in deep.values()]
    kept = [each.metadata for each in only(written(tmp_path / "deep.jsonl", lines)).messages]
    assert kept[0]["deep"] == deep[90]
    assert [each["cut"] for each in kept[1:]] == [json.dumps({"deep": deep[depth]}) for depth in (110, 480)]


ONE_KEY = ("a\x00", "a�")
SAME_KEYS: dict[str, Any] = {
    "chatgpt": chatgpt(
        node("root", None), *(node(key, "root", "user", f"{key!r}", at=NOON) for key in ONE_KEY), current=None
    ),
    "claude": claude(*(spoken(key, "human", f"{key!r}") for key in ONE_KEY)),
    "claude-code": [coded(key, None, "user", f"{key!r}") for key in ONE_KEY],
    "messages": {"messages": [{"id": key, "role": "user", "content": f"{key!r}"} for key in ONE_KEY]},
    "rows": [{"id": key, "role": "user", "content": f"{key!r}"} for key in ONE_KEY],
}


@pytest.mark.parametrize("name", SAME_KEYS)
def test_ids_that_are_one_when_stored_are_a_fault(name: str, tmp_path: Path) -> None:
    value = SAME_KEYS[name]
    file = written(tmp_path / ("x.jsonl" if isinstance(value, list) else "x.json"), value)
    with pytest.raises(Invalid, match=r"x.jsonl?: .*(two messages with the key|another message with the id)"):
        found(file)


def test_claude_code_s_lines_without_an_id_may_be_repeated_and_broken(tmp_path: Path) -> None:
    line = without(coded("u", None, "user", "half \ud83d"), "uuid")
    both = [{"type": "tool_result", "content": "x"}, {"type": "text", "text": "Go on."}]
    with read([written(tmp_path / "x.jsonl", [line, line, coded("x", None, "user", both, 1)])]) as export:
        (batch,) = export.batches()
        assert export.passed_over == {"repeated messages": 1}
    assert [content for _, content in told(batch.conversations[0])] == ["half �", "[answer]\nx", "Go on."]
    lines = [coded("x", None, "user", both, 1), coded("x:answers", "x", "user", "Again.", 2)]
    with pytest.raises(Invalid, match=r"x.jsonl: line 2: there was another message with the uuid 'x:answers'"):
        found(written(tmp_path / "x.jsonl", lines))


def test_what_is_told_can_be_printed(command: Callable[..., Any], tmp_path: Path) -> None:
    file = written(tmp_path / "c.json", [pond(), pond(id="\ud800", current="\ud800")])
    assert "c.json: [1]: conversation �" in command(str(file), status=1).stderr
    assert "conversation �" in command(str(file), "--skip-invalid", "--dry-run", "--json")["left_out"][0]


LEAVES: list[Any] = [
    *(None, 0, -1, 1e308, 10**30, True, "", "x", [], {}, [None], {"content_type": 5}, "\x00", "\ud800", "9" * 300, DEEP)
]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every path in a value."""
    yield path
    for step, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, (*path, step))


PLACES = [(name, path) for name, value in EVERY.items() for path in places(value) if path]


@given(strategies.sampled_from(PLACES), strategies.sampled_from(LEAVES), strategies.booleans())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_stands_anywhere_is_read_or_refused(
    tmp_path: Path, place: tuple[str, tuple[Any, ...]], leaf: Any, drop: bool
) -> None:
    name, path = place
    file = written(tmp_path / name, put(EVERY[name], *path, to=leaf, drop=drop))
    try:
        with read([file]) as export:
            assert all(each.messages for batch in export.batches() for each in batch.conversations)
    except Invalid as problem:
        assert str(problem).startswith(name)


@given(strategies.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_bytes_are_lost_or_changed_it_is_read_or_refused(tmp_path: Path, data: strategies.DataObject) -> None:
    name = data.draw(strategies.sampled_from([*EVERY]))
    file = written(tmp_path / name, EVERY[name])
    content = file.read_bytes()
    start = data.draw(strategies.integers(0, len(content)))
    end = data.draw(strategies.integers(start, min(len(content), start + 40)))
    file.write_bytes(content[:start] + data.draw(strategies.binary(max_size=8)) + content[end:])
    try:
        found(file)
    except Invalid as problem:
        assert str(problem).startswith(name)


@given(
    strategies.lists(strategies.tuples(strategies.sampled_from(PLACES), strategies.sampled_from(LEAVES)), max_size=3)
)
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_read_is_written_whole_and_once(
    shared: Memory, url: str, tmp_path: Path, changes: list[tuple[tuple[str, tuple[Any, ...]], Any]]
) -> None:
    """What the reader lets pass, the store takes: otherwise some of an import would be written and some not."""
    user = shared.user(f"changed-{uuid.uuid4()}")
    values = dict(EVERY)
    for (name, path), leaf in changes:
        try:
            values[name] = put(values[name], *path, to=leaf)
        except (KeyError, IndexError, TypeError):
            continue
    files = [written(tmp_path / name, value) for name, value in values.items()]
    try:
        added = write(user, *files, skip_invalid=True)
    except Invalid as problem:
        assert str(problem).startswith(tuple(values)) and held(user) == {}
        return
    assert sum(map(len, held(user).values())) == added.messages
    assert write(user, *files, skip_invalid=True) == Imported(known=added.messages + added.entries + added.known)


# --- the command


@pytest.fixture
def command(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    monkeypatch.setenv("DATABASE_URL", database_url)

    def run(*arguments: str, input: bytes | None = None, status: int = 0) -> Any:
        result = CliRunner().invoke(app, ["import", *arguments], input=input)
        assert result.exit_code == status, result.output
        assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
        return json.loads(result.stdout) if "--json" in arguments else result

    return run


def test_the_command_imports_indexes_and_tells(command: Callable[..., Any], database_url: str, tmp_path: Path) -> None:
    file = written(tmp_path / "conversations.json", [pond(), pond(id="lawn")])
    dry = command(str(file), "--dry-run", "--json")
    assert dry["read"] == {"conversations": 2, "messages": 8, "entries": 0} and "messages" not in dry
    report = command(str(file), "--json")
    assert (report["conversations"], report["forks"], report["messages"], report["known"]) == (2, 2, 10, 0)
    assert report["files"] == [
        {"file": "conversations.json", "format": "chatgpt", "conversations": 2, "messages": 8, "entries": 0}
    ]
    assert report["passed_over"] == {"empty messages": 2} and report["seconds"].keys() == {
        "reading",
        "writing",
        "indexing",
    }
    with superuser(database_url) as connection:
        assert connection.execute("SELECT count(*) FROM search_units WHERE kind = 'message'").fetchone() == (10,)
        assert connection.execute(UNINDEXED).fetchall() == []
    again = command(str(file))
    assert "Everything was there already." in again.stdout and "2 empty messages" in again.stderr
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(file, "conversations.json")
    assert command("-", "--json", "--user", "bob", input=packed.getvalue())["messages"] == 10
    assert command("-", "--json", "--user", "eve", input=file.read_bytes())["messages"] == 10


def test_the_command_leaves_out_what_cannot_be_read_when_asked(command: Callable[..., Any], tmp_path: Path) -> None:
    file = written(tmp_path / "c.json", [pond(), pond(id="bad", current="?")])
    assert "c.json: [1]: conversation bad: current_node" in command(str(file), status=1).stderr
    report = command(str(file), "--skip-invalid", "--no-index", "--json")
    assert report["conversations"] == 1 and report["passed_over"]["invalid ones"] == 1
    assert report["left_out"] == ["c.json: [1]: conversation bad: current_node is '?', which is not in the mapping"]


def test_a_terminal_sees_how_far_it_is(database_url: str, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    generated.write(file, 10)
    ours, theirs = os.openpty()
    environment = {**os.environ, "DATABASE_URL": database_url, "TERM": "xterm"}
    process = subprocess.Popen([*COMMAND, str(file)], stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    said = b""
    while True:
        try:
            read_now = os.read(ours, 65536)
        except OSError:
            break
        if not read_now:
            break
        said += read_now
    os.close(ours)
    assert process.wait() == 0
    for stage in (b"Reading", b"Writing", b"Indexing and learning", b"Added 10 conversations, 1 fork,"):
        assert stage in said


def snapshot(url: str) -> list[tuple[Any, ...]]:
    """What an import leaves behind, without what is made anew each time."""
    query = """
        SELECT session_id, message_index, message_key, role, content, timestamp, metadata::text
        FROM conversation_messages ORDER BY session_id, message_index"""
    sessions = """
        SELECT session_id, session_name, session_length, last_index, created_at, last_activity
        FROM conversation_sessions ORDER BY 1"""
    links = "SELECT source_session_id, target_session_id, relationship_type FROM session_relationships ORDER BY 1, 2"
    with superuser(url) as connection:
        return [row for each in (query, sessions, links) for row in connection.execute(each).fetchall()]


def test_killed_again_and_again_it_ends_as_if_undisturbed(
    server: EmbeddedServer, template: str, tmp_path: Path, rounds: Callable[[int], int]
) -> None:
    file, kills = tmp_path / "conversations.json", rounds(10)
    generated.write(file, 800)
    with cloned(server, template) as calm, cloned(server, template) as disturbed:
        assert run_import(file, calm) == 0
        for kill in range(kills):
            assert run_import(file, disturbed, kill_after=1 + 600 * kill // kills) == -signal.SIGKILL
            with superuser(disturbed) as connection:
                halves = connection.execute(
                    "SELECT session_id FROM conversation_sessions WHERE session_length NOT IN (6, 10)"
                ).fetchall()
                assert halves == []
        assert run_import(file, disturbed) == 0
        assert snapshot(disturbed) == snapshot(calm)


def run_import(file: Path, url: str, kill_after: int | None = None) -> int:
    """Import in a process of its own, which is killed once so many conversations are there."""
    environment = {**os.environ, "DATABASE_URL": url}
    process = subprocess.Popen([*COMMAND, str(file), "--no-index"], stdout=subprocess.DEVNULL, env=environment)
    with superuser(url) as connection:
        while kill_after is not None and process.poll() is None:
            (there,) = connection.execute("SELECT count(*) FROM conversation_sessions").fetchone() or (0,)
            if there >= kill_after:
                process.kill()
                break
            time.sleep(0.002)
    return process.wait()


MEASURE = """
import resource, sys
from ltst import Memory, Settings
from ltst.importers import documents, read, rows, trees
with Memory(settings=Settings.from_environment(worker=False)) as memory:
    with read([sys.argv[1]]) as export:
        export.write(memory.user("ann"))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def peak(file: Path, url: str) -> int:
    """The most memory that an import takes, in KiB."""
    environment = {**os.environ, "DATABASE_URL": url}
    ended = subprocess.run([sys.executable, "-c", MEASURE, str(file)], env=environment, capture_output=True, check=True)
    return int(ended.stdout)


@pytest.mark.long
def test_ten_thousand_conversations_take_the_memory_of_one_thousand(
    server: EmbeddedServer, template: str, tmp_path: Path
) -> None:
    peaks = {}
    for size in (1_000, 10_000):
        file = tmp_path / f"{size}.json"
        generated.write(file, size)
        with cloned(server, template) as url:
            peaks[size] = peak(file, url)
            with superuser(url) as connection:
                shown = connection.execute(
                    "SELECT count(*), sum(session_length) FROM conversation_sessions WHERE session_id NOT LIKE '%~%'"
                )
                assert shown.fetchone() == (size, 10 * size)
    assert peaks[10_000] < 1.2 * peaks[1_000], peaks


LINES = [{"role": "user", "content": f"word {number}", "id": f"m{number}", "session_id": "log"} for number in range(3)]


def test_a_line_that_was_cut_off_is_left_out_and_what_follows_is_not(
    command: Callable[..., Any], tmp_path: Path
) -> None:
    told = [json.dumps(each) for each in LINES]
    (tmp_path / "cut.jsonl").write_text("\n".join([told[0], told[1][:20], told[2]]) + "\n")
    written(tmp_path / "whole.json", [pond()])
    refused = command(str(tmp_path), status=1)
    assert "cut.jsonl: this is not JSON at line 2, column 21" in refused.stderr
    report = command(str(tmp_path), "--skip-invalid", "--no-index", "--json")
    assert report["conversations"] == 2 and report["messages"] == 2 + 5
    assert report["passed_over"]["invalid ones"] == 1 and "line 2" in report["left_out"][0]


@pytest.mark.parametrize("last", ["", "\n"], ids=["unfinished", "finished"])
def test_the_last_line_may_be_cut_off(command: Callable[..., Any], tmp_path: Path, last: str) -> None:
    told = [json.dumps(each) for each in LINES]
    (tmp_path / "cut.jsonl").write_text("\n".join([told[0], told[1], told[2][:30]]) + last)
    report = command(str(tmp_path / "cut.jsonl"), "--skip-invalid", "--no-index", "--json")
    assert report["messages"] == 2 and report["passed_over"] == {"invalid ones": 1}


def test_of_a_list_that_breaks_off_what_stands_before_is_kept(command: Callable[..., Any], tmp_path: Path) -> None:
    whole = json.dumps([pond(), pond(id="lawn")])
    (tmp_path / "cut.json").write_text(whole[:-40])
    assert "this is not JSON" in command(str(tmp_path / "cut.json"), status=1).stderr
    report = command(str(tmp_path / "cut.json"), "--skip-invalid", "--no-index", "--json")
    assert report["conversations"] == 1 and report["passed_over"]["invalid ones"] == 1


def test_a_table_may_come_through_a_pipe(command: Callable[..., Any]) -> None:
    table = b"session_id,role,content\nlog,user,Hello\nlog,assistant,Hi\n"
    assert command("-", "--no-index", "--json", input=table)["messages"] == 2
    assert command("-", "--no-index", "--json", input=b"\xef\xbb\xbf" + table)["messages"] == 0


@pytest.mark.parametrize(
    ("given", "told"),
    [(b"", "there is nothing in it"), (b" \n", "there is nothing in it"), (b"5", "Expecting a list or an object")],
    ids=["empty", "blank", "number"],
)
def test_what_is_no_export_is_told_as_what_it_is(command: Callable[..., Any], given: bytes, told: str) -> None:
    assert told in command("-", input=given, status=1).stderr.replace("\n", " ")


def test_nothing_to_add_is_not_everything_there_already(command: Callable[..., Any], tmp_path: Path) -> None:
    rows = [{**each, "user_id": "ann"} for each in LINES]
    file = written(tmp_path / "rows.json", rows)
    answer = command(str(file), "--of", "nobody", "--no-index")
    assert "There was nothing in it to add." in answer.stdout and "3 rows of other users" in answer.stderr
    assert "Added 1 conversation, 3 messages." in command(str(file), "--no-index").stdout
    assert "Everything was there already." in command(str(file), "--no-index").stdout
