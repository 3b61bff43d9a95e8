"""Middleware that checks the host, origin and size of every request, and gives it an id."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ltst.doors.http.meters import route_of
from ltst.doors.http.problems import Misdirected, TooLarge, document, of_error, response
from ltst.errors import Denied, LtstError
from ltst.support.ids import new_id
from ltst.support.logs import LOGGER
from ltst.support.network import LOOPBACK

REQUEST_ID = re.compile(r"[\w.:-]{1,128}", re.ASCII)
# Monitoring calls a server by its address, whatever its host name.
UNGUARDED = frozenset({"/healthz", "/readyz"})


class Guard:
    """Checks every request before anything else sees it."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str], max_body_bytes: int) -> None:
        """Accepts requests for `hosts` (`*`: any), without an origin or from one of `origins`, up to a size."""
        self._app = app
        self._hosts = LOOPBACK | set(hosts)
        self._origins = frozenset(origins)
        self._most = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or answers it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers.get("x-request-id"))
        scope.setdefault("state", {})["request_id"] = request_id
        # Routes match the raw path, because an id may contain an encoded slash that does not separate segments.
        scope["path"] = scope.get("raw_path", scope["path"].encode()).decode("latin-1").partition("?")[0]
        status: int | None = None
        began = time.perf_counter()

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        try:
            self._check(scope["path"], headers)
            await self._app(scope, _measured(receive, self._most), answer)
        except LtstError as problem:
            if status is not None:
                raise
            await response(of_error(problem, request_id))(scope, receive, answer)
        except UnicodeDecodeError:
            refusal = document(400, "the path is not valid UTF-8 once its percent signs are read", request_id)
            await response(refusal)(scope, receive, answer)
        except Exception:
            status = 500  # answered further out
            raise
        finally:
            if status is not None:  # otherwise the client has left
                _log(scope, status, began)

    def _check(self, path: str, headers: Headers) -> None:
        if path in UNGUARDED:
            return
        host = headers.get("host", "")
        if "*" not in self._hosts and _host_name(host) not in self._hosts:
            raise Misdirected(f"this server does not answer for the host {host!r}; name it in LTST_ALLOWED_HOSTS")
        origin = headers.get("origin")
        if origin is not None and origin not in self._origins and _authority(origin) != host:
            raise Denied(f"pages of {origin!r} may not call this server; name them in LTST_ALLOWED_ORIGINS")
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > self._most:
            raise TooLarge(f"a request may have up to {self._most:,} bytes")


def _log(scope: Scope, status: int, began: float) -> None:
    """Log an answered request by its route, not by its path, which may hold users' words."""
    level = logging.WARNING if status >= 500 else logging.INFO
    if LOGGER.isEnabledFor(level):
        fields = {
            "request_id": scope["state"]["request_id"],
            "method": scope["method"],
            "route": route_of(scope),
            "status": status,
            "milliseconds": round((time.perf_counter() - began) * 1000, 3),
        }
        LOGGER.log(level, "request", extra=fields)


def _request_id(given: str | None) -> str:
    return given if given is not None and REQUEST_ID.fullmatch(given) else new_id()


def _authority(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _measured(receive: Receive, most: int) -> Receive:
    """Count the body as it arrives, since a chunked request does not declare its size."""
    read = 0

    async def counted() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > most:
            # The only exception that reaches the handlers unchanged while a body is read.
            raise HTTPException(413, f"a request may have up to {most:,} bytes")
        return message

    return counted
