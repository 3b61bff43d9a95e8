"""Tags: splits HTML into tags and text in linear time, however broken it is.

The standard library's parser takes minutes for some pages of a few hundred kilobytes, and crashes on others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import NamedTuple

MARKUP = re.compile(r"<(?:!--|[!?]|/?[a-zA-Z])")
TAG = re.compile(r"""<(/?)([a-zA-Z][^\s/>]*+)((?:[^>"']++|"[^"]*"|'[^']*')*+)>""")
HASTY_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/>]*+)([^>]*+)>")
# Everything inside these is text up to the end tag, whatever it looks like.
RAW = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in ("script", "style", "textarea", "title")}


class Tag(NamedTuple):
    """A start tag or an end tag."""

    name: str
    ends: bool = False
    attributes: str = ""


def parts(page: str) -> Iterator[Tag | str]:
    """Yields tags and texts in order, without comments and declarations."""
    at, tag = 0, TAG
    while found := MARKUP.search(page, at):
        if found.start() > at:
            yield unescape(page[at : found.start()])
        if not found[0][-1].isalpha():
            at = _behind(page, "-->" if found[0] == "<!--" else ">", found.end())
            continue
        whole = tag.match(page, found.start())
        if whole is None and tag is TAG:
            # A quotation mark is missing somewhere; from here on quotes are ignored, or each tag would search to the
            # end.
            tag = HASTY_TAG
            whole = tag.match(page, found.start())
        if whole is None:
            return
        name, at = whole[2].lower(), whole.end()
        yield Tag(name, bool(whole[1]), whole[3])
        if name in RAW and not whole[1]:
            end = RAW[name].search(page, at)
            if name not in ("script", "style"):
                yield unescape(page[at : end.start() if end else len(page)])
            at = end.start() if end else len(page)
    if at < len(page):
        yield unescape(page[at:])


def _behind(page: str, end: str, start: int) -> int:
    found = page.find(end, start)
    return len(page) if found < 0 else found + len(end)
