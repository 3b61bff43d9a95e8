"""No text that a caller sends takes more than linear time, neither in a pattern nor in what is built of them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from bench import pump

FEW = 40
# Characters in which quadratic time shows; texts of `pump.LONGEST` show it where a step takes less than usual.
ENOUGH = 32_768


@pytest.fixture(scope="module")
def found() -> list[pump.Pattern]:
    return pump.patterns()


def test_all_are_found(found: list[pump.Pattern]) -> None:
    places = {each.where.rsplit(":")[0] for each in found}
    assert len(found) > 450
    assert {"ltst.support.questions._PLAINLY", "ltst.support.reading.markdown.RULER"} <= places
    assert any(":" in each.where for each in found), "those that are written where they are used too"


@pytest.mark.parametrize(
    ("where", "methods"),
    [
        ("ltst.doors.cli.parameters.SPAN", ("fullmatch",)),
        ("ltst.learn.model.FORMS['email']", ("fullmatch",)),
        ("].pattern", ("match",)),
        ("ltst.learn.extract.wishes._ONCE", ("search",)),
    ],
)
def test_it_is_known_how_they_are_used(found: list[pump.Pattern], where: str, methods: tuple[str, ...]) -> None:
    assert {each.methods for each in found if each.where.endswith(where)} == {methods}


SHARES = 16  # of the patterns, so that several processes pump them
# What was too slow once: each in the form that it had.
SLOW = (
    (r"(?:new |current |mobile |cell ?|phone |cell phone |work )*(?:phone )?number(?:'s| is|:)", "match"),
    (r"(?:work|working)(?: full[- ]time| remotely| in [\w ]{2,20}| here| \w+ days a week)* as (?P<v>.+)", "match"),
    (r"(?:live|living)(?: (?:right|now|down|over|together|with [\w ]{2,25}?))* (?:in) ?(?P<v>.+)", "match"),
    (r"(?:one |two )(?:(?:little|\d{1,2}[- ]year[- ]old|\d{1,2}[- ]years?[- ]old|baby) )*(?:kids|sons?)\b", "match"),
    (r"(?:(?:please|when (?:answering|replying)[\w ]{0,20}|do)[,:]? )*be brief", "match"),
    (r"(?:(?:own|got|traded in [\w ]{3,25}? for|ordered) )*(?:an? |my )(?P<v>.+)", "match"),
    (r"[?？؟]+(?=[\s\"'”’»)\]*]|$)|？", "search"),
    (r"\b(?:know|remember)\b.*\b(?:about|of)\s+(?:me|us)\b", "search"),
    (r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t:|-]*)[\r\n]*\Z", "match"),
    (r"""<(/?)([a-zA-Z][^\s/>]*)((?:[^>"']++|"[^"]*"|'[^']*')*+)>""", "match"),
    (r"(?: (?:and|but|also))+ (?=I\b)", "search"),
    (r"\s+$", "search"),
)


@pytest.mark.parametrize(("pattern", "method"), SLOW)
def test_a_slow_one_is_seen(pattern: str, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pump, "HUNG", 2.0)
    slow = pump.Pattern("here", re.compile(pattern, re.IGNORECASE), (method,))
    assert [*pump.pumped([slow], FEW, ENOUGH)]


@pytest.mark.parametrize("pattern", [r"\bI am (\w+)", r"(?:a|b)*c", r"[^\n]*+\n", r"(?:\D*\d){4}.*", r"\w{1,40} here"])
def test_a_quick_one_is_not(pattern: str) -> None:
    assert not [*pump.pumped([pump.Pattern("here", re.compile(pattern), ("match",))], FEW, ENOUGH)]


@pytest.mark.parametrize("share", range(SHARES))
def test_none_is_slow(share: int, found: list[pump.Pattern], rounds: Callable[[int], int]) -> None:
    longest = max(rounds(pump.LONGEST), ENOUGH)
    assert not [*pump.pumped(found[share::SHARES], rounds(400), longest)]


@pytest.mark.parametrize("name", pump.READERS)
def test_no_reader_is_slow(name: str, rounds: Callable[[int], int]) -> None:
    assert not [*pump.read([name], rounds(1_048_576))]
