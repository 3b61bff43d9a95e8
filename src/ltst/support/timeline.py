"""The timeline: from what was said, and when, to what held when; the same for the same words in any order of reading.

Whoever speaks later knows better, so a statement holds from its moment on, whatever was said before it about the
time after. What was written down by hand is moved by nobody: it holds until the next known change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ltst.support.text import normalised

# The value of an ending that does not say of what: "we broke up" ends the one partner that is known.
ANY = "*"
SUREST = 0.99  # of what was only heard, however often


@dataclass(frozen=True, slots=True)
class Statement:
    """Somebody said, or wrote down by hand, that a value holds or ends from a moment on."""

    id: str
    value: str
    since: datetime
    said_at: datetime
    ends: bool = False
    until: datetime | None = None
    by_hand: bool = False
    confidence: float = 1.0
    source: str | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Period:
    """A value and the time in which it holds; one that holds at no time (since is until) was overruled."""

    value: str
    since: datetime
    ended: datetime | None = None
    until: datetime | None = None
    statements: list[Statement] = field(default_factory=list)

    @property
    def by_hand(self) -> Statement | None:
        """The one that was written down, if one was."""
        return next((each for each in self.statements if each.by_hand), None)

    @property
    def confidence(self) -> float:
        """Two who say the same are surer than one; a copy of a message is not a second one."""
        written = max((each.confidence for each in self.statements if each.by_hand), default=0.0)
        doubt = 1.0
        for heard in {each.said_at: each.confidence for each in self.statements if not each.by_hand}.values():
            doubt *= 1 - heard
        return max(written, min(SUREST, round(1 - doubt, 4)))

    @property
    def sources(self) -> list[str]:
        """The messages it rests on, the first first."""
        found = sorted(self.statements, key=_order)
        return [*dict.fromkeys(each.source for each in found if each.source is not None)]

    @property
    def details(self) -> dict[str, Any]:
        """What else was said of it; of two who say different things the later is right."""
        return {name: value for each in sorted(self.statements, key=_order) for name, value in each.details.items()}

    def covers(self, moment: datetime) -> bool:
        """Whether it has begun and was not said to be over."""
        return self.since <= moment and (self.ended is None or self.ended > moment)


def periods(statements: Iterable[Statement], rejected: Collection[str], *, single_valued: bool) -> list[Period]:
    """What held when, in order. Of a single-valued key one value holds at a time; what was rejected never did."""
    struck = {normalised(value) for value in rejected}
    heard = sorted((each for each in statements if normalised(each.value) not in struck), key=_order)
    groups = [heard] if single_valued else _by_value(heard)
    return sorted((period for group in groups for period in _line(group)), key=lambda each: each.since)


def same(one: str, other: str) -> bool:
    """Whether two values are the same for us."""
    return normalised(one) == normalised(other)


def _order(statement: Statement) -> tuple[datetime, datetime, bool, str]:
    return (statement.said_at, statement.since, not statement.ends, statement.id)


def _by_value(heard: Sequence[Statement]) -> list[list[Statement]]:
    groups: dict[str, list[Statement]] = {}
    for each in heard:
        if not each.ends:
            groups.setdefault(normalised(each.value), []).append(each)
    for each in heard:
        if each.ends and (name := _meant(each.value, groups) or _of_kind(each.value, groups)) is not None:
            groups[name].append(replace(each, value=groups[name][0].value))
    return [sorted(group, key=_order) for group in groups.values()]


def _meant(value: str, names: Collection[str]) -> str | None:
    """The value that is said to be over: "bike" may be the one road bike that is known."""
    wanted = normalised(value)
    if wanted in names:
        return wanted
    if value == ANY:
        return next(iter(names)) if len(names) == 1 else None
    words = set(wanted.split())
    alike = [name for name in names if words and (words <= set(name.split()) or set(name.split()) <= words)]
    return alike[0] if len(alike) == 1 else None


def _of_kind(value: str, groups: Mapping[str, Sequence[Statement]]) -> str | None:
    """The one value that is of the kind that is said to be over: the dog that died may be the Rex that is known."""
    wanted = normalised(value)
    alike = [
        name
        for name, group in groups.items()
        if any(normalised(str(kind)) == wanted for each in group for kind in each.details.values())
    ]
    return alike[0] if len(alike) == 1 else None


def _line(heard: Sequence[Statement]) -> list[Period]:
    """One statement after the other onto one line of time."""
    line: list[Period] = []
    overruled: list[Period] = []
    for statement in heard:
        if statement.ends:
            _end(line, statement)
        else:
            overruled += _say(line, statement)
    follows: datetime | None = None
    for period in reversed(line):
        period.until = min([each for each in (period.ended, follows) if each is not None], default=None)
        follows = period.since
    for period in overruled:
        period.until = period.since
    return line + overruled


def _end(line: Sequence[Period], statement: Statement) -> None:
    for moment in (statement.since, statement.said_at):
        period = _covering(line, moment)
        if period is not None and _meant(statement.value, [normalised(period.value)]) is not None:
            period.ended = max(statement.since, period.since)
            period.statements.append(statement)
            return


def _say(line: list[Period], statement: Statement) -> list[Period]:
    """Put a statement onto the line; the periods that it overrules."""
    known = _covering(line, statement.since)
    later = [] if statement.by_hand else _overruled(line, statement, known)
    for period in later:
        line.remove(period)
    continued = known is not None and _goes_on(known, statement)
    period = known if continued and known is not None else Period(statement.value, statement.since, statement.until)
    if statement.by_hand:
        period.ended = statement.until
    for heard in later:
        if same(heard.value, statement.value):
            period.statements += heard.statements
    period.statements.append(statement)
    if not continued:
        line.append(period)
        line.sort(key=lambda each: each.since)
    return [each for each in later if not same(each.value, statement.value)] + _hidden(line, period)


def _goes_on(known: Period, statement: Statement) -> bool:
    """Whether a statement says what holds already; what is written down keeps a beginning of its own."""
    own = statement.by_hand and (known.by_hand is not None or known.since != statement.since)
    return same(known.value, statement.value) and not own


def _overruled(line: Sequence[Period], statement: Statement, known: Period | None) -> list[Period]:
    """What was heard before about the time after; not what was written down, nor what is still to come."""
    return [
        each
        for each in line
        if each is not known and statement.since <= each.since <= statement.said_at and not each.by_hand
    ]


def _hidden(line: list[Period], newest: Period) -> list[Period]:
    """Of two that begin at the very same moment the earlier holds at no time, unless it alone was written down."""
    rivals = [each for each in line if each.since == newest.since and each is not newest]
    hidden = [newest] if newest.by_hand is None and any(each.by_hand for each in rivals) else rivals
    for each in hidden:
        line.remove(each)
    return hidden


def _covering(line: Sequence[Period], moment: datetime) -> Period | None:
    begun = [each for each in line if each.since <= moment]
    return begun[-1] if begun and begun[-1].covers(moment) else None
