"""The services for the Agent Development Kit, where it is installed: the contract that its own services keep too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ltst import AsyncMemory, Invalid, Memory

pytest.importorskip("google.adk.sessions", reason="google-adk is installed by make adapters alone")

from google.adk.agents import LlmAgent
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events import Event, EventActions
from google.adk.memory import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.sessions.base_session_service import GetSessionConfig
from google.genai.types import Blob, Content, FunctionCall, FunctionResponse, Part

from ltst.adk import LtstMemoryService, LtstSessionService

SAID = "I moved to Lisbon in March."
ANA = {"app_name": "coach", "user_id": "ana"}
MONDAY = {**ANA, "session_id": "monday"}


def said(text: str, author: str = "user", **more: Any) -> Event:
    role = "user" if author == "user" else "model"
    return Event(author=author, content=Content(role=role, parts=[Part(text=text)]), **more)


def changed(**state: Any) -> Event:
    return Event(author="coach", actions=EventActions(state_delta={k.replace("__", ":"): v for k, v in state.items()}))


EVENTS = [
    said(SAID, timestamp=100.0),
    Event(author="coach", timestamp=101.0, content=Content(role="model", parts=[
        Part(function_call=FunctionCall(id="c1", name="weather", args={"city": "Porto"}))])),
    Event(author="coach", timestamp=102.0, content=Content(role="user", parts=[
        Part(function_response=FunctionResponse(id="c1", name="weather", response={"sky": "clear \0"}))])),
    Event(author="coach", timestamp=103.0, content=Content(role="model", parts=[
        Part(text="hm", thought=True), Part(text="It is clear."),
        Part(inline_data=Blob(data=b"\xff\x00", mime_type="image/png"))])),
]  # fmt: skip


@pytest.fixture(params=["theirs", "ltst", "ltst without await"])
def services(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    if request.param == "theirs":
        return InMemorySessionService(), InMemoryMemoryService()
    opened = request.getfixturevalue("memory" if request.param == "ltst" else "sync_memory")
    return LtstSessionService(opened), LtstMemoryService(opened)


@pytest.fixture
def sessions(services: tuple[Any, Any]) -> Any:
    return services[0]


@pytest.fixture
def recalling(services: tuple[Any, Any]) -> Any:
    return services[1]


async def test_a_session_is_begun_once_and_comes_back(sessions: Any) -> None:
    assert await sessions.get_session(**MONDAY) is None
    begun = await sessions.create_session(**MONDAY, state={"step": 1, "user:name": "Ana", "app:open": True})
    assert (begun.id, begun.app_name, begun.user_id, begun.events) == ("monday", "coach", "ana", [])
    assert begun.state == {"step": 1, "user:name": "Ana", "app:open": True}
    assert (await sessions.get_session(**MONDAY)).state == begun.state
    with pytest.raises(AlreadyExistsError):
        await sessions.create_session(**MONDAY)
    named = await sessions.create_session(**ANA)
    assert named.id and named.id != "monday"
    assert (await sessions.create_session(**ANA, session_id=" padded ")).id == "padded"


async def test_events_come_back_as_they_were(sessions: Any) -> None:
    session = await sessions.create_session(**MONDAY)
    for event in EVENTS:
        assert await sessions.append_event(session, event.model_copy(deep=True)) == event
    found = await sessions.get_session(**MONDAY)
    assert found.events == session.events == EVENTS
    assert found.last_update_time == 103.0
    recent = await sessions.get_session(**MONDAY, config=GetSessionConfig(num_recent_events=2))
    assert recent.events == EVENTS[-2:]
    late = await sessions.get_session(**MONDAY, config=GetSessionConfig(after_timestamp=102.0))
    assert late.events == EVENTS[2:]
    assert (await sessions.get_session(**MONDAY, config=GetSessionConfig(num_recent_events=0))).events == []


async def test_state_is_the_sessions_the_users_or_the_apps(sessions: Any) -> None:
    session = await sessions.create_session(**MONDAY, state={"a": 1})
    await sessions.append_event(session, changed(a=2, b=[1], user__name="Ana", app__open=False, temp__x=1))
    assert session.state == {"a": 2, "b": [1], "user:name": "Ana", "app:open": False, "temp:x": 1}
    stored = await sessions.get_session(**MONDAY)
    assert stored.state == {"a": 2, "b": [1], "user:name": "Ana", "app:open": False}
    assert stored.events[0].actions.state_delta == {"a": 2, "b": [1], "user:name": "Ana", "app:open": False}
    assert (await sessions.create_session(**ANA)).state == {"user:name": "Ana", "app:open": False}
    assert (await sessions.create_session(app_name="coach", user_id="ben")).state == {"app:open": False}
    assert (await sessions.create_session(app_name="cook", user_id="ana")).state == {}
    assert await sessions.get_user_state(**ANA) == {"name": "Ana"}
    assert await sessions.get_user_state(app_name="cook", user_id="ana") == {}


async def test_the_same_event_again_changes_nothing_and_a_part_of_one_is_not_kept(sessions: Any) -> None:
    session = await sessions.create_session(**MONDAY)
    for _ in range(2):
        await sessions.append_event(session, EVENTS[0])
    await sessions.append_event(session, said("It is cl", "coach", partial=True))
    assert (await sessions.get_session(**MONDAY)).events == session.events == EVENTS[:1]


async def test_a_copy_of_a_session_may_be_older_than_what_is_stored(sessions: Any) -> None:
    session = await sessions.create_session(**MONDAY)
    older = await sessions.get_session(**MONDAY)
    await sessions.append_event(session, changed(a=1))
    await sessions.append_event(older, changed(b=2))
    found = await sessions.get_session(**MONDAY)
    assert (len(found.events), found.state) == (2, {"a": 1, "b": 2})


async def test_sessions_are_listed_without_events_the_latest_last(sessions: Any) -> None:
    for user_id, session_id in (("ana", "1"), ("ben", "2"), ("ana", "3")):
        await sessions.create_session(app_name="coach", user_id=user_id, session_id=session_id)
    first = await sessions.get_session(**ANA, session_id="1")
    await sessions.append_event(first, said(SAID))
    listed = (await sessions.list_sessions(**ANA)).sessions
    assert [(each.id, each.events) for each in listed] == [("3", []), ("1", [])]
    assert [each.id for each in (await sessions.list_sessions(app_name="coach")).sessions] == ["2", "3", "1"]
    assert (await sessions.list_sessions(app_name="cook")).sessions == []
    assert (await sessions.list_sessions(app_name="coach", user_id="eve")).sessions == []


async def test_a_session_that_is_deleted_is_gone_and_the_users_state_stays(sessions: Any) -> None:
    session = await sessions.create_session(**MONDAY, state={"a": 1, "user:name": "Ana"})
    await sessions.append_event(session, EVENTS[0])
    await sessions.delete_session(**MONDAY)
    await sessions.delete_session(**MONDAY)
    assert await sessions.get_session(**MONDAY) is None
    with pytest.raises(SessionNotFoundError):
        await sessions.append_event(session, EVENTS[1])
    again = await sessions.create_session(**MONDAY)
    assert (again.state, again.events) == ({"user:name": "Ana"}, [])


async def test_what_is_added_to_the_memory_is_found_once(services: tuple[Any, Any]) -> None:
    sessions, recalling = services
    session = await sessions.create_session(**MONDAY)
    for event in EVENTS:
        await sessions.append_event(session, event)
    for _ in range(2):
        await recalling.add_session_to_memory(session)
    await recalling.add_events_to_memory(**ANA, events=EVENTS[:1], session_id="monday")
    await recalling.add_events_to_memory(**ANA, events=[said("My cello is old.")])
    memories = (await recalling.search_memory(**ANA, query="moved Lisbon")).memories
    assert [each.content.parts[0].text for each in memories].count(SAID) == 1
    assert (memories[0].content.parts[0].text, memories[0].author) == (SAID, "user")
    assert memories[0].timestamp.startswith("1970-01-01T00:01:40")
    other = (await recalling.search_memory(**ANA, query="cello")).memories[0]
    assert other.content.parts[0].text == "My cello is old."


async def test_memory_is_of_one_user_in_one_app(recalling: Any) -> None:
    await recalling.add_events_to_memory(**ANA, events=[said(SAID)], session_id="monday")
    for whose in ({"app_name": "cook", "user_id": "ana"}, {"app_name": "coach", "user_id": "ben"}):
        assert (await recalling.search_memory(**whose, query="Lisbon")).memories == []
    assert (await recalling.search_memory(**ANA, query=" ")).memories == []


async def test_what_is_deleted_from_the_memory_does_not_come_back(recalling: Any) -> None:
    event = said(SAID)
    await recalling.add_events_to_memory(**ANA, events=[event], session_id="monday")
    (found,) = (await recalling.search_memory(**ANA, query="Lisbon")).memories
    await recalling.delete_memory(**ANA, memory_id=found.id)
    await recalling.add_events_to_memory(**ANA, events=[event], session_id="monday")
    assert (await recalling.search_memory(**ANA, query="Lisbon")).memories == []


async def test_memories_are_kept_and_forgotten_by_their_id(memory: AsyncMemory) -> None:
    service = LtstMemoryService(memory)
    kept = MemoryEntry(content=Content(parts=[Part(text="Ana likes sailing.")]), author="coach")
    await service.add_memory(**ANA, memories=[kept])
    (found,) = (await service.search_memory(**ANA, query="sailing")).memories
    await service.delete_memory(app_name="cook", user_id="ana", memory_id=found.id)
    assert (await service.search_memory(**ANA, query="sailing")).memories == [found]
    await service.delete_memory(**ANA, memory_id=found.id)
    assert (await service.search_memory(**ANA, query="sailing")).memories == []
    with pytest.raises(Invalid, match="a memory must say something"):
        await service.add_memory(**ANA, memories=[MemoryEntry(content=Content(parts=[]))])
    with pytest.raises(Invalid, match="which memory"):
        await service.delete_memory(**ANA)


async def test_events_are_messages_with_the_right_speaker(memory: AsyncMemory) -> None:
    sessions = LtstSessionService(memory)
    session = await sessions.create_session(**MONDAY)
    for event in [*EVENTS, changed(a=1)]:
        await sessions.append_event(session, event)
    user = memory.user("ana")
    window = await user.chat("coach/monday").window()
    assert [each.role for each in window] == ["human", "ai", "tool", "ai", "system"]
    assert window[1].content == 'weather({"city": "Porto"})'
    await user.chat("coach/monday").add("user", "Said elsewhere.")
    found = (await sessions.get_session(**MONDAY)).events[-1]
    assert (found.author, found.content.parts[0].text) == ("user", "Said elsewhere.")


async def test_many_at_once_lose_nothing(memory: AsyncMemory) -> None:
    sessions = LtstSessionService(memory)
    begun = [sessions.create_session(**MONDAY) for _ in range(5)]
    made = [each for each in await asyncio.gather(*begun, return_exceptions=True) if not isinstance(each, Exception)]
    (session,) = made
    await asyncio.gather(*(sessions.append_event(session, changed(**{f"k{n}": n})) for n in range(10)))
    assert (await sessions.get_session(**MONDAY)).state == {f"k{n}": n for n in range(10)}


class Scripted(BaseLlm):
    """A scripted model that keeps what it was shown."""

    shown: list[str]

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        self.shown.append(" ".join(part.text or "" for each in llm_request.contents for part in each.parts))
        yield LlmResponse(content=Content(role="model", parts=[Part(text="I see.")]))


async def test_an_agent_goes_on_with_its_session(services: tuple[Any, Any]) -> None:
    sessions, recalling = services
    model = Scripted(model="scripted", shown=[])
    for words in (SAID, "Where do I live?"):
        agent = LlmAgent(name="coach", model=model)
        runner = Runner(app_name="coach", agent=agent, session_service=sessions, memory_service=recalling)
        if await sessions.get_session(**MONDAY) is None:
            await sessions.create_session(**MONDAY)
        async for _ in runner.run_async(
            user_id="ana", session_id="monday", new_message=Content(role="user", parts=[Part(text=words)])
        ):
            pass
    assert model.shown[1] == f"{SAID} I see. Where do I live?"


def test_it_is_made_from_a_memory(sync_memory: Memory) -> None:
    with pytest.raises(Invalid, match="memory must be a Memory or an AsyncMemory, not User"):
        LtstSessionService(sync_memory.user("ana"))  # type: ignore[arg-type]
