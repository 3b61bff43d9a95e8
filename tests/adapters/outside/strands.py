"""Puts ltst's repository in the place of the one that the tests of Strands keep in a dictionary."""

from __future__ import annotations

import tests.fixtures.mock_session_repository as theirs

import outside
from ltst.strands import LtstSessionRepository


class Repository(LtstSessionRepository):
    """Made as theirs is made: each is another user."""

    def __init__(self) -> None:
        super().__init__(outside.user())


theirs.MockedSessionRepository = Repository
