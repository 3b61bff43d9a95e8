"""What the page is made of: what others wrote is as they published it, and all of it is small."""

from __future__ import annotations

import ast
import gzip
import hashlib
import re
import sys
from pathlib import Path

import ltst.doors.web

HOME = Path(ltst.doors.web.__file__).parent
STATIC, TEMPLATES = HOME / "static", HOME / "templates"
# Of the packages that npm has by these names.
VENDORED = {
    "htmx.min.js": ("htmx 2.0.11", "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"),
    "uPlot.iife.min.js": ("uPlot 1.6.32", "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f"),
    "uPlot.min.css": ("uPlot 1.6.32", "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04"),
}
OWN = {"page.js", "plots.js", "page.css", "icon.svg", "LICENSES.txt"}
MOST = 150 * 1024


def test_what_others_wrote_is_as_they_published_it() -> None:
    licences = (STATIC / "LICENSES.txt").read_text()
    for name, (package, digest) in VENDORED.items():
        assert hashlib.sha256((STATIC / name).read_bytes()).hexdigest() == digest, name
        assert package in licences and name in licences
    assert {each.name for each in STATIC.iterdir()} == VENDORED.keys() | OWN


def test_the_page_is_small() -> None:
    files = [each for each in HOME.rglob("*") if each.is_file() and each.suffix != ".pyc"]
    assert sum(len(gzip.compress(each.read_bytes(), 9)) for each in files) <= MOST


def test_no_template_goes_around_escaping_or_holds_scripts_and_styles() -> None:
    for each in TEMPLATES.iterdir():
        written = each.read_text()
        assert not re.search(
            r"\|\s*safe|autoescape|Markup|<style|style=|\son\w+=|<script(?! src=\"\{\{ static)", written
        )
        assert not re.search(r"(?:href|src|action)=\"(?:https?:)?//", written), each.name


def test_every_form_that_changes_something_carries_its_token() -> None:
    for each in TEMPLATES.iterdir():
        forms = re.findall(r"<form[^>]*method=\"post\".*?</form>", each.read_text(), re.DOTALL)
        assert all("token(visit) }}" in form for form in forms), each.name


def test_the_page_needs_one_package_more_than_the_server() -> None:
    written = [ast.parse(each.read_text()) for each in HOME.rglob("*.py")]
    nodes = [node for tree in written for node in ast.walk(tree)]
    names = {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    foreign = {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"ltst"}
    assert foreign == {"fastapi", "starlette", "jinja2"}
