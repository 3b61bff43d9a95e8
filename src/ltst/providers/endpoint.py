"""The endpoint: calls an OpenAI-compatible server without blocking: whole answers, streams, and requests passed on."""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ltst.errors import Invalid, ModelUnavailable
from ltst.providers.language import DEFAULT_BASE_URL, MEANINGS, host_of
from ltst.support.extras import how_to_install
from ltst.support.place import PerProcess

if TYPE_CHECKING:
    import httpx

    from ltst.settings import Settings

COMPLETIONS = "/chat/completions"
DONE = "[DONE]"
LINE_END = re.compile(r"\r\n|\n|\r")
CONNECTIONS = 100
FIRST_ERROR = 400
FIRST_REDIRECT = 300
# Without the names of settings, since these requests may go to another endpoint than the configured one.
PLAIN_MEANINGS = {status: re.sub(r" \(LTST_\w+\)", "", meaning) for status, meaning in MEANINGS.items()}
# The client's headers that are passed on to the endpoint. Key, cookies and user name are not.
PASSED_ON = frozenset({"accept", "content-type", "user-agent", "openai-beta"})
# Headers of the answer that are not passed back: they belong to the connection, describe the body before it was
# decoded, or are set by the server that relays the answer.
KEPT_BACK = frozenset(
    {"connection", "content-encoding", "content-length", "alt-svc", "date", "keep-alive", "proxy-authenticate"}
    | {"server", "set-cookie", "te", "trailer", "transfer-encoding", "upgrade"}
)


@dataclass(frozen=True, slots=True)
class EndpointAnswer:
    """What an endpoint answered, unchanged; close it when it was read, or when nobody wants the rest."""

    status: int
    headers: Mapping[str, str]
    host: str
    _timeout: float
    _response: httpx.Response

    @property
    def ok(self) -> bool:
        """Whether this is an answer and not a refusal."""
        return self.status < FIRST_REDIRECT

    @property
    def streamed(self) -> bool:
        """Whether the answer is a stream of events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """Yields the decoded body as it arrives; raises ModelUnavailable if it breaks off."""
        with _failures(self.host, self._timeout):
            async for chunk in self._response.aiter_bytes():
                yield chunk

    async def read(self) -> bytes:
        """Returns the whole body, which can still be read in pieces afterwards."""
        with _failures(self.host, self._timeout):
            return await self._response.aread()

    async def aclose(self) -> None:
        """Releases the connection."""
        await self._response.aclose()


class Endpoint:
    """One server that speaks OpenAI's protocol. Connects at the first request; use it from one event loop."""

    def __init__(
        self, base_url: str | None = None, api_key: str | None = None, *, timeout: float = 60.0, setting: str = ""
    ) -> None:
        """`base_url` ends before /chat/completions; `timeout` in seconds, for a stream between its parts.

        `setting` is where the address comes from; errors name it if nobody answers there.
        """
        self._url = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._key, self._timeout = api_key, timeout
        self._client = PerProcess(self._make_client)
        self.host = host_of(self._url)
        self._named = f"{self.host} ({setting})" if setting else self.host

    def __repr__(self) -> str:
        """Leaves out the key."""
        return f"Endpoint({self.host!r})"

    async def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the whole answer to a completion request."""
        try:
            async with asyncio.timeout(self._timeout), self._asked({**request, "stream": False}) as passage:
                body = await passage.read()
        except TimeoutError:
            raise ModelUnavailable(f"{self.host} gave no answer within {self._timeout:g} seconds") from None
        return self._parse_answer(body)

    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Yields the answer chunk by chunk; raises ModelUnavailable if it breaks off before it is complete."""
        async with self._asked({**request, "stream": True}) as passage:
            if not passage.streamed:
                # A server without streaming answers all at once.
                yield as_chunk(self._parse_answer(await passage.read()))
                return
            async for chunk in chunks(passage):
                yield chunk

    async def send(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        *,
        stream: bool = True,
    ) -> EndpointAnswer:
        """Passes a request on unchanged, with this endpoint's key; refusals are returned like answers."""
        if ".." in unquote(path.partition("?")[0]).split("/"):
            raise Invalid("path must stay below the address of the endpoint: it has no '..'")
        client = self._client.get()
        passed = {name: value for name, value in (headers or {}).items() if name.lower() in PASSED_ON}
        with _failures(self._named, self._timeout):
            request = client.build_request(method, self._url + "/" + path.lstrip("/"), content=body, headers=passed)
            response = await client.send(request, stream=stream)
        kept = {name.lower(): value for name, value in response.headers.items() if name.lower() not in KEPT_BACK}
        return EndpointAnswer(response.status_code, kept, self.host, self._timeout, response)

    async def close(self) -> None:
        """Closes the connections."""
        if (client := self._client.pop()) is not None:
            await client.aclose()

    @asynccontextmanager
    async def _asked(self, request: Mapping[str, Any]) -> AsyncIterator[EndpointAnswer]:
        body = json.dumps(request).encode()
        passage = await self.send("POST", COMPLETIONS, body, {"content-type": "application/json"})
        try:
            if not passage.ok:
                raise ModelUnavailable(f"{self.host} {_explain_status(passage.status)}: HTTP {passage.status}")
            yield passage
        finally:
            await passage.aclose()

    def _parse_answer(self, body: bytes) -> dict[str, Any]:
        answer = json_object(body, self.host)
        if not isinstance(answer.get("choices"), list) or not answer["choices"]:
            raise ModelUnavailable(f"{self.host} answered with something else than a completion")
        return answer

    def _make_client(self) -> httpx.AsyncClient:
        try:
            import httpx
        except ImportError:
            raise ModelUnavailable(
                f"an endpoint is asked through the httpx package, which is missing: {how_to_install('server')}"
            ) from None
        key = {} if self._key is None else {"Authorization": f"Bearer {self._key}"}
        return httpx.AsyncClient(
            headers={**key, "Accept-Encoding": "identity"},
            timeout=self._timeout,
            follow_redirects=False,  # a redirect would carry the conversation to another host
            limits=httpx.Limits(max_connections=CONNECTIONS),
        )


@contextmanager
def _failures(host: str, timeout: float) -> Iterator[None]:
    """Turns any failure of a connection into ModelUnavailable, without the text of the original error."""
    import httpx

    try:
        yield
    except httpx.TimeoutException:
        raise ModelUnavailable(f"{host} gave no answer, or no more of it, within {timeout:g} seconds") from None
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as problem:
        raise ModelUnavailable(f"{host} cannot be reached, or broke off: {type(problem).__name__}") from None


async def chunks(passage: EndpointAnswer) -> AsyncIterator[dict[str, Any]]:
    """Yields the chunks of a streamed completion; raises ModelUnavailable for an error in it or an early end."""
    reading = ChunkReader(passage.host)
    async for received in passage.aiter_bytes():
        for chunk in reading.feed(received):
            yield chunk
        if reading.done:
            return
    for chunk in reading.end():
        yield chunk


class EventReader:
    """Reads the data of server-sent events from bytes that may be cut anywhere.

    As the standard says, lines end in CRLF, LF or CR, comments are skipped, and data may have several lines.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._rest = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[str]:
        """Returns the data of the events that this chunk completes."""
        text = self._rest + self._decode(chunk)
        # A CR at the very end may be the first half of a CRLF.
        held = "\r" if text.endswith("\r") else ""
        *lines, rest = LINE_END.split(text.removesuffix(held))
        self._rest = rest + held
        return self._events(lines)

    def end(self) -> list[str]:
        """Returns what is left when the stream ends: some servers omit the empty line after the last event."""
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


class ChunkReader:
    """Reads the chunks of a completion from a stream of events, and knows whether it is complete."""

    def __init__(self, host: str) -> None:
        """`host` is named in errors."""
        self._host, self._events = host, EventReader()
        self.done = False
        self._finished = False

    @property
    def over(self) -> bool:
        """Whether the text is complete, whatever may follow it."""
        return self.done or self._finished

    def feed(self, received: bytes) -> list[dict[str, Any]]:
        """Returns the chunks that are complete by now."""
        return self._chunks(self._events.feed(received))

    def end(self) -> list[dict[str, Any]]:
        """Returns the last chunks; raises if the server gave neither [DONE] nor a finish reason, so broke off."""
        last = self._chunks(self._events.end())
        if not self.over:
            raise ModelUnavailable(f"{self._host} broke off in the middle of its answer")
        return last

    def _chunks(self, events: list[str]) -> list[dict[str, Any]]:
        read = []
        for data in events:
            if data.strip() == DONE:
                self.done = True
            if self.done:
                break
            chunk = json_object(data, self._host)
            self._finished = self._finished or any(each.get("finish_reason") for each in choices(chunk))
            read.append(chunk)
        return read


def choices(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Returns the choices of an answer or a chunk, without malformed ones."""
    given = answer.get("choices")
    return [each for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []


def json_object(text: str | bytes, host: str) -> dict[str, Any]:
    """Returns a JSON object that is not an error. The text of an error is dropped, since it may repeat the key."""
    try:
        read = json.loads(text)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise ModelUnavailable(f"{host} answered with something else than a completion")
    if read.get("error"):
        raise ModelUnavailable(f"{host} gave an error instead of an answer")
    return read


def as_chunk(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns a whole answer in the shape of a chunk."""
    turned = [{**each, "delta": each.get("message") or {}} for each in choices(answer)]
    return {**answer, "choices": turned}


def _explain_status(status: int) -> str:
    if FIRST_REDIRECT <= status < FIRST_ERROR:
        return "sends elsewhere, which is not followed"
    return PLAIN_MEANINGS.get(status, "gave no answer")


def model_endpoint(settings: Settings) -> Endpoint | None:
    """Returns the endpoint of the language model; None if no model is set."""
    if settings.llm_model is None:
        return None
    return Endpoint(
        settings.llm_base_url, settings.llm_api_key, timeout=settings.llm_timeout, setting="LTST_LLM_BASE_URL"
    )


def proxy_endpoint(settings: Settings) -> Endpoint | None:
    """Returns the endpoint behind the proxy: its own, else that of the language model, else None."""
    if settings.proxy_base_url is None:
        return model_endpoint(settings)
    return Endpoint(
        settings.proxy_base_url, settings.proxy_api_key, timeout=settings.llm_timeout, setting="LTST_PROXY_BASE_URL"
    )
