"""The session service of the Agent Development Kit: events are messages of conversations, states are items."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from ltst import adapters
from ltst.adapters import awaited
from ltst.adk.events import KEPT, conversation, event, turn
from ltst.errors import Conflict
from ltst.memory import AsyncMemory, AsyncUser
from ltst.sync import Memory, User

with adapters.needed("google-adk", "adk"):
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.sessions import BaseSessionService, Session, State
    from google.adk.sessions.base_session_service import ListSessionsResponse
    from pydantic_core import to_jsonable_python

# The default user whose items hold what an app keeps for all of its users.
SHARED = "adk"


class LtstSessionService(BaseSessionService):
    """The sessions of all users of a memory; pass it to a `Runner` as `session_service`.

    Every session is a conversation `app/session` of its user, and searches find its messages at once. State is stored
    name by name, so that concurrent changes of different names are not lost. State with the prefix `app:` belongs to
    the app and is stored for the user `shared`.
    """

    def __init__(self, memory: AsyncMemory | Memory, *, shared: str = SHARED) -> None:
        """Stores sessions in a memory."""
        adapters.check_memory(memory)
        self._memory, self._shared = memory, memory.user(shared)

    async def create_session(
        self,
        *,
        app_name: str,
        user_id: str,
        state: dict[str, Any] | None = None,
        session_id: str | None = None,
    ) -> Any:
        """Creates a session with a state; raises AlreadyExistsError if it exists."""
        wanted, user = (session_id or "").strip() or str(uuid.uuid4()), self._memory.user(user_id)
        begun = {**_session(app_name, wanted, time.time()), "revision": 0}
        try:
            await self._keep(user, app_name, wanted, state or {}, [begun])
        except Conflict:
            raise AlreadyExistsError(f"Session with id {wanted} already exists.") from None
        return await self.get_session(app_name=app_name, user_id=user_id, session_id=wanted)

    async def get_session(self, *, app_name: str, user_id: str, session_id: str, config: Any = None) -> Any:
        """Returns a session with its state and its events, oldest first; None if there is none."""
        user, wanted = self._memory.user(user_id), session_id.strip()
        if not wanted:
            return None
        found, own, users = await awaited(
            user.items.batch,
            [
                {"do": "get", "namespace": _sessions(app_name), "key": wanted},
                _all(_state(app_name, wanted)),
                _all(_state(app_name)),
            ],
        )
        if found is None:
            return None
        return Session(
            id=wanted,
            app_name=app_name,
            user_id=user_id,
            state={**_values(own), **_values(users, State.USER_PREFIX), **await self._of_app(app_name)},
            events=await _events(conversation(user, app_name, wanted), config),
            last_update_time=found.value["updated"],
        )

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> Any:
        """Returns the sessions of one or all users without events; the most recently active comes last."""
        app, found = await self._of_app(app_name), []
        async for each in self._users(user_id):
            user = self._memory.user(each)
            listed, own, users = await awaited(
                user.items.batch,
                [
                    _all(_sessions(app_name)),
                    _all((KEPT, app_name, "session_state")),
                    _all(_state(app_name)),
                ],
            )
            shared = {**_values(users, State.USER_PREFIX), **app}
            for item in listed:
                mine = _values(state for state in own if state.namespace == _state(app_name, item.key))
                told = {"id": item.key, "app_name": app_name, "user_id": each, "state": {**mine, **shared}}
                found.append(Session(**told, last_update_time=item.value["updated"]))
        return ListSessionsResponse(sessions=sorted(found, key=lambda it: (it.last_update_time, it.user_id, it.id)))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """Deletes a session with its messages and its own state."""
        user, wanted = self._memory.user(user_id), session_id.strip()
        if not wanted:
            return
        kept = await awaited(user.items.list, _state(app_name, wanted), limit=adapters.MOST)
        names = [(_sessions(app_name), wanted), *((item.namespace, item.key) for item in kept)]
        await awaited(user.items.batch, [{"do": "delete", "namespace": each, "key": key} for each, key in names])
        await awaited(user.sessions.delete, conversation(user, app_name, wanted).session_id)

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Returns the state that all sessions of a user in an app share."""
        return _values(await awaited(self._memory.user(user_id).items.list, _state(app_name), limit=adapters.MOST))

    async def append_event(self, session: Any, event: Any) -> Any:
        """Stores a complete event and its changes of the state; a repeated event changes nothing."""
        if event.partial:
            return event
        user, app_name = self._memory.user(session.user_id), session.app_name
        if await awaited(user.items.get, _sessions(app_name), session.id) is None:
            raise SessionNotFoundError(f"Session {session.id} not found.")
        chat, told = conversation(user, app_name, session.id), turn(app_name, event)
        known = await awaited(chat.keyed, event.id)
        if known is not None and known.metadata.get(KEPT) == told["metadata"][KEPT]:
            return event
        # The event comes last: if it is stored, a repeated call stops above, and its changes must be there by then.
        changed = event.actions.state_delta if event.actions else {}
        await self._keep(user, app_name, session.id, changed, [_session(app_name, session.id, event.timestamp)])
        await awaited(chat.add, **{**told, "key": None if known else event.id})
        session.last_update_time = event.timestamp
        return await super().append_event(session=session, event=event)

    async def _keep(
        self,
        user: AsyncUser | User,
        app_name: str,
        session_id: str,
        state: Mapping[str, Any],
        more: list[dict[str, Any]],
    ) -> None:
        """Stores the session's and the user's state together with `more`, all or none, then the app's state."""
        own, users, app = _parted(state)
        puts = [*_puts(_state(app_name, session_id), own), *_puts(_state(app_name), users)]
        await awaited(user.items.batch, [*more, *puts])
        if app:
            await awaited(self._shared.items.batch, _puts(_app(app_name), app))

    async def _of_app(self, app_name: str) -> dict[str, Any]:
        kept = await awaited(self._shared.items.list, _app(app_name), limit=adapters.MOST)
        return _values(kept, State.APP_PREFIX)

    async def _users(self, user_id: str | None) -> AsyncIterator[str]:
        """Yields one user, or all users of the memory page by page."""
        if user_id is not None:
            yield user_id
            return
        after = None
        while found := await awaited(self._memory.users.list, after=after):
            for each in found:
                yield each.user_id
            after = found[-1].user_id


async def _events(chat: Any, config: Any) -> list[Any]:
    most, since = (config.num_recent_events, config.after_timestamp) if config else (None, None)
    if most == 0:
        return []
    stored = await awaited(chat.window, adapters.MOST if most is None else min(most, adapters.MOST))
    return [each for each in map(event, stored) if since is None or each.timestamp >= since]


def _sessions(app_name: str) -> tuple[str, ...]:
    return (KEPT, app_name, "sessions")


def _state(app_name: str, session_id: str | None = None) -> tuple[str, ...]:
    return (KEPT, app_name, "user_state") if session_id is None else (KEPT, app_name, "session_state", session_id)


def _app(app_name: str) -> tuple[str, ...]:
    return (KEPT, app_name, "app_state")


def _all(namespace: tuple[str, ...]) -> dict[str, Any]:
    return {"do": "list", "namespace": namespace, "limit": adapters.MOST}


def _session(app_name: str, session_id: str, updated: float) -> dict[str, Any]:
    told = {"namespace": _sessions(app_name), "key": session_id, "value": {"updated": updated}}
    return {"do": "put", **told, "fields": []}


def _puts(namespace: tuple[str, ...], state: Mapping[str, Any]) -> list[dict[str, Any]]:
    # A program's own state is not searched.
    return [
        {"do": "put", "namespace": namespace, "key": name, "value": value, "fields": []}
        for name, value in to_jsonable_python(dict(state), serialize_unknown=True).items()
    ]


def _values(items: Iterable[Any], prefix: str = "") -> dict[str, Any]:
    return {prefix + item.key: item.value for item in items}


def _parted(state: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Returns the parts of a state for the session, the user and the app, without state for one invocation only."""
    own, users, app = dict[str, Any](), dict[str, Any](), dict[str, Any]()
    for name, value in state.items():
        if name.startswith(State.APP_PREFIX):
            app[name.removeprefix(State.APP_PREFIX)] = value
        elif name.startswith(State.USER_PREFIX):
            users[name.removeprefix(State.USER_PREFIX)] = value
        elif not name.startswith(State.TEMP_PREFIX):
            own[name] = value
    return own, users, app
