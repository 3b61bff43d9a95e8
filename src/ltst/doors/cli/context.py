"""Context: `ltst context`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ltst.arguments import STRATEGIES
from ltst.doors.cli import show
from ltst.doors.cli.options import AgentName, Options, command, informed, named, one_of, typed

if TYPE_CHECKING:
    from ltst.recall.context import Context

app = typer.Typer()


@command(app, "context", user=True)
def context(
    options: Options,
    question: Annotated[str | None, typer.Argument(help="What is asked next, and recalled; - reads it.")] = None,
    chat: Annotated[str | None, named("--chat", "ID", "Which conversation; a new one, if left out.")] = None,
    agent: AgentName = None,
    max_tokens: Annotated[int, named("--max-tokens", "N", "Never more than these.")] = 4000,
    about: Annotated[str | None, named("--about", "TEXT", "Recall this instead; nothing is asked.")] = None,
    strategy: Annotated[str, one_of("--strategy", "NAME", STRATEGIES)] = "sliding_window",
    window: Annotated[int | None, named("--window", "N", "The most messages word for word.")] = None,
) -> None:
    """Show what a model would be sent.

    Instructions, preferences, facts, what is recalled, working memory and the newest messages, within the budget.

    Example: ltst context "Where do I live?" --chat monday --max-tokens 2000
    """
    asked = None if question is None else typed(question, ask="Question")
    with informed(options) as user:
        talk = user.chat(chat, agent=agent)
        found = talk.context(asked, max_tokens=max_tokens, strategy=strategy, window=window, about=about)
    show.notes(() if options.json else found.notes)
    if options.json:
        show.document(found)
    elif found.text:
        show.say(found.text)
        show.hint(_measured(found, max_tokens))
    else:
        show.say("Nothing is remembered for it yet.", "dim")


def _measured(found: Context, most: int) -> str:
    parts = ", ".join(f"{each.name} {each.tokens}" for each in found.sections)
    left_out = ", ".join(f"{count} of {name}" for name, count in found.dropped.items())
    return f"{found.tokens} of {most:,} tokens: {parts}." + (f" Left out: {left_out}." if left_out else "")
