"""The language model: calls any endpoint with OpenAI's /chat/completions, adapts to what it accepts, counts usage."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ltst.errors import Invalid, LtstError, ModelUnavailable
from ltst.protocols import LanguageModel
from ltst.providers.vectors import TextRefused
from ltst.records import Completion, Usage
from ltst.support import tokens, validate
from ltst.support.extras import how_to_install
from ltst.support.logs import LOGGER
from ltst.support.place import PerProcess

if TYPE_CHECKING:
    from ltst.settings import Settings

DEFAULT_BASE_URL = "https://api.openai.com/v1"
MOST_TOKENS = 1024
MILLION = 1_000_000
FORMATS = ("json_schema", "json_object", "text")
# The client reads these from its own variables, which may belong to another account or host than the one set here.
FOREIGN_HEADERS = ("OpenAI-Organization", "OpenAI-Project")
REFUSED_REQUEST = frozenset((400, 422))
TOO_LARGE = 413
MEANINGS = {
    401: "refused the key (LTST_LLM_API_KEY)",
    403: "does not allow this key (LTST_LLM_API_KEY) to use the model",
    404: "knows neither the model (LTST_LLM_MODEL) nor maybe the address (LTST_LLM_BASE_URL)",
    413: "says that the request is too large",
    429: "is too busy, or the quota of the key is used up",
}

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What an endpoint accepts; endpoints differ, and only their refusals show how."""

    format: str = FORMATS[0]
    limit: str = "max_tokens"
    temperature: bool = True

    def request(self, messages: Messages, schema: Mapping[str, Any] | None, max_tokens: int) -> dict[str, Any]:
        """Returns the arguments of one request."""
        asked: dict[str, Any] = {"messages": [dict(each) for each in messages], self.limit: max_tokens}
        if self.temperature:
            asked["temperature"] = 0
        if schema is not None:
            asked.update(self._shape(asked["messages"], schema))
        return asked

    def _shape(self, messages: list[dict[str, str]], schema: Mapping[str, Any]) -> dict[str, Any]:
        if self.format == "json_schema":
            wanted = {"name": "answer", "strict": True, "schema": schema}
            return {"response_format": {"type": "json_schema", "json_schema": wanted}}
        told = "Answer with one JSON object and nothing else. It follows this JSON schema: " + json.dumps(schema)
        shape: dict[str, Any] = {"messages": [{"role": "system", "content": told}, *messages]}
        if messages and messages[0]["role"] == "system":
            # Some models accept only one system message.
            first = {"role": "system", "content": f"{messages[0]['content']}\n\n{told}"}
            shape["messages"] = [first, *messages[1:]]
        if self.format == "json_object":
            shape["response_format"] = {"type": "json_object"}
        return shape

    def simpler(self, refusal: str, shaped: bool) -> _Dialect | None:
        """Returns what to try after a refusal; None if there is nothing simpler."""
        if "max_tokens" in refusal and self.limit == "max_tokens":
            return replace(self, limit="max_completion_tokens")
        if "temperature" in refusal and self.temperature:
            return replace(self, temperature=False)
        if shaped and self.format != FORMATS[-1]:
            return replace(self, format=FORMATS[FORMATS.index(self.format) + 1])
        return None


class OpenAILanguageModel:
    """Calls an endpoint such as OpenAI's, vLLM's, llama.cpp's or Ollama's. Blocking; safe to use from many threads."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = 60.0,
        retries: int = 2,
    ) -> None:
        """`base_url` ends before /chat/completions; `timeout` in seconds for each of the `retries` + 1 attempts.

        It does not connect, and does not need the `openai` package, before the first question.
        """
        if not model.strip():
            raise Invalid("model must be the name of a model that the endpoint knows, not blank")
        if timeout <= 0 or retries < 0:
            raise Invalid("timeout must be above 0 seconds and retries 0 or more")
        self._url = (base_url or DEFAULT_BASE_URL).rstrip("/")
        self._host = host_of(self._url)
        self._model, self._key, self._timeout, self._retries = model, api_key, timeout, retries
        self._dialect = _Dialect()
        self._client = PerProcess(self._make_client)
        self.name = f"{model}@{self._host}"

    def __repr__(self) -> str:
        """Leaves out the key."""
        return f"OpenAILanguageModel({self.name!r})"

    def complete(
        self, messages: Messages, *, schema: Mapping[str, Any] | None = None, max_tokens: int = MOST_TOKENS
    ) -> Completion:
        """Returns the answer, in the shape of the schema if the endpoint can, else as asked for in the prompt."""
        dialect = self._dialect
        while True:
            answer = self._ask(dialect.request(messages, schema, max_tokens))
            if not isinstance(answer, _Refused):
                # Kept only now: a prompt that is too long is refused in every dialect, and says nothing about any.
                self._dialect = dialect
                return self._as_completion(answer, messages)
            simpler = dialect.simpler(answer.said, schema is not None)
            if simpler is None:
                raise TextRefused(f"{self._host} refused the request for {self._model} with HTTP {answer.status}")
            LOGGER.info("language_model_refused", extra={"host": self._host, "format": simpler.format})
            dialect = simpler

    def _ask(self, asked: dict[str, Any]) -> Any:
        """Returns the endpoint's answer, or its refusal of the request.

        No error repeats what the endpoint said, since that may contain the key or the conversation.
        """
        client = self._client.get()
        import openai

        kind: type[ModelUnavailable] = ModelUnavailable
        try:
            return client.chat.completions.create(model=self._model, **asked)
        except openai.APIStatusError as problem:
            if problem.status_code in REFUSED_REQUEST:
                return _Refused(problem.status_code, f"{problem.param} {problem}")
            meaning = MEANINGS.get(problem.status_code, "gave no answer")
            said = f"{self._host} {meaning}: HTTP {problem.status_code} for {self._model}"
            kind = TextRefused if problem.status_code == TOO_LARGE else ModelUnavailable
        except openai.APITimeoutError:
            said = f"{self._host} gave no answer within {self._timeout:g} seconds, {self._retries + 1} times in a row"
        except openai.APIConnectionError:
            said = f"{self._host} cannot be reached, or broke off, {self._retries + 1} times in a row"
        except (openai.OpenAIError, ValueError) as problem:
            said = f"{self._host} could not be asked: {type(problem).__name__}"
        raise kind(said)

    def _as_completion(self, answer: Any, messages: Messages) -> Completion:
        try:
            text = answer.choices[0].message.content or ""
        except (AttributeError, IndexError, TypeError, KeyError):
            text = None
        if not isinstance(text, str):
            raise ModelUnavailable(f"{self._host} answered with something else than a completion")
        read = _count_of(answer, "prompt_tokens", lambda: sum(tokens.count(each["content"]) for each in messages))
        return Completion(text, read, _count_of(answer, "completion_tokens", lambda: tokens.count(text)))

    def _make_client(self) -> Any:
        try:
            import openai
        except ImportError:
            raise ModelUnavailable(
                f"a language model is asked through the openai package, which is missing: {how_to_install('openai')}"
            ) from None
        # A redirect would carry the conversation to another host.
        connections = openai.DefaultHttpxClient(
            timeout=self._timeout, follow_redirects=False, event_hooks={"request": [self._own_headers]}
        )
        return openai.OpenAI(
            base_url=self._url,
            api_key=self._key or "none",  # otherwise the client takes a key from the environment
            timeout=self._timeout,
            max_retries=self._retries,
            http_client=connections,
        )

    def _own_headers(self, request: Any) -> None:
        for name in FOREIGN_HEADERS if self._key else (*FOREIGN_HEADERS, "Authorization"):
            request.headers.pop(name, None)


@dataclass(frozen=True, slots=True)
class _Refused:
    """The endpoint does not accept the request as it is; what it `said` is analysed but never shown."""

    status: int
    said: str


class CountedModel:
    """A language model whose calls, tokens, time and cost are counted. Safe to use from many threads."""

    def __init__(
        self, model: LanguageModel, *, input_price: float | None = None, output_price: float | None = None
    ) -> None:
        """Prices are per million tokens."""
        self.model = model
        self._prices = None if input_price is None and output_price is None else (input_price or 0, output_price or 0)
        self._usage = Usage(model.name, cost=None if self._prices is None else 0.0)
        self._lock = PerProcess(threading.Lock)

    @property
    def name(self) -> str:
        """The name of the model itself."""
        return self.model.name

    @property
    def usage(self) -> Usage:
        """What was counted so far."""
        return self._usage

    def complete(
        self, messages: Messages, *, schema: Mapping[str, Any] | None = None, max_tokens: int = MOST_TOKENS
    ) -> Completion:
        """Returns the model's answer, counted; any failure of the model becomes ModelUnavailable."""
        began = time.monotonic()
        answer: Completion | None = None
        try:
            answer = ask(self.model, messages, schema=schema, max_tokens=max_tokens)
            return answer
        finally:
            self._count(answer, time.monotonic() - began)

    def _count(self, answer: Completion | None, seconds: float) -> None:
        read, written = (answer.input_tokens, answer.output_tokens) if answer else (0, 0)
        with self._lock.get():
            known = self._usage
            self._usage = replace(
                known,
                calls=known.calls + 1,
                failures=known.failures + (answer is None),
                input_tokens=known.input_tokens + read,
                output_tokens=known.output_tokens + written,
                seconds=known.seconds + seconds,
                cost=self._cost(known.input_tokens + read, known.output_tokens + written),
            )

    def _cost(self, read: int, written: int) -> float | None:
        if self._prices is None:
            return None
        return (read * self._prices[0] + written * self._prices[1]) / MILLION


def ask(
    model: LanguageModel, messages: Messages, *, schema: Mapping[str, Any] | None = None, max_tokens: int = MOST_TOKENS
) -> Completion:
    """Returns the model's answer; any failure of somebody else's model becomes ModelUnavailable."""
    try:
        answer: object = model.complete(messages, schema=schema, max_tokens=max_tokens)
    except LtstError:
        raise
    except Exception as problem:  # noqa: BLE001 - its words may hold the conversation, so only its kind is told
        failure = type(problem).__name__
    else:
        if isinstance(answer, Completion) and isinstance(answer.text, str):
            return answer
        failure = "it gave something else than a Completion"
    raise ModelUnavailable(f"the language model {model.name} failed: {failure}")


def configured(settings: Settings, given: LanguageModel | None = None) -> CountedModel | None:
    """Returns the given model, else the one of the settings, counted; None if there is neither, which is normal."""
    if given is not None:
        validate.implements(given, "language_model", LanguageModel)
    model = given
    if model is None and settings.llm_model is not None:
        if find_spec("openai") is None:  # reported now: background work would fail where nobody looks
            raise Invalid(f"LTST_LLM_MODEL is set, and the openai package is missing: {how_to_install('openai')}")
        model = OpenAILanguageModel(
            settings.llm_model,
            base_url=settings.llm_base_url,
            api_key=settings.llm_api_key,
            timeout=settings.llm_timeout,
        )
    if model is None:
        return None
    return CountedModel(model, input_price=settings.llm_input_price, output_price=settings.llm_output_price)


def host_of(url: str) -> str:
    """Returns host and port, without the user name and password that an address may hold."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:  # a port that is not a number, or half an IPv6 address
        parts, port = urlsplit(""), ""
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise Invalid("base_url must begin with http:// or https:// and a host, such as http://localhost:8080/v1")
    return parts.hostname + port


def _count_of(answer: Any, name: str, estimate: Callable[[], int]) -> int:
    """Returns what the endpoint counted, else an estimate, since not all endpoints count."""
    found = getattr(getattr(answer, "usage", None), name, None)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else estimate()
