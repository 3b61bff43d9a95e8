"""Pumps every regular expression of the package: none may take more than linear time on any text.

The patterns are found by walking the modules (`patterns`). Each is tried on texts that repeat pieces of itself, taken
from its parse tree, and pieces of usual text, and that end so that it fails late (`attacks`). Time is the CPU's, of a
child that the kernel ends when one attack takes too much of it, so a busy machine changes nothing.
"""

from __future__ import annotations

import ast
import builtins
import gc
import importlib
import inspect
import multiprocessing
import os
import pkgutil
import random
import re
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import islice, pairwise, takewhile
from multiprocessing.connection import Connection
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

import ltst
from ltst.agents import intents, parts, passages
from ltst.importers import words
from ltst.learn import extract, grounding, model, pasted, statements
from ltst.learn.transcript import LONGEST_TURN
from ltst.recall import summary, temporal
from ltst.records import ConversationMessage
from ltst.retelling.importance import importance
from ltst.support import answers, tokens
from ltst.support.reading import html, markdown
from ltst.support.reading.chunks import chunks
from ltst.support.terms import terms
from ltst.support.text import split

# In characters: so much of anything is tried.
LONGEST = 100_000
# Of the CPU, in seconds: what takes less needs no second look, what takes more has hung. Quadratic time for 100 KB is
# five billion steps, and no machine does them so quickly.
UNSUSPICIOUS, HUNG, QUICK = 0.001, 20.0, 0.5
# Of a text four times as long: quadratic time is four times what linear time is.
TOO_FAST = 1.6
UNBOUNDED = 100
MATCHING = frozenset(("match", "fullmatch"))
METHODS = MATCHING | {"search", "sub", "subn", "split", "findall", "finditer"}
# They are reached by other names, and only matched.
HANDED_ON = (
    "ltst.recall.dates.english.AND",
    "ltst.recall.dates.english.TO",
    "ltst.support.reading.tags.TAG",
    "ltst.support.reading.tags.HASTY_TAG",
)
CORPUS = (
    " ", "\n", "\t", " \n", "\r\n", "\n\n", "?", "!", ".", ",", "-", "'", '"', "*", "_", "`", "<", ">", "[", "(", "|",
    "#", ":", "/", "@", "&", "a", "A", "é", "1", "1 ", "1.", "a ", "A ", "a, ", "I ", "my ", "I am ", "and ", "to the ",
    "cell phone ", "he said ", "please ", "\u00a0", "日",
)  # fmt: skip
ENDS = ("", "\0", "\n\0!")
_LETTERS = " \t\n\raAzZ09_-'\".,:;!?()[]|/@#*<>&+=%~`{}\\^$é日’“”"


class Pattern(NamedTuple):
    """A regular expression, where it was found, and the methods that are called on it."""

    where: str
    compiled: re.Pattern[str]
    methods: tuple[str, ...]


class Attack(NamedTuple):
    """A text that repeats one fragment."""

    begin: str
    fragment: str
    end: str

    def text(self, size: int) -> str:
        """The text at about this length."""
        return self.begin + self.fragment * (size // len(self.fragment) + 1) + self.end


# --- where the patterns are ------------------------------------------------------------------------------------------


def modules() -> list[ModuleType]:
    """Every module of the package, those of frameworks that are not installed excepted."""
    found = pkgutil.walk_packages(ltst.__path__, "ltst.", onerror=lambda _: None)
    imported = (_imported(each.name) for each in found if not each.name.endswith("__main__"))
    return [ltst, *(each for each in imported if each is not None)]


def _imported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError as problem:
        missing = problem.__cause__ or problem
        if not isinstance(missing, ModuleNotFoundError) or (missing.name or "").partition(".")[0] == "ltst":
            raise
        return None


def patterns() -> list[Pattern]:
    """Every regular expression of the package, compiled or written where it is used, each once."""
    every = modules()
    used = _methods(every)
    handed_on = [_at(where) for where in HANDED_ON]
    used.update({f".{each}": {each} for each in METHODS})
    found: dict[tuple[str, int], Pattern] = {}
    for module in every:
        for where, by, compiled in [*_held(module), *_written(module)]:
            methods = used.get(by or id(compiled), {"search"})
            if compiled in handed_on:
                methods = {"match"}
            kind = ("search",) if methods - MATCHING else tuple(sorted(methods))
            before = found.get((compiled.pattern, compiled.flags))
            if before is None or before.methods != ("search",):
                found[compiled.pattern, compiled.flags] = Pattern(where, compiled, kind)
    return [*found.values()]


def _at(where: str) -> Any:
    module, _, name = where.rpartition(".")
    return getattr(importlib.import_module(module), name)


def _held(module: ModuleType) -> Iterator[tuple[str, object, re.Pattern[str]]]:
    """The compiled patterns that a module's names lead to: a place, what its use is known by, the pattern."""
    seen: set[int] = set()
    for name, value in vars(module).items():
        yield from _within(value, f"{module.__name__}.{name}", None, module.__name__, seen)


def _within(value: object, where: str, by: object, home: str, seen: set[int]) -> Iterator[tuple[str, object, Any]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield where, by, value
        return
    if id(value) in seen or isinstance(value, str | bytes | int | float | ModuleType):
        return
    seen.add(id(value))
    for step, inner in _parts(value, home):
        known_by = step if step.startswith(".") else f"[{id(value)}]"
        yield from _within(inner, f"{where}{step}", known_by, home, seen)


def _parts(value: object, home: str) -> Iterable[tuple[str, object]]:
    """What an object holds, each under the name by which it is reached."""
    if isinstance(value, dict):
        return [(f"[{key!r}]", each) for key, each in value.items()]
    if isinstance(value, tuple) and hasattr(value, "_fields"):  # a NamedTuple, which is read by its names
        return [(f".{name}", each) for name, each in zip(value._fields, value, strict=True)]
    if isinstance(value, list | tuple | set | frozenset):
        return [(f"[{at}]", each) for at, each in enumerate(value)]
    if isinstance(value, FunctionType) and value.__module__ == home:
        cells = [each.cell_contents for each in value.__closure__ or () if _filled(each)]
        return [(f"({at})", each) for at, each in enumerate([*cells, *(value.__defaults__ or ())])]
    if isinstance(value, type):
        return [(f".{key}", each) for key, each in vars(value).items()] if value.__module__ == home else []
    if is_dataclass(value):
        return [(f".{each.name}", getattr(value, each.name, None)) for each in fields(value)]
    if type(value).__module__.startswith("ltst") or type(value).__name__ in ("partial", "mappingproxy"):
        return [("?", each) for each in gc.get_referents(value)]
    return []


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _methods(every: Sequence[ModuleType]) -> dict[object, set[str]]:
    """Which methods are called on a pattern; "search" too where it is used for anything else, such as an argument."""
    found: defaultdict[object, set[str]] = defaultdict(set)
    for module in every:
        called: set[int] = set()
        for node in ast.walk(_tree(module)):
            if isinstance(node, ast.Attribute) and node.attr in METHODS:
                called.add(id(node.value))
                found[_known_by(node.value, module)].add(node.attr)
            elif isinstance(node, ast.Attribute) and node.attr == "pattern":
                called.add(id(node.value))
            elif id(node) not in called and isinstance(value := _named(node, module), re.Pattern):
                found[id(value)].add("search")
    return found


def _known_by(node: ast.expr, module: ModuleType) -> object:
    """A pattern by itself, one in a record by the name of its field, one in a container by the container."""
    if isinstance(value := _named(node, module), re.Pattern):
        return id(value)
    if isinstance(node, ast.Subscript):
        return f"[{id(_named(node.value, module))}]"
    return f".{node.attr}" if isinstance(node, ast.Attribute) else None


def _named(node: ast.AST, module: ModuleType) -> object:
    """What a name that is read stands for: one of the module, or of a module that it knows."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return vars(module).get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return getattr(vars(module).get(node.value.id), node.attr, None)
    return None


def _written(module: ModuleType) -> Iterator[tuple[str, object, re.Pattern[str]]]:
    """Patterns that stand in a call: re.sub("…")."""
    for node in ast.walk(_tree(module)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args):
            continue
        if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "re"):
            continue
        if node.func.attr in METHODS:
            where = f"{module.__name__}:{node.lineno}"
            written = _value(node.args[0], module, where)
            if isinstance(written, str):
                yield where, f".{node.func.attr}", re.compile(written, _flags(node, module))


class _Anything(str):
    """What a local name stands for while a pattern is read: some word."""

    def __getattr__(self, name: str) -> _Anything:
        return self


class _Names(dict[str, Any]):
    def __missing__(self, name: str) -> Any:
        return vars(builtins).get(name, _Anything("word"))


def _value(node: ast.expr, module: ModuleType, where: str) -> Any:
    value = eval(compile(ast.Expression(node), where, "eval"), {}, _Names(vars(module)))
    assert type(value) is not _Anything, f"{where}: a pattern under a local name cannot be tried; name it in the module"
    return value


def _flags(call: ast.Call, module: ModuleType) -> int:
    place = 3 if isinstance(call.func, ast.Attribute) and call.func.attr in ("sub", "subn") else 2
    given = [each.value for each in call.keywords if each.arg == "flags"]
    given += [each for each in call.args[place:] if call.func.attr in MATCHING | {"search"}]  # type: ignore[attr-defined]
    return int(_value(given[0], module, "flags")) if given else 0


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module)) if getattr(module, "__file__", None) else ast.Module([], [])


# --- what they are tried on ------------------------------------------------------------------------------------------


def attacks(pattern: re.Pattern[str], most: int) -> Iterator[Attack]:
    """Texts that the pattern may find hard, most of them made of its own parts; always the same ones."""
    chance = random.Random(repr(pattern.pattern))
    tree = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    pieces = dict.fromkeys(_repeated(tree, "", chance))
    if len(pieces) > most:
        pieces = dict.fromkeys(chance.sample([*pieces], most))
    for begin, fragment in [*pieces, *(("", each) for each in CORPUS)]:
        for end in ENDS if begin or fragment not in CORPUS else ENDS[1:2]:
            yield Attack(begin, fragment, end)


def _repeated(tree: Any, begin: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    """For each repeat of a tree: what leads to it, and pieces that it, or a new beginning, may take again and again."""
    for at, (code, given) in enumerate(tree):
        before = begin + _sample(tree[:at], chance)
        if code in _REPEATS and given[1] > UNBOUNDED:
            after = _sample(tree[at + 1 :], chance)
            for piece in filter(None, _pieces(given[2], chance)):
                yield from ((before, piece), ("", before + piece), ("", piece + after), ("", before + piece + after))
            if before:
                yield "", before
        for inner in _inner(code, given):
            yield from _repeated(inner, before, chance)
    if not begin:
        yield from (("", piece) for piece in islice(filter(None, _pieces(tree, chance)), 12))


def _pieces(tree: Any, chance: random.Random) -> Iterator[str]:
    """Texts that match a tree: with each of its alternatives, and of the characters that its classes take."""
    for _ in range(3):
        yield _sample(tree, chance)
    for at, (code, given) in enumerate(tree):
        for text in _ways(code, given, chance):
            yield _sample(tree[:at], chance) + text + _sample(tree[at + 1 :], chance)


def _ways(code: Any, given: Any, chance: random.Random) -> Iterator[str]:
    if code is op.BRANCH:
        for each in given[1]:
            yield from islice(_pieces(each, chance), 2, 4)
    elif code in (op.IN, op.ANY, op.NOT_LITERAL):
        yield from _letters([(code, given)])[:8]
    elif code in _REPEATS or code in (op.SUBPATTERN, op.ATOMIC_GROUP):
        for inner in _inner(code, given):
            yield from islice(_pieces(inner, chance), 100)


_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def _inner(code: Any, given: Any) -> list[Any]:
    """The trees within a node."""
    if code in _REPEATS:
        return [given[2]]
    if code is op.BRANCH:
        return [*given[1]]
    if code is op.SUBPATTERN:
        return [given[3]]
    if code in (op.ASSERT, op.ASSERT_NOT):
        return [given[1]]
    return [given] if code is op.ATOMIC_GROUP else []


def _sample(tree: Any, chance: random.Random) -> str:
    """A text that the tree matches, but for what it looks at around it."""
    return "".join(_one(code, given, chance) for code, given in tree)


def _one(code: Any, given: Any, chance: random.Random) -> str:
    if code is op.LITERAL:
        return chr(given)
    if code in (op.IN, op.ANY, op.NOT_LITERAL):
        return chance.choice(_letters([(code, given)]) or [""])
    if code in _REPEATS:
        return "".join(_sample(given[2], chance) for _ in range(max(given[0], chance.randint(0, min(2, given[1])))))
    if code is op.BRANCH:
        return _sample(chance.choice(given[1]), chance)
    if code in (op.SUBPATTERN, op.ATOMIC_GROUP):
        return "".join(_sample(each, chance) for each in _inner(code, given))
    return ""


def _letters(node: Any) -> list[str]:
    """Some of the characters that a class takes."""
    ((code, given),) = node
    known = [*_LETTERS]
    if code is op.IN:
        known += [
            chr(each if isinstance(each, int) else each[0]) for kind, each in given if kind in (op.LITERAL, op.RANGE)
        ]
    return [each for each in dict.fromkeys(known) if _takes(code, given, each)]


def _takes(code: Any, given: Any, letter: str) -> bool:
    if code is op.ANY:
        return letter != "\n"
    if code is op.NOT_LITERAL:
        return ord(letter) != given
    negated = given[0][0] is op.NEGATE
    return negated != any(_in_class(kind, each, letter) for kind, each in given)


def _in_class(kind: Any, given: Any, letter: str) -> bool:
    if kind is op.LITERAL:
        return bool(given == ord(letter))
    if kind is op.RANGE:
        return bool(given[0] <= ord(letter) <= given[1])
    return kind is op.CATEGORY and re.match(_CATEGORIES[given], letter) is not None


_CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


# --- how long they take ----------------------------------------------------------------------------------------------


class Trial(NamedTuple):
    """Something that reads a text, the texts to try it on, and the lengths at which its time is compared."""

    where: str
    run: Callable[[str], object]
    attacks: Callable[[], Iterable[Attack]]
    lengths: tuple[int, ...]


def pumped(found: Iterable[Pattern], most: int, longest: int = LONGEST) -> Iterator[str]:
    """Every pattern that takes more than linear time on some text, and the text; tries so many of its own parts."""
    return slow([trial for pattern in found for trial in _trials(pattern, most, longest)])


def _trials(pattern: Pattern, most: int, longest: int) -> Iterator[Trial]:
    lengths = tuple(length for length in (512, 2_048, 8_192, 32_768, LONGEST) if length <= longest)
    for method in pattern.methods:
        yield Trial(
            f"{pattern.where} ({method})",
            getattr(pattern.compiled, method),
            lambda: attacks(pattern.compiled, most),
            lengths,
        )


def read(names: Iterable[str], longest: int) -> Iterator[str]:
    """Every reader of these that takes more than linear time on some text up to this length, and the text."""
    lengths = tuple(takewhile(lambda length: length <= longest, (4_096 * 4**power for power in range(9))))
    every = [Attack("", fragment, "\0") for fragment in (*CORPUS, *FRAGMENTS)]
    return slow([Trial(name, READERS[name], lambda: every, lengths) for name in names])


def slow(trials: Sequence[Trial]) -> Iterator[str]:
    """What is wrong with each that is too slow. A child tries them; where one hangs, another goes on behind it."""
    at = 0
    while at < len(trials):
        ours, theirs = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=_try_all, args=(trials[at:], theirs))
        child.start()
        theirs.close()
        begun: tuple[int, Attack | None] = (0, None)
        for said in _heard(ours):
            if isinstance(said, str):
                yield said
            else:
                begun = said
        child.join()
        if child.exitcode == 0:
            return
        assert child.exitcode == -signal.SIGVTALRM, f"the child ended with {child.exitcode}"
        yield f"{trials[at + begun[0]].where} hangs on {begun[1]}"
        at += begun[0] + 1


def _heard(ours: Connection) -> Iterator[Any]:
    """What a child says until its end."""
    while True:
        try:
            yield ours.recv()
        except EOFError:
            return


def _try_all(trials: Sequence[Trial], theirs: Connection) -> None:
    for at, trial in enumerate(trials):
        for attack in trial.attacks():
            theirs.send((at, attack))
            if _grows(trial, attack):
                theirs.send(f"{trial.where} grows faster than its text: {attack}")
                break
    theirs.close()
    os._exit(0)


def _grows(trial: Trial, attack: Attack) -> bool:
    """Whether the time grows faster than the text: from each length to the next, four times as long, up to the last."""
    for short, long in pairwise(trial.lengths):
        if _seconds(trial, attack, long) < UNSUSPICIOUS:
            return False
        least = [min(_seconds(trial, attack, length) for _ in range(2)) for length in (short, long)]
        if least[1] < TOO_FAST * least[0] * long / short:
            return False
    return least[1] > QUICK


def _seconds(trial: Trial, attack: Attack, length: int) -> float:
    text = attack.text(length)
    signal.setitimer(signal.ITIMER_VIRTUAL, HUNG)
    begun = time.process_time()
    trial.run(text)
    took = time.process_time() - begun
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return took


# --- what is built of them -------------------------------------------------------------------------------------------

_NOW = datetime(2024, 5, 1, tzinfo=UTC)


_QUOTING = '{"statements": [{"turn": 1, "quote": "I have a cat.", "kind": "about_me", "about": "cat"}]}'


def _said(text: str) -> ConversationMessage:
    return ConversationMessage("monday", "human", text, message_id="m", timestamp=_NOW)


READERS: dict[str, Callable[[str], object]] = {
    "claims of a message": lambda text: extract.claims(text, _NOW),
    "own words": pasted.own_words,
    "statements": lambda text: statements.read(text, _NOW),
    "a quotation by a model": lambda text: model.weigh(_QUOTING, model.shown_turns([_said(f"{text} I have a cat.")])),
    "turns for a model": lambda text: model.shown_turns([_said(text)]),
    "an answer of a model": lambda text: model.weigh(text, [model.ShownTurn(1, _said("Hello."), "Hello.")]),
    "grounds of a fact": lambda text: grounding.says_fact(text[:LONGEST_TURN], "home", "Porto", "holds"),
    "importance": importance,
    "times in a question": lambda text: temporal.intervals(text, _NOW),
    "what a message tells and asks": parts.parts,
    "a courtesy": intents.courtesy,
    "a topic to forget": intents.to_forget,
    "the sentences of a quote": passages.sentences,
    "kind of answer": lambda text: (answers.wanted(text), answers.held(text)),
    "summary": lambda text: summary.summarise([_said(text)], None, 100),
    "terms": terms,
    "tokens": tokens.count,
    "parts of a text": lambda text: split(text, 500),
    "markdown": lambda text: [*chunks(markdown.blocks(text))],
    "plain text": lambda text: [*chunks(markdown.paragraphs(text))],
    "html": html.read,
    "imported text": words.clean,
}
FRAGMENTS = (
    "My cell phone is dead. ", "I live with a cat. ", "I work in a bar and ", "when you answer ", "> quoted\n",
    "a: b\n", "Anna: hi\n", "<p>", "</p>", "<p>x</p>", "<a-", "<!--", "/*", '"""', "```\n", "# a\n", "- a\n", "|-|\n",
    "| a |\n", "last week ", "2 years ago ", "on 5 May ", "in May and ", "from 3 to 5 ", "http://a.b ", "I said: ",
    "[INST]", "$ a\n", "<|a|>", "{", '{"', '{"a":', "&amp;", "&", "a.b@c.", "Mr. ", "I ate.", "what? ", "know ",
    "about me ", "A and I ", "By the way\n\n", "Here is the log:\n", "From: a\n\n", "10:22 a: b\n", "1,a,b\n",
    "vor drei ", "hace dos ", "il y a ", "letzte Woche und ", "---\n", "'a", "‘", "“", "\n> ",
)  # fmt: skip
