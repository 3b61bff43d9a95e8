"""`ltst chat`: remembers with no model and with one, typed, piped and as an argument, and is left without a trace."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from helpers.language_server import Hang, LanguageServer, Status, language_server
from helpers.shell import MODULE, Run, interruptible


@pytest.fixture
def upstream(monkeypatch: pytest.MonkeyPatch) -> Iterator[LanguageServer]:
    """A model that says what is scripted."""
    with language_server() as played:
        monkeypatch.setenv("LTST_LLM_MODEL", "small")
        monkeypatch.setenv("LTST_LLM_BASE_URL", played.url)
        yield played


def turns(run: Run, *arguments: str, input: str | bytes | None = None, status: int = 0) -> list[dict[str, Any]]:
    """The objects that --json prints, one a line."""
    printed = run("chat", *arguments, "--json", input=input, status=status).stdout
    return [json.loads(line) for line in printed.splitlines()]


def test_it_remembers_from_one_run_to_the_next_without_a_model(run: Run) -> None:
    assert run("chat", "I moved to Lisbon in March.").stdout == "Noted. I now know: home: Lisbon.\n"
    (asked,) = turns(run, "Where do I live?")
    assert "Lisbon" in asked["reply"] and asked["message"] == "Where do I live?"
    assert (asked["agent_name"], asked["model"]) == ("recall", None)
    assert asked["memories"][0]["content"] == "home: Lisbon" and asked["memories"][0]["date"]
    assert turns(run, "Where do I live?", "--user", "bob")[0]["memories"] == []


def test_each_run_is_a_conversation_unless_one_is_continued(run: Run, answer: Callable[..., Any]) -> None:
    (first,), (second,) = turns(run, "I keep bees."), turns(run, "I keep hens.")
    assert first["chat_id"] != second["chat_id"]
    assert turns(run, "And cats.", "--continue")[0]["chat_id"] == second["chat_id"]
    assert turns(run, "And dogs.", "--chat", first["chat_id"])[0]["chat_id"] == first["chat_id"]
    assert turns(run, "And fish.", "-c")[0]["chat_id"] == first["chat_id"]
    said = answer("sessions", "show", first["chat_id"])["messages"]
    assert [each["content"] for each in said if each["role"] == "human"] == ["I keep bees.", "And dogs.", "And fish."]
    assert turns(run, "Named.", "--chat", "monday")[0]["chat_id"] == "monday"


def test_what_is_piped_is_said_line_by_line(run: Run, answer: Callable[..., Any]) -> None:
    piped = run("chat", input="I live in Porto.\n\n   \nWhere do I live?\n").stdout
    assert piped.startswith("Noted. I now know: home: Porto.\nYour home is Porto. You told me on ")
    assert piped.endswith(": “I live in Porto.”\n") and "message" not in piped, "sources are told when asked for"
    assert "you>" not in piped and "\x1b" not in piped
    (session,) = answer("sessions", "list")
    assert session["session_length"] == 4
    first, second = turns(run, input="One line\nand no end of line")
    assert first["chat_id"] == second["chat_id"] and second["message"] == "and no end of line"
    assert turns(run, input="") == []
    assert turns(run, "-", input="Two\nlines\n")[0]["message"] == "Two\nlines"


def test_words_with_a_slash_are_for_the_chat_itself(run: Run, answer: Callable[..., Any]) -> None:
    script = (
        "/why\nI live in Porto.\n/facts\nWhere do I live?\n/why\n/new\n/help\n/etc/hosts is a file.\n/quit\nNever said."
    )
    result = run("chat", input=script)
    assert "Porto" in result.stdout and "It is based on nothing" in result.stdout and "Known" not in result.stdout
    assert result.stdout.count("home: Porto") >= 2
    assert "/why" in result.stderr and "A new conversation begins" in result.stderr
    assert [each["session_length"] for each in answer("sessions", "list")] == [2, 4]
    assert "Never said." not in result.stdout


def test_what_an_answer_rests_on_is_shown_when_asked_for(run: Run) -> None:
    (said,) = turns(run, "The lighthouse stands behind the harbour.", "--chat", "monday")
    plain = run("chat", "Where does the lighthouse stand?").stdout
    assert said["message_id"] not in plain and "monday" not in plain
    explained = run("chat", "Where does the lighthouse stand?", "--explain").stdout
    assert explained.startswith(plain) and said["message_id"] in explained.replace("\n", "")
    why = run("chat", input="Where does the lighthouse stand?\n/why\n").stdout
    assert why.startswith(plain) and said["message_id"] in why


def test_a_yes_to_an_offer_may_come_in_another_run(run: Run, answer: Callable[..., Any]) -> None:
    run("facts", "set", "locker_code", "4417")
    offer = run("chat", "Forget my locker code")
    assert "I would forget “locker code: 4417”" in offer.stdout and offer.stderr == "To say yes: ltst chat -c yes\n"
    run("chat", "-c", "yes")
    assert answer("facts", "list") == []


def test_a_yes_in_a_new_conversation_says_that_nothing_was_changed(run: Run, answer: Callable[..., Any]) -> None:
    run("facts", "set", "locker_code", "4417")
    run("chat", "Forget my locker code")
    stray = run("chat", "yes")
    assert "nothing to confirm in this chat" in stray.stdout and stray.stderr == ""
    assert len(answer("facts", "list")) == 1


def test_a_word_that_there_is_not_is_not_said(run: Run, answer: Callable[..., Any]) -> None:
    result = run("chat", input="/nonsense\nHello.\n", status=1)
    assert result.stderr == "error: there is no /nonsense; there are /facts, /why, /new, /help, /quit\n"
    assert result.stdout == "Hello! Tell me something, or ask me.\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Hello", "--agent", "nobody"], "there is no agent 'nobody'; known are assistant, recall"),
        (["--agent", "nobody"], "there is no agent 'nobody'"),
        (["Hello", "--agent", "assistant"], "needs a language model: set LTST_LLM_MODEL"),
        (["Hello", "-c"], "there is no conversation yet"),
        ([" "], "must not be empty or blank"),
        (["Hello", "--chat", ""], "session_id must be 1 to 255 characters"),
        (["Hello", "--user", "system"], "reserved"),
        (["a\x00b"], "NUL"),
    ],
    ids=str,
)
def test_what_cannot_be_said_is_refused_in_one_line(run: Run, arguments: list[str], said: str) -> None:
    result = run("chat", *arguments, status=1)
    assert said in result.stderr and len(result.stderr.splitlines()) == 1
    assert result.stdout == ""
    told = json.loads(run("chat", *arguments, "--json", status=1).stderr)["error"]
    assert said in told["message"] and told["type"] in ("NotFound", "Invalid", "Unanswered")


def test_one_of_two_conversations_must_be_chosen(run: Run) -> None:
    assert "give one of them" in run("chat", "Hello", "-c", "--chat", "monday", status=2).stderr


def test_a_line_that_cannot_be_read_does_not_end_the_conversation(run: Run, answer: Callable[..., Any]) -> None:
    long = b"x" * (1024 * 1024 + 1)
    result = run("chat", input=b"\n\xff\xfe\nI live in Porto.\n" + long + b"\nI am Ana.\n", status=1)
    assert [line[:40] for line in result.stderr.splitlines()] == [
        "error: standard input, line 2: byte 1 is",
        "error: content may have up to 1,048,576 ",
    ]
    assert len(result.stdout.splitlines()) == 2
    assert answer("sessions", "list")[0]["session_length"] == 4


def test_with_a_model_it_answers_and_the_answer_is_kept(
    run: Run, answer: Callable[..., Any], upstream: LanguageServer
) -> None:
    run("facts", "set", "home", "Lisbon")
    upstream.script = ["You live in \x1b[2JLisbon."]
    assert run("chat", "Where do I live?", "--chat", "monday").stdout == "You live in �[2JLisbon.\n"
    assert "home: Lisbon" in upstream.asked[-1].system
    assert [each["role"] for each in answer("window", "--chat", "monday")] == ["human", "ai"]
    upstream.script = ["Yes."]
    (told,) = turns(run, "Sure?", "--chat", "monday")
    assert (told["agent_name"], told["model"], told["reply"]) == ("assistant", "small", "Yes.")
    assert "Where do I live?" in json.dumps(upstream.asked[-1].body["messages"])


def test_a_model_that_gives_no_answer_is_an_error_and_the_message_is_kept(
    run: Run, answer: Callable[..., Any], upstream: LanguageServer
) -> None:
    upstream.script = [Status(500, "sorry"), *["Here I am."] * 5]
    result = run("chat", "--chat", "monday", input="Are you there?\nAnd now?\n", status=1)
    assert "has no answer yet" in result.stderr and "Here I am." in result.stdout
    said = answer("window", "--chat", "monday")
    assert [each["content"] for each in said] == ["Are you there?", "And now?", "Here I am."]


# --- on a terminal


class Terminal:
    """A command that is typed at."""

    def __init__(self, *arguments: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [*MODULE, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=interruptible,
            env={**os.environ, "TERM": "dumb", **environment},
        )
        os.close(theirs)
        self.seen = ""

    def until(self, sign: str) -> str:
        """What is shown up to a sign, which is then behind us."""
        deadline = time.monotonic() + 120
        while sign not in self.seen:
            assert time.monotonic() < deadline, self.seen
            self.seen += os.read(self._ours, 65536).decode(errors="replace").replace("\r\n", "\n")
        shown, _, self.seen = self.seen.partition(sign)
        return shown

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C; again if nothing comes of it: one that comes just as a line begins to be read may be lost."""
        for _ in range(5):
            os.kill(self.process.pid, signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(120)
                return

    def ended(self) -> tuple[int, str]:
        """The status, and what was shown last."""
        status = self.process.wait(120)
        try:
            while more := os.read(self._ours, 65536):
                self.seen += more.decode(errors="replace")
        except OSError:  # the other end is closed
            pass
        os.close(self._ours)
        return status, self.seen


@pytest.fixture
def at(database_url: str, tmp_path: Path) -> dict[str, str]:
    return {"DATABASE_URL": database_url, "HOME": str(tmp_path)}


def test_a_conversation_on_a_terminal(at: dict[str, str], upstream: LanguageServer, tmp_path: Path) -> None:
    upstream.otherwise = "You live in Porto, as far as I know."
    chat = Terminal("chat", **at)
    assert "assistant answers with small" in chat.until("you> ")
    chat.type("I live in Porto.\n")
    assert "You live in Porto" in chat.until("you> ").partition("ltst> ")[2]
    chat.type("/facts\n")
    assert "Porto" in chat.until("you> ").partition("Facts")[2]
    chat.type("Where do I live?\n")
    rests_on = chat.until("you> ").partition("ltst> ")[2]
    assert "fact: home: Porto" in rests_on and time.strftime("%Y-") in rests_on
    chat.type("\x04")
    status, shown = chat.ended()
    assert (status, "ltst chat --continue" in shown) == (0, True)
    assert [each.name for each in tmp_path.iterdir() if "history" in each.name] == []


@pytest.mark.parametrize("moment", ["at the prompt", "while it thinks"])
def test_ctrl_c_leaves_without_a_trace(at: dict[str, str], upstream: LanguageServer, moment: str) -> None:
    upstream.otherwise = Hang()
    chat = Terminal("chat", **at)
    chat.until("you> ")
    if moment == "while it thinks":
        chat.type("Hello?\n")
        while not upstream.asked:
            time.sleep(0.05)
    chat.interrupt()
    status, shown = chat.ended()
    assert status == 130
    assert "Traceback" not in shown and "Exception" not in shown
