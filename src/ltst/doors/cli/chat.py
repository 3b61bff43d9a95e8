"""Talking with an agent that remembers: `ltst chat`, and the loop that the demo ends in."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from ltst.doors.cli import facts, show
from ltst.doors.cli.options import Options, command, named, piped, typed
from ltst.errors import Invalid, LtstError

if TYPE_CHECKING:
    from ltst.agents.memories import Memory
    from ltst.doors.cli.conversation import Talk

app = typer.Typer()

PROMPT, ANSWER = "you> ", "ltst> "
WORD = re.compile(r"/[a-z]+")
SHOWN_MEMORIES = 5
LONGEST_MEMORY = 100
LEAVING = ("/quit", "/exit", "/bye")
HELP = {
    "/facts": "what is known about you",
    "/why": "what the last answer is based on",
    "/new": "begin a new conversation",
    "/help": "this",
    "/quit": "leave; so do Ctrl-D and Ctrl-C",
}
MEMORIES: show.Columns = {
    "When": lambda memory: (memory.get("date") or "")[:10],
    "What": lambda memory: memory["kind"],
    "Score": lambda memory: memory.get("score"),
    "Content": lambda memory: memory.get("content"),
    "Based on": lambda memory: "\n".join(memory.get("sources") or ()) or None,
}


@command(app, "chat", user=True)
def chat(
    options: Options,
    message: Annotated[
        str | None,
        typer.Argument(help="Say this and leave; - reads it from the input. Without it, a conversation begins."),
    ] = None,
    chat_id: Annotated[str | None, named("--chat", "ID", "Go on with this conversation, or name a new one.")] = None,
    latest: Annotated[bool, typer.Option("--continue", "-c", help="Go on with the latest conversation.")] = False,
    agent: Annotated[str | None, named("--agent", "NAME", "Who answers.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Show what each answer is based on.")] = False,
) -> None:
    """Talk with an agent that remembers you.

    Without a model it answers from memory, in your own words, and forgets what you ask it to. LTST_LLM_MODEL names a
    model that answers instead. Each line of piped input is one message; --json prints each answer as one object a line.

    Example: ltst chat "Where do I live?"
    """
    if chat_id is not None and latest:
        raise typer.BadParameter("--continue is for the latest conversation, --chat for another: give one of them")
    from ltst.doors.cli.conversation import Talk  # late: the driver is slow to import, and --help should be fast

    with Talk(options.settings, chat_id=chat_id, agent=agent) as talk:
        if latest:
            talk.go_on()
        if message is None:
            answered = converse(talk, as_json=options.json, explain=explain)
        else:
            answered = say(talk, typed(message, ask="Message"), as_json=options.json, explain=explain)
            if not options.json:
                _how_to_agree(talk)
    if not answered:
        raise typer.Exit(1)


def converse(talk: Talk, *, as_json: bool = False, greeted: bool = False, explain: bool = False) -> bool:
    """Says what is typed or piped, line by line, until it ends; returns whether every piped line was answered."""
    asked = sys.stdin.isatty()
    decorated = asked and sys.stdout.isatty() and not as_json
    if decorated and not greeted:
        _greet(talk)
    answered = True
    try:
        for number, line in enumerate(_typed(decorated) if asked else sys.stdin.buffer, start=1):
            heard = _line_or_error(line, "standard input" if asked else f"standard input, line {number}")
            if heard in LEAVING:
                break
            answered = _heed(talk, heard, as_json, decorated, explain) and answered
    finally:
        if decorated and talk.chat_id is not None:
            show.hint(f"To go on with it: ltst chat --continue, or ltst chat --chat {talk.chat_id}")
    return answered or asked


def say(talk: Talk, message: str, *, as_json: bool = False, decorated: bool = False, explain: bool = False) -> bool:
    """Says one thing and shows the answer, and what it rests on if that is to be explained."""
    pieces = talk.say(message)
    if as_json:
        for _ in pieces:
            pass  # JSON is printed once the answer is complete
        show.line(_document(talk, message))
        return True
    screen = show.out()
    with show.working("Thinking"):
        first = next(pieces, "")
    if decorated:
        screen.print(Text(ANSWER, "green"), end="")
    for piece in chain([first], pieces):
        screen.print(show.plain(piece), end="", soft_wrap=True)
    screen.print()
    if explain:
        _why(talk, as_json)
    elif decorated and talk.last is not None and talk.last.model is not None:  # else it quotes them anyway
        _rests_on(talk.last.memories)
    return True


def _how_to_agree(talk: Talk) -> None:
    """Prints how to accept an offer, because the next command would begin another conversation."""
    from ltst.agents.wording import OFFER  # imported late, like the conversation

    if talk.last is not None and talk.last.model is None and talk.last.reply.startswith(OFFER):
        show.hint("To say yes: ltst chat -c yes")


def _heed(talk: Talk, line: str | LtstError, as_json: bool, decorated: bool, explain: bool) -> bool:
    """Does what one line asks for; prints errors, and the conversation goes on."""
    try:
        if isinstance(line, LtstError):
            raise line
        if not line:
            return True
        if WORD.fullmatch(line):
            return _obey(talk, line, as_json)
        return say(talk, line, as_json=as_json, decorated=decorated, explain=explain)
    except LtstError as problem:
        show.problem(problem, as_json)
        return False


def _obey(talk: Talk, word: str, as_json: bool) -> bool:
    if word == "/new":
        talk.begin_anew()
        show.hint("A new conversation begins; what was said before is remembered.")
    elif word == "/facts":
        known = talk.facts()
        show.records(as_json, known, facts.columns(known), title="Facts", empty="Nothing is known yet.")
    elif word == "/why":
        _why(talk, as_json)
    elif word == "/help":
        show.hint("\n".join(f"{name:<8}{meaning}" for name, meaning in HELP.items()))
    else:
        raise Invalid(f"there is no {word}; there are {', '.join(HELP)}")
    return True


def _why(talk: Talk, as_json: bool) -> None:
    """Shows the memories that the last answer rests on, with their sources."""
    memories = talk.last.memories if talk.last is not None else ()
    empty = "It is based on nothing that is remembered."
    show.records(as_json, memories, MEMORIES, title="It is based on", empty=empty)


def _line_or_error(line: str | bytes, source: str) -> str | LtstError:
    try:
        return (line if isinstance(line, str) else piped(line, source)).strip()
    except LtstError as problem:
        return problem


def _typed(decorated: bool) -> Iterator[str | bytes]:
    """Yield what is typed. The prompt goes to standard error if standard output is not a terminal."""
    prompt = _prompt() if decorated else ""
    while True:
        if not decorated:
            show.err().print(PROMPT, end="")
        try:
            yield input(prompt)
        except EOFError:
            show.err().print()
            return
        except KeyboardInterrupt:
            show.err().print()
            raise
        except UnicodeDecodeError:
            yield b"\xff"


def _prompt() -> str:
    """Returns a prompt, with line editing and history if the terminal supports it; nothing is written to disk."""
    with suppress(ImportError):
        import readline  # noqa: F401

        if show.out().color_system is not None:
            return f"\001\033[36m\002{PROMPT}\001\033[0m\002"  # marks invisible characters, or lines wrap wrongly
    return PROMPT


def _greet(talk: Talk) -> None:
    name, model = talk.answerer
    kept = talk.earlier()
    how = f"answers with {model}" if model else "answers in your own words; LTST_LLM_MODEL names a model"
    known = f"{kept} earlier conversation{'s' if kept > 1 else ''} remembered. " if kept else ""
    show.say(f"{name} {how}.\n{known}/help shows what else you can type, Ctrl-D leaves.", "dim")


def _rests_on(memories: Sequence[Memory]) -> None:
    best = sorted(memories, key=lambda memory: -(memory.get("score") or 0.0))
    for memory in best[:SHOWN_MEMORIES]:
        where = f" in {memory['session_id']}" if memory.get("session_id") else ""
        words = " ".join(str(memory.get("content") or "").split())[:LONGEST_MEMORY]
        show.say(f"  {(memory.get('date') or '')[:10]} {memory['kind']}{where}: {words}", "dim")
    if len(best) > SHOWN_MEMORIES:
        show.say(f"  and {len(best) - SHOWN_MEMORIES} more: /why", "dim")


def _document(talk: Talk, message: str) -> dict[str, Any]:
    result = talk.last
    assert result is not None, "an answer that came to its end is there"
    answer = {name: getattr(result, name) for name in ("reply", "message_id", "reply_id")}
    who = {"chat_id": result.chat_id, "agent_name": result.agent, "model": result.model}
    return {**who, "message": message, **answer, "memories": [dict(each) for each in result.memories]}
