"""Works out which value of a fact held when, from mentions of it; the order in which they are read does not matter.

The latest mention wins: from its moment on it replaces whatever was said earlier about that time. A value set by hand
is never replaced by one that was only heard; it holds until the next known change.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from ltst.support.text import normalised

# The value of an ending that names none: "we broke up" ends the only known partner.
ANY = "*"
SUREST = 0.99  # the highest confidence that hearing alone can reach, however often


@dataclass(frozen=True, slots=True)
class Mention:
    """One claim, heard or set by hand, that a value holds or ends from a moment on."""

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
    corrects: str | None = None  # the source whose value was wrong, or ANY for any source


@dataclass(slots=True)
class Period:
    """A value and the time during which it holds. One that was overruled holds at no time: `since` equals `until`."""

    value: str
    since: datetime
    ended: datetime | None = None
    until: datetime | None = None
    mentions: list[Mention] = field(default_factory=list)

    @property
    def by_hand(self) -> Mention | None:
        """The first mention that was set by hand, or None."""
        return next((each for each in self.mentions if each.by_hand), None)

    @property
    def confidence(self) -> float:
        """How sure the value is. Mentions of different moments add up; copies of one message count once."""
        written = max((each.confidence for each in self.mentions if each.by_hand), default=0.0)
        doubt = 1.0
        for heard in {each.said_at: each.confidence for each in self.mentions if not each.by_hand}.values():
            doubt *= 1 - heard
        return max(written, min(SUREST, round(1 - doubt, 4)))

    @property
    def sources(self) -> list[str]:
        """The ids of the messages it rests on, oldest first, each once."""
        found = sorted(self.mentions, key=_order)
        return [*dict.fromkeys(each.source for each in found if each.source is not None)]

    @property
    def details(self) -> dict[str, Any]:
        """The details of all mentions; where they differ, the later one counts."""
        return {name: value for each in sorted(self.mentions, key=_order) for name, value in each.details.items()}

    def covers(self, moment: datetime) -> bool:
        """Returns whether the period has begun and not ended at a moment."""
        return self.since <= moment and (self.ended is None or self.ended > moment)


def periods(mentions: Iterable[Mention], rejected: Collection[str], *, single_valued: bool) -> list[Period]:
    """Returns the periods in order of time, without rejected values.

    A single-valued key has one value at a time; otherwise each value has periods of its own.
    """
    struck = {normalised(value) for value in rejected}
    heard = sorted((each for each in mentions if normalised(each.value) not in struck), key=_order)
    groups = [heard] if single_valued else _by_value(heard)
    return sorted((period for group in groups for period in _line(group)), key=lambda each: each.since)


def same(one: str, other: str) -> bool:
    """Returns whether two values count as the same."""
    return normalised(one) == normalised(other)


def _order(mention: Mention) -> tuple[datetime, datetime, bool, str]:
    return (mention.said_at, mention.since, not mention.ends, mention.id)


def _by_value(heard: Sequence[Mention]) -> list[list[Mention]]:
    """Groups the mentions by value; an ending joins the value that it means."""
    groups: dict[str, list[Mention]] = {}
    for each in heard:
        if not each.ends:
            groups.setdefault(normalised(each.value), []).append(each)
    for each in heard:
        if each.ends and (name := _meant(each.value, groups) or _of_kind(each.value, groups)) is not None:
            groups[name].append(replace(each, value=groups[name][0].value))
    for each in heard:
        for group in groups.values() if each.corrects != ANY else ():
            if any(_wrong(one, each) for one in group):
                # Without its id: the correction supports the value that it gives, not the one that it ends.
                group.append(replace(each, id="", value=group[0].value, ends=True))
    return [sorted(group, key=_order) for group in groups.values()]


def _meant(value: str, names: Collection[str]) -> str | None:
    """Returns the known value that an ending names: "bike" may be the only road bike. None if none or several fit."""
    wanted = normalised(value)
    if wanted in names:
        return wanted
    if value == ANY:
        return next(iter(names)) if len(names) == 1 else None
    words = set(wanted.split())
    alike = [name for name in names if words and (words <= set(name.split()) or set(name.split()) <= words)]
    return alike[0] if len(alike) == 1 else None


def _of_kind(value: str, groups: Mapping[str, Sequence[Mention]]) -> str | None:
    """Returns the only known value of the kind that an ending names: "my dog died" may mean Rex. None otherwise."""
    wanted = normalised(value)
    alike = [
        name
        for name, group in groups.items()
        if any(normalised(str(kind)) == wanted for each in group for kind in each.details.values())
    ]
    return alike[0] if len(alike) == 1 else None


def _line(heard: Sequence[Mention]) -> list[Period]:
    """Applies the mentions one by one; returns the periods they leave, then those that were overruled."""
    line: list[Period] = []
    overruled: list[Period] = []
    for mention in heard:
        if mention.ends:
            _end(line, mention)
        else:
            overruled += _say(line, mention)
    follows: datetime | None = None
    for period in reversed(line):
        period.until = min([each for each in (period.ended, follows) if each is not None], default=None)
        follows = period.since
    for period in overruled:
        period.until = period.since
    return line + overruled


def _end(line: Sequence[Period], mention: Mention) -> None:
    """Ends the period that a mention says is over, if it holds then or did when that was said."""
    for moment in (mention.since, mention.said_at):
        period = _covering(line, moment)
        if period is not None and _meant(mention.value, [normalised(period.value)]) is not None:
            period.ended = period.since if mention.corrects is not None else max(mention.since, period.since)
            period.mentions.append(mention)
            return


def _say(line: list[Period], mention: Mention) -> list[Period]:
    """Adds a mention to the line; returns the periods that it overrules."""
    known = _covering(line, mention.since)
    if known is not None and known.by_hand is None and any(_wrong(each, mention) for each in known.mentions):
        # A wrong value never held, so the corrected one holds from its start.
        mention = replace(mention, since=known.since)
    later = [] if mention.by_hand else _overruled(line, mention, known)
    for period in later:
        line.remove(period)
    continued = known is not None and _goes_on(known, mention)
    period = known if continued and known is not None else Period(mention.value, mention.since, mention.until)
    if mention.by_hand:
        period.ended = mention.until
    for heard in later:
        if same(heard.value, mention.value):
            period.mentions += heard.mentions
    period.mentions.append(mention)
    if not continued:
        line.append(period)
        line.sort(key=lambda each: each.since)
    return [each for each in later if not same(each.value, mention.value)] + _hidden(line, period)


def _wrong(said: Mention, correction: Mention) -> bool:
    """Returns whether a correction refers to what was said."""
    meant = correction.corrects == ANY or (said.source is not None and said.source == correction.corrects)
    return correction.corrects is not None and meant and not same(said.value, correction.value)


def _goes_on(known: Period, mention: Mention) -> bool:
    """Returns whether a mention repeats the known value. One that is set by hand starts a period of its own."""
    own = mention.by_hand and (known.by_hand is not None or known.since != mention.since)
    return same(known.value, mention.value) and not own


def _overruled(line: Sequence[Period], mention: Mention, known: Period | None) -> list[Period]:
    """Returns the periods that a mention replaces: those heard of earlier that begin after it does.

    Values set by hand, and those that begin after the mention was made, stay.
    """
    return [
        each
        for each in line
        if each is not known and mention.since <= each.since <= mention.said_at and not each.by_hand
    ]


def _hidden(line: list[Period], newest: Period) -> list[Period]:
    """Removes and returns the periods that begin when the newest does, or the newest if one of them is set by hand."""
    rivals = [each for each in line if each.since == newest.since and each is not newest]
    hidden = [newest] if newest.by_hand is None and any(each.by_hand for each in rivals) else rivals
    for each in hidden:
        line.remove(each)
    return hidden


def _covering(line: Sequence[Period], moment: datetime) -> Period | None:
    """Returns the period that holds at a moment, or None."""
    begun = [each for each in line if each.since <= moment]
    return begun[-1] if begun and begun[-1].covers(moment) else None
