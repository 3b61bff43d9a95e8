"""The MCP server: `ltst mcp`."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from typing import Annotated

import typer

from ltst.doors.cli import show
from ltst.doors.cli.access import about_keys
from ltst.doors.cli.options import Options, command, named, opened
from ltst.doors.cli.serve import name_to_call, saying_when_it_answers
from ltst.errors import Denied, Invalid
from ltst.support.extras import how_to_install

app = typer.Typer()


class Tools(StrEnum):
    """Which tools a client gets."""

    EVERYDAY = "everyday"
    ALL = "all"


Http = Annotated[bool, typer.Option("--http", help="Over HTTP, instead of standard input and output.")]
Host = Annotated[str, named("--host", "ADDRESS", "Where to listen, with --http.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="On which port; 0 takes a free one.")]
Chosen = Annotated[Tools, typer.Option("--tools", help="A few that models choose well from, or every verb there is.")]
Structured = Annotated[bool, typer.Option("--structured", help="Answers also as JSON under a schema, for programs.")]

TOLD = """MCP is served at {url}{path}   (older clients: {url}{sse})

{keys} Stop it with Ctrl-C."""


@command(app, "mcp", user=True, json=False)
def mcp(
    options: Options,
    http: Http = False,
    host: Host = "127.0.0.1",
    port: Port = 8001,
    tools: Chosen = Tools.EVERYDAY,
    structured: Structured = False,
) -> None:
    """Serve memory over MCP: to Claude, Cursor, VS Code.

    Over standard input and output it is the memory of one user. Over HTTP a key says whose it is; on this machine
    alone, no key is needed until one is made.

    Example: ltst mcp --http --port 8001
    """
    try:
        from ltst.doors.mcp import serving as door
    except ImportError as problem:
        raise Invalid(f"the MCP server needs {problem.name}, which is missing: {how_to_install('mcp')}") from None
    if not http:
        if sys.stdin.isatty():
            show.hint("This is for a client to start, and to talk to: docs/mcp.md has blocks to copy. Ctrl-C ends it.")
        door.serve_stdio(options.settings, tools, structured=structured)
        return
    wanted = door.Serving(options.settings, host, port, tools, structured)
    with door.bound(host, port) as taken, opened(options, worker=False) as memory:
        tokens = door.has_tokens(memory.settings)
        if not (tokens or memory.keys.required()) and not wanted.loopback:
            raise Denied(f"{host} can be reached by others, and no key is set up: make one with `ltst keys create`")
        address = taken.getsockname()
        url = f"http://{name_to_call(host, wanted.loopback)}:{address[1]}"
        keys = about_keys(memory, tokens=tokens)
        banner = TOLD.format(url=url, path=door.PATH, sse=door.SSE_PATH, keys=keys)
        with saying_when_it_answers(url + door.PATH, banner):
            door.serve(replace(wanted, port=address[1]), taken)
