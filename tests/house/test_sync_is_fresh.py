"""What is generated says what it is generated from: sync.py the handles, docs/verbs.md the catalog,
docs/llms.txt the pages."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.mark.parametrize("script", ["generate_sync.py", "generate_verbs.py", "generate_llms.py"])
def test_what_is_generated_is_fresh(script: str) -> None:
    checked = subprocess.run([sys.executable, SCRIPTS / script, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
