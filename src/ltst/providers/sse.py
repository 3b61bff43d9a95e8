"""Server-sent events: from bytes, cut anywhere, to the data of each event."""

from __future__ import annotations

import codecs
import re

LINE_END = re.compile(r"\r\n|\n|\r")


class EventReader:
    """Reads events as the standard says: lines end in CRLF, LF or CR, comments are passed over, data may have lines."""

    def __init__(self) -> None:
        """Begin at the beginning of a stream."""
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events that this chunk completes."""
        text = self._rest + self._decode(chunk)
        # A CR at the very end may be the first half of a CRLF.
        held = "\r" if text.endswith("\r") else ""
        *lines, rest = LINE_END.split(text.removesuffix(held))
        self._rest = rest + held
        return self._events(lines)

    def end(self) -> list[str]:
        """What is left when the stream ends: some servers forget the empty line behind the last event."""
        rest, self._rest = self._rest + self._decode(b"", final=True), ""
        return self._events([*LINE_END.split(rest), ""])

    def _events(self, lines: list[str]) -> list[str]:
        events = []
        for line in lines:
            name, _, value = line.partition(":")
            if line == "" and self._data:
                events.append("\n".join(self._data))
                self._data = []
            elif name == "data":
                self._data.append(value.removeprefix(" "))
        return events
