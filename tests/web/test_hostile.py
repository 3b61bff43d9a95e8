"""Words that want to be more than words: 200 of them through every field that is shown; each stays text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import Browser, expect

from helpers.serving import Listening

from .conftest import Visitor
from .test_guarded import locked

__all__ = ["locked"]

CALLS = ("window.pwned=1", "alert(1)", "document.title='pwned'", "fetch('https://evil.example')")
MARKUP = (
    "<script>{0}</script>",
    "<img src=x onerror={0}>",
    "<svg/onload={0}>",
    "<iframe srcdoc='<script>{0}</script>'></iframe>",
    '"><script>{0}</script>',
    "'><img src=x onerror={0}>",
    '" autofocus onfocus={0} x="',
    "</textarea><script>{0}</script>",
    "</title><script>{0}</script>",
    "</pre></details><svg onload={0}>",
    "<a href=javascript:{0}>x</a>",
    "javascript:{0}",
    "data:text/html,<script>{0}</script>",
    "<div hx-get=/bring/export hx-trigger=load hx-on::load={0}></div>",
    "<form action=https://evil.example><input name=token></form>{0}",
    "<base href=https://evil.example>{0}",
    "<meta http-equiv=refresh content=0;url=https://evil.example>{0}",
    "<style>*{{background:url(https://evil.example)}}</style>{0}",
    "{{{{ {0} }}}}",
    "{{% for x in ().__class__.__base__.__subclasses__() %}}{0}{{% endfor %}}",
    "${{{0}}}#{{{0}}}",
    "\u202e{0}\u2066\u2069\u200b",
    "<!--{0}--><![CDATA[{0}]]>",
    "&lt;script&gt;{0}&#60;/script&#62;",
    "<math><mtext></form><form><mglyph><style></math><img src onerror={0}>",
    "%3Cscript%3E{0}%3C/script%3E",
    "\\u003cscript\\u003e{0}",
    "<template><script>{0}</script></template>",
    "<x onclick={0} tabindex=1 id=x>x</x>",
    "<input type=image src=x onerror={0}>",
    "<object data=javascript:{0}></object>",
    "<embed src=data:text/html,{0}>",
    "<body onload={0}>",
    "<details open ontoggle={0}>",
    "<video><source onerror={0}></video>",
    "<button formaction=javascript:{0}>x</button>",
    "<link rel=stylesheet href=https://evil.example/{0}>",
    "<marquee onstart={0}>",
    "`{0}`<%= {0} %>",
    "+ADw-script+AD4-{0}+ADw-/script+AD4-",
    "<s\x00cript>{0}</s\x00cript>".replace("\x00", "\u00ad"),
    "<p slot=x part=y style=position:fixed;inset:0>{0}</p>",
    "[x](javascript:{0}) ![x](https://evil.example)",
    "<img srcset='https://evil.example 1x' alt={0}>",
    "<audio src=x onerror={0}>",
    "<select><option onmouseover={0}></select>",
    "<noscript><p title='</noscript><img src=x onerror={0}>'>",
    "<isindex type=image src=1 onerror={0}>",
    'event: done\ndata: {{"beside": "<img src=x onerror={0}>"}}',
    "<table background=https://evil.example><td>{0}",
)
HOSTILE = [f"{shape.format(call)} #{number}" for number, (shape, call) in enumerate(itertools.product(MARKUP, CALLS))]
FORBIDDEN = (
    "iframe, object, embed, base, form[action^=http], [onerror], [onload], [onclick], [onfocus], [ontoggle], [hx-on], "
    "img, video, audio, marquee, a[href^='javascript' i], script:not([src^='/static/']), style, main svg:not(.shares)"
)
PART = 10  # of the contents goes through each field, another part through each, unless all of it is asked for
LISTS = ("/about", "/conversations", "/wishes", "/documents", "/items", "/bring", "/who", "/operations")
LISTS += ("/operations/ledger",)
NEXT = "a[rel=next]"


def test_there_are_two_hundred_hostile_contents() -> None:
    assert len(set(HOSTILE)) == 200


class Fields:
    """Puts hostile contents into every field that the page shows, and knows which."""

    def __init__(self, client: httpx.Client, *, full: bool) -> None:
        self._client, self._full = client, full
        self._turn = itertools.count()
        self.put: set[str] = set()
        self.sessions: list[str] = []

    def some(self) -> list[str]:
        """All contents, or another tenth of them for each field."""
        chosen = HOSTILE if self._full else HOSTILE[next(self._turn) % PART :: PART]
        self.put |= {*chosen}
        return chosen

    def send(self, method: str, path: str, **body: Any) -> Any:
        answer = self._client.request(method, path, json=body)
        assert answer.is_success, answer.text
        return answer.json()

    def fill(self) -> None:
        self.sessions = self.some()
        for said in _batches(self.sessions):
            self.send("POST", "/v1/sessions", conversations=[_conversation(each) for each in said])
        for each, other in zip(self.some(), self.some(), strict=True):
            self.send("PUT", f"/v1/facts/{segment(each)}", value=other, about="me")
            self.send("PUT", "/v1/facts/friend", value=each, about=other)
        for each in self.some():
            self.send("PUT", f"/v1/preferences/{segment(each)}", value=each)
        for each in self.some():
            self.send("PUT", f"/v1/instructions/{segment(each)}", content=each)
        for each in self.some():
            self.send("POST", "/v1/documents", text=each, title=each, uri=each, media_type="text/plain")
        puts = [{"do": "put", "namespace": [each], "key": each, "value": {each: each}} for each in self.some()]
        self.send("POST", "/v1/items/batch", operations=puts)
        for each in self.some():
            self.send("PUT", f"/v1/retention/{segment(each)}", delete_after=86400 * 30)
        for each in self.some():
            owner = {"X-User-Id": each.replace("\n", " ").encode()}
            kept = self._client.put("/v1/preferences/x", json={"value": "y"}, headers=owner)
            assert kept.is_success, kept.text


def few(rounds: Callable[[int], int], first: int) -> list[str]:
    """Every content with --full, else every fortieth."""
    return HOSTILE if rounds(200) == 200 else HOSTILE[first::40]


def _batches(contents: Sequence[str]) -> list[Sequence[str]]:
    return [contents[place : place + 50] for place in range(0, len(contents), 50)]


def _conversation(words: str) -> dict[str, Any]:
    said = {"key": words, "role": "user", "content": words, "at": "2026-03-01T10:00:00Z"}
    return {"session_id": words, "name": f"Named {words}", "messages": [said]}


def segment(text: str) -> str:
    return quote(text, safe="")


@pytest.fixture
def hostile(site: Listening, visitor: Visitor, request: pytest.FixtureRequest) -> tuple[Visitor, Fields]:
    """Somebody whose every word wants to be more than a word."""
    visitor.page.on("dialog", lambda dialog: visitor.wrong.append(f"a dialog: {dialog.message}"))
    with httpx.Client(base_url=site.url, headers={"X-User-Id": visitor.user_id}, timeout=60) as client:
        fields = Fields(client, full=bool(request.config.getoption("--full")))
        fields.fill()
    return visitor, fields


def test_no_word_is_more_than_a_word(hostile: tuple[Visitor, Fields]) -> None:
    visitor, fields = hostile
    shown = "".join(through(visitor, place) for place in LISTS)
    assert [each for each in fields.put if each not in shown] == []
    for each in fields.sessions:
        words = segment(each)
        for place in (f"/conversations/read?id={words}", f"/wishes/agent?agent={words}", f"/items?within={words}"):
            assert each in looked_at(visitor, place), place


def test_no_word_that_is_asked_for_is_more_than_a_word(visitor: Visitor, rounds: Callable[[int], int]) -> None:
    visitor.page.on("dialog", lambda dialog: visitor.wrong.append(f"a dialog: {dialog.message}"))
    for each in few(rounds, 0):
        words = segment(each)
        for place in (f"/search?q={words}&missed={words}", f"/context?q={words}", f"/conversations?q={words}"):
            assert plain(each) in plain(looked_at(visitor, place)), place
        for place in (f"/?say={words}", f"/login?next={words}", f"/items?q={words}"):
            assert plain(each) in plain(looked_at(visitor, place)), place
        looked_at(visitor, f"/chat?id={words}")
        assert "404" in visitor.wrong.pop()  # the browser's own word on that answer


def test_no_name_of_a_file_is_more_than_a_name(visitor: Visitor, rounds: Callable[[int], int]) -> None:
    for each in few(rounds, 5):
        page = visitor.go("/bring")
        broken = {"name": each.replace("/", "_"), "mimeType": "application/zip", "buffer": b"x"}
        page.set_input_files("input[type=file]", broken)
        page.get_by_role("button", name="Bring it").click()
        expect(page.locator("#import")).to_contain_text("was not brought")
        assert page.locator(FORBIDDEN).count() == 0 and page.evaluate("window.pwned") is None


def test_no_name_of_a_key_is_more_than_a_name(
    locked: tuple[Listening, dict[str, str]], browser: Browser, rounds: Callable[[int], int]
) -> None:
    door, keys = locked
    named = few(rounds, 10)
    with httpx.Client(base_url=door.url, headers={"Authorization": f"Bearer {keys['admin']}"}, timeout=60) as client:
        for each in named:
            client.post("/v1/admin/keys", json={"user_id": "ana", "name": each}).raise_for_status()
    context = browser.new_context()
    context.add_cookies([{"name": "ltst_key", "value": keys["admin"], "url": door.url}])
    visitor = Visitor(context, door.url, "admin")
    shown = through(visitor, "/operations")
    assert [each for each in named if each not in shown] == [] and visitor.wrong == []
    context.close()


def test_what_is_said_and_streamed_is_shown_as_text(visitor: Visitor, rounds: Callable[[int], int]) -> None:
    page = visitor.go("/")
    for each in few(rounds, 15):
        visitor.say(each)
        assert page.locator(".said.mine .words").last.evaluate("each => each.textContent") == each
    assert page.locator(FORBIDDEN).count() == 0
    assert page.evaluate("window.pwned") is None


def plain(text: str) -> str:
    """A text without its line breaks, which a field of one line does not keep."""
    return text.replace("\n", "")


def through(visitor: Visitor, place: str) -> str:
    """All that a list shows, on all of its pages."""
    waiting, seen, shown = [place], {place}, ""
    while waiting:
        shown += looked_at(visitor, waiting.pop())
        links = visitor.page.eval_on_selector_all(NEXT, "all => all.map(each => each.getAttribute('href'))")
        waiting += [each for each in links if each not in seen]
        seen |= {*links}
    return shown


def looked_at(visitor: Visitor, place: str) -> str:
    """All that a place shows, in which nothing has become more than text."""
    page = visitor.go(place)
    assert page.locator(FORBIDDEN).count() == 0, place
    assert page.evaluate("window.pwned") is None and page.title().endswith("ltst")
    values = page.eval_on_selector_all("input, textarea", "all => all.map(each => each.value).join('\\n')")
    return str(page.evaluate("document.body.textContent")) + str(values)
