"""Shelves: the items of one section of a context with their costs in tokens, and the choice of those that fit."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ltst.recall.excerpts import excerpt
from ltst.recall.ingredients import Ingredient
from ltst.recall.lines import indented, written
from ltst.recall.summary import TokenCounter, cut

__all__ = ["BETWEEN", "MESSAGE_OVERHEAD", "Priced", "Shelf", "part", "price"]

MESSAGE_OVERHEAD = 4  # tokens of a message besides its content: the role and the delimiters
WORTH_CUTTING = 32  # tokens: a shorter piece of a memory tells nothing
BETWEEN = " / "  # separates memories that share a line
UNNUMBERED = "m99"  # stands in for a reference that is not known yet
# Hits are first shown as excerpts, to make room for many: at most one of these fractions of the budget each.
LONGEST_OWN, LONGEST_OTHERS = 8, 16


def _show_turn(role: str, content: str) -> str:
    """Returns a turn for the one-text form. Later lines are indented, so that none looks like a speaker or a memory."""
    return f"{role}: {indented(content)}"


@dataclass(slots=True)
class Priced:
    """An item with its text and its cost in tokens, each computed once."""

    item: Ingredient
    text: str
    cost: int
    spoken: int = 0  # the cost of a turn's text alone
    said: str = ""  # a turn in the one-text form
    joined: int | None = None  # its cost when it shares a neighbour's line; computed when needed

    def added(self, count: TokenCounter) -> int:
        """Returns what the item costs when it joins the line of its neighbour."""
        if self.joined is None:
            self.joined = count(BETWEEN + self.text)
        return self.joined


def price(item: Ingredient, count: TokenCounter, gap: str = "\n\n", content: str | None = None) -> Priced:
    """Returns the item with its cost in the more expensive of the two forms, including the gap after it."""
    text = item.shown(item.content if content is None else content)
    if item.role is None:
        return Priced(item, text, count(_show_alone(item, text) + gap))
    spoken, said = count(text), _show_turn(item.role, text)
    return Priced(item, text, max(spoken + MESSAGE_OVERHEAD, count(said + gap)), spoken, said)


def _show_alone(item: Ingredient, text: str) -> str:
    """Returns how the system message shows an item that shares its line with no other."""
    return text if item.source is None else written(UNNUMBERED, item.details, text)


@dataclass(slots=True)
class Shelf:
    """The items of one section, the most useful first, and those of them that are kept."""

    name: str
    items: list[Priced]
    heading: int
    count: TokenCounter
    most: int  # the budget of the whole context
    asked: frozenset[str] | None  # the terms of the question, for a section that search fills
    kept: list[Priced] = field(default_factory=list)
    short: dict[int, Priced] = field(default_factory=dict)
    _shown: list[Priced] | None = None
    _spent: int | None = None

    def keep(self, kept: list[Priced]) -> None:
        """Keeps these, the most useful first."""
        self.kept, self._shown, self._spent = kept, None, None

    @property
    def shown(self) -> list[Priced]:
        """The kept items in the order in which they are shown."""
        if self._shown is None:
            self._shown = sorted(self.kept, key=_order_of)
        return self._shown

    @property
    def spent(self) -> int:
        """What the kept items cost together, including the heading."""
        if self._spent is None:
            self._spent = self.heading + self._cost() if self.kept else 0
        return self._spent

    def fill(self, limit: int, wanted: Sequence[Priced]) -> None:
        """Keeps what fits, the most useful first; the window stops at the first gap. If nothing fits, keeps a part."""
        room = limit - self.heading
        kept = self._fit(room, wanted) if self.asked is None else self._fit_excerpts(room, wanted)
        if wanted and not kept and room >= WORTH_CUTTING:
            kept = self._fit_part(wanted[0].item, room)
        self.keep(kept)

    def complete(self) -> bool:
        """Returns whether every item is kept in full."""
        return len(self.kept) == len(self.items) and all(each.item.whole for each in self.kept)

    def _cost(self) -> int:
        if self.asked is None:  # such sections have no groups
            return sum([each.cost for each in self.kept])
        costs = [self._cost_after(before, each) for before, each in pairwise(self.shown)]
        return self.shown[0].cost + sum(costs)

    def _cost_after(self, before: Priced | None, each: Priced) -> int:
        """Returns what an item costs after another: neighbours of one group share a line."""
        group = each.item.group
        if group is None or before is None or before.item.group != group:
            return each.cost
        return each.added(self.count) if each.joined is None else each.joined

    def _fit(self, room: int, wanted: Sequence[Priced]) -> list[Priced]:
        kept: list[Priced] = []
        for each in wanted:
            if each.cost <= room:
                kept.append(each)
                room -= each.cost
            elif self.name == "window":
                break
        return kept

    def _fit_groups(self, room: int, wanted: Iterable[Priced]) -> tuple[list[Priced], int]:
        """Returns as many items as fit, with neighbours of one group sharing a line, and the room that is left."""
        kept: list[Priced] = []
        shown: list[Priced] = []  # the same, in the order shown
        places: list[int] = []
        for each in wanted:
            at = bisect_left(places, each.item.order)
            before, behind = shown[at - 1] if at else None, shown[at] if at < len(shown) else None
            dearer = self._cost_after(before, each)
            if behind is not None:
                dearer += self._cost_after(each, behind) - self._cost_after(before, behind)
            if dearer <= room:
                kept.append(each)
                shown.insert(at, each)
                places.insert(at, each.item.order)
                room -= dearer
        return kept, room

    def _fit_excerpts(self, room: int, wanted: Sequence[Priced]) -> list[Priced]:
        """Returns as many items as fit as excerpts; the room left over lengthens them, the user's own words first."""
        kept, room = self._fit_groups(room, map(self._excerpt_of, wanted))
        cut = [at for at, each in enumerate(kept) if not each.item.whole]
        whole = {each.item.order: each for each in wanted} if cut else {}
        for at in sorted(cut, key=lambda at: (not kept[at].item.own, at)):
            short, long = kept[at], whole[kept[at].item.order]
            if room < min(WORTH_CUTTING, long.cost - short.cost):
                continue
            longer = [long] if long.cost - short.cost <= room else self._fit_part(long.item, short.cost + room)
            for each in longer:
                room -= each.cost - short.cost
                kept[at] = each
        return kept

    def _excerpt_of(self, each: Priced) -> Priced:
        """Returns the item, or a cached excerpt of it if it is long."""
        most = self.most // (LONGEST_OWN if each.item.own else LONGEST_OTHERS)
        if each.cost <= most:
            return each
        order = each.item.order
        if order not in self.short:
            self.short[order] = (self._fit_part(each.item, most) or [each])[0]
        return self.short[order]

    def _fit_part(self, item: Ingredient, room: int) -> list[Priced]:
        """Returns the most telling part of an item that fits into the room, as a list of one or none."""
        return part(item, room, self.count, self.asked)


def _order_of(each: Priced) -> int:
    return each.item.order


def part(
    item: Ingredient, room: int, count: TokenCounter, asked: frozenset[str] | None, gap: str = "\n\n"
) -> list[Priced]:
    """Returns the sentences of an item that matter for the question, else its longest beginning; none if none fits."""

    def fits(piece: str) -> bool:
        return price(item, count, gap, piece).cost <= room

    piece = cut(item.content, fits) if asked is None else excerpt(item.content, asked, fits)
    return [] if piece is None else [price(replace(item, content=piece, whole=False), count, gap)]
