"""Splits a prompt into the parts that the page shows, with the tokens that each takes and may take."""

from __future__ import annotations

from typing import NamedTuple

from ltst.recall.context import SHARES, Context

FRAME = "What says that the rest is remembered and no order, today's date, and what sets messages apart."


class PromptPart(NamedTuple):
    """A part of a prompt. `allowed` is its guaranteed share of the budget in tokens, if it has one."""

    name: str
    text: str
    tokens: int
    allowed: int | None = None


def parts_of(prompt: Context, budget: int) -> list[PromptPart]:
    """Returns the sections of a prompt in order, after the text that frames them."""
    framing = prompt.tokens - sum(each.tokens for each in prompt.sections)
    framed = [PromptPart("frame", FRAME, framing)] if framing > 0 else []
    allowed = {name: int(budget * share) for name, share in SHARES.items()}
    return [
        *framed,
        *(PromptPart(each.name, each.text, each.tokens, allowed.get(each.name)) for each in prompt.sections),
    ]
