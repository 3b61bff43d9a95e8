"""Openings: what a request that may begin a session can say of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from ltst.doors.http.shapes import Identifier, Line

Agent = Annotated[Identifier | None, Query(description="The agent that the user talks with, for a new session.")]
Name = Annotated[Line | None, Query(description="What to call a new session.")]
