"""Extras: packages that only some parts need, and how to install them."""

from __future__ import annotations

import json
import sys
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import unquote, urlsplit


def how_to_install(extra: str) -> str:
    """Returns the command that installs an extra: from the clone in use, if ltst runs from one, else from the index."""
    source, editable = _installed_from()
    return f'{sys.executable} -m pip install {"--editable " if editable else ""}"{source}[{extra}]"'


def _installed_from() -> tuple[str, bool]:
    """Returns the folder that ltst was installed from, else its name, and whether it is an editable install."""
    try:
        noted = distribution("ltst").read_text("direct_url.json")
    except PackageNotFoundError:
        noted = None
    origin = json.loads(noted) if noted else {}
    address = urlsplit(str(origin.get("url", "")))
    if address.scheme != "file" or "dir_info" not in origin:
        return "ltst", False
    return unquote(address.path), bool(origin["dir_info"].get("editable"))
