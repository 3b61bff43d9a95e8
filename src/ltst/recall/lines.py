"""Lines: writes each memory as one line of a prompt, so that it reads as data whatever it says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
INDENT = "  "  # before each line of a turn but the first, so that none looks like a line of ltst's own
UNTRUSTED = "untrusted"
LONGEST_DETAIL = 60  # characters of a name inside the brackets
OWN_WORDS = frozenset({"you", "user", "human", "assistant", "ai", "system", "developer", "trusted"})

LINE = re.compile(r"^\[(m\d+)((?:, [^\[\],\n]*)*)\] (.*)$", re.MULTILINE)
LINE_BREAK = re.compile("\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Invisible characters, and those that reorder the text around them.
UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\u202a-\u202e\u2066-\u2069]")
TITLE = re.compile(r"^[ \t]*#+[ \t]+", re.MULTILINE)
# The start of a tag or special token of a model ("</s>", "<|im_start|>"), and the start of one of ltst's own lines.
TAG = re.compile(r"<(?=[/|!?<\w])")
BRACKETS = "[［【〔"
REFERENCE = re.compile(rf"[\{BRACKETS}](?=\s*m\d+\s*[,\]］】〕]|/?INST\])", re.IGNORECASE)
IN_DETAIL = re.compile(r"[\[\],]")


@dataclass(frozen=True, slots=True)
class Line:
    """A memory as it stands in a prompt: its reference, the details inside the brackets, and its text."""

    reference: str
    details: tuple[str, ...]
    content: str


def written(reference: str, details: Iterable[str], content: str) -> str:
    """Returns the line of a memory. The details and the content must be flat."""
    return f"[{', '.join([reference, *details])}] {content}"


def parse(text: str) -> list[Line]:
    """Returns the memories in a context's text, or in its system message."""
    return [Line(match[1], tuple(match[2].split(", ")[1:]), match[3]) for match in LINE.finditer(text)]


def flat(text: str) -> str:
    """Returns a text as one line that cannot pass for a heading, another memory, a tag or a special token."""
    if not text.isprintable():  # it holds line breaks or invisible characters
        text = " ".join(TITLE.sub("", LINE_BREAK.sub("\n", UNSEEN.sub("", text))).split())
    else:  # the only white space in it is the space
        if "#" in text:
            text = TITLE.sub("", text)
        if "  " in text or text.startswith(" ") or text.endswith(" "):
            text = " ".join(text.split())
    return _inert(text)


def indented(text: str) -> str:
    """Returns a text with all its lines but the first indented, so that none looks like one of ltst's own."""
    return text if text.isprintable() else LINE_BREAK.sub(lambda match: match.group() + INDENT, text)


def data(text: str) -> str:
    """Returns what a tool or a page said, with its line breaks but as inert as a memory."""
    return LINE_BREAK.sub("\n" + INDENT, _inert(UNSEEN.sub("", text)))


def instructed(text: str) -> str:
    """Returns instructions as written, except where they would look like a memory."""
    return REFERENCE.sub("(", text)


def detail(text: str) -> str:
    """Returns a name for inside the brackets, where it can neither close them nor pass for a role or mark."""
    name = IN_DETAIL.sub("", flat(text))[:LONGEST_DETAIL].strip()
    return f"“{name}”" if name.casefold() in OWN_WORDS or name.casefold() == UNTRUSTED else name


def day(when: datetime) -> str:
    """Returns a date as prompts show it, such as 12 Oct 2026."""
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def _inert(text: str) -> str:
    marked = TAG.sub("‹", text) if "<" in text else text
    brackets = BRACKETS[0] if marked.isascii() else BRACKETS
    return REFERENCE.sub("(", marked) if any(map(marked.__contains__, brackets)) else marked
