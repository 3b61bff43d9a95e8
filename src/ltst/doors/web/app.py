"""Adds the routes of the web page to a server."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import FastAPI
from starlette.exceptions import HTTPException

from ltst.doors.web.pages import for_people
from ltst.doors.web.routes import (
    about,
    archive,
    chat,
    conversations,
    demo,
    documents,
    entrance,
    items,
    operations,
    search,
    wishes,
)
from ltst.errors import LtstError

NOUNS = (chat, about, conversations, search, wishes, documents, items, archive, operations, demo)
PAGES = (entrance.router, entrance.open_router, *(each.router for each in NOUNS))


def add_pages(app: FastAPI, status_of: Callable[[LtstError], int]) -> None:
    """Adds the page to a server beside its API; `status_of` returns the HTTP status of an error."""
    app.state.status_of = status_of
    for kind in (HTTPException, Exception):
        app.exception_handlers[kind] = for_people(app.exception_handlers[kind])
    for router in PAGES:
        app.include_router(router, include_in_schema=False)
