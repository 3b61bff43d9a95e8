"""Separates what a writer says in their own name from what they paste: mails, chat logs, code, tool output.

The rules, the language model and the episodes all read `own_words`, so nothing that somebody else wrote becomes a fact,
a preference or an instruction. In doubt a line counts as pasted: a fact can be said again.

Some pastes show where they end: a quoted line, a log line, a fence, an HTML element. Others do not, such as a forwarded
mail or an announced text ("My friend sent me this:"); they last until the writer turns to another matter in a last
paragraph of their own ("By the way, …").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from ltst.learn import foreign
from ltst.support.tables import Table
from ltst.support.text import holds_any

_TABLE = Table("ltst.learn", "pasted.txt")

_OPENING = _TABLE.pattern("opening")
_CLOSING = {"<!--": "-->", "/*": "*/"}
_END_TAG = re.compile(r"</([a-z][\w:-]{0,40})\s{0,9}>", re.I)
_ANY_TAG = re.compile(r"<(/?)([a-z][\w:-]{0,40})(?:\s[^<>]{0,1000})?>", re.I)
_INLINE = frozenset(["b", "i", "em", "strong", "u", "br", "mark", "sup", "sub", "small"])
_BLANK = re.compile(r"\n[ \t]*\n")
# Marks where a paste was cut out, so that the line announcing it does not claim the lines after it too.
_HOLE = "\0"
_WHOLE, _HOLES = re.compile(rf"[^{_HOLE}]+"), re.compile(rf"{_HOLE}+")

_QUOTED = _TABLE.pattern("quoted", flags=0)
_LINE = _TABLE.pattern("line")
_SAID = _TABLE.pattern("said")
_HANDED_ON = _TABLE.pattern("handed_on")
_EDITING = (
    *("translat", "proof", "paraphrase", "rephrase", "rewrite", "reword", "summari", "continue", "complete", "correct"),
    *("fix", "improve", "polish", "edit", "check", "review", "analy", "critique"),
)
_ANNOUNCED = _TABLE.pattern("announced", flags=re.I | re.M)
# Every announcing line holds one of these, and looking for them first is cheaper than the pattern.
_ANNOUNCING = (
    *_EDITING,
    *(":", "is this", "role", "pretend", "act as", "act like", "you are now", "let's play", "character"),
)
_SHOWN = _TABLE.pattern("shown")
_HELP_WANTED = _TABLE.pattern("help_wanted")
_SPEAKER = _TABLE.pattern("speaker", flags=0)
_OWN_LABELS = _TABLE.phrases("own_labels")
_TURN = _TABLE.pattern("turn", r"\s*(?:oh,? |and |but |ok,? |so,? )?", r"\b")


def own_words(text: str) -> str:
    """Returns the writer's own words: the message without the lines, or parts of lines, that were pasted."""
    opened, own = _find_own_words(text)
    return "\n".join(_HOLES.sub(" ", opened[start:end]) for start, end in own)


def own_spans(text: str) -> list[tuple[int, int]]:
    """Returns the positions of the writer's own words in a text: lines, or parts of lines."""
    (opened, own), found = _find_own_words(text), list[tuple[int, int]]()
    for start, end in own:
        found += [(start + part.start(), start + part.end()) for part in _WHOLE.finditer(opened[start:end])]
    return found


@lru_cache(maxsize=4)
def _find_own_words(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Returns the opened text and the spans of its writer's words. Cached, since the rules and the gate both ask."""
    # Transcripts and letters of other people become holes as well.
    opened = "\n".join(foreign.hollowed(_cut_pastes(text).split("\n"), _HOLE))
    return opened, tuple(_own(opened))


def unquoted(text: str) -> str:
    """Returns an assistant's text without blocks of code, elements of HTML and quoted lines."""
    return _HOLES.sub(" ", "\n".join(line for line in _cut_pastes(text).split("\n") if not _QUOTED.match(line)))


def _cut_pastes(text: str) -> str:
    """Returns the text with a hole for every paste that shows its own end; no other character moves."""
    text = text.replace("\r\n", " \n").replace("\r", "\n")
    kept, at = [], 0
    closing = {found.lower() for found in _END_TAG.findall(text)} if "</" in text else set()
    while found := _OPENING.search(text, at):
        end = _end(text, found, closing)
        kept.append(text[at : found.start() if end else found.end()])
        if end:
            kept.append(_hole(text[found.start() : end]))
        at = end or found.end()
    return "".join([*kept, text[at:]])


def _hole(block: str) -> str:
    """Returns a hole as long as the block; a block of several lines gets a line of its own."""
    return f"\n{_HOLE * (len(block) - 2)}\n" if "\n" in block and len(block) > 2 else _HOLE * len(block)


def _end(text: str, found: re.Match[str], closing: set[str]) -> int:
    """Returns where the block that begins here ends; 0 if none begins here."""
    if mark := found["fence"] or found["comment"] or found["text"]:
        at = text.find(_CLOSING.get(mark, mark), found.end())
        return at + len(_CLOSING.get(mark, mark)) if at >= 0 else len(text)
    if found["token"]:
        blank = _BLANK.search(text, _last_token(text, found.end()))
        return blank.start() if blank else len(text)
    tag = found["tag"].lower()
    return _element_end(text, found.end(), tag) if tag in closing and tag not in _INLINE else 0


def _last_token(text: str, at: int) -> int:
    """Returns the end of the last chat template token: nothing between two of them is the writer's."""
    ends = [found.end() for found in _OPENING.finditer(text, at) if found["token"]]
    return max(ends, default=at)


def _element_end(text: str, at: int, tag: str) -> int:
    """Returns where an element ends, past any nested elements of the same name."""
    depth = 1
    for found in _ANY_TAG.finditer(text, at):
        if found[2].lower() == tag:
            depth += -1 if found[1] else 1
            if not depth:
                return found.end()
    return len(text)


def _own(text: str) -> Iterator[tuple[int, int]]:
    """Yields the span of the writer's own words in each line; an empty one if the line is pasted."""
    start = 0
    lines = text.split("\n")
    for line, length in zip(lines, _lengths([line.rstrip(" ") for line in lines]), strict=True):
        yield start, start + length
        start += len(line) + 1


def _lengths(lines: list[str]) -> Iterator[int]:
    """Yields how many characters of each line, from its start, are the writer's own."""
    several = sum(map(_speaks, lines)) > 1
    wanted = any(holds_any(line, _EDITING) and _HELP_WANTED.search(line) for line in lines)
    last = _last_paragraph(lines)
    pasted = until_blank = False
    for line, before, after, at in zip(lines, ["", *lines], _next_lines(lines), range(len(lines)), strict=False):
        if pasted and at >= last and not before.strip() and _TURN.match(line):
            pasted = False
        until_blank = until_blank and bool(line.strip())
        own = 0
        if pasted or until_blank or not line.strip():
            pass
        elif _SAID.match(line):
            until_blank = True
        elif _HANDED_ON.match(line):
            pasted = not _ends_itself(after)
        elif several and _speaks(line):
            until_blank = True
        elif not _LINE.match(line) and not _speaks(line):
            announced = _find_announcement(line, after, wanted)
            pasted = announced is not None and not _ends_itself(after)
            own = announced.start() if announced else len(line)
        yield own


def _find_announcement(line: str, after: str, wanted: bool) -> re.Match[str] | None:
    """Returns the match that announces someone else's text; `wanted` is whether the message asks for help with one."""
    shown = _SHOWN.search(line) if wanted else None
    announced = _ANNOUNCED.search(f"{line}\n" if after else line) if holds_any(line, _ANNOUNCING) else None
    return announced or shown or foreign.announces(line, after)


def _ends_itself(line: str) -> bool:
    return _QUOTED.match(line) is not None or _SAID.match(line) is not None


def _speaks(line: str) -> bool:
    """Returns whether the line begins with a person's name or a field name, and a colon."""
    found = _SPEAKER.match(line)
    if found is None or found[1].lower() in _OWN_LABELS:
        return False
    return all(word[0].isupper() or word[0] == "@" for word in found[1].split()) or "_" in found[1]


def _next_lines(lines: list[str]) -> list[str]:
    """Returns, for each line, the next line that is not empty."""
    found, after = [], ""
    for line in reversed(lines):
        found.append(after)
        after = line if line.strip() else after
    return found[::-1]


def _last_paragraph(lines: list[str]) -> int:
    """Returns the line where the last paragraph begins, or the one before it if the message ends with a question."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    starts = [at for at in filled if at == 0 or not lines[at - 1].strip()]
    asks = bool(filled) and lines[filled[-1]].rstrip().endswith("?")
    return starts[-2 if asks and len(starts) > 1 else -1] if starts else 0
