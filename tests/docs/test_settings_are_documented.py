"""No setting and no variable without its line in the docs."""

from dataclasses import fields
from pathlib import Path

from ltst.settings import VARIABLES, Settings

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()


def test_every_setting_is_documented() -> None:
    missing = [
        f"`{name}`" for name in [*VARIABLES, *(each.name for each in fields(Settings))] if f"`{name}`" not in PAGE
    ]
    assert missing == []
