"""Puts ltst's session in the place of the SQLiteSession of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

import agents.memory
import agents.memory.sqlite_session

import agents
import outside
from ltst.openai_agents import LtstSession


class Session(LtstSession):
    """Made as theirs is made: each database is another user; one in memory is nobody else's."""

    def __init__(self, session_id: str, db_path: Any = None, session_settings: Any = None) -> None:
        super().__init__(outside.user(db_path), session_id, session_settings=session_settings)

    def close(self) -> None:
        """Theirs has a file to close."""


agents.SQLiteSession = agents.memory.SQLiteSession = agents.memory.sqlite_session.SQLiteSession = Session
