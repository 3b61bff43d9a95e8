"""Writes docs/llms.txt: every page of the docs with what it is about, for language models that read the site.

The sections and titles come from zensical.toml, the descriptions from the first sentence of each page. Run it with
`--check` to learn whether the file is fresh.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from generated import settle

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TARGET = DOCS / "llms.txt"
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
SENTENCE_END = re.compile(r"(?<=[.!?])\s")


def main() -> int:
    """Write the file, or compare with it."""
    return settle(TARGET, "".join(f"{line}\n" for line in _lines()), "the pages say")


def _lines() -> Iterator[str]:
    project = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]
    yield from (f"# {project['site_name']}", "", f"> {project['site_description']}")
    for section in project["nav"]:
        for name, pages in section.items():
            yield from ("", f"## {name}", "")
            yield from (f"- [{title}]({page}): {_about(DOCS / page)}" for each in pages for title, page in each.items())


def _about(page: Path) -> str:
    """Return the first sentence below the title of a page, without its links and its emphasis."""
    _title, prose, *_rest = page.read_text().split("\n\n")
    words = LINK.sub(r"\1", prose).replace("**", "").split()
    return SENTENCE_END.split(" ".join(words), maxsplit=1)[0].rstrip(".:") + "."


if __name__ == "__main__":
    sys.exit(main())
