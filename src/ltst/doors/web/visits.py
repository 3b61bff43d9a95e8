"""Identifies visitors of the page by cookies, reads their forms, and checks that these come from the page."""

from __future__ import annotations

import hmac
import json
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, NamedTuple
from urllib.parse import parse_qsl

from fastapi import Depends, Request
from starlette.responses import Response

from ltst.agents.turns import Turns
from ltst.errors import Denied, Invalid
from ltst.handles.callers import Caller, CallerCheck
from ltst.handles.desk import Desk
from ltst.memory import AsyncMemory, AsyncUser

KEY, USER, TOKEN = "ltst_key", "ltst_user", "ltst_token"
TOKEN_FIELD, TOKEN_HEADER = "token", "X-Token"
FORM, FILES = "application/x-www-form-urlencoded", "multipart/form-data"
OWN = frozenset({"same-origin", "none"})  # values of Sec-Fetch-Site for requests from the page itself
MOST_FIELDS = 500
FRAMING = 64 * 1024  # bytes of a form around its file
MONTH = 30 * 24 * 3600
NAMED = re.compile(r'\b(name|filename)="([^"]*)"')


class SentFile(NamedTuple):
    """A file that was dropped or chosen."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Visit:
    """One request to the page."""

    request: Request
    caller: Caller | None
    token: str
    sent: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, SentFile] = field(default_factory=dict)

    @property
    def memory(self) -> AsyncMemory:
        """Returns the memory that the server opened."""
        memory: AsyncMemory = self.request.app.state.memory
        return memory

    @property
    def turns(self) -> Turns:
        """Returns the runner of chats."""
        turns: Turns = self.request.app.state.turns
        return turns

    @property
    def user_id(self) -> str | None:
        """Returns the user whose memory is shown, or None before one was chosen."""
        return None if self.caller is None else self.caller.user_id

    @property
    def user(self) -> AsyncUser:
        """Returns the memory that is shown."""
        if self.user_id is None:
            raise NobodyChosen("choose whose memory to look at")
        return self.memory.user(self.user_id)

    @property
    def desk(self) -> Desk:
        """Returns the desk of that memory, for operations that only the page needs."""
        return self.user._desk

    @property
    def administered(self) -> AsyncMemory:
        """Returns the whole memory; raises Denied unless the visitor is an admin."""
        if self.caller is None or not self.caller.admin:
            raise Denied("this needs an admin's key")
        return self.memory

    @property
    def largest(self) -> int:
        """Returns how many bytes of a file may be sent."""
        return self.memory.settings.max_body_bytes - FRAMING

    @property
    def piecemeal(self) -> bool:
        """Returns whether htmx asks for a part of a page."""
        return self.request.headers.get("hx-request") == "true"

    @property
    def in_line(self) -> bool:
        """Returns whether htmx replaces one line of a list, which it does for elements without an id."""
        return self.piecemeal and "hx-target" not in self.request.headers

    def asked(self, name: str, default: str = "") -> str:
        """Returns a value from the form, else from the address."""
        return self.sent.get(name, self.request.query_params.get(name, default))

    def need(self, name: str) -> str:
        """Returns a value that must be given."""
        if not (value := self.asked(name)).strip():
            raise Invalid(f"{name.replace('_', ' ')} is missing: fill it in")
        return value

    def number(self, name: str, default: int, most: int = 1_000_000) -> int:
        """Returns a whole number of the form or the address."""
        given = self.asked(name).strip() or str(default)
        if not given.isascii() or not given.isdecimal() or int(given) > most:
            raise Invalid(f"{name.replace('_', ' ')} must be a whole number from 0 to {most:,}")
        return int(given)

    def day(self, name: str) -> datetime | None:
        """Returns the beginning of the day that the form or the address names, or None if it names none."""
        if not (given := self.asked(name)):
            return None
        try:
            return datetime.fromisoformat(given + "T00:00:00+00:00")
        except ValueError:
            raise Invalid(f"{name.replace('_', ' ')} must be a day, such as 2026-03-01") from None

    def mapping(self, name: str, told: str) -> dict[str, Any]:
        """Returns a JSON object of the form; `told` says what it should have been."""
        try:
            found = json.loads(self.need(name))
        except (ValueError, RecursionError):
            raise Invalid(told) from None
        if not isinstance(found, dict):
            raise Invalid(told)
        return found


class NobodyChosen(Denied):
    """An admin has not said yet whose memory to look at."""


async def visit(request: Request, *, stranger: bool = False) -> Visit:
    """Returns the visit of a request, once it is known to come from the page itself and from an accepted caller.

    A `stranger` may see the login form.
    """
    sent, files = await _sent(request) if request.method == "POST" else ({}, {})
    token = request.cookies.get(TOKEN) or secrets.token_urlsafe(32)
    if request.method == "POST":
        _check_origin(request, sent.pop(TOKEN_FIELD, request.headers.get(TOKEN_HEADER, "")))
    caller = None if stranger else await identified(request)
    request.state.caller = caller
    return Visit(request, caller, token, sent, files)


async def identified(request: Request) -> Caller:
    """Returns the caller that the cookies identify; an admin acts for the chosen user."""
    caller_check: CallerCheck = request.app.state.caller_check
    caller = await caller_check.caller(request.cookies.get(KEY) or None, None)
    chosen = request.cookies.get(USER)
    return caller.acting_for(_readable(chosen)) if chosen and caller.admin else caller


def keep(response: Response, request: Request, name: str, value: str, seconds: int | None = MONTH) -> None:
    """Sets a cookie that scripts cannot read and other sites cannot send."""
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
        path="/",
    )


def chosen_user(user_id: str) -> str:
    """Returns a user's id in characters that a cookie can hold."""
    return user_id.encode().hex()


def _readable(kept: str) -> str:
    try:
        return bytes.fromhex(kept).decode()
    except ValueError:
        raise Invalid("the cookie that names the user cannot be read: choose the user again") from None


def _check_origin(request: Request, token: str) -> None:
    """Rejects requests from other sites, which can neither read the token nor hide where they come from."""
    kept = request.cookies.get(TOKEN, "")
    if request.headers.get("sec-fetch-site", "none") not in OWN:
        raise Denied("this form was sent by another site")
    if not kept or not hmac.compare_digest(kept.encode(), token.encode()):
        raise Denied("this form is too old, or was not sent by this page: load the page again")


async def _sent(request: Request) -> tuple[dict[str, str], dict[str, SentFile]]:
    kind, _, rest = request.headers.get("content-type", "").partition(";")
    body = await request.body()
    if kind.strip().lower() == FILES:
        return _multipart_form(body, rest)
    if kind.strip().lower() != FORM:
        raise Invalid(f"the page takes forms ({FORM}, {FILES})")
    try:
        given = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict")
    except ValueError:
        raise Invalid(f"a form is UTF-8 and has up to {MOST_FIELDS} fields") from None
    return {name: _plain_line_feeds(value) for name, value in given}, {}


def _multipart_form(body: bytes, parameters: str) -> tuple[dict[str, str], dict[str, SentFile]]:
    """Returns the fields and files of a multipart form."""
    found = re.search(r'boundary="?([^";,\s]{1,200})', parameters)
    if found is None:
        raise Invalid("a form with files names its boundary")
    fields: dict[str, str] = {}
    files: dict[str, SentFile] = {}
    for part in (b"\r\n" + body).split(b"\r\n--" + found[1].encode())[1:-1][:MOST_FIELDS]:
        head, _, content = part.partition(b"\r\n\r\n")
        named = dict(NAMED.findall(head.decode("utf-8", "replace")))
        if "filename" in named:
            files[named.get("name", "")] = SentFile(named["filename"], content)
        else:
            fields[named.get("name", "")] = _plain_line_feeds(content.decode("utf-8", "replace"))
    return fields, files


def _plain_line_feeds(value: str) -> str:
    """Returns a value with plain line feeds, because browsers send CRLF."""
    return value.replace("\r\n", "\n")


def _visited(request: Request) -> Visit:
    visit: Visit = request.state.visit
    return visit


Visited = Annotated[Visit, Depends(_visited)]
