"""No acknowledged turn is lost when server processes are killed in the middle of their work."""

from pathlib import Path

import psycopg
import pytest

from bench import server_kills
from bench.server_kills_check import Acknowledged, check
from ltst import AsyncMemory

SEED = 20


@pytest.mark.long
def test_no_acknowledged_turn_is_lost_to_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_kills, "KINDS", ("process", "parent", "all"))

    outcome = server_kills.run(3, SEED, tmp_path.resolve() / "served", tell=lambda _: None)

    assert outcome.problems == []
    assert outcome.kills == {"process": 1, "parent": 1, "all": 1}
    assert outcome.acknowledged > 0 and outcome.broken > 0
    assert outcome.missing == 0


async def test_the_check_notices_what_is_missing_repeated_and_halved(memory: AsyncMemory) -> None:
    chat = memory.user("ana").chat("one")
    said = await chat.add("user", "The bus was late.")
    reply = await chat.add("assistant", "Noted.", parent=said.message_id)
    whole = Acknowledged("ana", "one", str(said.message_id), str(reply.message_id), said.content, reply.content)

    def looked(*acknowledged: Acknowledged) -> tuple[int, list[str]]:
        with psycopg.connect(memory.database_url) as connection:
            return check(connection, acknowledged)

    assert looked(whole) == (0, [])
    assert looked(whole, whole._replace(reply_id="01a1e37b-0000-7000-8000-000000000000"))[0] == 1
    assert "is stored as" in " ".join(looked(whole._replace(reply="Something else."))[1])
    await chat.add("user", "The bus was late.")
    assert "stored 2 times" in " ".join(looked(whole)[1])
    await chat.add("assistant", "Noted again.", parent=said.message_id)
    await chat.add("assistant", "To nothing.")
    told = " ".join(looked(whole)[1])
    assert "has 2 replies" in told and "answers nothing" in told
