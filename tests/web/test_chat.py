"""Chat, as a person would: something is said, remembered, and known in the next conversation."""

from __future__ import annotations

from pathlib import Path

import httpx
from playwright.sync_api import Browser, expect

from helpers.language_server import LanguageServer, Status
from helpers.serving import Listening, listening
from ltst import Settings

from .conftest import Visitor, visiting


def test_an_empty_memory_leads_to_a_remembered_conversation(looker: Visitor) -> None:
    page = looker.go("/")
    assert "Nothing is remembered yet" in page.inner_text("#greeting")
    page.get_by_role("link", name="My name is Ana").click()
    assert "Lisbon" in looker.answered()
    assert "home" in page.inner_text("#beside .known")
    page.get_by_role("link", name="Ask in a new conversation").click()
    assert page.locator(".said").count() == 0
    assert page.input_value("#message") == "What do you know about me?"
    page.keyboard.press("Enter")
    assert "Lisbon" in looker.answered()
    page.get_by_role("link", name="New conversation").click()
    assert "Lisbon" in looker.say("Where do I live?")
    beside = page.inner_text("#beside")
    assert "home: Lisbon" in beside and "tokens" in beside
    page.get_by_text("window", exact=True).click()
    assert "Where do I live?" in page.locator("#beside pre").last.inner_text()
    assert sum(map(tokens, page.locator("#beside details .faint").all_inner_texts())) == tokens(beside.split("it: ")[1])
    page.reload()
    assert page.locator(".said").count() == 2
    assert "home: Lisbon" in page.inner_text("#beside")


def tokens(told: str) -> int:
    return int(told.split()[0].replace(",", ""))


def test_chat_by_keyboard_alone(visitor: Visitor) -> None:
    page = visitor.go("/")
    page.keyboard.type("I am allergic to peanuts.")
    page.keyboard.press("Shift+Enter")
    page.keyboard.type("My dog is called Rex.")
    page.keyboard.press("Enter")
    visitor.answered()
    assert page.inner_text(".said.mine .words") == "I am allergic to peanuts.\nMy dog is called Rex."
    page.keyboard.type("What am I allergic to?")
    visitor.tab_to("#say .main")
    page.keyboard.press("Enter")
    assert "peanuts" in visitor.answered()


def test_chat_without_scripts(site: Listening, browser: Browser) -> None:
    for visitor in visiting(site, browser, java_script_enabled=False):
        page = visitor.go("/")
        page.get_by_role("link", name="I am allergic to peanuts").click()
        assert "peanuts" in page.input_value("#message")
        page.fill("#message", "I live in Porto.")
        page.get_by_role("button", name="Send").click()
        assert "Porto" in page.locator(".said.theirs .words").inner_text()
        page.fill("#message", "Where do I live?")
        page.get_by_role("button", name="Send").click()
        assert "Porto" in page.locator(".said.theirs .words").last.inner_text()
        assert "home" in page.inner_text("#beside")


def test_what_goes_wrong_is_said(visitor: Visitor) -> None:
    page = visitor.go("/")
    page.route("**/chat", lambda asked: asked.abort())
    page.fill("#message", "Hello?")
    page.keyboard.press("Enter")
    expect(page.locator("#problem")).to_contain_text("fetch")
    assert page.locator(".said.theirs").count() == 0
    assert visitor.wrong.pop().startswith("Failed to load resource")


def test_an_agent_without_its_model_is_not_offered(site: Listening, visitor: Visitor) -> None:
    own = {"X-User-Id": visitor.user_id}
    body = {"agent_name": "assistant"}
    httpx.put(f"{site.url}/v1/sessions/old", json=body, headers=own, timeout=60).raise_for_status()
    for place in ("/", "/chat?id=old"):
        page = visitor.go(place)
        assert page.input_value("#say [name=agent]") == "recall"
        unable = page.locator("#say option", has_text="assistant")
        assert unable.is_disabled() and "needs LTST_LLM_MODEL" in unable.inner_text()


def test_with_a_model_the_prompt_is_shown_as_it_was_sent(
    database_url: str, tmp_path: Path, upstream: LanguageServer, browser: Browser
) -> None:
    upstream.script = ["You live in <b>Lisbon</b>."]
    model = {"llm_model": "small", "llm_base_url": upstream.url}
    settings = Settings(worker=False, database_url=database_url, home=tmp_path / "home", **model)
    with listening(settings) as door:
        for visitor in visiting(door, browser):
            page = visitor.go("/")
            page.get_by_label("Answered by").select_option("assistant")
            assert visitor.say("Where do I live?") == "You live in <b>Lisbon</b>."
            assert "As it was sent" in page.inner_text("#beside")
            sent = upstream.asked[0].system
            shown = "".join(page.locator("#beside pre").all_text_contents())
            assert "Where do I live?" in shown and sent.splitlines()[0] in shown
            upstream.script = [Status(500, "broken")] * 9
            page.fill("#message", "And now?")
            page.keyboard.press("Enter")
            expect(page.locator("#problem")).to_contain_text("500")
