"""The users of a memory, for its operator."""

from __future__ import annotations

import builtins
from typing import Annotated

from ltst.arguments import Identifier, Limit
from ltst.db import migrate
from ltst.handles.desk import Core
from ltst.records import KnownUser
from ltst.support import validate


class AsyncUsers:
    """The users of this memory."""

    def __init__(self, core: Core) -> None:
        """Made by `memory.users`."""
        self._core = core

    async def list(
        self, *, limit: Limit = 100, after: Annotated[Identifier | None, "The last id of the page before."] = None
    ) -> builtins.list[KnownUser]:
        """Return the users by their id; `after` is the last id of the page before."""
        most, place = validate.limit(limit), validate.optional_identifier(after, "after")
        asked = {"after": place or "", "limit": most, "tables": [*migrate.names_of("TABLE")]}
        return await self._core.database.keeper().rows("users.list", KnownUser, **asked)
