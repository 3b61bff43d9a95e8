"""Search: `ltst search`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any, get_type_hints

import typer
from rich.text import Text

from ltst.arguments import SearchFilters, argument
from ltst.doors.cli import show
from ltst.doors.cli.options import Limit, Options, command, json_or_text, named, remembered, typed
from ltst.records import KINDS, Hit

app = typer.Typer()

CONDITION = re.compile(r"(.+?)(>=|<=|=|>|<)(.*)", re.DOTALL)
RANGES = {">=": "gte", ">": "gt", "<=": "lte", "<": "lt"}
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
Query = Annotated[str, typer.Argument(help="What to look for, in any words; - reads it.")]
Kind = Annotated[
    list[str] | None,
    named("--kind", "KIND", f"{', '.join(KINDS)}; may be given several times.", *KINDS),
]
Chat = Annotated[str | None, named("--chat", "ID", "Only this conversation and related ones.")]
Where = Annotated[
    list[str] | None,
    named("--where", "CONDITION", "Of metadata: topic=food, 'price>=5'; all must hold."),
]
Explain = Annotated[bool, typer.Option("--explain", help="Also say what the parts mean, and what it rests on.")]

FOUND: show.Columns = {
    "Score": lambda hit: f"{hit.score:.2f}",
    "Made of": lambda hit: _arms(hit),
    "When": lambda hit: show.when(hit.occurred_at) if hit.occurred_at else "",
    "What": lambda hit: hit.speaker or hit.kind,
    "Content": "content",
}


# The filters that are written in a way of their own here; every other one is an option of its name.
OWN = ("kinds", "session_id", "where")
FILTERS = [
    argument(name, hint, None)
    for name, hint in get_type_hints(SearchFilters, include_extras=True).items()
    if name not in OWN
]


@command(app, "search", user=True, more=FILTERS)
def search(
    options: Options,
    /,
    query: Query,
    kind: Kind = None,
    chat: Chat = None,
    where: Where = None,
    limit: Limit = 10,
    explain: Explain = False,
    **filters: Any,
) -> None:
    """Find what is remembered about something.

    The best first, or nothing when nothing is relevant.

    Example: ltst search "where do I live?" --kind message --since 2026-01-01
    """
    narrowed: SearchFilters = {"kinds": kind, "session_id": chat, "where": _conditions(where) if where else None}
    asked = typed(query, ask="Query")
    with remembered(options) as user:
        found = user.search(asked, limit=limit, **{**filters, **narrowed})
    show.records(options.json, found, FOUND, title="Found", empty="Nothing like that is remembered.")
    if explain and found and not options.json:
        _explain(found)


def _arms(hit: Hit) -> Text:
    """The part of each arm that has one, the largest first, under one another."""
    parts = sorted(((arm, score) for arm, score in hit.scores.items() if score), key=lambda part: -part[1])
    return Text("\n").join(Text.assemble((f"{score:5.2f}", ""), (f" {arm}", "dim")) for arm, score in parts)


def _explain(found: Sequence[Hit]) -> None:
    used = {arm for hit in found for arm, score in hit.scores.items() if score}
    rows = [(arm, meaning) for arm, meaning in ARMS.items() if arm in used]
    columns: show.Columns = {"Part": lambda row: row[0], "Says": lambda row: row[1]}
    show.out().print(show.table(rows, columns, title="What a score is made of"))
    sources: show.Columns = {
        "Score": lambda hit: f"{hit.score:.2f}",
        "Kind": "kind",
        "Id": "id",
        "Session": "session_id",
        "Rests on": lambda hit: "\n".join(hit.sources) or None,
    }
    show.out().print(show.table(found, sources, title="What it rests on"))


def _conditions(written: Sequence[str]) -> dict[str, Any]:
    """What `where` of a search takes: values that must be equal, and ranges."""
    wanted: dict[str, Any] = {}
    for each in written:
        found = CONDITION.fullmatch(each)
        if found is None:
            raise typer.BadParameter(f"{each!r} is no condition: write topic=food or 'price>=5'", param_hint="--where")
        key, sign, value = found[1].strip(), found[2], json_or_text(found[3])
        if sign == "=":
            wanted[key] = value
        elif isinstance(wanted.setdefault(key, {}), dict):
            wanted[key][RANGES[sign]] = value
        else:
            raise typer.BadParameter(f"{key} cannot be equal and in a range at once", param_hint="--where")
    return wanted
