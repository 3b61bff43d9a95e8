"""The tools, by noun; each is one verb of the memory."""

from __future__ import annotations

from collections.abc import Mapping

from ltst.doors.mcp.toolbox import Tool
from ltst.doors.mcp.tools import (
    contexts,
    facts,
    instructions,
    knowledge,
    messages,
    people,
    preferences,
    sessions,
    statements,
    upkeep,
)

PAGES = (people, messages, sessions, facts, statements, preferences, instructions, contexts, knowledge, upkeep)
ALL: Mapping[str, Tool] = {each.name: each for page in PAGES for each in page.TOOLS}
EVERYDAY: Mapping[str, Tool] = {name: each for name, each in ALL.items() if each.everyday}
SETS = {"everyday": EVERYDAY, "all": ALL}
