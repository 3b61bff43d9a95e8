"""No setting and no variable without its line in the docs."""

import re
from dataclasses import fields
from pathlib import Path

from ltst.settings import VARIABLES, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()


def test_every_setting_is_documented() -> None:
    missing = [
        f"`{name}`" for name in [*VARIABLES, *(each.name for each in fields(Settings))] if f"`{name}`" not in PAGE
    ]
    assert missing == []


def test_no_setting_is_documented_twice() -> None:
    listed = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert "allowed_hosts" in listed and len(listed) == len({*listed})
