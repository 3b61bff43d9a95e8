"""What is remembered: `ltst search`, `ltst context` and `ltst profile`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltst.doors.cli import show
from ltst.doors.cli.options import named
from ltst.doors.cli.preferences import HIDDEN, Reveal
from ltst.doors.cli.verbs import Given, Noun
from ltst.records import KINDS, Hit

if TYPE_CHECKING:
    from rich.text import Text

    from ltst.recall.context import Context
    from ltst.sync import User

app = Noun("", "What is remembered.")

ARMS = {
    "lexical": "its own words",
    "dense": "its meaning",
    "window": "the words of the turns around it",
    "session_lexical": "the words of its whole conversation",
    "session_dense": "the meaning of its whole conversation",
    "temporal": "near the time that the question names",
    "speaker": "said by whom the question means",
    "answer": "holds what the question asks for, such as a number",
    "strength": "how important it is, and how lately used",
    "retold": "drawn from what was said: that comes first",
}
Explain = Annotated[bool, typer.Option("--explain", help="Also say what the parts mean, and what it rests on.")]
FOUND: show.Columns = {
    "Score": lambda hit: f"{hit.score:.2f}",
    "Made of": lambda hit: _arms(hit),
    "When": lambda hit: show.when(hit.occurred_at) if hit.occurred_at else "",
    "What": lambda hit: hit.speaker or hit.kind,
    "Content": "content",
}
SOURCES = show.columns(
    "Score, Kind: kind, Id: id, Session: session_id, Rests on",
    {"Score": lambda hit: f"{hit.score:.2f}", "Rests on": lambda hit: "\n".join(hit.sources) or None},
)
Chat = Annotated[str | None, named("--chat", "ID", "Which conversation; a new one, if left out.")]
FACTS = show.columns("Key: key, Value: value, Confidence: confidence")
PREFERENCES: show.Columns = {**show.pairs("Key", "Value"), "Value": lambda row: HIDDEN if row[1] is None else row[1]}


def _found(as_json: bool, found: Sequence[Hit], given: Given) -> None:
    show.records(as_json, found, FOUND, title="Found", empty="Nothing like that is remembered.")
    if given["explain"] and found and not as_json:
        used = {arm for hit in found for arm, score in hit.scores.items() if score}
        rows = [(arm, meaning) for arm, meaning in ARMS.items() if arm in used]
        show.out().print(show.table(rows, show.pairs("Part", "Says"), title="What a score is made of"))
        show.out().print(show.table(found, SOURCES, title="What it rests on"))


def _arms(hit: Hit) -> Text:
    """Return the parts of a score, one per line, the largest first."""
    from rich.text import Text  # late: --json needs none of it

    parts = sorted(((arm, score) for arm, score in hit.scores.items() if score), key=lambda part: -part[1])
    return Text("\n").join(Text.assemble((f"{score:5.2f}", ""), (f" {arm}", "dim")) for arm, score in parts)


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
    _found,
    flags={"kinds": "--kind", "session_id": "--chat"},
    told={
        "query": "What to look for, in any words; - reads it.",
        "kinds": f"{', '.join(KINDS)}; may be given several times.",
        "session_id": "Only this conversation and related ones.",
        "where": "Of metadata: topic=food, 'price>=5'; all must hold.",
    },
    own={"explain": (Explain, False)},
)
app.verb(
    "context",
    "Show what a model would be sent.\n\nInstructions, preferences, facts, what is recalled, working memory and the "
    "newest messages, within the budget.",
    '"Where do I live?" --chat monday --max-tokens 2000',
    _packed,
    does="chat.context",
    chat=(Chat, None),
    opens=("agent",),
    learnt=True,
)
app.verb(
    "profile",
    "Show who a user is, in facts and preferences.\n\nWhat holds now, and how things are wanted. Sensitive values stay "
    "hidden unless asked for.",
    "--user ann",
    _profile,
    learnt=True,
    own={"reveal": (Reveal, False)},
    beside=_hidden,
)
