"""The command that a hint names installs the extra, from a clone and from the index."""

from __future__ import annotations

import json
import sys
from importlib import metadata
from typing import Any

import pytest

from ltst import Invalid, Settings
from ltst.providers.language import configured
from ltst.support.extras import how_to_install

INDEX = f'{sys.executable} -m pip install "ltst[redis]"'


class Installed:
    def __init__(self, origin: Any) -> None:
        self.origin = origin

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.origin is None else json.dumps(self.origin)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, INDEX),
        ({"url": "https://example.com/ltst.whl", "archive_info": {}}, INDEX),
        (
            {"url": "file:///home/a%20b/ltst", "dir_info": {"editable": True}},
            f'{sys.executable} -m pip install --editable "/home/a b/ltst[redis]"',
        ),
        ({"url": "file:///srv/ltst", "dir_info": {}}, f'{sys.executable} -m pip install "/srv/ltst[redis]"'),
    ],
)
def test_a_hint_names_where_ltst_came_from(monkeypatch: pytest.MonkeyPatch, origin: Any, command: str) -> None:
    monkeypatch.setattr("ltst.support.extras.distribution", lambda name: Installed(origin))
    assert how_to_install("redis") == command


def test_a_hint_without_an_installation_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("ltst.support.extras.distribution", missing)
    assert how_to_install("redis") == INDEX


def test_a_language_model_without_its_package_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ltst.providers.language.find_spec", lambda name: None)
    with pytest.raises(Invalid, match="LTST_LLM_MODEL is set, and the openai package is missing"):
        configured(Settings(llm_model="small"))
    assert configured(Settings()) is None
