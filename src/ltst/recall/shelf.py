"""What a section of a context may hold: its items, each with its price, and those of them that fit."""

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

MESSAGE_OVERHEAD = 4  # what a model reads for a message beside its content: the role and the delimiters
WORTH_CUTTING = 32  # tokens: a smaller beginning of a memory tells nothing
BETWEEN = " / "  # the memories of one line
UNNUMBERED = "m99"  # stands for a reference while it is not known
# What was found is told in short forms first, so that there is room for many: at most these parts of the budget each.
LONGEST_OWN, LONGEST_OTHERS = 8, 16


def _spoken(role: str, content: str) -> str:
    """A turn in the one-text form: no line of it but the first begins where a speaker's name or a memory would."""
    return f"{role}: {indented(content)}"


@dataclass(slots=True)
class Priced:
    """An item with its text and its cost, each made once."""

    item: Ingredient
    text: str
    cost: int
    spoken: int = 0  # what the words of a turn cost by themselves
    said: str = ""  # a turn in the one-text form
    joined: int | None = None  # what it costs in the line of its neighbour, once that is asked for

    def added(self, count: TokenCounter) -> int:
        """Return what it costs in the line of its neighbour."""
        if self.joined is None:
            self.joined = count(BETWEEN + self.text)
        return self.joined


def price(item: Ingredient, count: TokenCounter, gap: str = "\n\n", content: str | None = None) -> Priced:
    """The cost in the dearer of the two forms, with the gap to the next item; of other content if it had that."""
    text = item.shown(item.content if content is None else content)
    if item.role is None:
        return Priced(item, text, count(_alone(item, text) + gap))
    spoken, said = count(text), _spoken(item.role, text)
    return Priced(item, text, max(spoken + MESSAGE_OVERHEAD, count(said + gap)), spoken, said)


def _alone(item: Ingredient, text: str) -> str:
    """Return what stands in the system message for an item that shares its line with no other."""
    return text if item.source is None else written(UNNUMBERED, item.details, text)


@dataclass(slots=True)
class Shelf:
    """The items of one section, the most useful first, and those of them that are kept."""

    name: str
    items: list[Priced]
    heading: int
    count: TokenCounter
    most: int  # the budget of the whole
    asked: frozenset[str] | None  # of what was searched for: the words by which it was
    kept: list[Priced] = field(default_factory=list)
    short: dict[int, Priced] = field(default_factory=dict)
    _shown: list[Priced] | None = None
    _spent: int | None = None

    def keep(self, kept: list[Priced]) -> None:
        """Keep these, the most useful first."""
        self.kept, self._shown, self._spent = kept, None, None

    @property
    def shown(self) -> list[Priced]:
        """What is kept, in the order in which it is shown."""
        if self._shown is None:
            self._shown = sorted(self.kept, key=_order)
        return self._shown

    @property
    def spent(self) -> int:
        """What all that is kept costs, with the heading."""
        if self._spent is None:
            self._spent = self.heading + self._cost() if self.kept else 0
        return self._spent

    def fill(self, limit: int, wanted: Sequence[Priced]) -> None:
        """Keep what fits, in the order of use; the window has no gaps. Where nothing fits, keep a part."""
        room = limit - self.heading
        kept = self._fitting(room, wanted) if self.asked is None else self._shortened(room, wanted)
        if wanted and not kept and room >= WORTH_CUTTING:
            kept = self._part(wanted[0].item, room)
        self.keep(kept)

    def complete(self) -> bool:
        """Return whether nothing is missing."""
        return len(self.kept) == len(self.items) and all(each.item.whole for each in self.kept)

    def _cost(self) -> int:
        if self.asked is None:  # which has no groups
            return sum([each.cost for each in self.kept])
        costs = [self._after(before, each) for before, each in pairwise(self.shown)]
        return self.shown[0].cost + sum(costs)

    def _after(self, before: Priced | None, each: Priced) -> int:
        """Return what an item costs behind another: neighbours of one group share a line."""
        group = each.item.group
        if group is None or before is None or before.item.group != group:
            return each.cost
        return each.added(self.count) if each.joined is None else each.joined

    def _fitting(self, room: int, wanted: Sequence[Priced]) -> list[Priced]:
        kept: list[Priced] = []
        for each in wanted:
            if each.cost <= room:
                kept.append(each)
                room -= each.cost
            elif self.name == "window":
                break
        return kept

    def _grouped(self, room: int, wanted: Iterable[Priced]) -> tuple[list[Priced], int]:
        """As many as fit, where neighbours of one group cost less; and the room that is left."""
        kept: list[Priced] = []
        shown: list[Priced] = []  # the same in their order
        places: list[int] = []
        for each in wanted:
            at = bisect_left(places, each.item.order)
            before, behind = shown[at - 1] if at else None, shown[at] if at < len(shown) else None
            dearer = self._after(before, each)
            if behind is not None:
                dearer += self._after(each, behind) - self._after(before, behind)
            if dearer <= room:
                kept.append(each)
                shown.insert(at, each)
                places.insert(at, each.item.order)
                room -= dearer
        return kept, room

    def _shortened(self, room: int, wanted: Sequence[Priced]) -> list[Priced]:
        """As many as fit in their short forms; what is then left lengthens them, the user's own words first."""
        kept, room = self._grouped(room, map(self._short, wanted))
        cut = [at for at, each in enumerate(kept) if not each.item.whole]
        whole = {each.item.order: each for each in wanted} if cut else {}
        for at in sorted(cut, key=lambda at: (not kept[at].item.own, at)):
            short, long = kept[at], whole[kept[at].item.order]
            if room < min(WORTH_CUTTING, long.cost - short.cost):
                continue
            longer = [long] if long.cost - short.cost <= room else self._part(long.item, short.cost + room)
            for each in longer:
                room -= each.cost - short.cost
                kept[at] = each
        return kept

    def _short(self, each: Priced) -> Priced:
        """Return the item, where it is long an excerpt of it; made once."""
        most = self.most // (LONGEST_OWN if each.item.own else LONGEST_OTHERS)
        if each.cost <= most:
            return each
        order = each.item.order
        if order not in self.short:
            self.short[order] = (self._part(each.item, most) or [each])[0]
        return self.short[order]

    def _part(self, item: Ingredient, room: int) -> list[Priced]:
        """Return the part of an item that tells most within a room, if any does."""
        return part(item, room, self.count, self.asked)


def _order(each: Priced) -> int:
    return each.item.order


def part(
    item: Ingredient, room: int, count: TokenCounter, asked: frozenset[str] | None, gap: str = "\n\n"
) -> list[Priced]:
    """The sentences of an item that matter for what is asked, else its longest beginning; none where none fits."""

    def fits(piece: str) -> bool:
        return price(item, count, gap, piece).cost <= room

    piece = cut(item.content, fits) if asked is None else excerpt(item.content, asked, fits)
    return [] if piece is None else [price(replace(item, content=piece, whole=False), count, gap)]
