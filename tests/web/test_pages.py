"""Lists: each is shown page by page, nothing of it is missing, and conversations are called by what was said."""

from __future__ import annotations

import re
from html import unescape
from uuid import uuid4

import httpx
import pytest

from helpers.serving import Listening

NEXT = re.compile(r'href="([^"]+)" rel="next"')
MANY = 105


def talk(number: int) -> dict[str, object]:
    said = {"key": f"own{number}", "role": "user", "content": "Hello.", "at": "2026-03-01T10:00:00Z"}
    return {"session_id": f"s{number}", "name": f"Talk {number}.", "messages": [said]}


@pytest.fixture(scope="module")
def long(site: Listening) -> str:
    """Somebody new of whom a lot is known; a worker may set this up twice, when it is given the tests in two parts."""
    user_id = f"long-{uuid4()}"
    with httpx.Client(base_url=site.url, headers={"X-User-Id": user_id}, timeout=60) as client:

        def send(method: str, path: str, **body: object) -> None:
            client.request(method, path, json=body).raise_for_status()

        said = [{"role": "user", "content": f"Line {number}."} for number in range(MANY)]
        send("POST", "/v1/sessions/all/messages/batch", messages=said)
        send("POST", "/v1/sessions", conversations=[talk(number) for number in range(MANY)])
        puts = [{"do": "put", "namespace": ["a"], "key": f"item {n}.", "value": n} for n in range(MANY)]
        send("POST", "/v1/items/batch", operations=puts)
        for number in range(MANY):
            send("PUT", f"/v1/facts/fact{number}", value=f"Fact {number}.")
            send("PUT", f"/v1/preferences/wish{number}", value=f"Wish {number}.")
        for number in range(60):
            send("POST", "/v1/documents", text=f"Text {number}.", title=f"Document {number}.")
        for number in range(25):
            send("PUT", "/v1/instructions/recall", content=f"Version {number}.")
    return user_id


@pytest.mark.parametrize(
    ("place", "named", "count", "pages"),
    [
        ("/conversations", "Talk", MANY, 3),
        ("/conversations/read?id=all", "Line", MANY, 3),
        ("/about", "Fact", MANY, 5),
        ("/wishes", "Wish", MANY, 2),
        ("/documents", "Document", 60, 2),
        ("/items?within=a", "item", MANY, 3),
        ("/wishes/agent?agent=recall", "Version", 25, 2),
    ],
)
def test_every_list_pages(site: Listening, long: str, place: str, named: str, count: int, pages: int) -> None:
    seen, waiting = dict[str, str](), [place]
    with httpx.Client(base_url=site.url, cookies={"ltst_user": long.encode().hex()}, timeout=60) as client:
        while waiting:
            path = waiting.pop()
            seen[path] = client.get(path).raise_for_status().text
            waiting += {unescape(each) for each in NEXT.findall(seen[path])} - seen.keys()
    shown = "".join(seen.values())
    assert [number for number in range(count) if f"{named} {number}." not in shown] == []
    assert len(seen) == pages


def test_a_conversation_is_called_by_its_name_or_by_its_first_words(site: Listening) -> None:
    words = "Where  do\nI live, " + "and for how long " * 9
    said = {"a": ("user", "Hello."), "b": ("user", words), "c": ("assistant", "Good morning.")}
    with httpx.Client(base_url=site.url, headers={"X-User-Id": "titles"}, timeout=60) as client:
        client.put("/v1/sessions/id-a", json={"session_name": "Monday"}).raise_for_status()
        for each, (role, content) in said.items():
            body = {"role": role, "content": content}
            client.post(f"/v1/sessions/id-{each}/messages", json=body).raise_for_status()
    with httpx.Client(base_url=site.url, cookies={"ltst_user": b"titles".hex()}, timeout=60) as client:
        page = client.get("/conversations").raise_for_status().text
        titles = dict(re.findall(r'grow name" href="[^"]*=([^"]+)">([^<]*)<', page))
        assert titles == {"id-a": "Monday", "id-b": " ".join(words.split())[:79].rstrip() + "…", "id-c": "id-c"}
        for id, title in titles.items():
            for place in ("/conversations/read", "/chat"):
                assert f">{title}</h1>" in client.get(place, params={"id": id}).raise_for_status().text
        for place in ("/search", "/context"):
            assert [title for title in titles.values() if f">{title[:40]}" not in client.get(place).text] == []
