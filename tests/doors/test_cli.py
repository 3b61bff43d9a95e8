"""The `ltst` command: every command works, speaks JSON when asked, and fails in one line."""

from __future__ import annotations

import json
import os
import pty
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

from bench.pdf import pdf
from helpers.probes import UNINDEXED
from helpers.shell import COMMAND, LEAVES, MODULE, SCRIPT, Run, commands, found
from ltst import Memory, Settings
from ltst.doors import cli
from ltst.doors.cli.access import about_keys
from ltst.doors.cli.main import app
from ltst.doors.cli.pages import HEADINGS, PAGES
from ltst.support.tokens import count

ALL = sorted(commands())


# --- the command itself


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_help_fits_a_screen_and_has_an_example(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*path, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    assert f"Example: ltst {' '.join(path)}".strip() in result.stdout
    assert len(result.stdout.splitlines()) <= (40 if path else 52)
    assert max(map(len, result.stdout.splitlines())) <= 80


# Commands that print no data, and why.
WITHOUT_JSON = {
    ("demo",): "it is for people to look at",
    ("web",): "it opens a page",
    ("serve",): "it runs until it is stopped",
    ("mcp",): "it runs until it is stopped",
    ("bench",): "--json PATH is an option of the benchmarks",
    ("export",): "it prints nothing but JSON",
}


def test_every_command_that_prints_data_prints_it_as_json() -> None:
    taking = {path for path in LEAVES if any("--json" in each.opts for each in found(path).params)}
    assert {*LEAVES} - taking == WITHOUT_JSON.keys()


def test_every_page_is_reached() -> None:
    """No command is left out of what `ltst` offers because its name stands nowhere."""
    folder = Path(cli.__file__).parent
    pages = {file.stem for file in folder.rglob("*.py") if "\napp = " in file.read_text()} - {"main"}
    reached = {page for names in HEADINGS.values() for name in names for page in PAGES.get(name, (name,))}
    assert {page.partition(".")[0] for page in reached} == pages
    assert list(COMMAND.commands) == [name for names in HEADINGS.values() for name in names]


@pytest.mark.parametrize("asked", [[], ["facts"]], ids=["ltst", "ltst facts"])
def test_nothing_after_a_group_is_a_question_for_help(asked: list[str]) -> None:
    bare, helped = (CliRunner().invoke(app, each, env={"COLUMNS": "80"}) for each in (asked, [*asked, "--help"]))
    assert (bare.exit_code, helped.exit_code) == (2, 0)
    assert bare.stdout.strip() == helped.stdout.strip() and "Example: ltst" in bare.stdout


@pytest.mark.parametrize(
    ("arguments", "spared"),
    [
        (["--version"], {"rich", "psycopg", "ltst.records", "ltst.doors.cli.facts"}),
        (["facts", "--help"], {"psycopg", "ltst.memory", "ltst.doors.cli.sessions"}),
        (["facts", "list", "--json"], {"rich", "ltst.doors.cli.sessions", "fastapi", "mcp", "onnxruntime", "numpy"}),
    ],
    ids=["version", "help", "data"],
)
def test_a_command_imports_what_it_needs(arguments: list[str], spared: set[str], database_url: str) -> None:
    told = f"atexit.register(lambda: print(*{spared!r} & sys.modules.keys(), file=sys.stderr))"
    script = f"import atexit, sys; {told}; from ltst.doors.cli.entry import run; run()"
    environment = {**os.environ, "DATABASE_URL": database_url}
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "\n")


def test_every_command_is_there() -> None:
    assert {" ".join(path) for path in ALL} >= {
        "demo",
        *(f"db {verb}" for verb in ("migrate", "status", "backup", "restore", "reset", "adopt")),
        *("stats", "health", "maintain", "export", "import", "erase", "worker", "profile", "bench"),
        *("chat", "add", "add-many", "window", "context", "search"),
        *(f"learning {verb}" for verb in ("show", "set", "catch-up", "restart")),
        *(f"entries {verb}" for verb in ("add", "list", "show", "forget")),
        *(f"working {verb}" for verb in ("set", "get", "list", "forget", "clear")),
        *(f"contexts {verb}" for verb in ("set", "get", "list", "forget")),
        *(f"retention {verb}" for verb in ("set", "list", "forget")),
        *(f"events {verb}" for verb in ("list", "feed")),
        *(f"embedder {verb}" for verb in ("show", "switch", "cancel")),
        *(f"sessions {verb}" for verb in ("list", "show", "summary", "search", "snapshot", "put", "touch", "archive")),
        *(f"sessions {verb}" for verb in ("fork", "link", "related", "delete")),
        *(f"facts {verb}" for verb in ("list", "get", "set", "history", "end", "reject", "forget")),
        *(f"preferences {verb}" for verb in ("list", "get", "set", "forget")),
        *(f"instructions {verb}" for verb in ("list", "get", "set", "history", "forget")),
        *(f"documents {verb}" for verb in ("add", "list", "show", "forget")),
        *(f"master-key {verb}" for verb in ("show", "rotate")),
        *("serve", "mcp", *(f"keys {verb}" for verb in ("create", "list", "revoke", "open"))),
    }


@pytest.mark.parametrize("path", [each for each in ALL if each in (("stats",), ("facts", "list"), ("db", "status"))])
def test_data_comes_as_json_on_request(path: tuple[str, ...], run: Run) -> None:
    json.loads(run(*path, "--json").stdout)


def test_keys_are_made_listed_and_revoked(run: Run, answer: Callable[..., Any]) -> None:
    made = answer("keys", "create", "--for", "ana", "--name", "laptop")
    shown = run("keys", "create", "--admin").stdout.strip()
    assert made["secret"].startswith("ltst_") and shown.startswith("ltst_")
    assert [(each["user_id"], each["admin"], each["name"]) for each in answer("keys", "list")] == [
        ("ana", False, "laptop"),
        (None, True, ""),
    ]
    assert "secret" not in run("keys", "list", "--json").stdout
    assert "everyone's memory" in run("keys", "list").stdout
    assert answer("keys", "revoke", made["key_id"]) == {"revoked": made["key_id"]}
    assert "no key" in run("keys", "revoke", made["key_id"], status=1).stderr
    assert "revoke them first" in run("keys", "open", "--yes", status=1).stderr
    for each in answer("keys", "list"):
        run("keys", "revoke", each["key_id"], status=1 if each["revoked_at"] else 0)
    run("keys", "open", input="n\n", status=1)
    assert answer("keys", "open", "--yes") == {"open": True}
    neither = plain(run("keys", "create", status=2).stderr)
    assert "--for USER, or --admin for everyone" in neither
    assert "one of them" in plain(run("keys", "create", "--for", "ana", "--admin", status=2).stderr)


def plain(boxed: str) -> str:
    """The words of an error without the box around them."""
    return " ".join(boxed.replace("│", " ").split())


def test_without_keys_it_is_told_whether_servers_ask_for_one(run: Run, answer: Callable[..., Any]) -> None:
    assert "still ask" not in run("keys", "list").output
    made = answer("keys", "create", "--for", "ana")
    assert "still ask" not in run("keys", "list").output
    answer("keys", "revoke", made["key_id"])
    revoked = plain(run("keys", "list").output)
    answer("erase", "--user", "ana", "--yes")
    erased = plain(run("keys", "list").output)
    for told in (revoked, erased):
        assert "still ask" in told
        assert "ltst keys create" in told
        assert "ltst keys open" in told
    asked = plain(run("keys", "open", input="y\n").output)
    assert asked.count("on this machine") == 2
    assert asked.count("at other addresses ask for keys all the same") == 2
    assert "still ask" not in run("keys", "list").output


def test_what_a_server_says_of_keys(sync_memory: Memory) -> None:
    assert about_keys(sync_memory, tokens=False) == "No key is needed on this machine."
    made = sync_memory.keys.create("ana")
    assert about_keys(sync_memory, tokens=False) == "Send a key with every request."
    sync_memory.keys.revoke(made.key_id)
    assert about_keys(sync_memory, tokens=True) == "Send a key with every request."
    told = about_keys(sync_memory, tokens=False)
    assert "ltst keys create" in told
    assert "ltst keys open" in told


def test_version() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == "ltst 0.1.0\n"


def test_wrong_usage_has_status_two(run: Run) -> None:
    run("no-such-command", status=2)
    run("window", status=2)
    run("facts", "set", "city", status=2)
    run("facts", "list", "--as-of", "yesterday", status=2)


def test_options_stand_before_the_command_or_after_it(run: Run, answer: Callable[..., Any]) -> None:
    run("--user", "ann", "facts", "set", "city", "Lisbon")
    run("facts", "set", "city", "Porto", "--user", "bob")
    assert [each["fact_value"] for each in answer("facts", "list", "--user", "ann")] == ["Lisbon"]
    assert [each["fact_value"] for each in answer("--user", "ann", "facts", "list", "--user", "bob")] == ["Porto"]
    assert answer("facts", "list") == []


def test_the_user_comes_from_the_environment(
    run: Run, answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LTST_USER", "ann")
    run("facts", "set", "city", "Lisbon")
    monkeypatch.delenv("LTST_USER")
    assert answer("facts", "get", "city", "--user", "ann")["user_id"] == "ann"


def test_changes_are_the_cli_s_in_the_ledger(run: Run, settings: Settings) -> None:
    run("facts", "set", "city", "Lisbon")
    with Memory(settings=settings) as memory:
        assert {event.actor for event in memory.user("local").events.list()} == {"cli"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["facts", "get", "nothing"], "error: there is no fact 'nothing'"),
        (["facts", "set", "city", " "], "value must not be empty or blank"),
        (["facts", "forget", "nothing"], "there is no fact 'nothing'"),
        (["facts", "history", "nothing"], "there is no fact 'nothing'"),
        (["facts", "list", "--user", "system"], "reserved"),
        (["facts", "list", "--user", ""], "user_id must be 1 to 255 characters"),
        (["--user", "", "erase", "--yes"], "user_id must be 1 to 255 characters"),
        (["stats", "--database-url", ""], "the database URL must look like"),
        (["sessions", "show", "nothing"], "there is no session 'nothing'"),
        (["sessions", "archive", "nothing"], "'nothing'"),
        (["sessions", "delete", "nothing", "--yes"], "there is no session 'nothing'"),
        (["sessions", "list", "--status", "lost"], "status must be one of active, archived"),
        (["preferences", "get", "nothing"], "there is no preference 'nothing'"),
        (["preferences", "forget", "nothing"], "there is no preference 'nothing'"),
        (["instructions", "get", "nobody"], "there is no instruction for 'nobody'"),
        (["instructions", "forget", "nobody"], "there is no instruction for 'nobody'"),
        (["documents", "add", "nothing.pdf"], "nothing.pdf: No such file or directory"),
        (["documents", "show", "nothing"], "there is no document 'nothing'"),
        (["documents", "forget", "nothing"], "there is no document 'nothing'"),
        (["add", "robot", "Hello.", "--chat", "monday"], "role must be one of"),
        (["window", "--chat", "monday", "--limit", "0"], "limit must be a whole number"),
        (["master-key", "show"], "there is no master key yet"),
        (["import", "nothing.json"], "there is no file nothing.json"),
        (["db", "restore", "nothing.dump"], "there is no file nothing.dump"),
        (["export", "/nowhere/at/all.json"], "No such file or directory"),
        (["stats", "--database-url", "nonsense"], "the database URL must look like"),
        (["db", "status", "--database-url", "nonsense"], "the database URL must look like"),
        (["stats", "--database-url", "postgresql://localhost:1/x"], "the database cannot be used"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_a_user_s_error_is_one_line_and_status_one(run: Run, arguments: list[str], said: str) -> None:
    result = run(*arguments, status=1)
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert result.stdout == ""


def test_what_users_wrote_cannot_steer_the_terminal(run: Run) -> None:
    run("add", "user", "\x1b[2J[red]Look[/] \x9b31m", "--chat", "monday")
    assert "�[2J[red]Look[/] �31m" in run("window", "--chat", "monday").stdout
    run("facts", "set", "[/red]\x1b", "[bold]", "--user", "[/red]")
    assert "History of [/red]�" in run("facts", "history", "[/red]\x1b", "--user", "[/red]").stdout
    json.loads(run("export", "--user", "[/red]").stdout)


@pytest.mark.parametrize("mark", [*"\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"], ids=ascii)
def test_what_users_wrote_cannot_turn_round_what_stands_beside_it(run: Run, mark: str) -> None:
    run("add", "user", f"safe{mark}txt.exe", "--chat", "monday")
    assert "safe�txt.exe" in run("window", "--chat", "monday").stdout
    assert mark not in run("facts", "get", f"city{mark}", status=1).stderr
    assert json.loads(run("window", "--chat", "monday", "--json").stdout)[0]["content"] == f"safe{mark}txt.exe"


# --- conversations


def test_a_conversation(run: Run, answer: Callable[..., Any]) -> None:
    assert "message 1 of monday" in run("add", "user", "Hello.", "--chat", "monday", "--agent", "coach").stdout
    stored = answer("add", "assistant", "-", "--chat", "monday", "--at", "2026-03-01T09:30+00:00", input="Hi,\nyou!\n")
    assert (stored["role"], stored["content"], stored["message_index"]) == ("ai", "Hi,\nyou!", 2)
    assert stored["timestamp"] == "2026-03-01T09:30:00+00:00"
    assert answer("add", "user", "Once.", "--chat", "monday", "--key", "k")["message_index"] == 3
    assert answer("add", "user", "Once.", "--chat", "monday", "--key", "k")["message_index"] == 3

    shown = run("window", "--chat", "monday").stdout
    assert "human" in shown and "Hello." in shown and "you!" in shown
    assert [each["content"] for each in answer("window", "--chat", "monday", "--limit", "2")] == ["Hi,\nyou!", "Once."]
    few = str(count("Once."))
    assert [each["content"] for each in answer("window", "--chat", "monday", "--max-tokens", few)] == ["Once."]
    assert "nothing in tuesday" in run("window", "--chat", "tuesday").stdout


def test_sessions(run: Run, answer: Callable[..., Any]) -> None:
    assert "no conversations yet" in run("sessions", "list").stdout
    run("add", "user", "Hello.", "--chat", "monday", "--agent", "coach")
    run("add", "user", "Again.", "--chat", "tuesday")

    assert "monday" in run("sessions", "list").stdout
    assert [each["session_id"] for each in answer("sessions", "list", "--limit", "1")] == ["tuesday"]
    assert "Hello." in run("sessions", "show", "monday").stdout
    shown = answer("sessions", "show", "monday")
    assert (shown["message_count"], shown["messages"][0]["content"]) == (1, "Hello.")

    run("sessions", "archive", "monday")
    assert [each["session_id"] for each in answer("sessions", "list", "--status", "archived")] == ["monday"]

    run("sessions", "delete", "monday", input="n\n", status=1)
    run("sessions", "delete", "monday", input="", status=1)
    assert len(answer("sessions", "list")) == 2
    run("sessions", "delete", "monday", input="y\n")
    assert answer("sessions", "delete", "tuesday", "--yes") == {"deleted": "tuesday"}
    assert answer("sessions", "list") == []


# --- what is known


def test_facts(run: Run, answer: Callable[..., Any]) -> None:
    assert "Nothing is known" in run("facts", "list").stdout
    run("facts", "set", "city", "Berlin", "--from", "2020-01-01")
    fact = answer(
        "facts", "set", "city", "-", "--from", "2026-03-01T00:00:00+00:00", "--confidence", "0.9", input="Lisbon\n"
    )
    assert (fact["fact_value"], fact["confidence"], fact["valid_from"]) == ("Lisbon", 0.9, "2026-03-01T00:00:00+00:00")

    assert "Lisbon" in run("facts", "list").stdout
    assert "Lisbon" in run("facts", "get", "city").stdout
    assert answer("facts", "get", "city", "--as-of", "2021-06-01")["fact_value"] == "Berlin"
    assert [each["fact_value"] for each in answer("facts", "list", "--as-of", "2021-06-01")] == ["Berlin"]

    run("facts", "reject", "city", "Lisbon")
    history = run("facts", "history", "city").stdout
    assert "rejected" in history and "holds" in history
    assert [each["fact_value"] for each in answer("facts", "history", "city")] == ["Berlin", "Lisbon"]
    assert answer("facts", "get", "city")["fact_value"] == "Berlin"
    assert "rejected" in run("facts", "set", "city", "Lisbon", status=1).stderr

    assert answer("facts", "forget", "city") == {"forgotten": "city"}
    run("facts", "get", "city", status=1)


def test_preferences(run: Run, answer: Callable[..., Any]) -> None:
    assert "No preferences" in run("preferences", "list").stdout
    assert {each["user_id"] for each in answer("preferences", "list", "--defaults")} == {"system"}
    run("preferences", "set", "units", "metric", "--type", "coding")
    assert (
        answer("preferences", "set", "units", "-", "--type", "coding", input="imperial\n")["preference_value"]
        == "imperial"
    )
    assert "imperial" in run("preferences", "get", "units").stdout
    assert [each["preference_key"] for each in answer("preferences", "list", "--type", "coding")] == ["units"]
    assert answer("preferences", "forget", "units") == {"forgotten": "units"}


def test_a_sensitive_preference_is_neither_typed_nor_shown(
    run: Run, answer: Callable[..., Any], settings: Settings
) -> None:
    run("preferences", "set", "passport", "X1234567", "--sensitive", status=2)
    set_now = run("preferences", "set", "passport", "--sensitive", input="X1234567\n")
    assert "X1234567" not in set_now.output
    assert answer("preferences", "set", "passport", "--sensitive", input="X7654321")["preference_value"] is None

    assert "X7654321" not in run("preferences", "list").stdout
    assert answer("preferences", "list")[0]["preference_value"] is None
    assert "X7654321" in run("preferences", "list", "--reveal").stdout
    assert answer("preferences", "list", "--reveal")[0]["preference_value"] == "X7654321"
    assert answer("preferences", "get", "passport")["preference_value"] == "X7654321"
    with psycopg.connect(str(settings.database_url)) as connection:
        assert "X7654321" not in str(connection.execute("SELECT preference_value FROM user_preferences").fetchall())


def test_instructions(run: Run, answer: Callable[..., Any]) -> None:
    assert "no instructions yet" in run("instructions", "list").stdout
    run("instructions", "set", "coach", "Be brief.")
    assert answer("instructions", "set", "coach", "-", input="Be kind.\n")["version"] == 2
    assert "Be kind." in run("instructions", "get", "coach").stdout
    assert [each["content"] for each in answer("instructions", "list")] == ["Be kind."]
    assert [each["version"] for each in answer("instructions", "history", "coach")] == [1, 2]
    assert "Be brief." in run("instructions", "history", "coach").stdout
    assert answer("instructions", "forget", "coach") == {"forgotten": "coach"}


def test_documents(run: Run, answer: Callable[..., Any], tmp_path: Path) -> None:
    assert "no documents yet" in run("documents", "list").stdout
    book, note = tmp_path / "[red]book.pdf", tmp_path / "note.md"
    book.write_bytes(pdf([["The valve is green."], ["The pump is blue."]]))
    note.write_text("# Kitchen\n\n## Oven\n\nIt runs hot.\n")

    added = run("documents", "add", str(book), str(note))
    assert "[red]book.pdf" in added.stdout and "note.md" in added.stdout
    assert [each["chunks"] for each in answer("documents", "add", str(book), "--title", "Other")] == [2]
    assert {each["title"] for each in answer("documents", "list")} == {"[red]book.pdf", "note.md"}
    run("documents", "add", str(book), str(note), "--title", "Both", status=2)

    known = {each["title"]: each["document_id"] for each in answer("documents", "list")}
    shown = run("documents", "show", known["[red]book.pdf"]).stdout
    assert "page 2" in shown and "The pump is blue." in shown and "application/pdf" in shown
    assert answer("documents", "show", known["note.md"])["chunks"][0]["metadata"] == {"heading": "Kitchen > Oven"}
    assert answer("documents", "show", known["[red]book.pdf"], "--limit", "1", "--offset", "1")["chunks"][0][
        "metadata"
    ] == {"page": 2}
    assert answer("documents", "forget", known["note.md"]) == {"forgotten": known["note.md"]}
    run("documents", "show", known["note.md"], status=1)


# --- all of a user's memory


def test_export_and_import(run: Run, answer: Callable[..., Any], tmp_path: Path) -> None:
    run("add", "user", "Grüße 🙂", "--chat", "monday", "--user", "ann")
    run("preferences", "set", "passport", "--sensitive", "--user", "ann", input="X1234567")
    file = tmp_path / "ann.json"

    exported = run("export", str(file), "--user", "ann")
    assert exported.stdout == ""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "X1234567" in file.read_text() and "Grüße 🙂" in file.read_text() and "\n  " in file.read_text()
    assert json.loads(run("export", "--user", "ann").stdout) == json.loads(file.read_text())
    dash = run("export", "-", "--user", "ann")
    assert (json.loads(dash.stdout), dash.stderr) == (json.loads(file.read_text()), "")
    assert not Path("-").exists()
    run("export", str(file), "--user", "ann", status=1)
    run("export", str(file), "--user", "ann", "--force")

    assert "1 message" in run("import", str(file), "--user", "bob").stdout
    assert "there already" in run("import", str(file), "--user", "bob").stdout
    again = answer("import", str(file), "--user", "bob")
    assert {again[noun] for noun in ("sessions", "messages", "preferences", "facts")} == {0}
    assert answer("import", "-", "--user", "eve", input=file.read_text())["messages"] == 1
    of_bob, of_ann = json.loads(run("export", "--user", "bob").stdout), json.loads(file.read_text())
    assert {**of_bob, "user_id": "ann"} == of_ann


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{\n  "format": "ltst",\n  oops\n}', "this is not JSON at line 3, column 3"),
        (b"", "there is nothing in it to import"),
        (b'{"format": "\xff"}', "byte 13 is not UTF-8"),
        (b"[]", "there is nothing in it to import"),
        (b"{}", "this is no export that ltst knows"),
        (b'{"format": "ltst", "version": 99}', "this export has version 99"),
        (b'{"format": "ltst", "version": 1, "messages": {}}', "'messages' of this export must be a list"),
        (b'{"format": "ltst", "version": 1, "sessions": [{}]}', "ann.json"),
        (b'{"format": "ltst", "version": 1, "contexts": [{"session_id": "gone"}]}', "ann.json"),
        (
            b'{"format": "ltst", "version": 1, "preferences": [{"sensitive": true}]}',
            "must have preference_id, a text",
        ),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_malformed_import_names_the_file_and_the_place(run: Run, tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "ann.json"
    file.write_bytes(content)
    error = run("import", str(file), status=1).stderr
    assert "ann.json" in error and said in error


def test_erase(run: Run, answer: Callable[..., Any]) -> None:
    for name in ("ann", "bob"):
        run("add", "user", "Hello.", "--chat", "monday", "--user", name)
    assert "nothing was erased" in run("erase", "--user", "ann", input="bob\n", status=1).stderr
    run("erase", "--user", "ann", input="", status=1)
    assert len(answer("window", "--chat", "monday", "--user", "ann")) == 1

    assert "Receipt" in run("erase", "--user", "ann", input="ann\n").stdout
    assert answer("window", "--chat", "monday", "--user", "ann") == []
    receipt = answer("erase", "--user", "bob", "--yes")
    assert receipt["user_id"] == "bob" and receipt["removed"]["conversation_messages"] == 1
    assert set(receipt["remaining"].values()) == {0}
    assert receipt["notes"] == [] and "conversation_messages" in receipt["vacuumed"]
    assert "there was no user 'nobody'" in run("erase", "--user", "nobody", "--yes").stderr


def test_a_receipt_is_verified(run: Run, answer: Callable[..., Any], tmp_path: Path) -> None:
    run("add", "user", "Hello.", "--chat", "monday", "--user", "ann")
    file = tmp_path / "receipt.json"
    file.write_text(run("erase", "--user", "ann", "--yes", "--json").stdout)
    assert "no row of this user" in run("erase", "--verify", str(file)).stdout
    assert answer("erase", "--verify", "-", input=file.read_text())["ok"] is True
    run("add", "user", "I am back.", "--chat", "monday", "--user", "ann")
    assert "conversation_messages (1)" in run("erase", "--verify", str(file), status=1).stdout
    file.write_text("no JSON")
    assert "holds no receipt" in run("erase", "--verify", str(file), status=1).stderr
    assert "holds no receipt" in run("erase", "--verify", str(tmp_path / "none"), status=1).stderr


def test_users(run: Run, answer: Callable[..., Any]) -> None:
    assert "Nothing of anybody" in run("users", "list").stdout
    for name in ("ann", "bob", "cleo"):
        run("add", "user", "Hello.", "--chat", "monday", "--user", name)
    assert [(each["user_id"], each["sessions"], each["messages"]) for each in answer("users", "list")] == [
        ("ann", 1, 1),
        ("bob", 1, 1),
        ("cleo", 1, 1),
    ]
    assert [each["user_id"] for each in answer("users", "list", "--limit", "1", "--after", "ann")] == ["bob"]
    assert "--after ann" in run("users", "list", "--limit", "1").stderr


# --- the database


def test_stats(run: Run, answer: Callable[..., Any]) -> None:
    run("add", "user", "Hello.", "--chat", "monday")
    seen = answer("stats")
    assert {"messages.add"} <= {each["name"] for each in seen["operations"]}
    assert seen["database_bytes"] > 0
    shown = run("stats").stdout
    assert "p95" in shown and "MiB" in shown and "conversation_messages" in shown


def test_health(run: Run, answer: Callable[..., Any], database_url: str) -> None:
    assert "row-level security is forced" in run("health").stdout
    assert answer("health")["ok"] is True
    with psycopg.connect(database_url) as connection:
        connection.execute("ALTER TABLE documents NO FORCE ROW LEVEL SECURITY")
    run("health", status=1)
    assert json.loads(run("health", "--json", status=1).stdout)["ok"] is False


def test_maintain(run: Run, answer: Callable[..., Any]) -> None:
    assert "contexts expired" in run("maintain").stdout
    assert answer("maintain")["sessions_deleted"] == 0


def test_status_changes_nothing_and_migrate_applies(
    run: Run, answer: Callable[..., Any], empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", empty_database_url)
    for _ in range(2):
        assert {each["state"] for each in answer("db", "status")} == {"pending"}
    assert "pending" in run("db", "status").stdout
    applied = answer("db", "migrate")["applied"]
    assert applied[0].startswith("0001")
    assert "up to date" in run("db", "migrate").stdout
    assert {each["state"] for each in answer("db", "status")} == {"applied"}


def test_a_table_is_adopted_and_given_back(run: Run, answer: Callable[..., Any], database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE conversation_memory (id SERIAL, session_id TEXT, role TEXT, content TEXT)")
        connection.execute(
            "INSERT INTO conversation_memory (session_id, role, content) "
            "VALUES ('monday', 'user', 'The ferry leaves at nine.'), ('monday', 'wizard', 'It does not.')"
        )
        plan = answer("db", "adopt", "conversation_memory", "--dry-run", "--user", "ann")
        assert (plan["rows"], plan["messages"], plan["kept"]) == (2, 1, None)
        assert plan["faults"] == [{"row": "2", "reason": 'the role "wizard" is unknown'}]
        told = run("db", "adopt", "conversation_memory", "--dry-run").stdout
        assert "wizard" in told
        assert "1 of 2 rows cannot be taken over" in run("db", "adopt", "conversation_memory", "--yes", status=1).stderr
        refused = run("db", "adopt", "conversation_memory", "--leave-out", "--user", "ann", input="n\n", status=1)
        assert "1 rows" in refused.stderr
        connection.execute("UPDATE conversation_memory SET role = 'assistant' WHERE id = 2")
        adopted = answer("db", "adopt", "conversation_memory", "--user", "ann", "--yes")
        assert adopted["kept"] == "public.conversation_memory_before_ltst"
        assert "ferry" in run("search", "When does the ferry leave?", "--user", "ann").stdout
        connection.execute(
            "INSERT INTO conversation_memory (session_id, role, content) VALUES ('monday', 'user', 'Oh.')"
        )
        assert "--back goes with" in run("db", "adopt", "conversation_memory", "--keep", status=1).stderr
        assert answer("db", "adopt", "conversation_memory", "--back", "--yes")["rows"] == 3
        assert connection.execute("SELECT count(*) FROM conversation_memory").fetchone() == (3,)
        assert "no table" in run("db", "adopt", "conversation_memory", "--back", "--yes", status=1).stderr


def test_backup_and_restore(
    run: Run, answer: Callable[..., Any], empty_database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("add", "user", "Hello.", "--chat", "monday")
    before = json.loads(run("export").stdout)
    file = str(tmp_path / "memory.dump")
    assert answer("db", "backup", file)["bytes"] > 0
    assert "exists" in run("db", "backup", file, status=1).stderr
    assert "Wrote" in run("db", "backup", file, "--force").stdout
    assert "holds memories" in run("db", "restore", file, status=1).stderr
    assert "Restored" in run("db", "restore", file, "--force").stdout

    monkeypatch.setenv("DATABASE_URL", empty_database_url)
    assert {each["state"] for each in answer("db", "restore", file)["migrations"]} == {"applied"}
    assert json.loads(run("export").stdout) == before


def test_reset(run: Run, answer: Callable[..., Any]) -> None:
    run("add", "user", "Hello.", "--chat", "monday")
    refused = run("db", "reset", input="n\n", status=1)
    assert "Drop the memory of all users in test_" in refused.stderr
    assert len(answer("sessions", "list")) == 1
    run("db", "reset", input="y\n")
    assert answer("sessions", "list") == []
    run("add", "user", "Hello.", "--chat", "monday")
    assert answer("db", "reset", "--yes") == {"reset": True}
    assert answer("sessions", "list") == []


def test_reset_takes_nothing_that_is_not_ltst_s(
    run: Run, empty_database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with psycopg.connect(empty_database_url) as connection:
        connection.execute("CREATE TABLE documents (theirs TEXT)")
    monkeypatch.setenv("DATABASE_URL", empty_database_url)
    run("db", "reset", "--yes", status=1)
    with psycopg.connect(empty_database_url) as connection:
        assert connection.execute("SELECT theirs FROM documents").fetchall() == []


def test_master_key(run: Run, answer: Callable[..., Any], settings: Settings) -> None:
    run("preferences", "set", "passport", "--sensitive", input="X1234567")
    before = answer("master-key", "show")
    key = (settings.home / "master.key").read_text().strip()
    assert len(before["ids"]) == 1 and before["where"].endswith("master.key")

    rotated = answer("master-key", "rotate")
    assert rotated["wrapped"] == 1 and rotated["ids"][0] not in before["ids"]
    assert answer("master-key", "show")["ids"] == rotated["ids"]
    assert answer("preferences", "get", "passport")["preference_value"] == "X1234567"
    assert "1 data key is wrapped" in run("master-key", "rotate").stdout
    shown = run("master-key", "show").output
    assert key not in shown and (settings.home / "master.key").read_text().split(",")[0] not in shown


def test_master_key_of_the_environment(answer: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LTST_MASTER_KEY", f"{'00' * 32},{'11' * 32}")
    shown = answer("master-key", "show")
    assert shown["where"] == "LTST_MASTER_KEY" and len(shown["ids"]) == 2


# --- as people run it


@pytest.mark.parametrize("program", [MODULE, SCRIPT], ids=["module", "script"])
def test_it_runs_as_a_program(program: list[str], database_url: str, tmp_path: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": database_url}

    def ltst(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*program, *arguments], env=environment, capture_output=True, text=True, timeout=60)

    added = ltst("add", "user", "Hello.", "--chat", "monday", "--json")
    assert (added.returncode, added.stderr, json.loads(added.stdout)["message_index"]) == (0, "", 1)
    failed = ltst("facts", "get", "nothing")
    assert (failed.returncode, failed.stdout, failed.stderr) == (1, "", "error: there is no fact 'nothing'\n")
    assert ltst("nothing").returncode == 2


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("ltst fa", ["facts"]),
        ("ltst facts hi", ["history"]),
        ("ltst search x --kind fa", ["fact"]),
        ("ltst learning set ext", ["extraction"]),
        ("ltst add as", ["assistant"]),
    ],
)
def test_the_shell_completes(begun: str, offered: list[str]) -> None:
    asked = {"_LTST_COMPLETE": "complete_bash", "COMP_WORDS": begun, "COMP_CWORD": str(len(begun.split()) - 1)}
    completed = subprocess.run(SCRIPT, env={**os.environ, **asked}, capture_output=True, text=True, timeout=60)
    assert completed.stdout.split() == offered


# --- the demo


def test_the_demo_remembers_between_runs(tmp_path: Path) -> None:
    """On the embedded Postgres, whatever DATABASE_URL says."""
    environment = {**os.environ, "LTST_HOME": str(tmp_path / "demo"), "DATABASE_URL": "postgresql://localhost:1/team"}

    def demonstrate() -> str:
        done = subprocess.run(
            [*MODULE, "demo"], env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    first, second, third = demonstrate(), demonstrate(), demonstrate()
    assert str(tmp_path / "demo") in first
    assert "Lisbon" in first and "closed" in first and "ltst demo again" in first and "earlier" not in first
    assert "one earlier conversation" in second and "Lisbon" in second and "vegan" in second
    assert "2 earlier conversations" in third
    assert "you>" not in first


def test_the_demo_answers_with_what_was_said(database_url: str, tmp_path: Path) -> None:
    """On a terminal, it takes what is typed."""
    ours, theirs = pty.openpty()
    command = [*MODULE, "demo", "--database-url", database_url, "--home", str(tmp_path / "home")]
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "dumb"}
    ) as process:
        os.close(theirs)
        read_until(ours, "you>")
        os.write(ours, b"My cat is called Mimi\n")
        assert "Noted." in read_until(ours, "you>")
        os.write(ours, b"What is my cat called?\n")
        assert "Mimi" in read_until(ours, "you>").partition("ltst>")[2]
        os.write(ours, b"Where do I live?\n")
        assert "Your home is Lisbon" in read_until(ours, "you>")
        os.write(ours, b"/quit\n")
        assert process.wait(120) == 0
    os.close(ours)


def read_until(terminal: int, sign: str) -> str:
    seen, deadline = "", time.monotonic() + 120
    while sign not in seen:
        assert time.monotonic() < deadline, seen
        seen += os.read(terminal, 65536).decode(errors="replace")
    return seen


# --- what is learnt


def test_what_was_said_is_known_to_the_next_command(run: Run, answer: Callable[..., Any]) -> None:
    run("add", "user", "My name is Ana and I live in Porto. Call me Annie.", "--chat", "monday")
    assert {(each["fact_key"], each["fact_value"]) for each in answer("facts", "list")} >= {
        ("name", "Ana"),
        ("home", "Porto"),
    }
    assert [each["preference_value"] for each in answer("preferences", "list")] == ["Annie"]


def test_learning_can_be_switched_and_begun_anew(run: Run, answer: Callable[..., Any]) -> None:
    assert set(answer("learning", "show").values()) == {True}
    assert answer("learning", "set", "extraction", "off")["extraction"] is False
    run("add", "user", "I live in Porto.", "--chat", "monday")
    assert answer("facts", "list") == []
    run("learning", "set", "extraction", "on")
    assert [each["fact_value"] for each in answer("facts", "list")] == ["Porto"]
    assert answer("learning", "restart", "--yes") == {"sessions": 1}
    assert [each["fact_value"] for each in answer("facts", "list")] == ["Porto"]
    run("learning", "set", "dreams", "on", status=2)
    run("learning", "set", "episodes", "maybe", status=2)


def test_a_worker_does_what_is_due_and_ends(run: Run, answer: Callable[..., Any], database_url: str) -> None:
    run("add", "user", "I live in Porto.", "--chat", "monday")
    assert answer("worker", "--once") == {"retried": 0, "set_aside": "nothing was set aside"}
    with psycopg.connect(database_url) as connection:
        assert connection.execute(UNINDEXED).fetchall() == []
    assert "nothing was set aside" in run("worker", "--once", "--retry").stdout


def test_a_worker_runs_until_it_is_told_to_stop(run: Run, database_url: str) -> None:
    environment = os.environ | {"DATABASE_URL": database_url, "LTST_WORKER": "on"}
    process = subprocess.Popen([*MODULE, "worker"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        run("add", "user", "I live in Porto.", "--chat", "monday")
        deadline = time.monotonic() + 120
        with psycopg.connect(database_url, autocommit=True) as connection:
            while not connection.execute("SELECT 1 FROM user_facts WHERE fact_value = 'Porto'").fetchone():
                assert time.monotonic() < deadline, "the worker learns nothing"
                time.sleep(0.2)
    finally:
        process.terminate()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert out.decode().startswith("Stopped")


def test_the_history_of_a_fact_goes_by_the_clock(run: Run) -> None:
    run("facts", "set", "city", "Porto", "--from", "2020-01-01")
    run("facts", "set", "city", "Lisbon", "--from", "2021-01-01")
    run("facts", "set", "city", "Madrid", "--from", "2999-01-01")
    shown = run("facts", "history", "city").stdout.splitlines()
    states = {city: next(line for line in shown if city in line) for city in ("Porto", "Lisbon", "Madrid")}
    assert "closed" in states["Porto"]
    assert "holds" in states["Lisbon"]
    assert "planned" in states["Madrid"]
