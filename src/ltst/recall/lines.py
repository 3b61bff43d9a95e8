"""Lines: how a memory stands in a prompt, in one line of its own, so that it reads as data whatever it says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
INDENT = "  "  # begins each line of a turn but its first, so that none passes for a line of ltst's own
UNTRUSTED = "untrusted"
LONGEST_DETAIL = 60  # characters of a name between the brackets
OWN_WORDS = frozenset({"you", "user", "human", "assistant", "ai", "system", "developer", "trusted"})

LINE = re.compile(r"^\[(m\d+)((?:, [^\[\],\n]*)*)\] (.*)$", re.MULTILINE)
LINE_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# What is unseen, and what reorders the text around it.
UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
TITLE = re.compile(r"^[ \t]*#+[ \t]+", re.MULTILINE)
# What begins a tag or a special token of a model ("</s>", "<|im_start|>"), and what begins a line of ltst's own.
TAG = re.compile(r"<(?=[/|!?<\w])")
BRACKETS = "[［【〔"
REFERENCE = re.compile(rf"[\{BRACKETS}](?=\s*m\d+\s*[,\]］】〕]|/?INST\])", re.IGNORECASE)
IN_DETAIL = re.compile(r"[\[\],]")


@dataclass(frozen=True, slots=True)
class Line:
    """A memory as it stands in a prompt: its reference, what is told of it between the brackets, and its words."""

    reference: str
    details: tuple[str, ...]
    content: str


def written(reference: str, details: Iterable[str], content: str) -> str:
    """Return the line of a memory; all of it must be flat."""
    return f"[{', '.join([reference, *details])}] {content}"


def parse(text: str) -> list[Line]:
    """Return the memories in a context's text, or in its system message."""
    return [Line(match[1], tuple(match[2].split(", ")[1:]), match[3]) for match in LINE.finditer(text)]


def flat(text: str) -> str:
    """Return a text in one line, in which nothing passes for a heading, another memory, a tag or a special token."""
    if not text.isprintable():  # there are line breaks in it, or what is unseen
        text = " ".join(TITLE.sub("", LINE_BREAK.sub("\n", UNSEEN.sub("", text))).split())
    else:  # then no blank is in it but the space
        if "#" in text:
            text = TITLE.sub("", text)
        if "  " in text or text.startswith(" ") or text.endswith(" "):
            text = " ".join(text.split())
    return _inert(text)


def indented(text: str) -> str:
    """Return a text with its lines, none of which but the first begins where one of ltst's own would."""
    return text if text.isprintable() else LINE_BREAK.sub(lambda match: match.group() + INDENT, text)


def data(text: str) -> str:
    """Return what a tool or a page said with its lines, as inert as a memory."""
    return LINE_BREAK.sub("\n" + INDENT, _inert(UNSEEN.sub("", text)))


def instructed(text: str) -> str:
    """Return instructions as they were written, except where they would read as a memory."""
    return REFERENCE.sub("(", text)


def detail(text: str) -> str:
    """Return a name for between the brackets, where it can neither end them nor pass for who it is not."""
    name = IN_DETAIL.sub("", flat(text))[:LONGEST_DETAIL].strip()
    return f"“{name}”" if name.casefold() in OWN_WORDS or name.casefold() == UNTRUSTED else name


def day(when: datetime) -> str:
    """Return a day as it is told, such as 12 Oct 2026."""
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def _inert(text: str) -> str:
    marked = TAG.sub("‹", text) if "<" in text else text
    brackets = BRACKETS[0] if marked.isascii() else BRACKETS
    return REFERENCE.sub("(", marked) if any(map(marked.__contains__, brackets)) else marked
