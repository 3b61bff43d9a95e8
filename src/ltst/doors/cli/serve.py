"""The server: `ltst serve`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.client import HTTPException
from ipaddress import ip_address
from typing import Annotated
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

import typer

from ltst.doors.cli import show
from ltst.doors.cli.access import about_keys
from ltst.doors.cli.options import Options, command, named, opened
from ltst.errors import Denied, Invalid
from ltst.support.extras import how_to_install

app = typer.Typer()

Host = Annotated[str, named("--host", "ADDRESS", "Where to listen.")]
Port = Annotated[int, typer.Option("--port", metavar="N", min=0, max=65535, help="On which port; 0 takes a free one.")]
Processes = Annotated[int, typer.Option("--processes", metavar="N", min=1, max=64, help="How many share the work.")]

TRY = """Memory is served at {url}   (docs: {url}/docs)
It listens on {address}.{hosts}

Try it:
  curl -s {url}/api/chat{key} -H 'Content-Type: application/json' \\
    -d '{{"message": "My name is Piyush and I moved to Lisbon in March."}}'
  curl -s {url}/api/chat{key} -H 'Content-Type: application/json' \\
    -d '{{"message": "Where do I live?"}}'

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
    try:
        from ltst.doors.http import serving as http
    except ImportError as problem:
        raise Invalid(f"the server needs {problem.name}, which is missing: {how_to_install('server')}") from None
    wanted = http.Serving(options.settings, host, port)
    with http.bound(host, port) as taken, opened(options, worker=False) as memory:
        tokens = http.has_tokens(memory.settings)
        guarded = memory.keys.required() or tokens
        if not guarded and not wanted.loopback:
            raise Denied(f"{host} can be reached by others, and no key is set up: make one with `ltst keys create`")
        port = taken.getsockname()[1]
        url = f"http://{name_to_call(host, wanted.loopback)}:{port}"
        banner = TRY.format(
            url=url,
            address=f"{host}:{port}",
            hosts="" if wanted.loopback or memory.settings.allowed_hosts else HOSTS,
            key=KEY if guarded else "",
            keys=about_keys(memory, tokens=tokens),
        )
        with saying_when_it_answers(f"{url}/healthz", banner):
            http.serve(replace(wanted, port=port), taken, processes=processes)


@contextmanager
def saying_when_it_answers(address: str, banner: str) -> Iterator[None]:
    """Print the banner once the server answers at this address, so that what it tells to try works."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(LOOKS_EVERY):
            if _answers(address):
                show.say(banner)
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
    except HTTPError:  # a refusal is an answer
        return True
    except (OSError, HTTPException):
        return False


def name_to_call(host: str, loopback: bool) -> str:
    """The name by which the server can be called from this machine; 0.0.0.0 stands for all of them and is none."""
    bare = host.strip("[]")
    with suppress(ValueError):  # a name
        loopback = loopback or ip_address(bare).is_unspecified
    if loopback:
        return "localhost"
    return f"[{bare}]" if ":" in bare else bare
