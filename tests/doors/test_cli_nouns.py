"""The nouns of the command line as people use them: what is shown, what is asked for, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from helpers.shell import MODULE, Run, interruptible
from ltst import Memory
from ltst.doors.cli import show

MISSING = "01900000-0000-7000-8000-000000000000"


def test_a_message_with_all_that_can_be_said_of_it(run: Run, answer: Callable[..., Any]) -> None:
    first = answer("add", "user", "Why?", "--chat", "monday", "--name", "Questions", "--metadata", '{"topic": "why"}')
    second = answer("add", "assistant", "Because.", "--chat", "monday", "--parent", first["message_id"])
    assert first["metadata"] == {"topic": "why"}
    assert second["parent_message_id"] == first["message_id"]
    assert answer("sessions", "list")[0]["session_name"] == "Questions"


def test_what_is_piped_is_kept_byte_for_byte(run: Run, answer: Callable[..., Any]) -> None:
    text = "one\r\ntwo\rthree\n\n  naïve ☕"
    assert answer("add", "user", "-", "--chat", "monday", input=text.encode() + b"\n")["content"] == text
    assert "byte 3 is not UTF-8" in run("add", "user", "-", "--chat", "monday", input=b"ab\xff", status=1).stderr


def test_many_messages_come_from_a_file_or_a_pipe(run: Run, answer: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    lines = [
        {"role": "user", "content": "One", "at": "2026-03-01"},
        {"role": "assistant", "content": "Two", "key": "k"},
    ]
    file.write_text("\n".join(json.dumps(each) for each in lines) + "\n\n")
    assert "Kept 2 messages in monday." in run("add-many", str(file), "--chat", "monday").stdout
    assert [each["message_index"] for each in answer("add-many", "-", "--chat", "b", input=file.read_bytes())] == [1, 2]
    assert answer("add-many", "-", "--chat", "empty", input="") == []
    assert "nothing in empty" in run("window", "--chat", "empty").stdout


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("oops", "line 2: this is not JSON"),
        ("[" * 100_000, "line 2: this is not JSON"),
        ('"text"', "line 2: a message is an object with role and content, not str"),
        ('{"role": "user"}', "message 2 must be a mapping with role, content"),
        ('{"role": "user", "content": "a", "colour": "red"}', "message 2 must be a mapping with role, content"),
        ('{"role": "user", "content": "a", "at": "yesterday"}', "line 2: 'yesterday' is no date"),
        ('{"role": "user", "content": "a", "at": 5}', "message 2: at must be a datetime"),
        ('{"role": "robot", "content": "a"}', "message 2: role must be one of"),
        ('{"role": "user", "content": "a", "metadata": [NaN]}', "message 2: metadata must be a mapping"),
    ],
    ids=range(9),
)
def test_a_line_that_is_no_message_is_told_and_nothing_is_added(run: Run, line: str, said: str) -> None:
    good = '{"role": "user", "content": "good"}\n'
    error = run("add-many", "-", "--chat", "monday", input=good + line + "\n" + good, status=1).stderr
    assert said in error and len(error.splitlines()) == 1
    assert "nothing in monday" in run("window", "--chat", "monday").stdout


def test_a_search_shows_what_its_score_is_made_of(run: Run, answer: Callable[..., Any]) -> None:
    run("add", "user", "I live in Lisbon.", "--chat", "monday", "--metadata", '{"topic": "home", "rank": 3}')
    run("add", "user", "The ferry leaves at nine.", "--chat", "monday")
    explained = run("search", "where do I live?", "--explain").stdout
    assert "Made of" in explained and "its own words" in explained and "Lisbon" in explained
    assert "its meaning" in explained and "Where it comes from" in explained
    hit = answer("search", "where do I live?", "--kind", "message")[0]
    assert hit["score"] > 0 and {"lexical", "dense"} <= hit["scores"].keys()
    assert hit["sources"] == [hit["id"]]
    assert "Nothing like that" in run("search", "quarterly tax declaration").stdout


def test_a_search_shows_what_it_found_in_one_or_two_lines(run: Run) -> None:
    run("add", "user", "I live in Lisbon.", "--chat", "monday", "--at", "2026-03-01T09:30")
    long = f"{'Tea is nice. ' * 30}I live near the harbour, in a blue house.\n{'The kettle sings. ' * 30}"
    run("add", "user", long, "--chat", "monday", "--at", "2026-03-02T09:30")
    shown = run("search", "where do I live?", "--kind", "message").stdout
    assert len(shown.splitlines()) <= 4
    assert "2026-03-01 09:30  User  I live in Lisbon.  " in shown
    assert "blue house" in shown and "its meaning" not in shown


def test_a_search_is_narrowed_down(run: Run, answer: Callable[..., Any]) -> None:
    for price, topic in ((90, "travel"), (40, "food")):
        told = json.dumps({"price": price, "topic": topic})
        when = ("--at", f"2026-0{price // 40}-01")
        run("add", "user", f"The hotel costs {price} euros.", "--chat", topic, "--metadata", told, *when)

    def prices(*narrowed: str) -> list[str]:
        return sorted(hit["content"].split()[3] for hit in answer("search", "hotel", "--kind", "message", *narrowed))

    assert prices() == ["40", "90"]
    assert prices("--where", "topic=food") == ["40"]
    assert prices("--where", "price>=50", "--where", "price<100") == ["90"]
    assert prices("--where", "price=90") == ["90"] and prices("--where", 'price="90"') == []
    assert prices("--chat", "food") == ["40"]
    assert prices("--since", "2026-01-15") == ["90"] and prices("--until", "2026-01-15") == ["40"]
    assert prices("--floor", "1") == []
    run("search", "hotel", "--where", "nonsense", status=2)
    run("search", "hotel", "--where", "price=5", "--where", "price>2", status=2)
    run("search", "hotel", "--since", "soon", status=2)
    assert "floor must be a number from 0 to 1" in run("search", "hotel", "--floor", "2", status=1).stderr
    assert "kinds" in run("search", "hotel", "--kind", "rumour", status=1).stderr


def test_a_context_is_shown_with_its_measure(run: Run, answer: Callable[..., Any]) -> None:
    assert "Nothing is remembered" in run("context", "--chat", "monday").stdout
    run("facts", "set", "city", "Lisbon")
    run("add", "user", "I moved last week.", "--chat", "monday")
    shown = run("context", "Where do I live?", "--chat", "monday", "--max-tokens", "500")
    assert "Lisbon" in shown.stdout and "Where do I live?" in shown.stdout
    assert "of 500 tokens: " in shown.stderr and "facts" in shown.stderr
    found = answer("context", "Where do I live?", "--chat", "monday")
    assert {"messages", "sections", "tokens", "dropped", "sources"} <= found.keys()
    assert found["messages"][-1] == {"role": "user", "content": "Where do I live?"}
    assert "Lisbon" in run("context", "Where do I live?").stdout
    assert "max_tokens" in run("context", "--max-tokens", "3", status=1).stderr


def test_what_was_learnt_shows_who_said_so(run: Run, answer: Callable[..., Any]) -> None:
    run("add", "user", "I live in Porto.", "--chat", "monday", "--at", "2026-01-01")
    run("add", "user", "I moved to Lisbon.", "--chat", "monday", "--at", "2026-03-01")
    history = run("facts", "history", "home").stdout
    assert "I live in Porto." in history and "I moved to Lisbon." in history
    assert "closed" in history and "holds" in history
    assert "I moved to Lisbon." in run("facts", "list", "--source").stdout
    assert "I moved to Lisbon." in run("facts", "get", "home").stdout
    assert "I moved" not in run("facts", "list").stdout


def test_facts_end_and_stand_beside_one_another(run: Run, answer: Callable[..., Any]) -> None:
    run("facts", "set", "pet", "a cat", "--also")
    run("facts", "set", "pet", "a dog", "--also")
    assert {each["fact_value"] for each in answer("facts", "list")} == {"a cat", "a dog"}
    assert [each["fact_value"] for each in answer("facts", "end", "pet", "a cat")] == ["a cat"]
    assert {each["fact_value"] for each in answer("facts", "list")} == {"a dog"}
    assert "pet a dog is over." in run("facts", "end", "pet").stdout
    assert "there is no fact 'pet' that holds" in run("facts", "end", "pet", status=1).stderr


def test_sessions_are_put_linked_forked_and_searched(run: Run, answer: Callable[..., Any]) -> None:
    run("add", "user", "The lighthouse is white.", "--chat", "monday", "--metadata", "{}")
    run("add", "assistant", "I see.", "--chat", "monday")
    put = answer("sessions", "put", "monday", "--name", "Lighthouses", "--metadata", '{"a": 1}')
    assert (put["session_name"], put["metadata"], put["session_length"]) == ("Lighthouses", {"a": 1}, 2)
    assert answer("sessions", "put", "monday", "--status", "archived")["metadata"] == {"a": 1}
    assert answer("sessions", "fork", "monday", "--at", "1", "--as", "copy") == {"session_id": "copy"}
    assert answer("sessions", "summary", "copy")["message_count"] == 1
    assert "By people" in run("sessions", "summary", "monday").stdout
    assert "as reference" in run("sessions", "link", "monday", "copy", "--type", "reference").stdout
    assert "reference" in run("sessions", "related", "monday").stdout
    assert "none" in run("sessions", "related", "nowhere").stdout
    assert "lighthouse" in run("sessions", "search", "monday", "lighthouses").stdout
    assert "Nothing like that" in run("sessions", "search", "monday", "tax").stdout
    assert json.loads(run("sessions", "snapshot", "monday").stdout)["messages"][0]["role"] == "user"
    assert "is set" in run("sessions", "touch", "monday", "--at", "2026-03-01").stdout
    assert "there is no session" in run("sessions", "touch", "nowhere", status=1).stderr
    assert "itself" in run("sessions", "link", "monday", "monday", status=1).stderr


def test_entries(run: Run, answer: Callable[..., Any]) -> None:
    assert "no entries yet" in run("entries", "list").stdout
    kept = answer("entries", "add", "The oven runs hot.", "--importance", "0.8", "--at", "2026-03-01")
    assert "Kept as" in run("entries", "add", "-", "--type", "episodic", input="We cooked.\n").stdout
    assert "oven" in run("entries", "list", "--type", "long_term").stdout
    assert "oven" in run("entries", "show", kept["entry_id"]).stdout
    assert answer("entries", "forget", kept["entry_id"]) == {"forgotten": kept["entry_id"]}
    for verb in ("show", "forget"):
        assert "there is no entry" in run("entries", verb, "nothing", status=1).stderr
    assert "type must be one of" in run("entries", "add", "a", "--type", "semantic", status=1).stderr


def test_working_memory_and_contexts(run: Run, answer: Callable[..., Any]) -> None:
    at = ("--chat", "monday")
    assert "is empty" in run("working", "list", *at).stdout
    run("working", "set", "plan", '{"week": 1}', *at, "--ttl", "12h")
    run("working", "set", "five", "5", *at, "--text")
    run("working", "set", "none", "null", *at)
    assert answer("working", "list", *at) == {"five": "5", "none": None, "plan": {"week": 1}}
    assert run("working", "get", "plan", *at).stdout == '{"week": 1}\n'
    assert answer("working", "get", "none", *at) == {"key": "none", "value": None}
    assert "there is no 'gone'" in run("working", "get", "gone", *at, status=1).stderr
    assert "plan" in run("working", "list", *at).stdout
    run("working", "forget", "five", *at)
    assert answer("working", "clear", *at) == {"cleared": 2}
    run("working", "set", "a", "b", *at, "--ttl", "soon", status=2)

    run("contexts", "set", "project", "goal", "Ship.", *at, "--expires", "2999-01-01")
    assert "Ship." in run("contexts", "get", "project", "goal", *at).stdout
    assert "Ship." in run("contexts", "list", *at, "--type", "project").stdout
    assert answer("contexts", "forget", "project", *at) == {"forgotten": 1}
    assert "there is no project context" in run("contexts", "get", "project", "goal", *at, status=1).stderr
    assert "type must be one of" in run("contexts", "list", *at, "--type", "dreams", status=1).stderr


def test_retention_events_and_the_profile(run: Run, answer: Callable[..., Any]) -> None:
    assert "for good" in run("retention", "list").stdout
    set_now = run("retention", "set", "support", "--archive-after", "30d", "--delete-after", "52w").stdout
    assert set_now == "Sessions of type support are archived after 30 days and deleted after 364 days.\n"
    assert answer("retention", "list")[0]["archive_after"] == 30 * 86_400
    assert "30 days" in run("retention", "list").stdout
    assert "no policy for '*'" in run("retention", "forget", status=1).stderr
    assert "needs --archive-after, --delete-after or both" in run("retention", "set", status=1).stderr

    first, *_ = answer("events", "list")
    assert (first["action"], first["noun"], first["actor"]) == ("set", "retention", "cli")
    assert answer("events", "list", "--after", first["cursor"]) == []
    assert answer("events", "feed", "--after", str(first["event_id"])) == []
    assert len(answer("events", "feed", "--everyone", "--user", "nobody")) == 1
    assert "set retention" in run("events", "list").stdout
    assert "after must be" in run("events", "list", "--after", "٣", status=1).stderr
    assert "after must be" in run("events", "list", "--after", "x", status=1).stderr

    run("facts", "set", "city", "Lisbon")
    run("preferences", "set", "passport", "--sensitive", input="X1234567")
    assert "Lisbon" in run("profile").stdout and "X1234567" not in run("profile").stdout
    assert answer("profile")["preferences"] == {"passport": None}
    assert answer("profile", "--reveal")["preferences"] == {"passport": "X1234567"}
    assert "X1234567" in run("profile", "--reveal").stdout


def test_a_document_can_be_piped(run: Run, answer: Callable[..., Any]) -> None:
    about = ("--title", "Hours", "--metadata", '{"a": 1}', "--media-type", "text/html")
    (added,) = answer("documents", "add", "-", *about, input="<h1>Hours</h1><p>Nine to five.</p>")
    assert (added["title"], added["metadata"], added["media_type"]) == ("Hours", {"a": 1}, "text/html")
    assert "Nine to five." in run("documents", "show", added["document_id"]).stdout
    assert "offset must be" in run("documents", "show", added["document_id"], "--offset", "-1", status=1).stderr


def test_learning_catches_up(run: Run, answer: Callable[..., Any], sync_memory: Memory) -> None:
    run("add", "user", "I live in Porto.", "--chat", "monday")
    assert "Read 1 conversation." in run("learning", "catch-up").stdout
    assert answer("learning", "catch-up") == {"sessions": 0}
    assert [fact.value for fact in sync_memory.user("local").facts.list()] == ["Porto"]


def test_a_message_is_found_by_its_id_in_whichever_conversation(sync_memory: Memory) -> None:
    user = sync_memory.user("ana")
    said = user.chat("monday").add("user", "I live in Porto.")
    assert user.message(str(said.message_id)) == said
    assert user.message(str(said.message_id).upper()) == said
    assert [user.message(nobody) for nobody in (MISSING, "monday", "", 5)] == [None] * 4  # type: ignore[arg-type]


def test_how_far_the_work_is_can_be_told(sync_memory: Memory) -> None:
    sync_memory.user("ana").chat("monday").add("user", "I live in Porto.")
    told: list[tuple[int, int]] = []
    sync_memory.settle(progress=lambda done, due: told.append((done, due)))
    assert told[0][0] == 0 < told[0][1]


# --- errors and interruptions


def test_an_error_is_an_object_where_json_is_wanted(run: Run) -> None:
    result = run("facts", "get", "nothing", "--json", status=1)
    assert result.stdout == ""
    assert json.loads(result.stderr) == {"error": {"type": "NotFound", "message": "there is no fact 'nothing'"}}
    broken = run("documents", "add", "/nowhere/at/all.pdf", "--json", status=1).stderr
    assert json.loads(broken)["error"]["type"] == "Invalid"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["facts", "list", "--as-of", "yesterday"], "'yesterday' is no date"),
        (["facts", "set", "city"], ""),
        (["no-such-command"], "No such command 'no-such-command'"),
        (["facts", "list", "--colour"], "No such option: --colour"),
        (["learning", "set", "dreams", "on"], "dreams"),
        (["chat", "Hello", "-c", "--chat", "monday"], "give one of them"),
    ],
    ids=range(6),
)
def test_wrong_usage_is_an_object_where_json_is_wanted(run: Run, arguments: list[str], said: str) -> None:
    result = run(*arguments, "--json", status=2)
    assert result.stdout == ""
    told = json.loads(result.stderr)["error"]
    assert told["type"] == "Usage" and said in told["message"] and "╭" not in told["message"]
    assert "╭" in run(*arguments, status=2).stderr


def test_json_after_two_dashes_is_a_word(run: Run) -> None:
    assert "╭" in run("facts", "set", "--", "--json", status=2).stderr


def test_what_is_not_confirmed_is_told_as_an_object_too(run: Run) -> None:
    told = run("learning", "restart", "--json", input="n\n", status=1).stderr
    assert json.loads(told[told.index("{") :]) == {"error": {"type": "Aborted", "message": "aborted"}}


@pytest.mark.parametrize("bad", ["{", "[1]", "5", '{"a": NaN}', "", "[" * 100_000], ids=range(6))
def test_metadata_that_is_no_object_is_wrong_usage(run: Run, bad: str) -> None:
    assert "no JSON object" in run("add", "user", "a", "--chat", "b", "--metadata", bad, status=2).stderr


@pytest.mark.parametrize("at", ["0001-01-01", "9999-12-31T23:59:59-12:00", "2026-13-01", "now", ""])
def test_a_time_that_is_none_is_refused(run: Run, at: str) -> None:
    assert "no date" in run("add", "user", "a", "--chat", "b", "--at", at, status=2).stderr


@pytest.mark.parametrize(
    ("arguments", "status"),
    [(["worker"], 0), (["events", "feed", "--follow"], 130), (["chat"], 130)],
    ids=["worker", "feed", "chat"],
)
def test_ctrl_c_ends_a_command_that_goes_on(run: Run, arguments: list[str], status: int) -> None:
    """A worker is told to stop in no other way; everything else says that it was interrupted."""
    run("facts", "set", "city", "Lisbon")
    process = subprocess.Popen(
        [*MODULE, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=interruptible,
    )
    assert process.stdin and process.stdout and process.stderr
    if arguments == ["chat"]:
        process.stdin.write("Hello.\n")
        process.stdin.flush()
    assert (process.stderr if arguments == ["worker"] else process.stdout).readline()  # it is under way
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert "Traceback" not in out + err and "Exception" not in out + err


def test_whoever_interrupts_what_is_counted_is_told_what_becomes_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), show.progress("Indexing") as tell:
        tell(1, 2)
        raise KeyboardInterrupt
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"{show.INTERRUPTED}\n")


@pytest.mark.parametrize(
    "arguments",
    [["facts", "list", "--json"], ["export"], ["events", "feed", "--follow", "--json"], ["no-such"]],
    ids=" ".join,
)
def test_whoever_stops_reading_makes_no_error(run: Run, arguments: list[str]) -> None:
    """Whether all was written at once, at the end, or bit by bit."""
    for city in ("Lisbon", "Porto"):
        run("facts", "set", "city", city)
    wrong = arguments == ["no-such"]
    with subprocess.Popen([*MODULE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        process.stdout.close()
        told = process.stderr.read().decode()
    assert process.returncode == (2 if wrong else 0), told
    assert bool(told) == wrong and "Traceback" not in told and "Exception ignored" not in told


def test_a_terminal_that_lacks_characters_shows_what_it_can(run: Run) -> None:
    run("add", "user", "naïve ☕", "--chat", "monday")

    def shown(*arguments: str) -> str:
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        done = subprocess.run([*MODULE, *arguments], env=environment, capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    assert "na?ve ?" in shown("window", "--chat", "monday")
    assert json.loads(shown("window", "--chat", "monday", "--json"))[0]["content"] == "naïve ☕"
