"""The servers: `ltst serve` over HTTP, `ltst mcp` over MCP."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from enum import StrEnum
from http.client import HTTPException
from ipaddress import ip_address
from typing import Annotated, Any
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import typer

from ltst.doors.cli import show
from ltst.doors.cli.access import about_keys
from ltst.doors.cli.options import Options, command, named, opened
from ltst.errors import Denied, Invalid
from ltst.support.extras import how_to_install
from ltst.support.network import bound

app = typer.Typer()


class Tools(StrEnum):
    """Which tools a client gets."""

    EVERYDAY = "everyday"
    ALL = "all"


Host = Annotated[str, named("--host", "ADDRESS", "Where to listen.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="On which port; 0 takes a free one.")]
Processes = Annotated[int, typer.Option("--processes", metavar="N", min=1, max=64, help="How many share the work.")]
Http = Annotated[bool, typer.Option("--http", help="Over HTTP, instead of standard input and output.")]
Chosen = Annotated[Tools, typer.Option("--tools", help="A few that models choose well from, or every verb there is.")]
Structured = Annotated[bool, typer.Option("--structured", help="Answers also as JSON under a schema, for programs.")]

TRY = """Memory is served at {url}   (a page to look at in a browser; docs: {url}/docs)
It listens on {address}.{hosts}

Try it:
  curl -s {url}/api/chat{key} -H 'Content-Type: application/json' \\
    -d '{{"message": "My name is Piyush and I moved to Lisbon in March."}}'
  curl -s {url}/api/chat{key} -H 'Content-Type: application/json' \\
    -d '{{"message": "Where do I live?"}}'

{keys} Stop it with Ctrl-C."""
MCP = """MCP is served at {url}{path}   (older clients: {url}{sse})

{keys} Stop it with Ctrl-C."""
HOSTS = " Callers that use a name of this machine need it in LTST_ALLOWED_HOSTS."
LOOKS_EVERY = 0.05  # seconds
KEY = " -H 'Authorization: Bearer YOUR_KEY'"


@command(app, "serve", json=False)
def serve(options: Options, host: Host = "127.0.0.1", port: Port = 8000, processes: Processes = 1) -> None:
    """Serve memory and chat over HTTP.

    On this machine alone, no key is needed until one is made. Elsewhere keys or tokens must be set up first.

    Example: ltst serve --port 8080
    """
    door = _http()
    _serve(options, door, door.Serving(options.settings, host, port), TRY, "/healthz", processes=processes)


@command(app, "web", json=False)
def web(options: Options, port: Port = 8000) -> None:
    """Open the page in the browser.

    It shows what is remembered, and where it is from, to be corrected. A server that runs already on this port shows
    it; else one is started, until Ctrl-C.

    Example: ltst web --port 8080
    """
    url = f"http://localhost:{port}"
    if port and _answers(f"{url}/healthz"):
        _browse(url)
        return
    door = _http()
    _serve(options, door, door.Serving(options.settings, port=port), TRY, "/healthz", then=_browse)


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
    if http:
        wanted = door.Serving(options.settings, host, port, tools, structured)
        _serve(options, door, wanted, MCP.replace("{path}", door.PATH).replace("{sse}", door.SSE_PATH), door.PATH)
        return
    if sys.stdin.isatty():
        show.hint("This is for a client to start, and to talk to: docs/mcp.md has blocks to copy. Ctrl-C ends it.")
    door.serve_stdio(options.settings, tools, structured=structured)


def _http() -> Any:
    try:
        from ltst.doors.http import serving
    except ImportError as problem:
        raise Invalid(f"the server needs {problem.name}, which is missing: {how_to_install('server')}") from None
    return serving


def _browse(url: str) -> None:
    if not webbrowser.open(url):
        show.hint(f"There is no browser to open here: go to {url}")


def _serve(
    options: Options,
    door: Any,
    wanted: Any,
    banner: str,
    path: str,
    then: Callable[[str], None] | None = None,
    **more: Any,
) -> None:
    """Takes the port, checks that callers from elsewhere need a key, and serves."""
    from ltst.handles.callers import has_tokens  # late: slow to import, and --help should be fast

    with bound(wanted.host, wanted.port, wanted.command) as taken, opened(options, worker=False) as memory:
        tokens = has_tokens(memory.settings)
        guarded = memory.keys.required() or tokens
        if not guarded and not wanted.loopback:
            reached = f"{wanted.host} can be reached by others, and no key is set up"
            raise Denied(f"{reached}: make one with `ltst keys create`")
        port = taken.getsockname()[1]
        url = f"http://{name_to_call(wanted.host, wanted.loopback)}:{port}"
        text = banner.format(
            url=url,
            address=f"{wanted.host}:{port}",
            hosts="" if wanted.loopback or memory.settings.allowed_hosts else HOSTS,
            key=KEY if guarded else "",
            keys=about_keys(memory, tokens=tokens),
        )
        with saying_when_it_answers(url + path, text, lambda: then and then(url)):
            door.serve(replace(wanted, port=port), taken, **more)


@contextmanager
def saying_when_it_answers(address: str, banner: str, then: Callable[[], object] = lambda: None) -> Iterator[None]:
    """Prints the banner once the server answers at this address, so that its examples work; then calls `then`."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOKS_EVERY):
            if _answers(address):
                show.say(banner)
                then()
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _answers(address: str) -> bool:
    try:
        with build_opener(ProxyHandler({})).open(address, timeout=5):
            return True
    except HTTPError:  # a refusal is an answer too
        return True
    except (OSError, HTTPException):
        return False


def name_to_call(host: str, loopback: bool) -> str:
    """Return a name that reaches the server from this machine; 0.0.0.0 means every address and is no name."""
    bare = host.strip("[]")
    with suppress(ValueError):  # a host name, not an address
        loopback = loopback or ip_address(bare).is_unspecified
    if loopback:
        return "localhost"
    return f"[{bare}]" if ":" in bare else bare
