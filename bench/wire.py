"""The wire: HTTP/1.1 as lean as a client can speak it, so that it is the server that is measured."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Mapping
from typing import Any, NamedTuple

LONGEST_HEAD = 1 << 20
NO_LINGERING = struct.pack("ii", 1, 0)


class Broken(ConnectionError):
    """The connection ended before the answer did."""


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, read."""
        return json.loads(self.body)


class Happening(NamedTuple):
    """One event of a stream."""

    name: str
    data: Any


def written(method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> bytes:
    """A request as it goes over the wire."""
    sent = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = {
        "Host": "localhost",
        "Content-Type": "application/json",
        "Content-Length": str(len(sent)),
        **(headers or {}),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"{method} {path} HTTP/1.1\r\n{head}\r\n".encode() + sent


class Wire:
    """One connection to a server, kept open, and opened anew when it is needed and gone."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        """Connects when it is first used."""
        self._address = (host, port)
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def send(self, request: bytes) -> asyncio.StreamReader:
        """Send a request; what comes back is to be read from here."""
        if self._reader is None or self._writer is None or self._writer.is_closing() or self._reader.at_eof():
            await self.close()
            self._reader, self._writer = await asyncio.open_connection(*self._address, limit=LONGEST_HEAD)
        self._writer.write(request)
        await self._writer.drain()
        return self._reader

    async def ask(self, request: bytes) -> Answer:
        """Send a request and read the whole answer; Broken if there is none."""
        try:
            reader = await self.send(request)
            status, headers = await _head(reader)
            body = b"".join([part async for part in _body(reader, headers)])
        except (EOFError, OSError) as problem:
            self.cut()
            raise Broken(str(problem)) from problem
        except asyncio.CancelledError:
            self.cut()  # the rest of the answer would be taken for the next one
            raise
        if headers.get("connection") == "close":
            await self.close()
        return Answer(status, headers, body)

    async def events(self, request: bytes) -> AsyncIterator[Happening]:
        """Send a request and read its events; a refusal is one event named `refused`. Broken if it breaks off."""
        try:
            reader = await self.send(request)
            status, headers = await _head(reader)
            if not headers.get("content-type", "").startswith("text/event-stream"):
                body = b"".join([part async for part in _body(reader, headers)])
                yield Happening("refused", {"status": status, "body": body.decode(errors="replace")})
                return
            rest = ""
            async for part in _body(reader, headers):
                *told, rest = (rest + part.decode()).split("\n\n")
                for each in told:
                    if happening := _happening(each):
                        yield happening
        except (EOFError, OSError) as problem:
            self.cut()
            raise Broken(str(problem)) from problem

    async def close(self) -> None:
        """Leave as one should."""
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()

    def cut(self) -> None:
        """Leave without a word: the other side gets a reset."""
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            connected = writer.get_extra_info("socket")
            if connected is not None and connected.fileno() != -1:
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGERING)
            writer.transport.abort()


async def _head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    named = (line.partition(":") for line in lines if line)
    return int(first.split(" ", 2)[1]), {name.lower(): value.strip() for name, _, value in named}


async def _body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> AsyncIterator[bytes]:
    if headers.get("transfer-encoding") != "chunked":
        yield await reader.readexactly(int(headers.get("content-length", 0)))
        return
    while size := int(await reader.readuntil(b"\r\n"), 16):
        yield (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)


def _happening(written: str) -> Happening | None:
    fields = dict(line.split(": ", 1) for line in written.split("\n") if line and not line.startswith(":"))
    return Happening(fields.get("event", ""), json.loads(fields["data"])) if "data" in fields else None
