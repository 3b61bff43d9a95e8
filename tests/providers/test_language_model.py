"""A language model behind OpenAI's protocol, played by a server on this machine."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from helpers.language_server import Close, Hang, LanguageServer, Raw, Status, language_server
from ltst import Invalid, ModelUnavailable, Settings
from ltst.providers.language import CountedModel, OpenAILanguageModel, ask, configured
from ltst.records import Completion
from ltst.support import tokens
from ltst.support.extras import how_to_install

KEY = "sk-very-secret"
TEXT = "My secret is the blue door"
MESSAGES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": TEXT}]
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


@pytest.fixture
def server() -> Iterator[LanguageServer]:
    with language_server() as played:
        yield played


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that the client makes between its attempts, without making them."""
    made: list[float] = []
    client = pytest.importorskip("openai._base_client")
    monkeypatch.setattr(client.time, "sleep", made.append)
    return made


def model(server: LanguageServer, **options) -> OpenAILanguageModel:
    return OpenAILanguageModel("small", **{"base_url": server.url, "api_key": KEY, "timeout": 5, **options})


def test_an_answer(server):
    assert model(server).complete(MESSAGES, max_tokens=7) == Completion("Hello.", 100, 20)
    asked = server.asked[0]
    assert asked.path == "/v1/chat/completions"
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.body == {"model": "small", "messages": MESSAGES, "max_tokens": 7, "temperature": 0}


def test_the_base_url_may_end_with_a_slash(server):
    assert model(server, base_url=server.url + "/").complete(MESSAGES).text == "Hello."


def test_without_a_key_none_is_sent(server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-account")
    model(server, api_key=None).complete(MESSAGES)
    assert "authorization" not in server.asked[0].headers
    assert "sk-of-another" not in repr(server.asked[0])


def test_the_clients_own_variables_are_not_used(server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_ORG_ID", "another-organization")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "another-project")
    model(server).complete(MESSAGES)
    assert "another" not in repr(server.asked[0])


def test_the_name_tells_model_and_host():
    assert OpenAILanguageModel("small").name == "small@api.openai.com"
    assert OpenAILanguageModel("small", base_url="http://user:pass@localhost:80/v1").name == "small@localhost:80"


@pytest.mark.parametrize(
    "url", ["api.example.com/v1", "ftp://host/v1", "http://", "http://host:port/v1", "http://[::1"]
)
def test_a_bad_address_is_refused(url):
    with pytest.raises(Invalid, match="http"):
        OpenAILanguageModel("small", base_url=url)


@pytest.mark.parametrize("options", [{"model": " "}, {"timeout": 0}, {"retries": -1}])
def test_bad_options_are_refused(options):
    with pytest.raises(Invalid):
        OpenAILanguageModel(**{"model": "small", **options})


def test_a_schema_is_asked_for(server):
    server.script = [{"a": 1}]
    assert model(server).complete(MESSAGES, schema=SCHEMA).text == '{"a": 1}'
    wanted = {"name": "answer", "strict": True, "schema": SCHEMA}
    assert server.asked[0].body["response_format"] == {"type": "json_schema", "json_schema": wanted}
    assert server.asked[0].body["messages"] == MESSAGES


@pytest.mark.parametrize(
    ("refused", "formats"),
    [
        ({"json_schema"}, ["json_schema", "json_object"]),
        ({"json_schema", "json_object"}, ["json_schema", "json_object", None]),
    ],
)
def test_a_refused_format_is_asked_for_in_words_and_remembered(server, refused, formats):
    server.refused_formats = frozenset(refused)
    small = model(server)
    small.complete(MESSAGES, schema=SCHEMA)
    assert [asked.format for asked in server.asked] == formats
    assert '"additionalProperties": false' in server.asked[-1].system
    assert server.asked[-1].system.startswith("Be brief.")
    assert [each["role"] for each in server.asked[-1].body["messages"]] == ["system", "user"]
    small.complete(MESSAGES, schema=SCHEMA)
    small.complete(MESSAGES)
    assert [asked.format for asked in server.asked] == [*formats, formats[-1], None]
    assert server.asked[-1].body["messages"] == MESSAGES


def test_the_schema_in_words_needs_no_system_message(server):
    server.refused_formats = frozenset({"json_schema"})
    model(server).complete(MESSAGES[1:], schema=SCHEMA)
    assert [each["role"] for each in server.asked[-1].body["messages"]] == ["system", "user"]


def test_a_request_that_is_refused_in_every_form_teaches_nothing(server):
    small = model(server)
    server.script = [Status(400, {"error": {"message": "the prompt is too long"}})] * 3
    with pytest.raises(ModelUnavailable, match="refused the request for small with HTTP 400"):
        small.complete(MESSAGES, schema=SCHEMA)
    small.complete(MESSAGES, schema=SCHEMA)
    assert server.asked[-1].format == "json_schema"
    assert len(server.asked) == 4


def test_newer_models_want_other_parameters(server):
    server.script = [
        Status(400, {"error": {"message": "use max_completion_tokens", "param": "max_tokens"}}),
        Status(400, {"error": {"message": "temperature does not support 0", "param": "temperature"}}),
    ]
    small = model(server)
    small.complete(MESSAGES, schema=SCHEMA, max_tokens=9)
    small.complete(MESSAGES, schema=SCHEMA, max_tokens=9)
    assert len(server.asked) == 4
    for asked in server.asked[2:]:
        assert asked.body["max_completion_tokens"] == 9
        assert asked.format == "json_schema"
        assert not {"max_tokens", "temperature"} & asked.body.keys()


@pytest.mark.parametrize("trouble", [Status(500), Status(503, "x"), Status(429), Close()])
def test_it_is_asked_again(server, no_pauses, trouble):
    server.script = [trouble, trouble]
    assert model(server).complete(MESSAGES).text == "Hello."
    assert len(server.asked) == 3
    assert 0 < no_pauses[0] < no_pauses[1] < 5


def test_it_waits_as_long_as_it_is_told(server, no_pauses):
    server.script = [Status(429, "busy", {"Retry-After": "3"})]
    model(server).complete(MESSAGES)
    assert no_pauses == [3]


@pytest.mark.parametrize(
    ("trouble", "told"),
    [
        (Status(500, {"error": TEXT}), "gave no answer: HTTP 500 for small"),
        (Status(429, {"error": KEY}), "too busy, or the quota"),
        (Close(), "cannot be reached, or broke off, 3 times"),
    ],
)
def test_it_gives_up_in_the_end(server, trouble, told):
    server.otherwise = trouble
    with pytest.raises(ModelUnavailable, match=told):
        model(server).complete(MESSAGES)
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("status", "told"),
    [(401, "LTST_LLM_API_KEY"), (403, "LTST_LLM_API_KEY"), (404, "LTST_LLM_MODEL"), (413, "too large")],
)
def test_a_refusal_is_final(server, status, told):
    server.otherwise = Status(status, {"error": "no"})
    with pytest.raises(ModelUnavailable, match=told):
        model(server).complete(MESSAGES)
    assert len(server.asked) == 1


def test_a_silent_endpoint_is_not_waited_for(server):
    server.otherwise = Hang()
    began = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"no answer within 0\.2 seconds, 2 times"):
        model(server, timeout=0.2, retries=1).complete(MESSAGES)
    assert time.monotonic() - began < 60


def test_an_endpoint_that_is_not_there():
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1:9 cannot be reached"):
        OpenAILanguageModel("small", base_url="http://127.0.0.1:9/v1", api_key=KEY).complete(MESSAGES)


def test_a_redirect_is_not_followed(server):
    for status in (301, 302, 307, 308):
        server.script = [Status(status, "", {"Location": server.url.replace("127.0.0.1", "localhost")})]
        with pytest.raises(ModelUnavailable):
            model(server).complete(MESSAGES)
    assert len(server.asked) == 4


@pytest.mark.parametrize(
    "body",
    [
        b"<html>", b"", b"\xff\xfe", b"null", b"[]", b'"text"', b"{}", b'{"choices": null}', b'{"choices": []}',
        b'{"choices": [1]}', b'{"choices": [{}]}', b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": 7}}]}', b'{"choices": [{"message": {"content": [1]}}]}',
        b'{"choices": {}}',
    ],
)  # fmt: skip
def test_a_malformed_answer_is_refused(server, body):
    server.otherwise = Raw(body)
    with pytest.raises(ModelUnavailable):
        model(server).complete(MESSAGES)


def test_an_answer_without_words_is_an_empty_text(server):
    server.script = [Raw(b'{"choices": [{"message": {"content": null, "refusal": "I cannot"}}]}')]
    assert model(server).complete(MESSAGES).text == ""


def test_tokens_are_estimated_where_the_endpoint_does_not_count(server):
    server.counts_tokens = False
    assert model(server).complete(MESSAGES) == Completion(
        "Hello.", sum(tokens.count(each["content"]) for each in MESSAGES), tokens.count("Hello.")
    )


@pytest.mark.parametrize("usage", [b"null", b"{}", b'{"prompt_tokens": -1, "completion_tokens": "many"}', b"7"])
def test_odd_counts_are_estimated(server, usage):
    server.script = [Raw(b'{"choices": [{"message": {"content": "Hello."}}], "usage": ' + usage + b"}")]
    assert model(server).complete(MESSAGES).output_tokens == tokens.count("Hello.")


def test_neither_the_key_nor_the_text_is_told(server, caplog):
    caplog.set_level(logging.DEBUG, "ltst")
    small = model(server, retries=0)
    told = [repr(small)]
    echo = {"error": {"message": f"bad request of {KEY}: {TEXT}"}}
    troubles = [Status(code, echo) for code in (400, 401, 403, 404, 409, 413, 422, 429, 500)]
    for trouble in [*troubles, Raw(f"{KEY} {TEXT}".encode())]:
        server.otherwise = trouble
        with pytest.raises(ModelUnavailable) as caught:
            small.complete(MESSAGES, schema=SCHEMA)
        told.append(repr(caught.value))
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
    told.append(repr([vars(record) for record in caplog.records]))
    assert KEY not in "".join(told)
    assert "blue door" not in "".join(told)


def test_a_key_that_cannot_be_sent_is_not_told(server):
    with pytest.raises(ModelUnavailable) as caught:
        model(server, api_key="sk-ключ\n").complete(MESSAGES)
    assert "ключ" not in str(caught.value)


def test_the_client_is_opened_once_for_all_threads(server):
    small = model(server)
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: small.complete(MESSAGES).text, range(16))]
    assert answers == ["Hello."] * 16


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(ModelUnavailable, match=re.escape(how_to_install("openai"))):
        OpenAILanguageModel("small").complete(MESSAGES)


def test_the_package_is_not_loaded_before_it_is_needed():
    program = (
        "import sys; from ltst import Settings; from ltst.providers.language import configured\n"
        "assert configured(Settings(llm_model='small')); print('openai' in sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "False"


# What is counted


class Played:
    """A model of the caller's own."""

    name = "own"

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def complete(self, messages, *, schema=None, max_tokens=1024):
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_calls_tokens_and_cost_are_counted(server):
    counted = CountedModel(model(server), input_price=2.0, output_price=10.0)
    assert (counted.usage.calls, counted.usage.cost) == (0, 0.0)
    counted.complete(MESSAGES)
    counted.complete(MESSAGES)
    server.otherwise = Status(401)
    with pytest.raises(ModelUnavailable):
        counted.complete(MESSAGES)
    usage = counted.usage
    assert (usage.calls, usage.failures, usage.input_tokens, usage.output_tokens) == (3, 1, 200, 40)
    assert usage.cost == pytest.approx((200 * 2 + 40 * 10) / 1e6)
    assert 0 < usage.seconds < 10
    assert usage.model == counted.name == f"small@{server.url[7:-3]}"


def test_without_prices_there_is_no_cost():
    counted = CountedModel(Played(Completion("a", 1, 1)))
    counted.complete(MESSAGES)
    assert counted.usage.cost is None


def test_one_price_is_enough():
    counted = CountedModel(Played(Completion("a", 5, 1)), input_price=1_000_000)
    counted.complete(MESSAGES)
    assert counted.usage.cost == 5.0


def test_counting_loses_nothing_between_threads():
    counted = CountedModel(Played(Completion("a", 2, 1)))
    threads = [threading.Thread(target=lambda: [counted.complete(MESSAGES) for _ in range(200)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (counted.usage.calls, counted.usage.input_tokens) == (800, 1600)


@pytest.mark.parametrize("answer", [RuntimeError(TEXT), KeyError(TEXT), "text", None, Completion(None, 0, 0)])
def test_a_model_of_ones_own_may_fail_in_its_own_way(answer):
    with pytest.raises(ModelUnavailable, match="own failed") as caught:
        ask(Played(answer), MESSAGES)
    assert "blue door" not in str(caught.value)
    with pytest.raises(ModelUnavailable):
        CountedModel(Played(answer)).complete(MESSAGES)


# Settings


def test_no_model_is_normal():
    assert configured(Settings()) is None
    assert configured(Settings(llm_api_key=KEY)) is None


def test_a_given_model_comes_first():
    own = Played(Completion("a", 1, 1))
    counted = configured(Settings(llm_model="small", llm_input_price=1), own)
    assert counted.model is own
    assert counted.usage.cost == 0.0


def test_the_model_of_the_environment(server):
    environment = {
        "LTST_LLM_MODEL": "small",
        "LTST_LLM_BASE_URL": server.url,
        "LTST_LLM_API_KEY": KEY,
        "LTST_LLM_TIMEOUT": "2.5",
        "LTST_LLM_INPUT_PRICE": "0.15",
        "LTST_LLM_OUTPUT_PRICE": "0.6",
    }
    settings = Settings.from_environment(environment)
    counted = configured(settings)
    assert counted.complete(MESSAGES).text == "Hello."
    assert counted.usage.cost == pytest.approx((100 * 0.15 + 20 * 0.6) / 1e6)
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert settings.llm_timeout == 2.5
    assert KEY not in repr(settings)


def test_the_default_address_is_openais():
    assert configured(Settings(llm_model="small")).name == "small@api.openai.com"


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"llm_base_url": "http://localhost/v1"}, "LTST_LLM_MODEL"),
        ({"llm_model": "small", "llm_base_url": "localhost"}, "http://"),
        ({"llm_model": "small", "llm_base_url": "http://[::1"}, "http://"),
        ({"llm_model": " "}, "llm_model"),
        ({"llm_timeout": 0}, "llm_timeout"),
        ({"llm_timeout": float("nan")}, "llm_timeout"),
        ({"llm_input_price": -1}, "llm_input_price"),
        ({"llm_output_price": float("inf")}, "llm_output_price"),
        ({"llm_output_price": True}, "llm_output_price"),
    ],
)
def test_bad_settings_are_refused(settings, told):
    with pytest.raises(Invalid, match=told):
        Settings(**settings)


@pytest.mark.parametrize("variable", ["LTST_LLM_TIMEOUT", "LTST_LLM_INPUT_PRICE", "LTST_LLM_OUTPUT_PRICE"])
def test_a_variable_that_is_no_number_is_named(variable):
    with pytest.raises(Invalid, match=variable):
        Settings.from_environment({variable: "soon"})
