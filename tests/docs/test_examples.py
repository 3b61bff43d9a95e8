"""The examples in the README and the docs run, in order, page by page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if EXAMPLE.search(page.read_text())], ids=lambda page: page.name
)
def test_examples_run(page: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", database_url)
    names: dict[str, object] = {}
    for example in EXAMPLE.findall(page.read_text()):
        exec(compile(example, page.name, "exec"), names)


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.*)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_to_headings_lead_to_headings(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^):#]*)#([^)]+)\)", page.read_text()):
        assert anchor in anchors(page.parent / target if target else page), f"{page.name} links to {target}#{anchor}"


def test_every_page_is_in_the_navigation_and_in_the_index() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]["nav"]
    listed = [page for section in nav for pages in section.values() for each in pages for page in each.values()]
    assert sorted(listed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))
    index = (ROOT / "docs" / "index.md").read_text()
    assert [page for page in listed if f"({page})" not in index] == ["index.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"
