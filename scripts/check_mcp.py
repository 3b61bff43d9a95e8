"""Try `ltst mcp` with the official inspector and the official conformance suite, which npm installs by name.

    python scripts/check_mcp.py

Every scenario of the suite is in the table that this prints: passed, failed, or why it does not apply. The exit status
is 1 when one that applies has failed.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import node

ROOT = Path(__file__).parents[1]
# The released suite knows the generation with a handshake; the next one also that of requests which stand alone.
SUITES = {
    "conformance": "@modelcontextprotocol/conformance@0.1.16",
    "conformance-next": "@modelcontextprotocol/conformance@0.2.0-alpha.12",
}
RUNS = (("conformance", "2025-11-25"), ("conformance-next", "2025-11-25"), ("conformance-next", "2026-07-28"))
INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"

NO_QUESTIONS = "ltst never asks a client for anything: no sampling, no elicitation, no roots"
NO_TASKS = "an extension that ltst does not offer: no tool runs as a task"
NO_SKILLS = "an extension that ltst does not offer: it has no skills"
NO_LOGGING = "ltst does not say that it sends its log to clients, which 2026-07-28 gave up"
NO_SUBSCRIPTIONS = "ltst does not say that resources can be subscribed to"
NO_RESUMING = "ltst keeps no events to resume a stream from; a call is one answer"
NO_HEADERS = "no tool of ltst takes an argument from a header"
REASONS = {
    "tools-call-sampling": NO_QUESTIONS,
    "tools-call-elicitation": NO_QUESTIONS,
    "elicitation-": NO_QUESTIONS,
    "input-required-result-": NO_QUESTIONS,
    "tasks-": NO_TASKS,
    "sep-2640-skills-": NO_SKILLS,
    "logging-set-level": NO_LOGGING,
    "tools-call-with-logging": NO_LOGGING,
    "resources-subscribe": NO_SUBSCRIPTIONS,
    "resources-unsubscribe": NO_SUBSCRIPTIONS,
    "server-sse-polling": NO_RESUMING,
    "http-custom-header-server-validation": NO_HEADERS,
}
# These ask for tools, resources and prompts under names of the suite's own: they are tried on a server that has them,
# behind the same gate and the same transports.
BY_NAME = ("server-stateless", "tools-call-", "json-schema-", "resources-read-", "resources-templates-", "prompts-get-")


class Outcome(NamedTuple):
    """How one check went: passed, failed or not applying, with what there is to say about it."""

    check: str
    by: str
    result: str
    said: str = ""


def main() -> int:
    """Install, start, try, print; the exit status."""
    with tempfile.TemporaryDirectory(prefix="ltst-mcp-") as made:
        folder = Path(made)
        node.install(folder, [INSPECTOR, *(f"{name}@npm:{package}" for name, package in SUITES.items())])
        # As most clients start it, and over HTTP with all that it can say.
        own = [sys.executable, "-m", "ltst.doors.cli.main", "mcp", "--home", str(folder / "home")]
        all_of_it = [*own, "--tools", "all", "--structured", "--http", "--port", "0"]
        named = [sys.executable, str(ROOT / "tests" / "helpers" / "conformance_server.py"), str(folder / "home")]
        with _started(all_of_it) as ltst, _started(named) as fixtures:
            outcomes = [*_inspected(folder, own, ltst), *_conforming(folder, ltst, fixtures)]
    _show(outcomes)
    return int(any(each.result == "FAILED" for each in outcomes))


@contextmanager
def _started(command: Sequence[str]) -> Iterator[str]:
    """A server; where it is, as it says itself."""
    server = subprocess.Popen(command, env=node.environment(), stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        told = server.stdout.readline()
        found = re.search(r"http://\S+/mcp", told)
        if found is None:
            raise SystemExit(f"the server did not start: {told!r}")
        yield found.group()
    finally:
        server.terminate()
        server.wait(timeout=60)


def _inspected(folder: Path, own: Sequence[str], url: str) -> Iterator[Outcome]:
    """The inspector's command line, over each transport."""
    # The inspector keeps its environment to itself; a program that is not installed is found by this variable alone.
    found = [f"PYTHONPATH={os.environ['PYTHONPATH']}"] if "PYTHONPATH" in os.environ else []
    ways = {
        "stdio": [*(["-e", *found] if found else []), *own],
        "http": [url],
        "sse": [url.replace("/mcp", "/sse"), "--transport", "sse"],
    }
    asked: Mapping[str, Sequence[str]] = {
        "tools/list": ["--strict"],
        "tools/call": ["--tool-name", "remember", "--tool-arg", "content=I moved to Lisbon.", "session_id=monday"],
        "tools/call, found": ["--tool-name", "search_memory", "--tool-arg", "query=Where do I live?"],
        "resources/list": [],
        "resources/templates/list": [],
        "resources/read": ["--uri", "ltst://sessions/monday"],
        "prompts/list": [],
        "prompts/get": ["--prompt-name", "recall", "--prompt-args", "topic=Lisbon"],
    }
    for way, target in ways.items():
        for method, more in asked.items():
            yield _inspection(folder, way, target, method, more)


def _inspection(folder: Path, way: str, target: Sequence[str], method: str, more: Sequence[str]) -> Outcome:
    command = ["node_modules/.bin/mcp-inspector", "--cli", *target, "--method", method.partition(",")[0], *more]
    done = node.run(folder, command)
    expected = "Lisbon" in done.stdout if method in ("tools/call, found", "resources/read", "prompts/get") else True
    told = (done.stderr or done.stdout).strip().splitlines()
    if done.returncode == 0 and expected and _is_json(done.stdout):
        return Outcome(f"inspector over {way}", method, "passed")
    return Outcome(f"inspector over {way}", method, "FAILED", told[-1] if told else f"status {done.returncode}")


def _is_json(text: str) -> bool:
    try:
        return '"isError": true' not in text and json.loads(text) is not None
    except ValueError:
        return False


def _conforming(folder: Path, ltst: str, fixtures: str) -> Iterator[Outcome]:
    """Every scenario of the suites, on the server that it is about."""
    tried: set[tuple[str, str]] = set()
    for name, version in RUNS:
        for scenario, versions in _scenarios(folder, name):
            applying = version in versions or (versions == "extension" and version == "2026-07-28")
            if not applying or (version, scenario) in tried:
                continue
            tried.add((version, scenario))
            why = next((reason for begun, reason in REASONS.items() if scenario.startswith(begun)), None)
            if why is not None:
                yield Outcome(f"conformance {version}", scenario, "does not apply", why)
                continue
            on_fixtures = scenario.startswith(BY_NAME)
            yield _scenario(folder, name, version, scenario, fixtures if on_fixtures else ltst, on_fixtures)


def _scenarios(folder: Path, name: str) -> Iterator[tuple[str, str]]:
    listed = node.run(folder, ["node", _program(folder, name), "list", "--server"])
    for found in re.finditer(r"^ *- (\S+) \[(.*)\]$", listed.stdout, re.MULTILINE):
        yield found[1], found[2]


def _scenario(folder: Path, name: str, version: str, scenario: str, url: str, on_fixtures: bool) -> Outcome:
    asked = ["--url", url, "--scenario", scenario, "--spec-version", version]
    done = node.run(folder, ["node", _program(folder, name), "server", *asked])
    where = "on the suite's fixtures behind ltst's transports" if on_fixtures else "on ltst mcp"
    counted = re.search(r"Passed: (\d+)/(\d+), (\d+) failed", done.stdout)
    if done.returncode == 0 and counted is not None and counted[3] == "0":
        return Outcome(f"conformance {version}", scenario, "passed", f"{counted[1]} of {counted[2]} checks, {where}")
    lines = [line for line in done.stdout.splitlines() if "FAIL" in line or "Error" in line] or [done.stderr[-300:]]
    return Outcome(f"conformance {version}", scenario, "FAILED", " / ".join(lines)[:500])


def _program(folder: Path, name: str) -> str:
    """The suite's program; two versions of it would share one name among the installed commands."""
    return str(folder / "node_modules" / name / "dist" / "index.js")


def _show(outcomes: Sequence[Outcome]) -> None:
    width = max(len(each.by) for each in outcomes)
    for each in outcomes:
        print(f"{each.check:24}  {each.by:{width}}  {each.result:14}  {each.said}".rstrip())
    counts = {what: sum(each.result == what for each in outcomes) for what in ("passed", "FAILED", "does not apply")}
    print(", ".join(f"{number} {what}" for what, number in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
