"""What the page refuses: other sites, other hosts and other people's things."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser

from helpers.probes import cloned
from helpers.serving import Listening, listening
from ltst import Memory, Settings
from ltst.doors.web.app import PAGES

TOKEN = re.compile(r'name="token" value="([^"]+)"')
POSTS = sorted({route.path for router in PAGES for route in router.routes if "POST" in route.methods})  # type: ignore[attr-defined]
GETS = sorted({route.path for router in PAGES for route in router.routes if "GET" in route.methods})  # type: ignore[attr-defined]


def client(site: Listening, user_id: str = "guarded") -> httpx.Client:
    cookies = {"ltst_user": user_id.encode().hex()}
    same = {"Sec-Fetch-Site": "same-origin"}
    return httpx.Client(base_url=site.url, cookies=cookies, headers=same, timeout=60)


def test_every_page_has_the_headers_that_keep_others_out(site: Listening) -> None:
    with client(site) as asked:
        for path in GETS:
            answer = asked.get(path.replace("{name}", "page.css"))
            assert answer.status_code < 500, path
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy and "unsafe" not in policy
            assert "frame-ancestors 'none'" in policy and answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", POSTS)
def test_a_form_of_another_site_is_refused(site: Listening, path: str) -> None:
    with client(site) as asked:
        token = TOKEN.search(asked.get("/").text)
        assert token is not None
        right = {"token": token[1], "user": "x", "key": "x", "value": "x", "message": "x"}
        assert asked.post(path, data={**right, "token": "guessed"}).status_code == 403
        assert asked.post(path, data={"user": "x"}).status_code == 403
        assert asked.post(path, data=right, headers={"Origin": "https://evil.example"}).status_code == 403
        assert asked.post(path, data=right, headers={"Origin": "null"}).status_code == 403
        assert asked.post(path, data=right, headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
        assert asked.post(path, data=right, headers={"Sec-Fetch-Site": "same-site"}).status_code == 403
        asked.cookies.delete("ltst_token")
        assert asked.post(path, data=right).status_code == 403


def test_another_host_is_refused(site: Listening) -> None:
    for path in ("/", "/login", "/static/page.css"):
        assert httpx.get(site.url + path, headers={"Host": "evil.example"}, timeout=60).status_code == 421


def test_a_page_in_a_frame_stays_empty(site: Listening, browser: Browser) -> None:
    page = browser.new_page()
    page.goto("about:blank")
    with page.expect_request(site.url + "/about"):
        page.set_content(f"<iframe src='{site.url}/about'></iframe>")  # until the frame is loaded, too
    assert all("About me" not in (frame.content() if frame != page.main_frame else "") for frame in page.frames)
    page.close()


def test_another_site_does_not_fill_the_example(site: Listening) -> None:
    with client(site) as asked:
        answer = asked.get("/demo", headers={"Sec-Fetch-Site": "cross-site"})
        assert answer.status_code == 200 and "Show me" in answer.text


def test_what_is_anothers_does_not_exist(site: Listening) -> None:
    with httpx.Client(base_url=site.url, headers={"X-User-Id": "owner"}, timeout=60) as owner:
        said = owner.post("/v1/sessions/private/messages", json={"role": "user", "content": "I live in Zurich."}).json()
        document = owner.post("/v1/documents", json={"text": "Secret."}).json()["document_id"]
        owner.put("/v1/items/hidden", json={"namespace": ["safe"], "value": "Secret."}).raise_for_status()
        owner.post("/v1/learning/catch-up").raise_for_status()
        (stated,) = owner.get("/v1/statements").json()["items"]
        before = owner.get("/v1/export").json()
        with client(site, "stranger") as asked:
            _strange(asked, said["message_id"], document, stated["statement_id"])
        assert owner.get("/v1/export").json() == before


def _strange(asked: httpx.Client, message_id: str, document: str, statement: str) -> None:
    """Everything that a stranger may try with ids that are another's."""
    token = TOKEN.search(asked.get("/").text)
    assert token is not None
    sent = {"token": token[1], "id": "private", "message_id": message_id, "content": "no", "target": "private"}
    for path in ("message", "fork", "delete", "archive", "link"):
        assert asked.post(f"/conversations/{path}", data=sent).status_code == 404, path
    for path in ("/conversations/read?id=private", "/chat?id=private", f"/documents/read?id={document}"):
        assert asked.get(path).status_code == 404, path
    assert asked.get(f"/source?id={message_id}").status_code == 404
    assert asked.post("/documents/forget", data={**sent, "id": document}).status_code == 404
    hidden = {**sent, "namespace": '["safe"]', "key": "hidden", "revision": "1"}
    assert asked.post("/items/delete", data=hidden).status_code in (404, 409)
    assert "Secret" not in asked.get("/items").text and "Zurich" not in asked.get("/about").text
    assert asked.post("/about/statement/reject", data={**sent, "statement_id": statement}).status_code == 404
    undone = {**sent, "before": json.dumps({"statement_id": statement})}
    assert asked.post("/about/undo", data=undone).status_code == 404
    assert asked.get("/bring/import?job=unknown", headers={"HX-Request": "true"}).status_code == 200


def test_an_undo_writes_into_the_visitors_own_memory_alone(site: Listening) -> None:
    with client(site, "forger") as asked:
        token = TOKEN.search(asked.get("/").text)
        assert token is not None
        for before in ("[]", "{", '{"format": "ltst"}', '{"statement_id": 5}', "[" * 5000):
            answer = asked.post("/about/undo", data={"token": token[1], "before": before})
            assert 400 <= answer.status_code < 500 and "notice bad" in answer.text
        row = {"fact_key": "home", "fact_value": "Here", "user_id": "owner2", "fact_id": str(uuid.uuid4())}
        forged = {"format": "ltst", "version": 1, "key": "home", "about": "me", "facts": [row], "claims": []}
        asked.post("/about/undo", data={"token": token[1], "before": json.dumps(forged)})
    assert httpx.get(site.url + "/v1/facts", headers={"X-User-Id": "owner2"}, timeout=60).json()["items"] == []


def test_errors_are_pages_for_people_and_documents_for_programs(site: Listening) -> None:
    with client(site) as asked:
        seen = asked.get("/nothing", headers={"Accept": "text/html,*/*"})
        assert seen.status_code == 404 and "There is no such thing here" in seen.text
        assert "default-src 'none'" in seen.headers["content-security-policy"]
        assert asked.get("/nothing").headers["content-type"] == "application/problem+json"
        assert "whole number" in asked.get("/conversations?offset=-1").text
        assert asked.get("/conversations?offset=9" + "9" * 30).status_code == 422


@pytest.fixture
def locked(server: object, template: str, tmp_path: Path) -> Iterator[tuple[Listening, dict[str, str]]]:
    """A server that asks for keys, and a key of each kind."""
    with cloned(server, template) as url:  # type: ignore[arg-type]
        settings = Settings(worker=False, database_url=url, home=tmp_path / "home")
        with Memory(settings=settings) as memory:
            keys = {name: str(memory.keys.create(name).secret) for name in ("ana", "eve")}
            keys["admin"] = str(memory.keys.create(admin=True).secret)
        with listening(settings) as door:
            yield door, keys


def test_a_key_opens_the_page_of_its_user_alone(locked: tuple[Listening, dict[str, str]], browser: Browser) -> None:
    door, keys = locked
    context = browser.new_context()
    page = context.new_page()
    page.goto(door.url + "/about")
    assert page.url.startswith(door.url + "/login")
    page.get_by_label("Key").fill("ltst_wrong")
    page.get_by_role("button", name="Come in").click()
    assert "opens nothing" in page.inner_text("[role=alert]:has(p)")
    page.get_by_label("Key").fill(keys["ana"])
    page.get_by_role("button", name="Come in").click()
    assert page.inner_text(".whose strong") == "ana"
    (kept,) = [each for each in context.cookies() if each["name"] == "ltst_key"]
    assert kept["httpOnly"] and kept["sameSite"] == "Strict"
    for path in ("/operations", "/who", "/demo"):
        assert page.goto(door.url + path).status == 403  # type: ignore[union-attr]
    context.add_cookies([{"name": "ltst_user", "value": b"eve".hex(), "url": door.url}])
    page.goto(door.url + "/about")
    assert page.inner_text(".whose strong") == "ana"
    page.get_by_role("button", name="Log out").click()
    page.goto(door.url + "/")
    assert "/login" in page.url
    page.get_by_label("Key").fill(keys["admin"])
    page.get_by_role("button", name="Come in").click()
    assert page.url == door.url + "/who"
    context.close()
