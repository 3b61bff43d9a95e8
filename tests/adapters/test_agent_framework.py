"""The providers for Microsoft's Agent Framework, where it is installed: the package publishes no tests of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ltst import AsyncMemory, Invalid

pytest.importorskip("agent_framework", reason="agent-framework-core is installed by make adapters alone")

from agent_framework import Agent, BaseChatClient, ChatResponse, Content, Message

from ltst.agent_framework import LtstContextProvider, LtstHistoryProvider

SAID = "I moved to Lisbon in March."
MESSAGES = [
    Message("system", ["Be brief."]),
    Message("user", [SAID], author_name="ana", message_id="m1", additional_properties={"colour": "red"}),
    Message("assistant", [Content.from_function_call("c1", "weather", arguments={"city": "Porto"})]),
    Message("tool", [Content.from_function_result("c1", result="21 degrees \0")]),
    Message("assistant", ["It is 21 degrees."]),
    Message("user", [""]),
]


class Scripted(BaseChatClient):
    """A scripted model that keeps what it was shown."""

    def __init__(self) -> None:
        super().__init__()
        self.shown: list[tuple[list[str], str]] = []

    async def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Any, **rest: Any
    ) -> ChatResponse:
        self.shown.append(([message.text for message in messages], str(options.get("instructions") or "")))
        return ChatResponse(messages=[Message("assistant", ["I see."])])


def as_dicts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    return [message.to_dict() for message in messages]


async def test_messages_come_back_as_they_were(memory: AsyncMemory) -> None:
    history = LtstHistoryProvider(memory.user("ana"))
    assert await history.get_messages("monday") == []
    await history.save_messages("monday", MESSAGES[:2])
    await history.save_messages("monday", MESSAGES[2:])
    assert as_dicts(await history.get_messages("monday")) == as_dicts(MESSAGES)
    assert await history.get_messages("tuesday") == []
    assert await LtstHistoryProvider(memory.user("ben")).get_messages("monday") == []


async def test_messages_of_others_come_too(memory: AsyncMemory) -> None:
    await memory.user("ana").chat("monday").add("user", SAID)
    (message,) = await LtstHistoryProvider(memory.user("ana")).get_messages("monday")
    assert (message.role, message.text) == ("user", SAID)


async def test_an_agent_goes_on_with_its_conversation(memory: AsyncMemory) -> None:
    client = Scripted()
    agent = Agent(client, context_providers=[LtstHistoryProvider(memory.user("ana"))])
    for said in (SAID, "Where do I live?"):
        await agent.run(said, session=agent.create_session(session_id="monday"))
    assert client.shown[1][0] == [SAID, "I see.", "Where do I live?"]
    stored = await memory.user("ana").chat("monday").window()
    assert [each.role for each in stored] == ["human", "ai"] * 2


async def test_an_agent_recalls_other_conversations_of_its_user_alone(memory: AsyncMemory) -> None:
    client = Scripted()
    for user, session, said in (("ana", "1", SAID), ("ben", "2", "Where do I live?"), ("ana", "3", "Where do I live?")):
        providers = [LtstHistoryProvider(memory.user(user)), LtstContextProvider(memory.user(user))]
        agent = Agent(client, context_providers=providers)
        await agent.run(said, session=agent.create_session(session_id=session))
    told = [SAID in instructions or SAID in texts[0] for texts, instructions in client.shown]
    assert told == [True, False, True]
    assert client.shown[2][0][-1] == "Where do I live?"


async def test_what_cannot_be_kept_is_refused(memory: AsyncMemory) -> None:
    history = LtstHistoryProvider(memory.user("ana"))
    with pytest.raises(Invalid, match="which conversation"):
        await history.get_messages(None)
    with pytest.raises(Invalid, match="messages are those of agent_framework, not str"):
        await history.save_messages("monday", [MESSAGES[0], "Hello"])
    assert await history.get_messages("monday") == []
