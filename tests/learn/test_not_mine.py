"""Nothing is learnt from what is not the user's own: transcripts, mails, answers of others, role play and fiction."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ltst.learn.extract import claims

SAID_AT = datetime(2026, 11, 16, 12, tzinfo=UTC)
# How many of so many may be believed, of each kind: 3%, 2% and 1% of thirty, and two lines of eighty.
BOUNDS = {"transcript": (30, 0), "mail": (30, 0), "answer": (30, 0), "line": (80, 2)}


def material() -> dict[str, list[str]]:
    """The texts of each kind."""
    found: dict[str, list[str]] = {}
    written = Path(__file__).with_name("not_mine.txt").read_text(encoding="utf-8")
    for kind, text in re.findall(r"^=== (\w+)\n(.*?)(?=^=== |\Z)", written, re.M | re.S):
        found.setdefault(kind, []).extend(text.strip().splitlines() if kind == "line" else [text.strip()])
    return found


@pytest.mark.parametrize("kind", BOUNDS)
def test_what_is_not_ones_own_is_not_believed(kind: str) -> None:
    texts, (least, most) = material()[kind], BOUNDS[kind]
    assert len(texts) >= least
    believed = {text: read for text in texts if (read := [(each.key, each.value) for each in claims(text, SAID_AT)])}
    assert len(believed) <= most, believed
