"""The other places of the page, each walked through as a person would; with --full in light, in dark and on a phone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from helpers.probes import Connection
from helpers.serving import Listening, listening
from ltst import Settings

from .conftest import Visitor, visiting


def told(site: Listening, visitor: Visitor, *said: str, session_id: str = "monday", at: str | None = None) -> None:
    """Let the visitor have said something before."""
    headers = {"X-User-Id": visitor.user_id}
    with httpx.Client(base_url=site.url, headers=headers, timeout=60) as client:
        for each in said:
            body = {"role": "user", "content": each, **({"at": at} if at else {})}
            client.post(f"/v1/sessions/{session_id}/messages", json=body).raise_for_status()
        client.post("/v1/learning/catch-up").raise_for_status()


def api(site: Listening, visitor: Visitor, path: str) -> Any:
    return httpx.get(site.url + path, headers={"X-User-Id": visitor.user_id}, timeout=60).raise_for_status().json()


def homes(site: Listening, visitor: Visitor) -> list[str]:
    return [each["fact_value"] for each in api(site, visitor, "/v1/facts")["items"] if each["fact_key"] == "home"]


def test_about_me(site: Listening, looker: Visitor) -> None:
    assert "Nothing is known" in looker.go("/about").inner_text("main")
    told(site, looker, "I live in Berlin.", at="2025-05-01T12:00:00Z")
    told(site, looker, "I moved to Lisbon in March 2026.", "My sister Jo lives in Porto.")
    page = looker.go("/about")
    home = page.locator(".fact", has_text="home").filter(has_text="Lisbon")
    home.locator("summary").click()
    inside = home.inner_text()
    assert "I moved to Lisbon in March 2026." in inside and "Berlin" in inside and "sure" in inside
    home.get_by_label("Correct it to").fill("Madrid")
    home.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator("[role=status]")).to_contain_text("home is now Madrid")
    assert homes(site, looker)[0] == "Madrid"
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[role=status]")).to_contain_text("as it was before")
    assert homes(site, looker)[0] == "Lisbon"
    line = page.inner_text(".time")
    assert "Berlin → Lisbon" in line and "learnt" in line
    page.locator(".fact", has_text="home").filter(has_text="Lisbon").locator("summary").click()
    page.get_by_role("link", name="See the conversation").first.click()
    assert page.locator(".said[aria-current] .words").inner_text() == "I moved to Lisbon in March 2026."


@pytest.mark.parametrize(("button", "left"), [("This is wrong", ["Berlin"]), ("This is over", []), ("Forget home", [])])
def test_what_is_done_to_a_fact_can_be_undone(site: Listening, visitor: Visitor, button: str, left: list[str]) -> None:
    told(site, visitor, "I live in Berlin.", "I moved to Lisbon in March 2026.")
    before = api(site, visitor, "/v1/facts/home/history")["items"]
    page = visitor.go("/about")
    page.locator(".fact summary", has_text="home").click()
    page.get_by_role("button", name=button).click()
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    assert homes(site, visitor) == left
    page.keyboard.press("Enter")
    expect(page.locator("[role=status]")).to_contain_text("as it was before")
    assert api(site, visitor, "/v1/facts/home/history")["items"] == before


def test_a_correction_leaves_the_other_lines_as_they_are(site: Listening, visitor: Visitor) -> None:
    told(site, visitor, "I live in Berlin.", "I am allergic to peanuts.")
    page = visitor.go("/about")
    other = page.locator(".fact", has_text="peanuts").first
    other.locator("summary").click()
    home = page.locator(".fact", has_text="home")
    home.locator("summary").click()
    home.get_by_label("Correct it to").fill("Hamburg")
    home.get_by_role("button", name="Correct", exact=True).click()
    expect(page.locator(".fact", has_text="home").locator(".value")).to_have_text("Hamburg")
    expect(page.locator(".time li").first).to_contain_text("Berlin → Hamburg")
    expect(other.get_by_label("Correct it to")).to_be_visible()


def test_a_key_of_several_values_is_one_line(site: Listening, visitor: Visitor) -> None:
    told(site, visitor, "My sister Jo lives in Porto.")
    with httpx.Client(base_url=site.url, headers={"X-User-Id": visitor.user_id}, timeout=60) as client:
        for each in ("chess", "jazz"):
            body = {"value": each, "single_valued": False, "about": "Dani"}
            client.put("/v1/facts/hobby", json=body).raise_for_status()
    page = visitor.go("/about")
    line = page.locator(".list li", has_text="hobby")
    for each, left in (("chess", ["jazz"]), ("jazz", [])):
        line.locator(".fact", has_text=each).locator("summary").click()
        line.locator(".fact", has_text=each).get_by_role("button", name="This is wrong").click()
        expect(line.locator(".value")).to_have_text(left)
    expect(page.get_by_role("heading", name="Dani")).to_be_hidden()
    page.get_by_role("button", name="Undo").click()
    expect(line.locator(".value")).to_have_text(["jazz"])


def test_correcting_without_scripts(site: Listening, browser: Browser) -> None:
    for visitor in visiting(site, browser, java_script_enabled=False):
        told(site, visitor, "I live in Berlin.")
        page = visitor.go("/about")
        page.locator(".fact summary", has_text="home").click()
        page.get_by_label("Correct it to").first.fill("Hamburg")
        page.get_by_role("button", name="Correct", exact=True).first.click()
        assert "home is now Hamburg" in page.inner_text("[role=status]")
        assert "Berlin → Hamburg" in page.inner_text(".time")
        page.get_by_role("button", name="Undo").click()
        assert homes(site, visitor) == ["Berlin"]


def test_a_statement_is_struck_out_and_taken_back(site: Listening, visitor: Visitor) -> None:
    told(site, visitor, "I adopted a cat yesterday and we went to the vet together.")
    page = visitor.go("/about")
    said = page.locator(".fact", has=page.locator("summary", has_text="I adopted a cat"))
    said.locator("summary").click()
    assert "% sure" in said.inner_text()
    said.get_by_role("button", name="Strike out").click()
    expect(page.locator("[role=status]")).to_contain_text("struck out")
    assert said.count() == 0
    page.get_by_role("button", name="Undo").click()
    expect(said).to_be_visible()


def test_correcting_by_keyboard_alone(site: Listening, visitor: Visitor) -> None:
    told(site, visitor, "I live in Berlin.")
    page = visitor.go("/about")
    visitor.unfold_and_type(".fact summary", ".fact input[name=value]", "Hamburg")
    expect(page.locator("[role=status]")).to_contain_text("home is now Hamburg")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[role=status]")).to_contain_text("as it was before")
    assert homes(site, visitor) == ["Berlin"]


def test_conversations(site: Listening, looker: Visitor) -> None:
    assert "No conversations yet" in looker.go("/conversations").inner_text("main")
    told(site, looker, "I live in Berlin.", "My boat is called Plover.")
    told(site, looker, "It rains.", session_id="tuesday")
    page = looker.go("/conversations")
    page.get_by_label("Find what was said").fill("boat")
    page.keyboard.press("Enter")
    page.get_by_text("My boat is called Plover.").click()
    assert page.locator(".said[aria-current] .words").inner_text() == "My boat is called Plover."
    assert "home" in page.inner_text("aside")
    page.get_by_text("Change", exact=True).first.click()
    page.get_by_label("What it says").first.fill("I live in Rome.")
    page.get_by_role("button", name="Replace").first.click()
    assert "I live in Rome." in page.inner_text(".thread")
    page.get_by_role("button", name="Undo").click()
    assert "I live in Berlin." in page.inner_text(".thread")
    page.get_by_text("Change", exact=True).last.click()
    page.get_by_role("button", name="Remove for good").last.click()
    assert "Plover" not in page.inner_text(".thread")
    page.get_by_text("Link with another").click()
    page.get_by_label("Id of the later one").fill("tuesday")
    page.get_by_role("button", name="Link", exact=True).click()
    assert "It rains." in page.inner_text("aside")
    page.get_by_role("button", name="Copy it whole").click()
    assert "This is a copy" in page.inner_text("main")
    page.get_by_role("button", name="Put it aside").click()
    assert "put aside" in page.inner_text(".meta")
    page.get_by_role("button", name="Bring it back").click()
    assert "active again" in page.inner_text("[role=status]")
    looker.go("/conversations").get_by_role("link", name="It rains.").click()
    assert page.inner_text("h1") == "It rains." and "tuesday" in page.inner_text(".meta")
    page.get_by_text("Delete it").click()
    page.get_by_role("button", name="Delete for good").click()
    assert {each["session_id"] for each in api(site, looker, "/v1/sessions")["items"]} > {"monday"}
    assert page.locator(".list li").count() == 2


def test_search_and_why_not(site: Listening, looker: Visitor) -> None:
    told(site, looker, "I live in Berlin.", at="2025-05-01T12:00:00Z")
    told(site, looker, "I play the saxophone in a jazz band.", "The dentist is on Friday.", "I moved to Lisbon.")
    with httpx.Client(base_url=site.url, headers={"X-User-Id": looker.user_id}, timeout=60) as client:
        client.put("/v1/facts/boat", json={"value": "in Oslo"}).raise_for_status()
        client.post("/v1/facts/boat/reject", json={"value": "in Oslo"}).raise_for_status()
    page = looker.go("/search")
    page.get_by_label("Question").fill("Which instrument do I play?")
    page.keyboard.press("Enter")
    first = page.locator(".hits li").first
    assert "saxophone" in first.inner_text()
    first.locator("summary").click()
    assert first.locator("table meter").count() > 1
    page.get_by_label("Something is missing").fill("dentist")
    page.get_by_role("button", name="Why is it not there?").click()
    assert "dentist is on Friday" in page.locator("section[role=status]").inner_text()
    page.get_by_text("Filters").click()
    page.get_by_label("document").check()
    assert "is not among those that are searched: document" in missed(page, "saxophone")
    page.get_by_label("document").uncheck()
    page.get_by_label("Since").fill("2099-01-01")
    assert "is outside the time in the filter" in missed(page, "saxophone")
    page.get_by_label("Since").fill("")
    page.get_by_label("Least relevance").fill("0.99")
    assert "below the floor" in missed(page, "saxophone")
    page.get_by_label("Least relevance").fill("")
    assert "A later value took its place" in missed(page, "Berlin")
    assert "was struck out" in missed(page, "Oslo")
    assert "Nothing that is remembered" in missed(page, "zebra")
    page.get_by_role("link", name="Where it was said").first.click()
    assert "saxophone" in page.locator(".said[aria-current]").inner_text()


def missed(page: Page, words: str) -> str:
    """Why some words are not among the hits."""
    page.get_by_label("Something is missing").fill(words)
    page.get_by_role("button", name="Why is it not there?").click()
    return page.locator("section[role=status]").inner_text()


def test_context(site: Listening, looker: Visitor) -> None:
    told(site, looker, "I am allergic to peanuts.")
    page = looker.go("/context")
    page.get_by_label("Question").fill("What may I eat?")
    page.get_by_role("button", name="Show").click()
    sections = page.inner_text("main .list")
    assert "recalled" in sections and "peanuts" in sections and "of 480 of its own" in sections
    looker.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert "peanuts" in page.evaluate("navigator.clipboard.readText()")


def test_wishes(site: Listening, looker: Visitor) -> None:
    page = looker.go("/wishes")
    page.get_by_label("What", exact=True).fill("units")
    page.get_by_label("How", exact=True).fill("metric")
    page.get_by_label("Encrypt it").check()
    page.get_by_role("button", name="Keep").click()
    row = page.locator(".list li", has_text="units")
    assert "metric" in row.inner_text() and "encrypted" in row.inner_text()
    row.locator("summary").click()
    row.get_by_label("Change it to").fill("imperial")
    row.get_by_role("button", name="Change").click()
    expect(row).to_contain_text("imperial")
    expect(page.get_by_role("button", name="Undo")).to_be_focused()
    page.keyboard.press("Enter")
    expect(row).to_contain_text("metric")
    expect(row).to_contain_text("encrypted")
    row.locator("summary").click()
    page.get_by_role("button", name="Forget units").click()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    assert "metric" in row.inner_text()
    page.get_by_role("link", name="recall").click()
    for words in ("Be brief.\nUse euros.", "Be brief.\nUse dollars."):
        page.get_by_label("Instructions, all of them").fill(words)
        page.get_by_role("button", name="Save as a new version").click()
    assert page.inner_text(".diff .gone") == "− Use euros." and page.inner_text(".diff .come") == "+ Use dollars."
    page.get_by_role("button", name="Use version 1 again").click()
    assert page.inner_text(".diff .come") == "+ Use euros."
    page.get_by_label("From").select_option("version 1")
    page.get_by_role("button", name="Compare").click()
    assert "These two say the same" in page.inner_text("main")
    looker.go("/wishes").get_by_label("facts and wishes").uncheck()
    page.get_by_role("button", name="Save").click()
    assert api(site, looker, "/v1/learning")["extraction"] is False


def test_documents_and_items(site: Listening, looker: Visitor) -> None:
    page = looker.go("/documents")
    guide = b"# Guide\n\n## Heating\n\nThe boiler is in the kitchen.\n\n## Rubbish\n\nPaper goes out on Tuesdays.\n"
    page.set_input_files("input[type=file]", {"name": "guide.md", "mimeType": "text/markdown", "buffer": guide})
    page.get_by_role("button", name="Read it").click()
    assert "can be found" in page.inner_text("[role=status]")
    assert "The boiler is in the kitchen." in page.inner_text(".list") and "Heating" in page.inner_text(".list")
    looker.go("/documents").get_by_label("Or paste a text").fill("The bakery opens at seven.")
    page.get_by_label("Title").fill("Bakery")
    page.get_by_role("button", name="Keep it").click()
    looker.go("/documents").get_by_role("button", name="Forget Bakery").click()
    assert page.locator(".list li").count() == 1
    page.get_by_role("link", name="Items", exact=True).click()
    assert "No items here" in page.inner_text("main")
    with httpx.Client(base_url=site.url, headers={"X-User-Id": looker.user_id}, timeout=60) as client:
        for kind, name in (("recipes", "risotto"), ("recipes", "soup"), ("lists", "saturday")):
            item = {"namespace": ["kitchen", kind], "value": {"about": f"a {name} with mushrooms"}}
            client.put(f"/v1/items/{name}", json=item).raise_for_status()
    page.reload()
    page.get_by_role("link", name="kitchen").click()
    page.get_by_role("link", name="recipes").click()
    assert page.locator(".list > li").count() == 2
    page.get_by_label("Find in recipes").fill("risotto")
    page.keyboard.press("Enter")
    page.locator(".list summary", has_text="risotto").click()
    assert '"a risotto with mushrooms"' in page.locator(".list pre").first.inner_text()
    page.get_by_role("button", name="Remove risotto for good").click()
    assert "is removed" in page.inner_text("[role=status]") and page.locator(".list > li").count() == 1


def test_bring_and_take(site: Listening, looker: Visitor) -> None:
    page = looker.go("/bring")
    rows = [{"session_id": "old", "role": "user", "content": "I live in Oslo.", "timestamp": "2025-03-01T10:00:00Z"}]
    lines = "\n".join(map(json.dumps, rows)).encode()
    page.set_input_files("input[type=file]", {"name": "old.jsonl", "mimeType": "application/json", "buffer": lines})
    page.get_by_role("button", name="Bring it").click()
    expect(page.locator("#import")).to_contain_text("1 conversation, 1 message")
    with page.expect_download() as begun:
        page.get_by_role("link", name="Export everything").click()
    exported = json.loads(Path(begun.value.path()).read_text())
    assert [each["content"] for each in exported["messages"]] == ["I live in Oslo."]
    page.get_by_label("Delete after days").fill("30")
    page.get_by_role("button", name="Set", exact=True).click()
    assert "deleted after 30 days" in page.inner_text(".list")
    looker.go("/bring")
    page.set_input_files("input[type=file]", {"name": "x.zip", "mimeType": "application/zip", "buffer": b"nonsense"})
    page.get_by_role("button", name="Bring it").click()
    expect(page.locator("#import")).to_contain_text("was not brought")


def test_an_import_shows_how_far_it_is(site: Listening, visitor: Visitor) -> None:
    row = '{"session_id": "s%d", "role": "user", "content": "Line %d.", "timestamp": "2025-03-01T10:00:00Z"}\n'
    lines = "".join(row % (number // 50, number) for number in range(3000)).encode()
    page = visitor.go("/bring")
    page.set_input_files("input[type=file]", {"name": "long.jsonl", "mimeType": "application/json", "buffer": lines})
    page.get_by_role("button", name="Bring it").click()
    expect(page.locator("#import progress")).to_be_visible()
    expect(page.locator("#import")).to_contain_text("60 conversations, 3,000 messages")


def test_erasing_by_keyboard_alone(site: Listening, looker: Visitor) -> None:
    told(site, looker, "I live in Berlin.")
    page = looker.go("/bring")
    looker.unfold_and_type("details:has([name=confirmed]) > summary", "[name=confirmed]", "somebody else")
    expect(page.locator("[role=alert] p")).to_contain_text("write its name")
    assert homes(site, looker) == ["Berlin"]
    assert "422" in looker.wrong.pop()  # the browser's own word on that answer
    looker.go("/bring")
    looker.unfold_and_type("details:has([name=confirmed]) > summary", "[name=confirmed]", looker.user_id)
    page.wait_for_selector("#receipt")
    assert "The receipt is genuine" in page.inner_text("[role=status]")
    receipt = page.input_value("#receipt")
    assert json.loads(receipt)["user_id"] == looker.user_id
    for given, answer in ((receipt, "is genuine"), (receipt.replace(looker.user_id, "somebody"), "does not hold")):
        looker.go("/bring").get_by_text("Check a receipt").click()
        page.get_by_label("The receipt, as JSON").fill(given)
        page.get_by_role("button", name="Check", exact=True).click()
        assert answer in page.inner_text("[role=status]")


def test_operations(site: Listening, looker: Visitor) -> None:
    told(site, looker, "I live in Berlin.")
    page = looker.go(f"/operations?after={looker.user_id[:-1]}")  # the users of other walks fill a page
    expect(page.locator(".plots canvas")).to_have_count(4)
    said = page.inner_text("main")
    assert looker.user_id in said and "schema" in said.lower() and "of work" in said
    page.get_by_role("link", name="week").click()
    expect(page.locator(".plots canvas")).to_have_count(4)
    assert "The last week" in page.inner_text("main")
    page.get_by_role("link", name="All of it").click()
    page.get_by_label("Only of the user").fill(looker.user_id)
    page.get_by_role("button", name="Show").click()
    rows = [row.split("\t") for row in page.locator("tbody tr").all_inner_texts()]
    assert {row[2] for row in rows} == {looker.user_id}
    # Looked for here, not among the newest of everybody: what other walks left to be learnt may fill those.
    assert "add message" in {row[3] for row in rows}


def test_work_that_failed_is_shown_and_tried_again(
    database: Connection, database_url: str, tmp_path: Path, browser: Browser
) -> None:
    database.execute(
        "INSERT INTO derived_work (user_id, task, subject, reason, set_aside_at) "
        "VALUES ('ana', 'learn', 's', 'the model <b>fell</b> over', now())"
    )
    with listening(Settings(worker=False, database_url=database_url, home=tmp_path / "home")) as door:
        page = browser.new_page()
        page.goto(door.url + "/operations")
        assert "1 × the model <b>fell</b> over" in page.inner_text("main")
        page.get_by_role("button", name="Try failed work again").click()
        assert "tried again" in page.inner_text("[role=status]") and "none failed" in page.inner_text("main")
        page.close()


def test_an_example_is_filled_and_thrown_away(visitor: Visitor) -> None:
    page = visitor.go("/?demo")
    assert "Lisbon" in page.inner_text("#known") and "example user" in page.inner_text("main")
    name = page.inner_text(".whose a")
    page.get_by_role("button", name="Throw the example away").click()
    assert page.locator(".notice").count() == 0
    assert name not in visitor.go("/who").inner_text("main")
