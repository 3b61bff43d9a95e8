"""The names in the server's document are words that a stranger understands, and methods of clients are made of them."""

from __future__ import annotations

import re

from ltst import Settings
from ltst.doors.http.app import Serving, create

DOCUMENT = create(Serving(Settings())).openapi()
OPERATIONS = [each["operationId"] for path in DOCUMENT["paths"].values() for each in path.values()]
VERBS = {
    *(
        "add",
        "archive",
        "batch",
        "build",
        "catch",
        "chat",
        "check",
        "clear",
        "create",
        "delete",
        "end",
        "erase",
        "export",
    ),
    *("forget", "fork", "get", "import", "link", "list", "put", "reject", "remove", "replace", "restart", "retry"),
    *("revoke", "run", "search", "set", "store", "touch", "verify"),
}


def test_an_operation_is_a_verb_and_its_object() -> None:
    assert len(OPERATIONS) == len({*OPERATIONS})
    for name in OPERATIONS:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", name), name
        verb, _, of = name.partition("_")
        assert verb in VERBS, f"{name} does not begin with a verb: {', '.join(sorted(VERBS))}"
        assert of or name == "chat", f"{name} does not say what of"


def test_a_schema_is_a_noun() -> None:
    for name in DOCUMENT["components"]["schemas"]:
        assert re.fullmatch(r"([A-Z][a-z]+)+", name), name
        last = re.findall(r"[A-Z][a-z]+", name)[-1]
        assert last not in {"Wanted", "Written", "Given", "Said", "Shown", "Packed", "Found", "Whole"}, name
