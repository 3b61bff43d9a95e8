"""A language model's endpoint on this machine: real HTTP in OpenAI's words, and whatever trouble a test wants."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from helpers import response_shapes

COMPLETIONS, RESPONSES = "/v1/chat/completions", "/v1/responses"


@dataclass(frozen=True)
class Asked:
    """One request as it came over the wire; the names of the headers are in small letters."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def format(self) -> str | None:
        return (self.body.get("response_format") or {}).get("type")

    @property
    def system(self) -> str:
        return "\n".join(each["content"] for each in self.body["messages"] if each["role"] == "system")

    @property
    def data(self) -> dict[str, Any]:
        """The quoted data in the last message."""
        found: dict[str, Any] = json.loads(self.body["messages"][-1]["content"])
        return found


@dataclass(frozen=True)
class Status:
    """An answer that is not a completion."""

    code: int
    body: Any = ""
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Raw:
    """A body that is sent as it is, under 200."""

    body: bytes


@dataclass(frozen=True)
class Streamed:
    """A stream of pieces, with a pause before each; one that breaks off says neither why nor that it is over."""

    pieces: tuple[str, ...]
    pause: float = 0.0
    breaks_off: bool = False


class Hang:
    """No answer at all until the server stops."""


class Close:
    """The connection is closed in the middle of the answer."""


@dataclass(frozen=True)
class Events:
    """A stream that is sent as it is, piece by piece; between the pieces it waits for `go`, if there is one."""

    pieces: list[bytes]
    go: threading.Event | None = None


@dataclass(frozen=True)
class Tools:
    """The model wants to use tools: names with their arguments, as a text or as JSON."""

    calls: list[tuple[str, Any]]
    text: str = ""


Reply = str | dict[str, Any] | list[Any] | Status | Raw | Hang | Close | Events | Tools | Streamed
Scripted = Reply | Callable[[Asked], Reply]


@dataclass
class LanguageServer:
    """Gives what is scripted, in order, then `otherwise`; keeps what it was asked."""

    url: str = ""
    script: list[Scripted] = field(default_factory=list)
    otherwise: Scripted = "Hello."
    refused_formats: frozenset[str] = frozenset()
    counts_tokens: bool = True
    paths: frozenset[str] = frozenset({COMPLETIONS, RESPONSES})
    asked: list[Asked] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def reply(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        if asked.path not in self.paths:
            return Status(404, {"error": {"message": "no such path"}})
        if asked.format in self.refused_formats:
            return Status(400, {"error": {"message": f"response_format {asked.format} is not supported"}})
        scripted = self.script.pop(0) if self.script else self.otherwise
        return scripted(asked) if callable(scripted) else scripted

    def completion(self, text: str, calls: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        """An answer in OpenAI's shape."""
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = calls
        answer = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1_700_000_000,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        }
        if self.counts_tokens:
            answer["usage"] = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
        return answer


class _Handler(BaseHTTPRequestHandler):
    played: LanguageServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.played.reply(Asked(self.path, headers, body))
        if isinstance(reply, Hang):
            self.played.stopped.wait()
            self.close_connection = True
        elif isinstance(reply, Close):
            self._start(200, {"Content-Length": "1000"})
            self.wfile.write(b'{"id": ')
            self.close_connection = True
        elif isinstance(reply, Streamed):
            self._send_slowly(reply)
        elif isinstance(reply, Status):
            self._send(reply.code, _bytes(reply.body), reply.headers)
        elif isinstance(reply, Raw):
            self._send(200, reply.body, {})
        elif isinstance(reply, Events):
            self._stream(reply.pieces, reply.go)
        elif self.path == RESPONSES and isinstance(reply, str | Tools):
            self._respond(reply, bool(body.get("stream")))
        elif isinstance(reply, Tools) and not body.get("stream"):
            self._send(200, _bytes(self.played.completion(reply.text, _calls(reply))), {})
        elif isinstance(reply, Tools) or body.get("stream"):
            self._stream(events(reply if isinstance(reply, str | Tools) else json.dumps(reply)), None)
        else:
            text = reply if isinstance(reply, str) else json.dumps(reply)
            self._send(200, _bytes(self.played.completion(text)), {})

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.played.asked.append(Asked(self.path, headers, {}))
        self._send(200, _bytes({"object": "list", "data": [{"id": "scripted"}]}), {"Set-Cookie": "a=b"})

    def _respond(self, reply: str | Tools, stream: bool) -> None:
        said = reply if isinstance(reply, str) else reply.text
        calls = reply.calls if isinstance(reply, Tools) else []
        output = [response_shapes.message(said)] if said else []
        output += [response_shapes.call(number, *each) for number, each in enumerate(calls)]
        whole = response_shapes.response(output)
        if stream:
            self._stream(response_shapes.events(whole), None)
        else:
            self._send(200, _bytes(whole), {})

    def _stream(self, pieces: list[bytes], go: threading.Event | None) -> None:
        self._start(200, {"Content-Type": "text/event-stream"})
        with suppress(OSError):
            for number, piece in enumerate(pieces):
                if number and go is not None:
                    go.wait(120)
                self.wfile.write(piece)
                self.wfile.flush()
        self.close_connection = True

    def _send_slowly(self, reply: Streamed) -> None:
        self._start(200, {"Content-Type": "text/event-stream"})
        with suppress(OSError):
            for piece in reply.pieces:
                self.played.stopped.wait(reply.pause)
                self._event({"choices": [{"index": 0, "delta": {"content": piece}}]})
            if not reply.breaks_off:
                self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
                self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, chunk: Mapping[str, Any]) -> None:
        self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.flush()

    def _send(self, code: int, body: bytes, headers: Mapping[str, str]) -> None:
        self._start(code, {"Content-Length": str(len(body)), **headers})
        with suppress(OSError):  # whoever asked may have gone
            self.wfile.write(body)

    def _start(self, code: int, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        for name, value in {"Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def _bytes(body: Any) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    """One event of a stream in OpenAI's shape."""
    chunk = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def events(reply: str | Tools) -> list[bytes]:
    """A whole stream: the text word by word, or the calls with their arguments cut in two."""
    if isinstance(reply, Tools):
        said = [event({"content": reply.text})] if reply.text else []
        middle, finish = said + [part for call in _calls(reply) for part in _halves(call)], "tool_calls"
    else:
        middle, finish = [event({"content": word}) for word in re.findall(r"\S+\s*|\s+", reply)], "stop"
    return [event({"role": "assistant", "content": ""}), *middle, event({}, finish), b"data: [DONE]\n\n"]


def _calls(reply: Tools) -> list[dict[str, Any]]:
    return [
        {
            "index": number,
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate(reply.calls)
    ]


def _halves(call: dict[str, Any]) -> list[bytes]:
    given = call["function"]["arguments"]
    first = {**call, "function": {"name": call["function"]["name"], "arguments": given[:3]}}
    second = {"index": call["index"], "function": {"arguments": given[3:]}}
    return [event({"tool_calls": [first]}), event({"tool_calls": [second]})]


@contextmanager
def language_server() -> Iterator[LanguageServer]:
    """A server on a free port for as long as the block runs."""
    played = LanguageServer()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"played": played}))
    server.daemon_threads = True
    played.url = f"http://127.0.0.1:{server.server_port}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield played
    finally:
        played.stopped.set()
        server.shutdown()
        thread.join()
        server.server_close()
