"""Tables: words, phrases and patterns that are read from text files."""

from __future__ import annotations

from pathlib import Path

import pytest

from ltst.support.tables import Table, read_sections

TEXT = """# A comment.
<number> = (?:one|two)

[sizes of things]
small large
huge

[jobs]
bus driver, crane
operator, cook,

# Another comment.
[said]
I have <number> <pets>
(?P<pets>many|
  few)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "tables_of_a_test"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "table.txt").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    return folder.name


def test_words_and_phrases(package: str) -> None:
    table = Table(package, "table.txt")
    assert table.words("sizes") == {"small", "large", "huge"}
    assert table.phrases("jobs") == {"bus driver", "crane operator", "cook"}


def test_patterns_hold_their_parts(package: str) -> None:
    table = Table(package, "table.txt", {"pets": frozenset(("cats", "big cats"))})
    pattern = table.pattern("said", "^", "$")
    assert pattern.match("i have two big cats") and not pattern.match("I have three cats")
    assert (found := pattern.match("few")) is not None and found["pets"] == "few"


def test_headings_keep_all_their_words(package: str) -> None:
    assert read_sections(package, "table.txt")[0] == (["sizes", "of", "things"], ["small large", "huge"])
