"""Learning about a user: switches its features, catches up, and starts over."""

from __future__ import annotations

import asyncio
import builtins
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Annotated

from ltst.arguments import Identifier
from ltst.errors import Invalid, Unavailable
from ltst.handles.desk import Core, Handle
from ltst.learn.listen import listen, listen_again
from ltst.rooms import work
from ltst.rooms.work import Lease, LeaseLost, WorkRules
from ltst.settings import FEATURES
from ltst.support import validate
from ltst.support.child import Limits
from ltst.support.logs import LOGGER

# A language model waits for a pause, to read a stretch of a conversation instead of every message by itself.
PAUSE = timedelta(seconds=60)
CONVERSATIONS = 16  # claimed at once
MEMORY = 1024**3  # bytes that the extraction rules may use
Action = Callable[..., Awaitable[None]]
# Seconds to wait for a worker that is reading a conversation, and between checks.
PATIENCE, WAIT_SECONDS = 10.0, 0.02
LEARNT = (
    "claims.forget_learned",
    "statements.forget_learned",
    "entries.forget_learned",
    "relationships.forget_learned",
)


@dataclass(frozen=True, slots=True)
class Features:
    """What is derived from a user's messages."""

    extraction: bool
    episodes: bool
    relationships: bool
    consolidation: bool


class AsyncLearning(Handle):
    """What is learned about a user."""

    async def get(self) -> dict[str, bool]:
        """Return which features are on for this user: extraction, episodes, relationships, consolidation."""
        return asdict(await features(self._desk.core, self._desk.user_id))

    async def set(
        self,
        *,
        extraction: Annotated[bool | None, "Facts, preferences and instructions."] = None,
        episodes: Annotated[bool | None, "Summaries of past conversations."] = None,
        relationships: Annotated[bool | None, "Which conversations are related."] = None,
        consolidation: Annotated[bool | None, "Merging what says the same."] = None,
    ) -> dict[str, bool]:
        """Switch features on or off for this user alone, and return all of them; what is not named stays as it is.

        What was learned stays; what is said while a feature is off is learned when it is switched on again.
        """
        named = {
            "extraction": extraction,
            "episodes": episodes,
            "relationships": relationships,
            "consolidation": consolidation,
        }
        switched = {name: validate.flag(value, name) for name, value in named.items() if value is not None}
        if not switched:
            raise Invalid(f"name at least one of {', '.join(FEATURES)}")
        before = await self.get()
        begun = {name for name, on in switched.items() if on and not before[name]}
        async with self._desk.writing("learning.set") as tx:
            await tx.value("learning.set", switches=json.dumps(switched))
            if "relationships" in begun:
                await tx.run("entries.compare_again")
            await self._desk.tell(tx, "set", "learning", self._desk.user_id, switched)
        return await self.get()

    async def catch_up(
        self, session_id: Annotated[Identifier | None, "In this conversation only."] = None
    ) -> builtins.int:
        """Learn what was said since, by rules and without vectors; return how many conversations were read.

        With `session_id`, of that conversation alone: what waits elsewhere may be much. A worker that is at it just now
        is waited for, some seconds. Otherwise what another worker is at is left to it; `memory.settle` waits for that,
        and for all else.
        """
        session_id = validate.optional_identifier(session_id, "session_id")
        core, user_id, read = self._desk.core, self._desk.user_id, 0
        wanted, calls = await features(core, user_id), core.database.user(user_id)
        until = time.monotonic() + PATIENCE
        while wanted.extraction:
            leases = await work.claim_sessions(calls, rules(core), user_id, "learn", CONVERSATIONS, session_id)
            if not leases:
                if session_id is None or not await self._others_read(session_id, until):
                    break
                continue
            read += await self._read_all(leases, listen)
        if wanted.extraction:
            for message_id in await work.unread(calls, user_id, work.READ, CONVERSATIONS):
                leases = await work.claim(calls, rules(core), user_id, work.READ, message_id)
                read += await self._read_all(leases, listen_again)
        return read

    async def _read_all(self, leases: builtins.list[Lease], action: Action) -> builtins.int:
        """Reads the claimed sessions or messages one after the other; returns how many were read."""
        try:
            return sum([await self._read(lease, action) for lease in leases])
        except BaseException:
            calls = self._desk.core.database.user(self._desk.user_id)
            await asyncio.shield(work.give_back(calls, leases))
            raise

    async def _others_read(self, session_id: str, until: float) -> bool:
        """Waits a moment if a conversation is still to be read by another worker; returns whether to try again."""
        calls = self._desk.core.database.user(self._desk.user_id)
        waiting = bool(await calls.value("work.to_be_learned", session_id=session_id))
        if waiting:
            await asyncio.sleep(WAIT_SECONDS)
        return waiting and time.monotonic() < until

    async def _read(self, lease: Lease, action: Action) -> bool:
        """Reads one conversation; a failure counts against it, as in the background."""
        try:
            core = self._desk.core
            await action(core.database, lease, limits=rules(core).limits)
        except LeaseLost:
            return False
        except Unavailable:
            raise
        except Exception as problem:  # noqa: BLE001 - one failure must not keep the caller from the other conversations
            LOGGER.warning("a conversation was not learnt from", extra={"reason": repr(problem)})
            await work.put_off(self._desk.core.database.user(lease.user_id), lease, repr(problem))
            return False
        return True

    async def restart(self) -> builtins.int:
        """Forget what was learned, to learn it anew from the messages; return the number of conversations.

        What was set by hand stays, and what was rejected stays rejected.
        """
        async with self._desk.writing("learning.restart") as tx:
            for query in LEARNT:
                await tx.run(query)
            again = await tx.run("sessions.unlearn")
            await self._desk.tell(tx, "restart", "learning", self._desk.user_id, {"sessions": again})
        return again


async def features(core: Core, user_id: str) -> Features:
    """Returns the features enabled for a user: those of the settings, unless switched for this user."""
    return switched(core, await core.database.user(user_id).value("learning.switches") or {})


def switched(core: Core, own: Mapping[str, bool]) -> Features:
    """Returns the features of the settings with a user's own switches applied."""
    return Features(**{name: bool(own.get(name, name in core.settings.learn)) for name in FEATURES})


def rules(core: Core) -> WorkRules:
    """Returns the rules for background work."""
    settings = core.settings
    return WorkRules(
        extraction="extraction" in settings.learn,
        episodes="episodes" in settings.learn,
        consolidation="consolidation" in settings.learn,
        model=core.models.language is not None,
        pause=PAUSE,
        idle=timedelta(seconds=settings.idle_after),
        tokens=settings.summary_tokens,
        lease=timedelta(seconds=settings.lease),
        limits=Limits(settings.learn_seconds, MEMORY),
    )
