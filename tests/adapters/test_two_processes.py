"""The examples of docs/frameworks.md remember across two processes, each where its framework is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "frameworks.md").read_text()
EXAMPLES = dict(re.findall(r'^```python title="talk_(\w+)\.py"\n(.*?)^```', PAGE, re.MULTILINE | re.DOTALL))
SAID = "I moved to Lisbon in March."


@pytest.mark.parametrize("framework", sorted(EXAMPLES))
def test_the_second_process_knows_what_the_first_was_told(framework: str, database_url: str, tmp_path: Path) -> None:
    try:
        public = import_module(f"ltst.{framework}")
        assert all(getattr(public, name) for name in public.__all__)
    except ImportError as missing:
        pytest.skip(f"its framework is installed by make adapters alone: {missing.name}")
    program = tmp_path / f"talk_{framework}.py"
    program.write_text(EXAMPLES[framework])
    told(program, "My cat is called Miso.", database_url)  # an example can be told more than one thing
    told(program, SAID, database_url)
    assert SAID in told(program, "Where do I live?", database_url)


def told(program: Path, said: str, database_url: str) -> str:
    """What a process of its own prints when it is told something."""
    environment = {**os.environ, "DATABASE_URL": database_url}
    ran = subprocess.run([sys.executable, program, said], env=environment, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_every_public_module_of_a_framework_has_its_example() -> None:
    entries = {path.stem for path in (Path(__file__).parent / "outside").glob("*.toml")}
    assert entries - {*EXAMPLES} == {"langgraph"}  # whose page runs in its own test
    assert {*EXAMPLES} <= entries
