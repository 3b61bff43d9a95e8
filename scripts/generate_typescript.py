"""Write the TypeScript client's verbs and types from the catalog and the server's OpenAPI document.

    python scripts/generate_typescript.py          # writes verbs.ts, and openapi.ts with what npm installs
    python scripts/generate_typescript.py --check  # the exit status is 1 when either is stale; needs no npm

A verb of the catalog has the name that it has in Python. What is no plain verb stands in PLACES; an operation that is
neither, nor in LEFT_OUT, is an error.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ltst import Settings
from ltst.doors.http.app import Serving, create
from ltst.verbs.catalog import VERBS
from ltst.verbs.verb import OF_A_CHAT, Verb

FOLDER = Path(__file__).parent.parent / "clients" / "typescript" / "src"
TYPES, METHODS = FOLDER / "openapi.ts", FOLDER / "verbs.ts"
PACKAGES = ["openapi-typescript@7.13.0", "typescript@5.9.3"]
# What is no method of a handle, or has another signature outside: noun and verb.
PLACES: Mapping[str, tuple[str, str]] = {
    "put_session": ("Sessions", "put"),
    "import_sessions": ("Sessions", "add_many"),
    "add_messages": ("Chat", "add_many"),
    "store_message": ("Chat", "store"),
    "add_interaction": ("Chat", "add_interaction"),
    "list_messages": ("Chat", "history"),
    "fork_session": ("Chat", "fork"),
    "get_working_memory": ("Working", "get"),
    "forget_session_context": ("Contexts", "forget"),
    "forget_session_contexts": ("Contexts", "forget_all"),
    "import_entries": ("Entries", "add_many"),
    "add_document": ("Documents", "add"),
    "add_document_file": ("Documents", "add_file"),
    "put_item": ("Items", "put"),
    "batch_items": ("Items", "batch"),
    "chat": ("User", "ask"),
    "import_memory": ("User", "restore"),
    "list_events": ("Events", "list"),
    "list_keys": ("Keys", "list"),
    "create_key": ("Keys", "create"),
    "revoke_key": ("Keys", "revoke"),
    "list_users": ("Users", "list"),
    "list_agents": ("Memory", "agents"),
    "list_events_of_all_users": ("Memory", "feed"),
    "verify_receipt": ("Memory", "verify"),
    "run_maintenance": ("Memory", "maintain"),
    "get_stats": ("Memory", "stats"),
    "get_health": ("Memory", "health"),
    "retry_failed_work": ("Memory", "retry"),
    "check_readiness": ("Memory", "ready"),
}
LEFT_OUT = {
    **dict.fromkeys(("create_chat_completion", "create_response", "create_embeddings"), "for OpenAI's own client"),
    **dict.fromkeys(("list_models", "get_model"), "for OpenAI's own client"),
    **dict.fromkeys(("check_liveness", "get_metrics"), "for who watches a server"),
    "erase_memory": "written by hand: it confirms by itself whose memory it is",
}
KEPT = ("erase_memory",)
IN_MEMORY = ("Keys", "Users")
MOST_IN_A_ROW = 3  # arguments without a name
# What comes first although it may be left out, by operation.
LEADING = {"search_memory": "query"}
OPENING = ("agent", "name")
HEAD = "// Written by scripts/generate_typescript.py. Do not edit.\n"


@dataclass(frozen=True)
class Method:
    """One method of the client."""

    operation: str
    noun: str
    name: str
    method: str
    path: str
    document: Mapping[str, Any]
    verb: Verb | None

    @property
    def of_a_chat(self) -> bool:
        """Whether the session is that of the handle."""
        return self.noun in ("Chat", "Working", "Contexts")

    @property
    def places(self) -> list[str]:
        """Return the names in the path that a caller gives."""
        named = re.findall(r"\{(\w+)\}", self.path)
        return [each for each in named if not (self.of_a_chat and each == "session_id")]

    def named(self, where: str) -> list[str]:
        """Return the parameters of a place, such as the query."""
        return [each["name"] for each in self.document.get("parameters", ()) if each.get("in") == where]

    @property
    def needs_query(self) -> bool:
        """Tell whether a parameter of the query cannot be left out."""
        parameters = self.document.get("parameters", ())
        return any(each.get("in") == "query" and each.get("required") for each in parameters)

    @property
    def takes(self) -> Mapping[str, Any]:
        """Return what the body may be, by content type."""
        content: Mapping[str, Any] = self.document.get("requestBody", {}).get("content", {})
        return content


def methods(document: Mapping[str, Any]) -> list[Method]:
    """Return the methods of the client, in the order of the document."""
    verbs = {verb.name: verb for each in VERBS.values() for verb in each if verb.http}
    found = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            name = operation["operationId"]
            verb = verbs.get(name)
            if name in LEFT_OUT or path.startswith("/api/agents/"):
                continue
            noun, called = PLACES.get(name) or _place(verb, name)
            found.append(Method(name, noun, _camel(called), method.upper(), path, operation, verb))
    return found


def _place(verb: Verb | None, name: str) -> tuple[str, str]:
    owner, _, called = ("", "", "") if verb is None else verb.does.__qualname__.rpartition(".")
    if not owner:
        raise SystemExit(f"{name} is an operation without a place in the client: add it to PLACES or LEFT_OUT")
    return owner.removeprefix("Async"), called


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def written(document: Mapping[str, Any]) -> str:
    """Return verbs.ts."""
    all_ = methods(document)
    nouns = [*dict.fromkeys(each.noun for each in all_)]
    chatty = [each.removeprefix("Async") for each in OF_A_CHAT if each != "AsyncChat"]
    own = [each for each in nouns if each not in ("Memory", "User", "Chat", *chatty, *IN_MEMORY)]
    inside = {"Memory": IN_MEMORY, "User": own, "Chat": chatty}
    bases = {"Memory": "MemoryHandle", "User": "UserHandle", "Chat": "ChatHandle"}
    parts = [
        HEAD,
        'import { ChatHandle, Handle, MemoryHandle, UserHandle } from "./handles.ts";\n'
        'import type { Opening } from "./handles.ts";\n'
        'import type { Answer, Body, Given, Rest, Unwrapped } from "./types.ts";\n',
    ]
    for noun in sorted(nouns, key=lambda each: (each in bases, each)):
        lines = [*_parts(noun, inside.get(noun, ()))]
        lines += [line for each in all_ if each.noun == noun for line in _method(document, each)]
        parts.append(f"export class {noun} extends {bases.get(noun, 'Handle')} {{\n" + "\n".join(lines) + "\n}\n")
    return "\n".join(parts)


def _parts(noun: str, inside: Any) -> Iterator[str]:
    """Yield how one handle leads to others."""
    for each in inside:
        yield f"  get {each.lower()}(): {each} {{\n    return new {each}(this.scope);\n  }}\n"
    if noun == "Memory":
        yield (
            "  /** Returns the memory of one user. */\n  user(userId: string): User {\n"
            "    return new User(this.of(userId));\n  }\n"
        )
    if noun == "User":
        yield (
            "  /** Returns one conversation; an agent and a name are noted when it begins. */\n"
            "  chat(sessionId: string, opening: Opening = {}): Chat {\n"
            "    return new Chat(this.within(sessionId, opening));\n  }\n"
        )


def _method(document: Mapping[str, Any], each: Method) -> Iterator[str]:
    properties = _properties(document, each)
    needed = [name for name, required in properties.items() if required or LEADING.get(each.operation) == name]
    whole = len(needed) > MOST_IN_A_ROW
    asked = [f"{_camel(place)}: string" for place in each.places]
    given = [name if _camel(name) == name else f"{name}: {_camel(name)}" for name in needed]
    sent = ""
    if each.takes and "application/json" not in each.takes:
        asked += ["content: Uint8Array<ArrayBuffer> | string", f"mediaType: {' | '.join(map(json.dumps, each.takes))}"]
        sent = ", content, mediaType"
    elif each.takes and not properties:
        asked.append("document: Record<string, unknown>")
        sent = ", document"
    elif whole:
        asked.append(f'given: Body<"{each.operation}">')
        needed, given = [*properties], ["...given"]
    marks = {name: ":" if properties.get(name) else "?:" for name in needed}
    asked += [] if whole else [f'{_camel(name)}{marks[name]} Body<"{each.operation}">["{name}"]' for name in needed]
    if each.named("query") or {*properties} - {*needed} or "Idempotency-Key" in each.named("header"):
        asked.append(f"options: {_optional(each, needed)}{'' if each.needs_query else ' = {}'}")
        given.insert(0, "...options")
    told = f"{{ {', '.join(given)} }}" if given else "{}"
    yield f"  /** {_about(each)} */"
    yield f"  {each.name}({', '.join(asked)}): Promise<{_answer(each)}> {{"
    yield f"    return this.send({_request(each, properties)}, {told}{sent});"
    yield "  }\n"


def _optional(each: Method, needed: Sequence[str]) -> str:
    """Return the type of what may be left out."""
    if not needed:
        return f'Given<"{each.operation}">'
    return f'Rest<"{each.operation}", {" | ".join(map(json.dumps, needed))}>'


def _properties(document: Mapping[str, Any], each: Method) -> dict[str, bool]:
    """Return the names in a JSON body, and whether each is needed."""
    schema = each.takes.get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if schema.get("additionalProperties") is True:
        return {}
    return {name: name in schema.get("required", ()) for name in schema.get("properties", {})}


def _request(each: Method, properties: Mapping[str, bool]) -> str:
    """Return what the transport needs to know of an operation."""
    path = re.sub(r"\{(\w+)\}", lambda found: _placed(each, found[1]), each.path)
    query = each.named("query")
    known = [("method", json.dumps(each.method)), ("path", f"`{path}`")]
    if query:
        known.append(("query", json.dumps(query)))
    if opening := [name for name in OPENING if each.of_a_chat and name in (*query, *properties)]:
        known.append(("opening", json.dumps(opening)))
    if properties:
        known.append(("body", "true"))
    if unwrapped := _unwrapped(each):
        known.append(("unwrap", json.dumps(unwrapped)))
    if each.verb is not None and each.verb.missing:
        known.append(("missing", "false" if _is_done(each) else "null"))
    elif each.operation == "revoke_key":
        known.append(("missing", "false"))
    return "{ " + ", ".join(f"{name}: {value}" for name, value in known) + " }"


def _placed(each: Method, name: str) -> str:
    value = "this.sessionId" if each.of_a_chat and name == "session_id" else _camel(name)
    return f"${{encodeURIComponent({value})}}"


def _is_done(each: Method) -> bool:
    """Whether the answer has no body: it is done, or there was nothing to do it to."""
    return "204" in each.document["responses"]


def _unwrapped(each: Method) -> str:
    if each.verb is not None and each.verb.counts:
        return each.verb.counts
    if each.operation == "get_working_memory":
        return "value"
    responses = each.document["responses"]
    answer: Mapping[str, Any] = responses.get("200") or responses.get("201") or {}
    schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
    refs = [schema.get("$ref", ""), *(one.get("$ref", "") for one in schema.get("anyOf", ()))]
    # Who goes on reads the next from the last item, or counts.
    return "items" if any(ref.endswith(("Page", "/EventFeed")) for ref in refs) else ""


def _answer(each: Method) -> str:
    """Return the type of what a method resolves to."""
    absent = each.verb is not None and bool(each.verb.missing)
    if _is_done(each):
        return "boolean" if absent or each.operation == "revoke_key" else "void"
    unwrapped = _unwrapped(each)
    told = f'Unwrapped<"{each.operation}", "{unwrapped}">' if unwrapped else f'Answer<"{each.operation}">'
    return f"{told} | null" if absent else told


def _about(each: Method) -> str:
    return " ".join(str(each.document.get("description", "")).split("\n\n")[0].split()).replace("*/", "* /")


def digest(document: Mapping[str, Any]) -> str:
    """Return what tells one document from another."""
    told = {name: document[name] for name in ("paths", "components")}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def lean(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without refusals, which all have one shape, nor what the client leaves out."""
    paths: dict[str, Any] = {}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if operation["operationId"] in KEPT or operation["operationId"] not in LEFT_OUT:
                answers = {code: told for code, told in operation["responses"].items() if code.startswith("2")}
                paths.setdefault(path, {})[method] = {**operation, "responses": answers}
    return {**document, "paths": paths}


def types(document: Mapping[str, Any]) -> str:
    """Return openapi.ts, as openapi-typescript writes it."""
    import node

    with tempfile.TemporaryDirectory(prefix="ltst-typescript-") as made:
        folder = Path(made)
        node.install(folder, PACKAGES)
        (folder / "openapi.json").write_text(json.dumps(lean(document)))
        program = ["node_modules/.bin/openapi-typescript", "openapi.json", "--output", "openapi.ts"]
        done = node.run(folder, [*program, "--default-non-nullable=false"])
        if done.returncode:
            raise SystemExit(done.stdout + done.stderr)
        return f"{HEAD}// document: {digest(document)}\n\n{(folder / 'openapi.ts').read_text()}"


def is_fresh(document: Mapping[str, Any]) -> bool:
    """Return whether what is written is what would be written."""
    known = TYPES.exists() and f"// document: {digest(document)}\n" in TYPES.read_text()
    return known and METHODS.exists() and METHODS.read_text() == written(document)


def main() -> int:
    """Write or check; the exit status."""
    document = create(Serving(Settings())).openapi()
    if "--check" in sys.argv[1:]:
        fresh = is_fresh(document)
        print("the TypeScript client is fresh" if fresh else "stale: run python scripts/generate_typescript.py")
        return int(not fresh)
    METHODS.write_text(written(document))
    TYPES.write_text(types(document))
    return 0


if __name__ == "__main__":
    sys.exit(main())
