"""sync.py says what memory.py and the handles say."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "scripts" / "generate_sync.py"


def test_sync_is_fresh() -> None:
    checked = subprocess.run([sys.executable, SCRIPT, "--check"], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
