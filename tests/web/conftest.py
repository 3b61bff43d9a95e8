"""The page in a real browser: one server and one browser for all walks, a memory of its own for each."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

    from helpers.serving import Listening
    from ltst.db.embedded import EmbeddedServer

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PATIENCE = 60_000  # milliseconds
MOST_TABS = 80
WIDE, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


@pytest.fixture(scope="session")
def site(server: EmbeddedServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Listening]:
    """The server that shows the page, on a database that all walks share."""
    from helpers.probes import cloned
    from helpers.serving import listening
    from ltst import Settings

    home = tmp_path_factory.mktemp("home")
    with cloned(server, template) as url, listening(Settings(worker=False, database_url=url, home=home)) as door:
        yield door


# For a module, not for all: while it is open, an event loop runs in this thread, and no test that awaits could run.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or whichever there is."""
    if CHROMIUM is None:
        pytest.skip("no browser: apt-get install chromium")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


class Visitor:
    """A person at the page: what they do, and what must never happen meanwhile."""

    def __init__(self, context: BrowserContext, url: str, user_id: str) -> None:
        self.context, self.url, self.user_id = context, url, user_id
        self.wrong: list[str] = []
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("console", lambda said: self.wrong.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda problem: self.wrong.append(str(problem)))
        self.page.on("request", lambda asked: self._look(asked.url))

    def _look(self, asked: str) -> None:
        if urlsplit(asked).netloc != urlsplit(self.url).netloc and not asked.startswith(("data:", "blob:", "about:")):
            self.wrong.append(f"a request left the machine: {asked}")

    def go(self, path: str) -> Page:
        """Open a place."""
        self.page.goto(self.url + path)
        return self.page

    def say(self, words: str) -> str:
        """Say something in the chat; what is answered."""
        self.page.fill("#message", words)
        self.page.keyboard.press("Enter")
        return self.answered()

    def tab_to(self, selector: str) -> None:
        """Reach something with the Tab key alone."""
        for _ in range(MOST_TABS):
            self.page.keyboard.press("Tab")
            if self.page.evaluate("chosen => document.activeElement.matches(chosen)", selector):
                return
        raise AssertionError(f"no Tab leads to {selector}")

    def unfold_and_type(self, summary: str, field: str, words: str) -> None:
        """Open what is folded away, replace what its field says and send it, with the keyboard alone."""
        self.tab_to(summary)
        self.page.keyboard.press("Enter")
        self.tab_to(field)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(words)
        self.page.keyboard.press("Enter")

    def answered(self) -> str:
        self.page.wait_for_selector("body:not(.busy) .said.theirs:last-child .words:not(.waiting)")
        return self.page.locator(".said.theirs .words").last.inner_text()


@pytest.fixture
def visitor(site: Listening, browser: Browser) -> Iterator[Visitor]:
    """Somebody with an empty memory, on a wide screen in light colours."""
    yield from visiting(site, browser)


def visiting(site: Listening, browser: Browser, **looks: object) -> Iterator[Visitor]:
    user_id = f"walker-{uuid.uuid4().hex[:8]}"
    context = browser.new_context(**{"viewport": WIDE, "color_scheme": "light", **looks})  # type: ignore[arg-type]
    context.add_cookies([{"name": "ltst_user", "value": user_id.encode().hex(), "url": site.url}])
    someone = Visitor(context, site.url, user_id)
    yield someone
    context.close()
    assert someone.wrong == []


LOOKS: dict[str, dict[str, object]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True},
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Walk in every look with --full, else in one of them: another one for each walk."""
    if "looks" in metafunc.fixturenames:
        names = [*LOOKS]
        if not metafunc.config.getoption("--full"):
            names = [names[sum(map(ord, metafunc.function.__name__)) % len(names)]]
        metafunc.parametrize("looks", [LOOKS[name] for name in names], ids=names)


@pytest.fixture
def looker(site: Listening, browser: Browser, looks: dict[str, object]) -> Iterator[Visitor]:
    """Somebody with an empty memory, who looks in each of these ways."""
    yield from visiting(site, browser, **looks)


@pytest.fixture
def shots(request: pytest.FixtureRequest) -> Path | None:
    """Where pictures of the page go, if they are asked for."""
    given = request.config.getoption("--shots")
    return Path(given) if given else None
