"""The endpoint: an OpenAI-compatible server, asked without blocking: whole answers, streams, and a plain passage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from ltst.errors import Invalid, ModelUnavailable
from ltst.providers.language import DEFAULT_BASE_URL, host_of
from ltst.providers.sse import EventReader
from ltst.support.extras import how_to_install
from ltst.support.place import OfProcess

if TYPE_CHECKING:
    import httpx

    from ltst.settings import Settings

COMPLETIONS = "/chat/completions"
DONE = "[DONE]"
CONNECTIONS = 100
FIRST_ERROR = 400
FIRST_REDIRECT = 300
MEANINGS = {
    401: "refused the key",
    403: "does not allow this key to use the model",
    404: "knows neither the model nor maybe the address",
    413: "says that the request is too large",
    429: "is too busy, or the quota of the key is used up",
}
# What goes through to the endpoint of what a client sent. The key, the cookies and the name of the user stay here.
PASSED_ON = frozenset({"accept", "content-type", "user-agent", "openai-beta"})
# What comes back belongs to this connection, tells of a body as it was before it was unpacked, or is what a server that
# passes the answer on says for itself.
KEPT_BACK = frozenset(
    {
        "connection",
        "content-encoding",
        "content-length",
        "alt-svc",
        "date",
        "keep-alive",
        "proxy-authenticate",
        "server",
        "set-cookie",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


@dataclass(frozen=True, slots=True)
class Passage:
    """What an endpoint answered, as it is; to be closed when it was read, or when nobody wants the rest."""

    status: int
    headers: Mapping[str, str]
    host: str
    _timeout: float
    _response: httpx.Response

    @property
    def ok(self) -> bool:
        """Whether this is an answer, not a refusal."""
        return self.status < FIRST_REDIRECT

    @property
    def streamed(self) -> bool:
        """Whether the answer is a stream of events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")

    async def aiter_bytes(self) -> AsyncIterator[bytes]:
        """The body, unpacked, as it comes; ModelUnavailable when it breaks off."""
        with _failures(self.host, self._timeout):
            async for chunk in self._response.aiter_bytes():
                yield chunk

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._response.aclose()


class Endpoint:
    """One server that speaks OpenAI's protocol. Connects when it is first asked; use it from one event loop."""

    def __init__(
        self, base_url: str | None = None, api_key: str | None = None, *, timeout: float = 60.0, setting: str = ""
    ) -> None:
        """`base_url` ends before /chat/completions; `timeout` in seconds, in a stream between its parts.

        `setting` is where the address comes from, which is named when nobody answers there.
        """
        self._url = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._key, self._timeout = api_key, timeout
        self._client = OfProcess(self._open)
        self.host = host_of(self._url)
        self._named = f"{self.host} ({setting})" if setting else self.host

    def __repr__(self) -> str:
        """Without the key."""
        return f"Endpoint({self.host!r})"

    async def complete(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The whole answer to a request for a completion."""
        try:
            async with asyncio.timeout(self._timeout), self._asked({**request, "stream": False}) as passage:
                body = b"".join([chunk async for chunk in passage.aiter_bytes()])
        except TimeoutError:
            raise ModelUnavailable(f"{self.host} gave no answer within {self._timeout:g} seconds") from None
        return self._read(body)

    async def stream(self, request: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """The answer chunk by chunk; ModelUnavailable if it breaks off before it is complete."""
        async with self._asked({**request, "stream": True}) as passage:
            if not passage.streamed:
                # A server that knows no streams answers at once.
                yield _as_chunk(self._read(b"".join([chunk async for chunk in passage.aiter_bytes()])))
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
    ) -> Passage:
        """Pass a request on as it is, under the key of this endpoint; refusals come back like answers."""
        if ".." in unquote(path.partition("?")[0]).split("/"):
            raise Invalid("path must stay below the address of the endpoint: it has no '..'")
        client = self._client.get()
        passed = {name: value for name, value in (headers or {}).items() if name.lower() in PASSED_ON}
        with _failures(self._named, self._timeout):
            request = client.build_request(method, self._url + "/" + path.lstrip("/"), content=body, headers=passed)
            response = await client.send(request, stream=stream)
        kept = {name.lower(): value for name, value in response.headers.items() if name.lower() not in KEPT_BACK}
        return Passage(response.status_code, kept, self.host, self._timeout, response)

    async def close(self) -> None:
        """Let go of the connections."""
        if (client := self._client.pop()) is not None:
            await client.aclose()

    @asynccontextmanager
    async def _asked(self, request: Mapping[str, Any]) -> AsyncIterator[Passage]:
        body = json.dumps(request).encode()
        passage = await self.send("POST", COMPLETIONS, body, {"content-type": "application/json"})
        try:
            if not passage.ok:
                raise ModelUnavailable(f"{self.host} {_meaning(passage.status)}: HTTP {passage.status}")
            yield passage
        finally:
            await passage.aclose()

    def _read(self, body: bytes) -> dict[str, Any]:
        answer = _object(body, self.host)
        if not isinstance(answer.get("choices"), list) or not answer["choices"]:
            raise ModelUnavailable(f"{self.host} answered with something else than a completion")
        return answer

    def _open(self) -> httpx.AsyncClient:
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
            follow_redirects=False,  # or the conversation would be carried to another host
            limits=httpx.Limits(max_connections=CONNECTIONS),
        )


@contextmanager
def _failures(host: str, timeout: float) -> Iterator[None]:
    """Whatever way a connection fails in, it is ModelUnavailable, without the words of whoever failed."""
    import httpx

    try:
        yield
    except httpx.TimeoutException:
        raise ModelUnavailable(f"{host} gave no answer, or no more of it, within {timeout:g} seconds") from None
    except (httpx.HTTPError, httpx.StreamError, httpx.InvalidURL) as problem:
        raise ModelUnavailable(f"{host} cannot be reached, or broke off: {type(problem).__name__}") from None


async def chunks(passage: Passage) -> AsyncIterator[dict[str, Any]]:
    """The chunks of a streamed completion; ModelUnavailable for an error in it, and when it ends before its end."""
    reading = ChunkReader(passage.host)
    async for received in passage.aiter_bytes():
        for chunk in reading.feed(received):
            yield chunk
        if reading.done:
            return
    for chunk in reading.end():
        yield chunk


class ChunkReader:
    """Reads the chunks of a completion out of a stream of events, and knows whether it is complete."""

    def __init__(self, host: str) -> None:
        """`host` is named where something is wrong."""
        self._host, self._events = host, EventReader()
        self.done = False
        self._finished = False

    @property
    def over(self) -> bool:
        """Whether the text is complete, whatever may follow it."""
        return self.done or self._finished

    def feed(self, received: bytes) -> list[dict[str, Any]]:
        """The chunks that are complete by now."""
        return self._chunks(self._events.feed(received))

    def end(self) -> list[dict[str, Any]]:
        """The last chunks; not every server says [DONE], but one that gave no reason to finish has broken off."""
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
            chunk = _object(data, self._host)
            self._finished = self._finished or any(each.get("finish_reason") for each in choices(chunk))
            read.append(chunk)
        return read


def choices(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The choices of an answer or a chunk, as far as they are any."""
    given = answer.get("choices")
    return [each for each in given if isinstance(each, Mapping)] if isinstance(given, list) else []


def _object(text: str | bytes, host: str) -> dict[str, Any]:
    """A JSON object that is no error; what an error says may repeat the key or the conversation, and is not told."""
    try:
        read = json.loads(text)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise ModelUnavailable(f"{host} answered with something else than a completion")
    if read.get("error"):
        raise ModelUnavailable(f"{host} gave an error instead of an answer")
    return read


def _as_chunk(answer: Mapping[str, Any]) -> dict[str, Any]:
    """A whole answer in the shape of a chunk."""
    turned = [{**each, "delta": each.get("message") or {}} for each in choices(answer)]
    return {**answer, "choices": turned}


def _meaning(status: int) -> str:
    if FIRST_REDIRECT <= status < FIRST_ERROR:
        return "sends elsewhere, which is not followed"
    return MEANINGS.get(status, "gave no answer")


def model_endpoint(settings: Settings) -> Endpoint | None:
    """The endpoint of the language model; None where no model is set."""
    if settings.llm_model is None:
        return None
    return Endpoint(
        settings.llm_base_url, settings.llm_api_key, timeout=settings.llm_timeout, setting="LTST_LLM_BASE_URL"
    )


def proxy_endpoint(settings: Settings) -> Endpoint | None:
    """The endpoint behind the proxy: its own, else that of the language model, else None."""
    if settings.proxy_base_url is None:
        return model_endpoint(settings)
    return Endpoint(
        settings.proxy_base_url, settings.proxy_api_key, timeout=settings.llm_timeout, setting="LTST_PROXY_BASE_URL"
    )
