"""Agents from TOML files: what is read, what is refused, what is noticed."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ltst import Invalid, NotFound, Settings
from ltst.agents.loader import KEYS, Agent, Agents, parse
from ltst.agents.tools import TOOLS

WHOLE = """
name = "coach"
description = "A running coach."
system_prompt = '''
You are a running coach.
'''
model = "small-2"
window = 20
strategy = "sliding_window_summary"
max_tokens = 2000
temperature = 0.3
tools = ["search_memory", "remember_fact", "search_memory"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "agents"
    made.mkdir()
    return made


@pytest.fixture
def agents(folder: Path) -> Agents:
    return Agents(Settings(agents=folder))


def names(agents: Agents) -> list[str]:
    return [agent.name for agent in agents.list()]


def test_the_built_in_ones(tmp_path: Path) -> None:
    agents = Agents(Settings(home=tmp_path / "nowhere"))
    assert names(agents) == ["assistant", "recall"]
    assert agents.get("recall").model == "none" and agents.get("assistant").model == "default"
    assert agents.get("assistant").system_prompt.startswith("You are") and agents.get("assistant").tools == ()


def test_which_one_answers_where_none_is_named(folder: Path) -> None:
    (folder / "coach.toml").write_text(WHOLE)
    assert Agents(Settings()).get().name == "recall"
    assert Agents(Settings(llm_model="small")).get().name == "assistant"
    assert Agents(Settings(llm_model="small", agents=folder, agent="coach")).get().name == "coach"
    with pytest.raises(NotFound, match="'butler'; known are assistant, recall"):
        Agents(Settings(agent="butler")).get()


def test_a_whole_file(folder: Path, agents: Agents) -> None:
    (folder / "any name.toml").write_text(WHOLE)
    assert agents.get("coach") == Agent(
        name="coach",
        description="A running coach.",
        system_prompt="You are a running coach.",
        model="small-2",
        window=20,
        strategy="sliding_window_summary",
        max_tokens=2000,
        temperature=0.3,
        tools=("search_memory", "remember_fact"),
    )


def test_the_folder_lies_in_the_home_unless_it_is_set(tmp_path: Path) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "coach.toml").write_text('name = "coach"')
    assert names(Agents(Settings(home=tmp_path))) == ["assistant", "coach", "recall"]
    assert Settings.from_environment({"LTST_AGENTS": "/a/b", "LTST_AGENT": "coach"}).agents == Path("/a/b")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name = ", "this is not TOML"),
        ('description = "a"', "name is missing"),
        ('name = ""', "name must be 1 to 255"),
        ("name = 7", "name must be text"),
        ('name = "a"\nprompt = "b"', f"there is no key prompt; accepted are {', '.join(KEYS)}"),
        ('name = "a"\nwindow = 0', "window must be a whole number from 1 to 1000, not 0"),
        ('name = "a"\nwindow = "all"', "window must be a whole number"),
        ('name = "a"\nstrategy = "all"', "strategy must be one of sliding_window, sliding_window_summary"),
        ('name = "a"\nmax_tokens = 3', "max_tokens must be a whole number of at least 17"),
        ('name = "a"\nmax_tokens = true', "max_tokens must be"),
        ('name = "a"\ntemperature = 3', "temperature must be a number from 0 to 2"),
        ('name = "a"\ntemperature = "hot"', "temperature must be"),
        ('name = "a"\nmodel = " "', "model must be"),
        ('name = "a"\ntools = "search_memory"', f"tools must be a list of {', '.join(TOOLS)}"),
        ('name = "a"\ntools = ["rm"]', f"each of tools must be one of {', '.join(TOOLS)}, not 'rm'"),
        ('name = "a"\nsystem_prompt = 5', "system_prompt must be text"),
        (f'name = "a"\nmax_tokens = 100\nsystem_prompt = "{"x" * 400}"', "system_prompt must leave at least half"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_what_is_accepted(
    folder: Path, agents: Agents, text: str, told: str
) -> None:
    (folder / "bad.toml").write_text(text)
    with pytest.raises(Invalid) as raised:
        agents.get()
    assert str(raised.value).startswith("bad.toml: ") and told in str(raised.value)


def test_a_file_that_is_no_text(folder: Path, agents: Agents) -> None:
    (folder / "bad.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Invalid, match=r"bad\.toml: it cannot be read as UTF-8"):
        agents.get()


def test_a_users_file_replaces_a_built_in(folder: Path, agents: Agents) -> None:
    (folder / "mine.toml").write_text('name = "assistant"\nsystem_prompt = "Be brief."')
    assert agents.get("assistant").system_prompt == "Be brief." and names(agents) == ["assistant", "recall"]


def test_two_files_with_one_name(folder: Path, agents: Agents) -> None:
    (folder / "a.toml").write_text('name = "coach"')
    (folder / "b.toml").write_text('name = "coach"')
    with pytest.raises(Invalid, match=r"b\.toml: name 'coach' is taken by a\.toml"):
        agents.list()


def test_a_change_is_noticed(folder: Path, agents: Agents) -> None:
    assert names(agents) == ["assistant", "recall"]
    file = folder / "coach.toml"
    file.write_text('name = "coach"\nwindow = 10')
    assert agents.get("coach").window == 10
    file.write_text('name = "coach"\nwindow = 20')
    os.utime(file, (1, 1))
    assert agents.get("coach").window == 20
    assert agents.get("coach") is agents.get("coach"), "an unchanged folder is not read again"
    file.write_text("name = ")
    with pytest.raises(Invalid):
        agents.get("coach")
    file.unlink()
    with pytest.raises(NotFound, match="known are assistant, recall"):
        agents.get("coach")


def test_an_agent_is_also_checked_when_it_is_made_in_code() -> None:
    assert replace(parse(WHOLE, "a.toml"), tools=["set_preference"]).tools == ("set_preference",)  # type: ignore[arg-type]
    with pytest.raises(Invalid):
        Agent("a", window=0)
