"""Searching and showing what is remembered: `ltst search`, `ltst context` and `ltst profile`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import named
from ltst.doors.cli.preferences import HIDDEN, Reveal
from ltst.doors.cli.verbs import Given, Noun
from ltst.recall.parts import in_words
from ltst.records import KINDS, Hit

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from ltst.recall.context import Context
    from ltst.sync import User

app = Noun("", "What is remembered.")

Explain = Annotated[bool, typer.Option("--explain", help="In whole, with the parts of its score and its sources.")]
WHOLE: show.Columns = {
    "Score": lambda hit: f"{hit.score:.2f}",
    "Made of": lambda hit: _parts(hit),
    "When": lambda hit: show.when(hit.occurred_at) if hit.occurred_at else "",
    "What": lambda hit: hit.speaker or hit.kind,
    "Content": "content",
}
SOURCES = show.columns(
    "Score, Kind: kind, Id: id, Session: session_id, Source",
    {"Score": lambda hit: f"{hit.score:.2f}", "Source": lambda hit: "\n".join(hit.sources) or None},
)
BESIDE = 50  # terminal columns reserved for everything but the content, with some spare for word wrap
Chat = Annotated[str | None, named("--chat", "ID", "Which conversation; a new one, if left out.")]
FACTS = show.columns("Key: key, Value: value, Confidence: confidence")
PREFERENCES: show.Columns = {**show.pairs("Key", "Value"), "Value": lambda row: HIDDEN if row[1] is None else row[1]}


def _show_hits(as_json: bool, found: Sequence[Hit], given: Given) -> None:
    if not as_json and found and not given["explain"]:
        show.out().print(_lines(found, given["query"] or ""))
        return
    show.records(as_json, found, WHOLE, title="Found", empty="Nothing like that is remembered.")
    if found and not as_json:
        show.out().print(show.table(found, SOURCES, title="Where it comes from"))


def _lines(found: Sequence[Hit], query: str) -> Table:
    """Returns one or two lines per hit; longer contents are reduced to the sentences that matter."""
    from rich.cells import cell_len

    from ltst.recall.excerpts import excerpt
    from ltst.support.terms import terms

    most, asked = max(2 * (show.out().width - BESIDE), BESIDE), frozenset(terms(query))

    def fits(words: str) -> bool:
        return cell_len(words) <= most

    def row(hit: Hit) -> tuple[str, str, str, str]:
        when, words = show.when(hit.occurred_at) if hit.occurred_at else "", " ".join(hit.content.split())
        shown = words if fits(words) else excerpt(words, asked, fits)
        return f"{hit.score:.2f}", when, hit.speaker or hit.kind, shown or ""

    return show.grid(map(row, found))


def _parts(hit: Hit) -> Text:
    """Return the parts of a score, one per line, the largest first."""
    from rich.text import Text  # imported late because --json needs none of it

    parts = sorted(in_words(hit.scores), key=lambda part: -part[1])
    return Text("\n").join(Text.assemble((f"{score:5.2f}", ""), (f" {words}", "dim")) for words, score in parts)


def _packed(as_json: bool, found: Context, given: Given) -> None:
    show.notes(() if as_json else found.notes)
    if as_json:
        show.document(found)
    elif found.text:
        show.say(found.text)
        show.hint(_measured(found, given["max_tokens"]))
    else:
        show.say("Nothing is remembered for it yet.", "dim")


def _measured(found: Context, most: int) -> str:
    parts = ", ".join(f"{each.name} {each.tokens}" for each in found.sections)
    left_out = ", ".join(f"{count} of {name}" for name, count in found.dropped.items())
    return f"{found.tokens} of {most:,} tokens: {parts}." + (f" Left out: {left_out}." if left_out else "")


def _profile(as_json: bool, known: dict[str, Any], given: Given) -> None:
    wanted = {key: None if key in given["beside"] else value for key, value in known["preferences"].items()}
    if as_json:
        show.document({**known, "preferences": wanted})
        return
    title = f"Facts about {known['user_id']}"
    show.records(False, known["facts"], FACTS, title=title, empty="Nothing is known yet.")
    empty = "No preferences are set yet."
    show.records(False, [*wanted.items()], PREFERENCES, title="Preferences", empty=empty)
    show.notes(known["notes"])


def _hidden(user: User, _: Any, given: Given) -> set[str]:
    return set() if given["reveal"] else {each.key for each in user.preferences.list() if each.sensitive}


app.verb(
    "search",
    "Find what is remembered about something.\n\nThe best first, or nothing when nothing is relevant.",
    '"where do I live?" --kind message --since 2026-01-01',
    _show_hits,
    flags={"kinds": "--kind"},
    help={
        "query": "What to look for; - reads it; the newest, if left out.",
        "offset": "How many to pass over.",
        "vector": "The question's own vector, as JSON.",
        "floor": "The least relevance of the best, 0 to 1.",
        "kinds": f"{', '.join(KINDS)}; repeatable.",
        "session_id": "Only this conversation and related ones.",
        "where": "Of metadata: topic=food, 'price>=5'; all must hold.",
    },
    own={"explain": (Explain, False)},
)
CONTEXT = """Show what a model would be sent.

Instructions, preferences, facts, what is recalled, working memory and the newest messages, within the budget."""
PROFILE = """Show who a user is, in facts and preferences.

What holds now, and how things are wanted. Sensitive values stay hidden unless asked for."""
ASKED = '"Where do I live?" --chat monday --max-tokens 2000'
app.verb("context", CONTEXT, ASKED, _packed, does="chat.context", chat=(Chat, None), opens=("agent",), learnt=True)
app.verb("profile", PROFILE, "--user ann", _profile, learnt=True, own={"reveal": (Reveal, False)}, beside=_hidden)
