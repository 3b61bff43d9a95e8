"""Try agents of the OpenAI Agents SDK and of LangGraph, with their defaults, against `ltst serve`.

    python scripts/check_agents.py            # both
    python scripts/check_agents.py langgraph  # one of them

The model behind the server is scripted. Each framework is installed into an environment of its own. Three runs, each a
process: one tells something, one asks for it in a conversation of its own, one streams and uses a tool. Prints what
each came to; the exit status is 1 when the model was not shown what was remembered, or a turn was not stored.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ltst import Memory, Settings

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from helpers.language_server import (  # type: ignore[import-not-found] # noqa: E402
    LanguageServer,
    Tools,
    language_server,
)

PROGRAMS = ROOT / "tests" / "helpers"
SECONDS = 180
ADDRESS = re.compile(r"http://localhost:\d+")


@dataclass(frozen=True, slots=True)
class Framework:
    """What to install, the program that runs an agent, and the path that it asks by default."""

    packages: Sequence[str]
    program: str
    path: str


FRAMEWORKS = {
    "openai-agents": Framework(["openai-agents==0.24.0"], "agents_sdk_program.py", "/v1/responses"),
    "langgraph": Framework(["langchain", "langchain-openai"], "langgraph_program.py", "/v1/chat/completions"),
}


def main(names: Sequence[str]) -> int:
    """Try these frameworks, or all; the exit status."""
    if unknown := sorted({*names} - {*FRAMEWORKS}):
        raise SystemExit(f"no program for {', '.join(unknown)}; there are {', '.join(FRAMEWORKS)}")
    failed = False
    for name in names or FRAMEWORKS:
        problems = _problems(FRAMEWORKS[name])
        for each in problems:
            print(f"FAILED: {each}")
        print(f"{name}: {'FAILED' if problems else 'passed'}")
        failed = failed or bool(problems)
    return int(failed)


def _problems(framework: Framework) -> list[str]:
    """Install, serve and run; what is wrong."""
    with tempfile.TemporaryDirectory(prefix="ltst-agents-") as made, language_server() as upstream:
        folder = Path(made)
        python = _installed(folder / "environment", framework.packages)
        with _served(folder / "home", upstream) as address:
            problems = [*_tried(framework, python, address, upstream)]
        return [*problems, *_kept(folder / "home")]


def _installed(folder: Path, packages: Sequence[str]) -> Path:
    """Return the Python of an environment that has the framework."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", *packages], check=True, timeout=900)
    return python


@contextmanager
def _served(home: Path, upstream: LanguageServer) -> Iterator[str]:
    """`ltst serve` on a free port, with the scripted model behind it; where it is."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LTST_", "DATABASE_URL"))}
    told = {"LTST_PROXY_BASE_URL": upstream.url, "LTST_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-m", "ltst.doors.cli.main", "serve", "--port", "0"]
    server = subprocess.Popen(
        command, env={**kept, **told}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert server.stdout is not None
        found = next((found for line in server.stdout if (found := ADDRESS.search(line))), None)
        if found is None:
            raise SystemExit("ltst serve did not say where it is")
        yield found[0]
    finally:
        server.terminate()
        server.wait(60)


def _tried(framework: Framework, python: Path, address: str, upstream: LanguageServer) -> Iterator[str]:
    """Yield what is wrong with the runs."""
    upstream.script = ["Noted.", "You live in Lisbon.", Tools([("book_table", {"city": "Lisbon"})]), "Booked."]
    runs = (("I live in Lisbon.",), ("Where do I live?",), ("Book a table where I live.", "streamed"))
    for said, expected in zip(runs, ("Noted.", "You live in Lisbon.", "Booked."), strict=True):
        told = _run(python, PROGRAMS / framework.program, address, *said)
        print(f"{said[0]} -> {told}")
        if told != expected:
            yield f"{said[0]!r} came to {told!r}"
    if {each.path for each in upstream.asked} != {framework.path}:
        yield f"it asked for {sorted({each.path for each in upstream.asked})}, not for {framework.path}"
    for asked in upstream.asked[1:]:
        shown = asked.body.get("instructions") or str(asked.body.get("messages"))
        if "I live in Lisbon." not in shown:
            yield f"the model was not told where the user lives: {shown!r}"


def _run(python: Path, program: Path, address: str, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "OPENAI_BASE_URL": f"{address}/v1",
        "OPENAI_API_KEY": "of no use here",
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
    }
    done = subprocess.run(
        [python, program, *arguments], env=environment, capture_output=True, text=True, timeout=SECONDS
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()


def _kept(home: Path) -> Iterator[str]:
    """Yield which turns are missing from the memory."""
    with Memory(settings=Settings(home=home, worker=False)) as memory:
        user = memory.user("local")
        chats = [user.chat(each.session_id).history() for each in user.sessions.list()]
    said = sorted([(each.role, each.content) for each in chat] for chat in chats)
    expected = sorted(
        [
            [("human", "I live in Lisbon."), ("ai", "Noted.")],
            [("human", "Where do I live?"), ("ai", "You live in Lisbon.")],
            [
                ("human", "Book a table where I live."),
                ("ai", 'book_table({"city": "Lisbon"})'),
                ("tool", "booked in Lisbon"),
                ("ai", "Booked."),
            ],
        ]
    )
    print(f"stored: {sum(map(len, said))} turns in {len(said)} conversations")
    if said != expected:
        yield f"stored: {said}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
