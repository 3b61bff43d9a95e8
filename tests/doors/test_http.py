"""The server: who is let in, what is refused and how it is told, and that nobody reaches another's memory."""

from __future__ import annotations

import base64
import hashlib
import hmac
import itertools
import json
import re
import shlex
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import jwt
import psycopg
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from fastapi.routing import APIRoute
from jwt.algorithms import RSAAlgorithm

import ltst
from helpers.household import furnish
from helpers.probes import cloned, holding, superuser
from helpers.serving import Listening, listening
from helpers.waiting import eventually
from ltst import Memory, Settings
from ltst.db.embedded import EmbeddedServer
from ltst.doors.cli.serve import name_to_call
from ltst.doors.http import problems
from ltst.doors.http.app import ROUTERS
from ltst.support.logs import PLAIN_FIELDS
from ltst.support.network import is_loopback

ANA, EVE = "ana", "eve"
MARK = "ANAS-OWN-WORDS"
MISSING = "01900000-0000-7000-8000-000000000000"
PUBLIC = ("/healthz", "/readyz")
# Their errors come in OpenAI's words.
OPENAI = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/models", "/v1/models/{model_id}")
SECRET = "a secret of the issuer, long enough for everyone"
ROUTES = [
    (method, route.path_format)
    for router in ROUTERS
    for route in router.routes
    if isinstance(route, APIRoute)
    for method in sorted(route.methods)
]

Call = Callable[..., httpx.Response]


def caller(door: Listening) -> Iterator[Call]:
    """Requests to a server, with a key if one is given."""
    with httpx.Client(base_url=door.url, timeout=60) as client:

        def call(method: str, path: str, *, key: str | None = None, **more: Any) -> httpx.Response:
            headers = {**({"Authorization": f"Bearer {key}"} if key else {}), **more.pop("headers", {})}
            return client.request(method, path, headers=headers, **more)

        yield call


def problem(response: httpx.Response, status: int) -> dict[str, Any]:
    """What a response tells of a problem, which has one shape everywhere."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    told: dict[str, Any] = response.json()
    assert {"type", "title", "status", "detail", "request_id"} <= told.keys()
    assert told["type"].startswith("urn:ltst:")
    assert (told["status"], told["request_id"]) == (status, response.headers["x-request-id"])
    return told


def filled(path: str, values: dict[str, str] | None = None) -> str:
    return re.sub(r"\{(\w+)\}", lambda name: (values or {}).get(name[1], MISSING), path)


@pytest.fixture(scope="module")
def place(server: EmbeddedServer, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    with cloned(server, template) as url:
        yield Settings(worker=False, database_url=url, home=tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def memory(place: Settings) -> Iterator[Memory]:
    with Memory(settings=place) as opened:
        yield opened


@pytest.fixture(scope="module")
def keys(memory: Memory) -> dict[str, str]:
    """A key for each of two users, and an admin's."""
    made = {name: memory.keys.create(name).secret for name in (ANA, EVE)}
    return {name: str(secret) for name, secret in {**made, "admin": memory.keys.create(admin=True).secret}.items()}


@pytest.fixture(scope="module")
def ids(memory: Memory) -> dict[str, Any]:
    """Ana has something of everything."""
    return furnish(memory.user(ANA), MARK)


@pytest.fixture(scope="module")
def door(place: Settings, keys: dict[str, str]) -> Iterator[Listening]:
    with listening(place) as answering:
        yield answering


@pytest.fixture(scope="module")
def call(door: Listening) -> Iterator[Call]:
    yield from caller(door)


@contextmanager
def opened(settings: Settings) -> Iterator[Call]:
    """A server of one's own."""
    with listening(settings) as answering:
        yield from caller(answering)


# --- keys


def test_of_a_key_only_its_hash_is_stored(memory: Memory, place: Settings, call: Call, keys: dict[str, str]) -> None:
    made = call("POST", "/v1/admin/keys", key=keys["admin"], json={"user_id": "zoe", "name": "her phone"})
    assert made.status_code == 201
    secret = made.json()["secret"]
    assert call("GET", "/v1/profile", key=secret).json()["user_id"] == "zoe"
    with superuser(str(place.database_url)) as connection:
        assert holding(connection, secret) == set()
        assert holding(connection, hashlib.sha256(secret.encode()).hexdigest()) == {"api_keys.key_hash"}


def test_a_secret_is_shown_once(call: Call, keys: dict[str, str]) -> None:
    listed = call("GET", "/v1/admin/keys", key=keys["admin"])
    assert {each["user_id"] for each in listed.json()["items"]} >= {ANA, EVE, "system"}
    assert not any(secret in listed.text for secret in keys.values())
    assert not any("secret" in each for each in listed.json()["items"])


def test_a_revoked_key_opens_nothing_from_then_on(call: Call, keys: dict[str, str]) -> None:
    made = call("POST", "/v1/admin/keys", key=keys["admin"], json={"user_id": "zoe"}).json()
    assert call("GET", "/v1/profile", key=made["secret"]).status_code == 200
    path = f"/v1/admin/keys/{made['key_id']}"
    assert call("DELETE", path, key=keys["admin"]).status_code == 204
    problem(call("GET", "/v1/profile", key=made["secret"]), 401)
    problem(call("DELETE", path, key=keys["admin"]), 404)


def test_a_users_key_is_for_that_user_alone(call: Call, keys: dict[str, str]) -> None:
    own = call("GET", "/v1/profile", key=keys[EVE], headers={"X-User-Id": EVE})
    assert own.json()["user_id"] == EVE
    problem(call("GET", "/v1/profile", key=keys[EVE], headers={"X-User-Id": ANA}), 403)


def test_an_admins_key_acts_for_the_user_that_is_named(call: Call, keys: dict[str, str]) -> None:
    assert "X-User-Id" in problem(call("GET", "/v1/profile", key=keys["admin"]), 422)["detail"]
    named = "naïve ☕/..%2F"
    answer = call("GET", "/v1/profile", key=keys["admin"], headers={"X-User-Id": named.encode()})
    assert answer.json()["user_id"] == named
    problem(call("GET", "/v1/profile", key=keys["admin"], headers={"X-User-Id": b"\xff"}), 422)
    problem(call("GET", "/v1/profile", key=keys["admin"], headers={"X-User-Id": "system"}), 422)


@pytest.mark.parametrize(("method", "path"), [each for each in ROUTES if each[1].startswith(("/v1/admin", "/metrics"))])
def test_only_an_admins_key_opens_what_is_for_all(call: Call, keys: dict[str, str], method: str, path: str) -> None:
    problem(call(method, filled(path), key=keys[EVE], json={"user_id": EVE} if method == "POST" else None), 403)


def test_a_key_may_come_in_a_header_of_its_own(call: Call, keys: dict[str, str]) -> None:
    assert call("GET", "/v1/profile", headers={"X-API-Key": keys[EVE]}).json()["user_id"] == EVE


@pytest.mark.parametrize(("method", "path"), [each for each in ROUTES if each[1] not in PUBLIC])
def test_without_a_key_nothing_is_answered(call: Call, method: str, path: str) -> None:
    for headers in ({}, {"X-User-Id": ANA}, {"Authorization": "Bearer ltst_guessed"}, {"X-API-Key": "guessed"}):
        answer = call(method, filled(path), headers=headers, content=b"[" * 100)
        if path in OPENAI:
            assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized"), answer.text
        else:
            problem(answer, 401)
        assert answer.headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize("path", [*PUBLIC, "/openapi.json", "/docs"])
def test_what_watches_and_what_explains_needs_no_key(call: Call, path: str) -> None:
    assert call("GET", path).status_code == 200


# --- tokens


@pytest.fixture(scope="module")
def private() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture(scope="module")
def jwks(private: rsa.RSAPrivateKey) -> str:
    public = RSAAlgorithm.to_jwk(private.public_key(), as_dict=True)
    return json.dumps({"keys": [{**public, "kid": "first", "use": "sig", "alg": "RS256"}]})


@pytest.fixture(scope="module")
def trusting(place: Settings, jwks: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Call]:
    """A server that takes tokens, of either kind, that are meant for it."""
    file = tmp_path_factory.mktemp("keys") / "jwks.json"
    file.write_text(jwks)
    with opened(
        replace(place, jwt_secret=SECRET, jwt_keys=str(file), jwt_audience="ltst", jwt_issuer="https://issuer.example")
    ) as call:
        yield call


def claims(**more: Any) -> dict[str, Any]:
    told = {"sub": EVE, "aud": "ltst", "iss": "https://issuer.example", "exp": time.time() + 300, **more}
    return {name: value for name, value in told.items() if value is not None}


def test_a_token_names_the_user(trusting: Call, private: rsa.RSAPrivateKey) -> None:
    for key, algorithm, headers in [
        (SECRET, "HS256", {}),
        (private, "RS256", {"kid": "first"}),
        (private, "RS256", {}),
    ]:
        token = jwt.encode(claims(), key, algorithm, headers)  # type: ignore[arg-type]
        assert trusting("GET", "/v1/profile", key=token).json()["user_id"] == EVE
        problem(trusting("GET", "/v1/profile", key=token, headers={"X-User-Id": ANA}), 403)
        problem(trusting("GET", "/v1/admin/keys", key=token), 403)


def test_where_tokens_are_taken_nobody_comes_without(trusting: Call, keys: dict[str, str]) -> None:
    problem(trusting("GET", "/v1/profile"), 401)
    assert trusting("GET", "/v1/profile", key=keys[EVE]).status_code == 200


LONG_AGO, LONG_FROM_NOW = 946_684_800, 4_102_444_800


@pytest.mark.parametrize(
    "wrong",
    [
        {"exp": LONG_AGO},
        {"exp": None},
        {"nbf": LONG_FROM_NOW},
        {"aud": "others"},
        {"aud": None},
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"sub": None},
    ],
    ids=str,
)
def test_a_token_with_a_wrong_claim_is_refused(trusting: Call, private: rsa.RSAPrivateKey, wrong: Any) -> None:
    problem(trusting("GET", "/v1/profile", key=jwt.encode(claims(**wrong), SECRET, "HS256")), 401)
    problem(trusting("GET", "/v1/profile", key=jwt.encode(claims(**wrong), private, "RS256")), 401)


def signed_by_hand(header: dict[str, Any], secret: bytes) -> str:
    """A token as a forger makes it: libraries refuse to."""
    parts = [base64.urlsafe_b64encode(json.dumps(each).encode()).rstrip(b"=") for each in (header, claims())]
    signature = hmac.new(secret, b".".join(parts), hashlib.sha256).digest()
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


def test_a_public_key_is_no_secret_to_sign_with(trusting: Call, private: rsa.RSAPrivateKey, jwks: str) -> None:
    public = private.public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    for secret in (pem, pem.strip(), der, jwks.encode(), b""):
        for header in ({"alg": "HS256"}, {"alg": "HS256", "kid": "first"}, {"alg": "RS256", "kid": "first"}):
            problem(trusting("GET", "/v1/profile", key=signed_by_hand(header, secret)), 401)


@pytest.mark.parametrize("algorithm", ["none", "None", "HS512", "RS512", "PS256", "ES256", "", None, 5])
def test_only_two_ways_of_signing_are_accepted(trusting: Call, algorithm: Any) -> None:
    problem(trusting("GET", "/v1/profile", key=signed_by_hand({"alg": algorithm}, SECRET.encode())), 401)


def test_what_is_no_token_is_refused(trusting: Call, private: rsa.RSAPrivateKey) -> None:
    stranger = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    unsigned = jwt.encode(claims(), None, "none")  # type: ignore[arg-type]
    other = jwt.encode(claims(), stranger, "RS256", {"kid": "first"})
    unknown = jwt.encode(claims(), private, "RS256", {"kid": "second"})
    for token in ("..", "a.b.c", "é.é.é".encode().decode("latin-1"), unsigned, other, unknown):
        problem(trusting("GET", "/v1/profile", headers={"Authorization": f"Bearer {token}".encode()}), 401)


def test_public_keys_may_be_at_an_address(place: Settings, private: rsa.RSAPrivateKey, jwks: str) -> None:
    class Issuer(BaseHTTPRequestHandler):
        published = jwks.replace("first", "an older one")

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(type(self).published.encode())

        def log_message(self, format: str, *arguments: Any) -> None:
            """Quiet."""

    with HTTPServer(("127.0.0.1", 0), Issuer) as issuer:
        threading.Thread(target=issuer.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{issuer.server_port}/jwks.json"
        with opened(replace(place, jwt_keys=address)) as call:
            token = jwt.encode(claims(aud=None), private, "RS256", {"kid": "first"})
            problem(call("GET", "/v1/profile", key=token), 401)
            Issuer.published = jwks
            time.sleep(1.1)  # so often are keys that are not known asked for
            assert call("GET", "/v1/profile", key=token).json()["user_id"] == EVE
            problem(call("GET", "/v1/profile", key=signed_by_hand({"alg": "HS256"}, SECRET.encode())), 401)
        issuer.shutdown()
    with opened(replace(place, jwt_keys=address)) as call:
        problem(call("GET", "/v1/profile", key=token), 503)


# --- hosts, pages, and a server without keys


def test_another_hosts_name_is_refused(call: Call, door: Listening, keys: dict[str, str]) -> None:
    port = door.url.rsplit(":", 1)[1]
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "[", ""):
        problem(call("GET", "/v1/profile", key=keys[EVE], headers={"Host": host}), 421)
        assert call("GET", "/healthz", headers={"Host": host}).status_code == 200
    for host in ("localhost", f"LOCALHOST:{port}", f"[::1]:{port}"):
        assert call("GET", "/v1/profile", key=keys[EVE], headers={"Host": host}).status_code == 200


def test_pages_of_others_are_refused(call: Call, door: Listening, keys: dict[str, str]) -> None:
    for origin in ("https://evil.example", "null", "http://[", f"{door.url}.evil.example", "http://localhost:1"):
        problem(call("GET", "/v1/profile", key=keys[EVE], headers={"Origin": origin}), 403)
        problem(call("OPTIONS", "/v1/profile", headers={"Origin": origin}), 403)
    assert call("GET", "/v1/profile", key=keys[EVE], headers={"Origin": door.url}).status_code == 200


def test_hosts_and_pages_can_be_let_in(place: Settings, keys: dict[str, str]) -> None:
    page = "https://chat.example.com"
    with opened(replace(place, allowed_hosts=("memory.example",), allowed_origins=(page,))) as call:
        answer = call("GET", "/v1/profile", key=keys[EVE], headers={"Host": "memory.example", "Origin": page})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, page)
        asked = {"Origin": page, "Access-Control-Request-Method": "PUT"}
        assert call("OPTIONS", "/v1/facts/home", headers=asked).status_code == 200
        problem(call("GET", "/v1/profile", key=keys[EVE], headers={"Host": "other.example"}), 421)


def test_on_this_machine_a_server_without_keys_is_open_until_the_first_key(
    server: EmbeddedServer, template: str, tmp_path: Path
) -> None:
    with cloned(server, template) as url, opened(Settings(worker=False, database_url=url, home=tmp_path)) as call:
        assert call("GET", "/v1/profile").json()["user_id"] == "local"
        assert call("GET", "/v1/profile", headers={"X-User-Id": "ann"}).json()["user_id"] == "ann"
        assert call("GET", "/v1/profile", headers={"X-User-Agent": "curl"}).json()["user_id"] == "local"
        for mistaken in ("X-User", "User-Id", "x_user_id", "X-LTST-User"):
            refused = problem(call("GET", "/v1/profile", headers={mistaken: "ann"}), 422)["detail"]
            assert refused == f"the header {mistaken.lower()} is not read: name the user in X-User-Id"
        problem(call("GET", "/v1/profile", headers={"Host": "rebound.example"}), 421)
        made = call("POST", "/v1/admin/keys", json={"admin": True}).json()
        time.sleep(1.1)  # so often is it looked for
        problem(call("GET", "/v1/profile"), 401)
        assert call("GET", "/v1/admin/keys", key=made["secret"]).status_code == 200
        call("DELETE", f"/v1/admin/keys/{made['key_id']}", key=made["secret"])
        time.sleep(1.1)
        problem(call("GET", "/v1/profile"), 401)


def test_a_server_that_others_can_reach_does_not_start_without_keys(database_url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ltst.doors.cli.main", "serve", "--host", "0.0.0.0", "--port", "0"]
    environment = {"DATABASE_URL": database_url, "LTST_HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1
    assert "no key is set up" in ended.stderr and "ltst keys create" in ended.stderr


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        *(("127.0.0.1", "localhost"), ("localhost", "localhost"), ("0.0.0.0", "localhost"), ("::", "localhost")),
        *(("[::]", "localhost"), ("192.0.2.7", "192.0.2.7"), ("2001:db8::7", "[2001:db8::7]"), ("box.lan", "box.lan")),
    ],
    ids=str,
)
def test_a_server_is_called_by_a_name_that_leads_to_it(host: str, shown: str) -> None:
    assert name_to_call(host, is_loopback(host)) == shown


def test_what_a_server_that_others_can_reach_tells_to_try_works(database_url: str, tmp_path: Path) -> None:
    with Memory(settings=Settings(worker=False, database_url=database_url, home=tmp_path)) as memory:
        key = str(memory.keys.create("piyush").secret)
    command = [sys.executable, "-m", "ltst.doors.cli.main", "serve", "--host", "0.0.0.0", "--port", "0"]
    environment = {"DATABASE_URL": database_url, "LTST_HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            shown = "".join(itertools.takewhile(lambda line: "Ctrl-C" not in line, process.stdout))
            replies = [_curled(line.replace("YOUR_KEY", key)) for line in shown.split("  curl -s ")[1:]]
        finally:
            process.terminate()
    assert re.search(r"listens on 0\.0\.0\.0:\d+", shown)
    assert "LTST_ALLOWED_HOSTS" in shown
    assert "name: Piyush" in replies[0] and "Your home is Lisbon" in replies[1]


def _curled(line: str) -> str:
    """The reply to what a line asks curl for."""
    url, *words = shlex.split(line.replace("\\\n", ""))
    given = [*zip(words[::2], words[1::2], strict=True)]
    headers = dict(value.split(": ") for option, value in given if option == "-H")
    with httpx.Client(trust_env=False, timeout=60) as client:
        answer = client.post(url, headers=headers, content=dict(given)["-d"])
    assert answer.status_code == 200, answer.text
    return str(answer.json()["reply"])


# --- requests


def test_a_request_keeps_its_id_or_gets_one(call: Call, keys: dict[str, str]) -> None:
    def id_of(status: int, path: str = "/v1/profile", **headers: str) -> str:
        answer = call("GET", path, key=keys[EVE], headers=headers)
        assert answer.status_code == status
        return str(answer.headers["x-request-id"])

    assert id_of(200, **{"X-Request-Id": "given:1.2-3_4"}) == "given:1.2-3_4"
    assert id_of(404, "/v1/facts/none", **{"X-Request-Id": "given"}) == "given"
    assert id_of(421, **{"X-Request-Id": "given", "Host": "evil.example"}) == "given"
    for bad in ("a b", "x" * 129, "<script>", ""):
        assert id_of(200, **{"X-Request-Id": bad}) != bad
    assert id_of(200) != id_of(200)


@pytest.mark.parametrize("said", [True, False], ids=["said", "unsaid"])
def test_a_body_has_a_limit_whether_it_says_its_length_or_not(
    place: Settings, keys: dict[str, str], said: bool
) -> None:
    with opened(replace(place, max_body_bytes=2000)) as call:

        def sent(size: int) -> httpx.Response:
            body = json.dumps({"content": "x" * (size - 15)}).encode()
            parts = body if said else (body[start : start + 100] for start in range(0, len(body), 100))
            return call(
                "POST", "/v1/entries", key=keys[EVE], content=parts, headers={"Content-Type": "application/json"}
            )

        assert sent(2000).status_code == 201
        assert "2,000 bytes" in problem(sent(2001), 413)["detail"]
        file = {"Content-Type": "text/plain"}
        parts = (b"x" * 1500 for _ in range(2))
        problem(call("POST", "/v1/documents/file", key=keys[EVE], content=parts, headers=file), 413)


@pytest.mark.parametrize(
    ("body", "kind", "statuses"),
    [
        (b"{", "application/json", {422}),
        (b"", "application/json", {422}),
        (b"null", "application/json", {422}),
        (b"\xff\xfe", "application/json", {400, 422}),
        (b"[" * 100_000, "application/json", {400, 422}),
        (b'{"content": "\\ud800"}', "application/json", {422}),
        (b'{"content": "\\u0000"}', "application/json", {422}),
        (b'{"content": "a", "importance": NaN}', "application/json", {422}),
        (b'{"content": "a", "importance": 1e999}', "application/json", {422}),
        (b'{"content": "a", "metadata": {"a": NaN}}', "application/json", {422}),
        (b'{"content": "a", "metadata": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}", "application/json", {422, 201}),
        (b'{"content": "a", "unknown": 1}', "application/json", {422}),
        (b'{"content": "a", "occurred_at": 1700000000}', "application/json", {422}),
        (b'{"content": "a", "occurred_at": "1700000000"}', "application/json", {422}),
        (b'{"content": "a", "occurred_at": "2020-01-01T00:00:00"}', "application/json", {422}),
        (b'{"content": "a"}', "text/plain", {422}),
        (b"content=a", "application/x-www-form-urlencoded", {422}),
    ],
)
def test_a_body_that_cannot_be_read_is_refused(
    call: Call, keys: dict[str, str], body: bytes, kind: str, statuses: set[int]
) -> None:
    answer = call(
        "POST", "/v1/entries", key=keys["admin"], content=body, headers={"Content-Type": kind, "X-User-Id": "z"}
    )
    assert answer.status_code in statuses, answer.text
    if answer.is_error:
        problem(answer, answer.status_code)


@pytest.mark.parametrize("path", ["/v1/facts/%ff", "/v1/facts/%00", "/v1/facts/%20", "/v1/facts/" + "x" * 256])
def test_a_path_that_names_nothing_possible_is_refused(call: Call, keys: dict[str, str], path: str) -> None:
    problem(call("GET", path, key=keys[EVE]), 400 if "ff" in path else 422)


@pytest.mark.parametrize(
    "name", ["a/b", ".", "..", "../../v1/admin/keys", "%2F", "naïve ☕", "👩‍👩‍👧", "a?b#c", "a b", "\\", "'\";--"]
)
def test_any_name_can_stand_in_a_path(call: Call, keys: dict[str, str], name: str) -> None:
    from behaviour.http import segment

    path = f"/v1/facts/{segment(name)}"
    assert call("PUT", path, key=keys[EVE], json={"value": name}).json()["fact_key"] == name
    assert call("GET", path, key=keys[EVE]).json()["fact_value"] == name
    assert call("DELETE", path, key=keys[EVE]).status_code == 204


def test_an_unknown_path_and_a_wrong_method_are_told_alike(call: Call, keys: dict[str, str]) -> None:
    problem(call("GET", "/nowhere", key=keys[EVE]), 404)
    assert call("PATCH", "/v1/profile", key=keys[EVE]).headers["allow"] == "GET"
    assert call("PATCH", "/v1/facts/home", key=keys[EVE]).headers["allow"] == "DELETE, GET, PUT"
    assert call("PUT", "/v1/documents/file", key=keys[EVE]).headers["allow"] == "POST"
    problem(call("PATCH", "/v1/profile", key=keys[EVE]), 405)


# --- once, and page by page


@pytest.fixture
def as_someone(call: Call, keys: dict[str, str]) -> Call:
    """Requests of a user whom nobody else has touched."""
    user_id = f"someone-{uuid.uuid4().hex}"

    def ask(method: str, path: str, **more: Any) -> httpx.Response:
        headers = {"X-User-Id": user_id, **more.pop("headers", {})}
        return call(method, path, key=keys["admin"], headers=headers, **more)

    return ask


@pytest.mark.parametrize(
    ("path", "body", "count"),
    [
        ("/v1/sessions/s/messages", {"role": "user", "content": "hello"}, 1),
        ("/v1/sessions/s/messages/batch", {"messages": [{"role": "user", "content": "hello"}] * 3}, 3),
        ("/v1/sessions/s/interactions", {"user_msg": "why?", "ai_msg": "because"}, 2),
        ("/api/chat", {"message": "hello", "chat_id": "s"}, 2),
    ],
)
def test_a_request_with_a_key_has_its_effect_once(as_someone: Call, path: str, body: Any, count: int) -> None:
    first, again = (as_someone("POST", path, json=body, headers={"Idempotency-Key": "k-1"}) for _ in range(2))
    assert first.status_code == again.status_code in (200, 201)
    assert first.json() == again.json()
    assert len(as_someone("GET", "/v1/sessions/s/messages").json()["items"]) == count
    as_someone("POST", path, json=body, headers={"Idempotency-Key": "k-2"})
    assert len(as_someone("GET", "/v1/sessions/s/messages").json()["items"]) == 2 * count


def test_another_request_under_the_same_key_is_a_conflict(as_someone: Call) -> None:
    for status, content in ((201, "one"), (409, "two")):
        said = {"role": "user", "content": content}
        answer = as_someone("POST", "/v1/sessions/s/messages", json=said, headers={"Idempotency-Key": "k"})
        assert answer.status_code == status
    problem(
        as_someone("POST", "/api/chat", json={"message": "a", "chat_id": "s"}, headers={"Idempotency-Key": "k"}), 409
    )
    problem(as_someone("POST", "/api/chat", json={"message": "a"}, headers={"Idempotency-Key": "é".encode()}), 422)


def test_a_chat_without_an_id_is_begun_once_per_key(as_someone: Call) -> None:
    asked = [
        as_someone("POST", "/api/chat", json={"message": "hi"}, headers={"Idempotency-Key": "k"}) for _ in range(2)
    ]
    assert asked[0].json() == asked[1].json()
    assert len(as_someone("GET", "/v1/sessions").json()["items"]) == 1


def test_a_fork_with_a_key_is_made_once(as_someone: Call) -> None:
    as_someone("POST", "/v1/sessions/s/messages", json={"role": "user", "content": "hello"})
    made = [as_someone("POST", "/v1/sessions/s/fork", json={}, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert made[0].json() == made[1].json()
    assert made[0].json() != as_someone("POST", "/v1/sessions/s/fork", json={}).json()
    assert len(as_someone("GET", "/v1/sessions").json()["items"]) == 3


@pytest.mark.parametrize("path", ["/v1/sessions", "/v1/sessions/s0/messages", "/v1/entries", "/v1/documents"])
def test_a_list_is_read_page_by_page(as_someone: Call, path: str) -> None:
    for number in range(3):
        said = {"role": "user", "content": f"{number}"}
        as_someone("POST", f"/v1/sessions/s{number}/messages", json=said)
        as_someone("POST", "/v1/sessions/s0/messages", json=said) if number else None
        as_someone("POST", "/v1/entries", json={"content": f"entry {number}"})
        as_someone("POST", "/v1/documents", json={"text": f"document {number}"})
    whole = as_someone("GET", path).json()
    assert (len(whole["items"]), whole["next_offset"]) == (3, None)
    seen, offset = [], 0
    while offset is not None:
        page = as_someone("GET", path, params={"limit": 2, "offset": offset}).json()
        seen += page["items"]
        offset = page["next_offset"]
    assert seen == whole["items"]
    for wrong in ({"limit": 0}, {"limit": 1001}, {"offset": -1}, {"limit": "many"}):
        problem(as_someone("GET", path, params=wrong), 422)


# --- problems


def errors(root: type[ltst.LtstError] = ltst.LtstError) -> list[type[ltst.LtstError]]:
    return [root, *(each for child in root.__subclasses__() for each in errors(child))]


EXPECTED = {
    "LtstError": 500,
    "NotFound": 404,
    "Conflict": 409,
    "ForeignCursor": 409,
    "Invalid": 422,
    "Denied": 403,
    "Unavailable": 503,
    "DatabaseUnavailable": 503,
    "OutcomeUnknown": 503,
    "ModelUnavailable": 502,
    "Unanswered": 502,
    "Unknown": 401,
    "TooDeep": 400,
    "TooLarge": 413,
    "Misdirected": 421,
}


@pytest.mark.parametrize("kind", [each for each in errors() if each.__module__ in ("ltst.errors", problems.__name__)])
def test_every_error_has_its_status(kind: type[ltst.LtstError]) -> None:
    more = {name: name for name in problems.NAMED.get(kind, ())}
    told = problems.of_error(kind("what went wrong", **more), "r-1")
    assert {name: told[name] for name in more} == more
    assert told["status"] == EXPECTED[kind.__name__]
    assert told["detail"].startswith("what went wrong")
    assert problems.response(told).status_code == told["status"]


def test_what_nobody_expected_tells_nothing(call: Call, door: Listening, capfd: Any) -> None:
    async def broken() -> None:
        raise RuntimeError("CANARY postgres://user:password@host")

    door.app.add_api_route("/broken", broken)
    # The server ends the connection; none that others use.
    answer = call("GET", "/broken", headers={"X-Request-Id": "r-1", "Connection": "close"})
    assert "CANARY" not in answer.text
    assert problem(answer, 500)["detail"] == problems.OPAQUE
    assert answer.headers["x-request-id"] == "r-1"


@pytest.mark.parametrize("kind", [None, "text/plain", "application/x-www-form-urlencoded"])
def test_a_body_of_another_type_is_refused_with_the_header_it_needs(
    call: Call, keys: dict[str, str], kind: str | None
) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    said = json.dumps({"role": "user", "content": "Hello."})
    for path in ("/v1/sessions/typed/messages", "/v1/search"):
        told = problem(call("POST", path, key=keys[EVE], content=said, headers=headers), 422)
        assert "Content-Type: application/json" in told["detail"]
    wrong = problem(call("POST", "/v1/search", key=keys[EVE], json=["no object"]), 422)
    assert "Content-Type" not in wrong["detail"]


@pytest.mark.parametrize(("body", "character"), [("{'content': 'Hello.'}", 2), ('{"content": ', 13), ("Hello.", 1)])
def test_a_body_that_is_no_json_is_told_where_it_goes_wrong(
    call: Call, keys: dict[str, str], body: str, character: int
) -> None:
    headers = {"Content-Type": "application/json"}
    told = problem(call("POST", "/v1/entries", key=keys[EVE], content=body, headers=headers), 422)
    assert told["detail"].startswith("the body is not JSON: ")
    assert told["detail"].endswith(f", at character {character}")


@pytest.mark.parametrize("path", ["/nothing", "/v1/nothing/here"])
def test_where_nothing_is_the_document_is_named(call: Call, path: str) -> None:
    assert "/docs" in problem(call("GET", path), 404)["detail"]


def test_the_log_has_a_line_with_the_id_of_each_answer(
    call: Call, door: Listening, keys: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async def unreachable() -> None:
        raise ltst.DatabaseUnavailable("the database does not answer")

    async def failing() -> None:
        raise RuntimeError("nobody expected this")

    door.app.add_api_route("/unreachable", unreachable)
    door.app.add_api_route("/failing", failing)
    caplog.set_level("INFO", "ltst")
    asked = {"logged-503": "/unreachable", "logged-500": "/failing", "logged-404": f"/v1/messages/{MARK}"}
    for request_id, path in {**asked, "logged-200": "/v1/profile"}.items():
        call("GET", path, key=keys[ANA], headers={"X-Request-Id": request_id, "Connection": "close"})
    call("GET", "/v1/profile", headers={"X-Request-Id": "logged-421", "Host": "elsewhere"})

    def lines() -> set[tuple[str, str, int, str]]:
        records = [vars(each) for each in caplog.records if each.getMessage() == "request"]
        # An answer to another test may be logged late.
        own = [each for each in records if each["request_id"].startswith("logged-")]
        return {(each["request_id"], each["levelname"], each["status"], each["route"]) for each in own}

    eventually(lambda: len(lines()) == 5)
    assert lines() == {
        ("logged-503", "WARNING", 503, "/unreachable"),
        ("logged-500", "WARNING", 500, "/failing"),
        ("logged-404", "INFO", 404, "/v1/messages/{message_id}"),
        ("logged-200", "INFO", 200, "/v1/profile"),
        ("logged-421", "INFO", 421, "(no route)"),
    }
    told = {name for each in caplog.records if each.getMessage() == "request" for name in vars(each)}
    own = told - PLAIN_FIELDS - {"message", "asctime"}
    assert own == {"request_id", "method", "route", "status", "milliseconds"}


# --- what those who run it look at


def test_the_document_resolves_its_own_references(call: Call) -> None:
    document = call("GET", "/openapi.json").json()
    named = set(re.findall(r'"#/components/(\w+/\w+)"', json.dumps(document)))
    assert "schemas/Problem" in named
    assert named <= {f"{kind}/{name}" for kind, things in document["components"].items() for name in things}


def test_every_operation_for_a_user_declares_the_header_that_names_one(call: Call) -> None:
    paths = call("GET", "/openapi.json").json()["paths"]
    for method, path in ROUTES:
        parameters = paths[path][method.lower()].get("parameters", ())
        declared = any(each.get("$ref", "").endswith("/UserId") for each in parameters)
        assert declared == (path not in PUBLIC), path


def test_the_page_of_docs_loads_nothing_from_anywhere(call: Call) -> None:
    answer = call("GET", "/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert not re.findall(r"<script|<link|<img|https?://", answer.text)
    for method, path in ROUTES:
        assert f"<code>{method} {path}</code>" in answer.text


def test_the_page_of_metrics_names_nobody(as_someone: Call, call: Call, keys: dict[str, str]) -> None:
    for path in ("/v1/sessions/canary-session/messages", "/v1/facts/canary-key", "/canary-path?canary=1"):
        as_someone("GET", path, headers={"X-User-Id": "canary-user"})
    problem(call("GET", "/metrics", key=keys[EVE]), 403)
    page = call("GET", "/metrics", key=keys["admin"]).text
    assert 'ltst_http_requests_total{method="GET",route="/v1/sessions/{session_id}/messages",status="200"}' in page
    assert 'route="/v1/facts/{key}",status="404"' in page
    assert 'route="(no route)",status="404"' in page
    assert "canary" not in page and ANA not in re.findall(r'"(\w+)"', page)


def test_the_page_of_metrics_tells_of_the_memory(as_someone: Call, call: Call, keys: dict[str, str]) -> None:
    as_someone("POST", "/api/chat", json={"message": "Where did I live?", "chat_id": "metered"})
    as_someone("GET", "/v1/search?query=where")
    page = call("GET", "/metrics", key=keys["admin"]).text
    counted = dict(re.findall(r"^(ltst_\w+(?:{[^}]*})?) ([0-9.e+]+)$", page, re.MULTILINE))
    assert float(counted['ltst_operation_seconds_count{operation="messages.add",type="storage"}']) >= 2
    assert any(name.startswith('ltst_operation_seconds_bucket{le="0.005",operation="search"') for name in counted)
    assert any(name.startswith('ltst_cache_lookups_total{operation="search"') for name in counted)
    for table in ("conversation_messages", "event_ledger"):
        assert float(counted[f'ltst_table_bytes{{table="{table}"}}']) > 0
        assert f'ltst_table_rows_added_last_day{{table="{table}"}}' in counted
    assert counted["ltst_database_up"] == "1.0"
    for name in ("ltst_session_lifetime_seconds_gcount", "ltst_executor_lifetime_seconds_count"):
        assert name in counted
    assert float(counted["ltst_memory_open_seconds"]) > 0


def test_a_server_whose_database_is_gone_is_alive_but_not_ready(
    server: EmbeddedServer, template: str, tmp_path: Path
) -> None:
    with cloned(server, template) as url:
        name = psycopg.conninfo.conninfo_to_dict(url)["dbname"]
        with opened(
            Settings(worker=False, database_url=url, home=tmp_path, pool_timeout=1.0, failover_timeout=1.0)
        ) as call:
            assert call("GET", "/readyz").json()["status"] == "ready"
            with psycopg.connect(server.dsn, dbname="postgres", autocommit=True) as connection:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
                began = time.monotonic()
                answer = call("GET", "/readyz")
                assert time.monotonic() - began < 60
                assert str(server.dsn) not in problem(answer, 503)["detail"]
                assert answer.headers["retry-after"]
                assert call("GET", "/healthz").status_code == 200
                problem(call("GET", "/v1/profile"), 503)
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
            assert call("GET", "/readyz").status_code == 200


# --- the feed of changes


def changes(memory: Memory, user_id: str, count: int) -> None:
    for number in range(count):
        memory.user(user_id).facts.set(f"key {number}", "value")


@pytest.fixture
def fresh(place: Settings, memory: Memory) -> str:
    return f"fresh-{uuid.uuid4().hex}"


def feed(call: Call, key: str, path: str, after: str, user_id: str, limit: int = 100) -> dict[str, Any]:
    headers = {"X-User-Id": user_id}
    answer = call("GET", path, key=key, headers=headers, params={"after": after, "limit": limit})
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_the_feed_is_read_on_from_its_cursor(call: Call, keys: dict[str, str], memory: Memory, fresh: str) -> None:
    changes(memory, fresh, 5)
    seen, after = [], "0"
    while (page := feed(call, keys["admin"], "/v1/events", after, fresh, limit=2))["items"]:
        seen += page["items"]
        after = page["next"]
    assert [each["event_id"] for each in seen] == [each.event_id for each in memory.user(fresh).events.list()]
    assert {each["user_id"] for each in seen} == {fresh}
    assert page["next"] == after
    by_number = feed(call, keys["admin"], "/v1/events", str(seen[1]["event_id"]), fresh)
    assert by_number["items"] == seen[2:]


@pytest.mark.parametrize("path", ["/v1/events", "/v1/admin/events"])
def test_changes_that_end_in_another_order_are_neither_skipped_nor_repeated(
    call: Call, keys: dict[str, str], place: Settings, memory: Memory, fresh: str, path: str
) -> None:
    insert = "INSERT INTO event_ledger (user_id, actor, action, noun, row_id) VALUES (%s, 'test', 'set', 'fact', %s)"
    changes(memory, fresh, 1)
    seen: list[str] = []
    after = feed(call, keys["admin"], path, "0", fresh, limit=1000)["next"]

    def read_on() -> None:
        nonlocal after
        page = feed(call, keys["admin"], path, after, fresh)
        seen.extend(each["row_id"] for each in page["items"] if each["user_id"] == fresh)
        after = page["next"]

    url = str(place.database_url)
    with psycopg.connect(url) as early, psycopg.connect(url) as late, psycopg.connect(url) as undone:
        for connection, row in ((early, "early"), (undone, "undone"), (late, "late")):
            connection.execute(insert, (fresh, row))
        late.commit()
        read_on()
        assert seen == []  # what began earlier may yet end, and would come before it
        undone.rollback()
        read_on()
        early.execute(insert, (fresh, "early too"))
        early.commit()
        read_on()
        read_on()
    assert seen == ["early", "early too", "late"]


class Listener(threading.Thread):
    """Follows a stream until it has heard enough."""

    def __init__(self, door: Listening, path: str, headers: dict[str, str], enough: int) -> None:
        super().__init__(daemon=True)
        self._door, self._path, self._headers, self._enough = door, path, headers, enough
        self.listening = threading.Event()
        self.heard: list[tuple[str, dict[str, Any]]] = []

    def run(self) -> None:
        headers = {"Accept": "text/event-stream", **self._headers}
        with httpx.stream("GET", self._door.url + self._path, headers=headers, timeout=120) as response:
            assert response.headers["content-type"].startswith("text/event-stream")
            place = ""
            for line in response.iter_lines():
                self.listening.set()
                if line.startswith("id: "):
                    place = line.removeprefix("id: ")
                if line.startswith("data: "):
                    self.heard.append((place, json.loads(line.removeprefix("data: "))))
                if len(self.heard) >= self._enough:
                    return


def test_the_feed_is_told_as_it_happens_and_resumed_where_it_was_left(
    door: Listening, keys: dict[str, str], memory: Memory, fresh: str
) -> None:
    key = {"Authorization": f"Bearer {memory.keys.create(fresh).secret}"}
    changes(memory, fresh, 2)
    first = Listener(door, "/v1/events", key, enough=12)
    first.start()
    assert first.listening.wait(120)
    writers = [threading.Thread(target=changes, args=(memory, fresh, 5)) for _ in range(4)]
    for each in writers:
        each.start()
    first.join(120)
    place = first.heard[-1][0]
    rest = Listener(door, "/v1/events", {**key, "Last-Event-ID": place}, enough=11)
    rest.start()
    for each in writers:
        each.join()
    rest.join(120)
    told = [event["event_id"] for _, event in first.heard + rest.heard]
    known = [each.event_id for each in memory.user(fresh).events.feed()]
    assert told == known
    assert len(known) == 1 + 2 + 4 * 5
    assert all(place == event["cursor"] and event["user_id"] == fresh for place, event in first.heard + rest.heard)


def test_a_stream_of_another_users_changes_is_refused(call: Call, keys: dict[str, str]) -> None:
    headers = {"Accept": "text/event-stream", "X-User-Id": ANA}
    problem(call("GET", "/v1/events", key=keys[EVE], headers=headers), 403)
    problem(call("GET", "/v1/admin/events", key=keys[EVE], headers={"Accept": "text/event-stream"}), 403)


def test_an_answer_comes_piece_by_piece(as_someone: Call) -> None:
    answer = as_someone("POST", "/api/chat", json={"message": "I live in Porto.", "stream": True, "chat_id": "s"})
    told = re.findall(r"event: (\w+)\ndata: (.*)\n\n", answer.text)
    assert (told[0][0], told[-1][0]) == ("start", "done")
    pieces = "".join(json.loads(data)["text"] for name, data in told if name == "delta")
    assert pieces == json.loads(told[-1][1])["reply"]
    assert len(as_someone("GET", "/v1/sessions/s/messages").json()["items"]) == 2


# --- another user's things


BODIES: dict[str, Any] = {
    "PUT /v1/sessions/{session_id}": {"session_name": "mine"},
    "POST /v1/sessions/{session_id}/touch": {},
    "POST /v1/statements/{statement_id}/reject": {},
    "POST /v1/sessions/{session_id}/links": {"target": "own"},
    "POST /v1/sessions/{session_id}/fork": {"session_id": "copy"},
    "POST /v1/sessions/{session_id}/messages": {"role": "user", "content": "mine", "key": "answer"},
    "POST /v1/sessions/{session_id}/messages/batch": {"messages": [{"role": "user", "content": "m", "key": "answer"}]},
    "POST /v1/sessions/{session_id}/messages/ready": {"role": "user", "content": "mine"},
    "PUT /v1/sessions/{session_id}/messages/{message_id}": {"content": "mine"},
    "POST /v1/sessions/{session_id}/interactions": {"user_msg": "mine", "ai_msg": "too"},
    "POST /v1/sessions/{session_id}/context": {"query": "who moved?"},
    "POST /v1/sessions/{session_id}/search": {"query": MARK},
    "PUT /v1/sessions/{session_id}/working/{key}": {"value": 1},
    "PUT /v1/sessions/{session_id}/contexts/{type}/{key}": {"value": "mine"},
    "PUT /v1/items/{key}": {"namespace": ["notes"], "value": "mine"},
    "PUT /v1/facts/{key}": {"value": "mine"},
    "POST /v1/facts/{key}/reject": {"value": "mine"},
    "POST /v1/facts/{key}/end": {},
    "PUT /v1/preferences/{key}": {"value": "mine", "sensitive": True},
    "PUT /v1/instructions/{agent}": {"content": "mine"},
    "PUT /api/agents/{agent}/customizations": {"content": "mine"},
    "PUT /v1/retention/{session_type}": {"delete_after": 1},
}
KEYS = {
    "/v1/sessions/{session_id}/working": "draft",
    "/v1/sessions/{session_id}/contexts": "goal",
    "/v1/facts": "home",
    "/v1/items": "nothing",
}
QUERIES = {"/v1/items/{key}": {"namespace": "notes"}}
FOREIGN = [each for each in ROUTES if "{" in each[1] and not each[1].startswith("/v1/admin")]
VOLATILE = [
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z?"), "<time>"),
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "<hash>"),
    (re.compile(r"stranger-\w+"), "<stranger>"),
]


def hers(path: str, ids: dict[str, Any]) -> dict[str, str]:
    """What stands in a path for something that ana has."""
    key = next((name for prefix, name in KEYS.items() if path.startswith(prefix)), "editor")
    return {
        "session_id": ids["session"],
        "entry_id": ids["entry"],
        "message_id": ids["message"],
        "document_id": ids["document"],
        "statement_id": ids["message"],  # of nobody: no statement was read here
        "session_type": "support",
        "agent": "coach",
        "type": "project",
        "key": key,
    }


def masked(text: str, names: dict[str, str]) -> str:
    for pattern, instead in VOLATILE:
        text = pattern.sub(instead, text)
    for name in names.values():
        text = re.sub(rf"(?<=[\"']){re.escape(name)}(?=[\"'])", "<name>", text)
    return text


@pytest.fixture(scope="module")
def untouched(memory: Memory, ids: dict[str, Any]) -> Iterator[None]:
    """What ana has, she has when all was tried."""
    before = memory.user(ANA).export(), memory.user(ANA).events.list(limit=1000), memory.keys.list(ANA)
    yield
    assert (memory.user(ANA).export(), memory.user(ANA).events.list(limit=1000), memory.keys.list(ANA)) == before


def tried(call: Call, keys: dict[str, str], method: str, path: str, body: Any, query: Any = None) -> httpx.Response:
    """A request of a stranger who has one conversation of their own."""
    headers = {"X-User-Id": f"stranger-{uuid.uuid4().hex}"}
    call("PUT", "/v1/sessions/own", key=keys["admin"], headers=headers, json={})
    return call(method, path, key=keys["admin"], headers=headers, json=body, params=query)


@pytest.mark.parametrize(("method", "path"), FOREIGN)
def test_what_another_has_answers_as_what_nobody_has(
    call: Call, keys: dict[str, str], ids: dict[str, Any], untouched: None, method: str, path: str
) -> None:
    foreign = hers(path, ids)
    nobodys = {
        **{name: f"nobodys-{name}" for name in foreign},
        "type": "project",
        "entry_id": MISSING,
        "message_id": MISSING,
        "document_id": MISSING,
        "statement_id": MISSING,
    }
    body = BODIES.get(f"{method} {path}")
    assert body is not None or method in ("GET", "DELETE") or path.endswith("/archive"), "this route needs a body here"
    query = None if body else QUERIES.get(path)
    answers = [tried(call, keys, method, filled(path, names), body, query) for names in (foreign, nobodys)]
    assert answers[0].status_code == answers[1].status_code
    assert answers[0].status_code != 422
    assert masked(answers[0].text, foreign) == masked(answers[1].text, nobodys)
    assert MARK not in answers[0].text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/sessions/own/messages", lambda ids: {"role": "user", "content": "m", "parent": ids["message"]}),
        (
            "POST",
            "/v1/sessions/own/messages/batch",
            lambda ids: {"messages": [{"role": "user", "content": "m", "parent": ids["message"]}]},
        ),
        (
            "POST",
            "/v1/sessions/own/messages/ready",
            lambda ids: {"role": "ai", "content": "m", "parent": ids["message"]},
        ),
        ("POST", "/v1/sessions/own/links", lambda ids: {"target": ids["session"]}),
        ("POST", "/v1/sessions/own/fork", lambda ids: {"session_id": ids["session"]}),
        ("PUT", "/v1/facts/home", lambda ids: {"value": "mine", "source_message_id": ids["message"]}),
        ("POST", "/v1/search", lambda ids: {"query": MARK, "session_id": ids["session"]}),
        ("POST", "/api/chat", lambda ids: {"message": "Where did I move?", "chat_id": ids["session"]}),
    ],
)
def test_a_body_that_names_what_another_has_is_answered_as_if_nobody_had_it(
    call: Call, keys: dict[str, str], ids: dict[str, Any], untouched: None, method: str, path: str, body: Any
) -> None:
    foreign = {"session": ids["session"], "message": ids["message"]}
    nobodys = {"session": "nobodys", "message": MISSING}
    answers = [tried(call, keys, method, path, body(names)) for names in (foreign, nobodys)]
    assert answers[0].status_code == answers[1].status_code != 422
    assert masked(answers[0].text, foreign) == masked(answers[1].text, nobodys)
    assert MARK not in answers[0].text


def test_another_users_place_in_the_ledger_tells_nothing(
    call: Call, keys: dict[str, str], ids: dict[str, Any], untouched: None
) -> None:
    answer = tried(call, keys, "GET", "/v1/events", None, {"after": str(ids["event"])})
    assert {each["user_id"] for each in answer.json()["items"]} <= {answer.request.headers["x-user-id"]}


def test_only_the_user_who_is_named_is_erased(
    call: Call, keys: dict[str, str], ids: dict[str, Any], untouched: None, memory: Memory
) -> None:
    secret = str(memory.keys.create("leaving").secret)
    memory.user("leaving").facts.set("home", "Porto")
    problem(call("POST", "/v1/erase", key=secret, json={"user_id": ANA}), 422)
    receipt = call("POST", "/v1/erase", key=secret, json={"user_id": "leaving"}).json()
    assert receipt["removed"]["user_facts"] == 1 and not any(receipt["remaining"].values())
    problem(call("GET", "/v1/profile", key=secret), 401)
    seen = call("POST", "/v1/admin/verify", key=keys["admin"], json=receipt).json()
    assert seen["ok"] is True and {each["status"] for each in seen["checks"]} == {"ok"}
    forged = {**receipt, "removed": {}}
    assert call("POST", "/v1/admin/verify", key=keys["admin"], json=forged).json()["ok"] is False
    problem(call("POST", "/v1/admin/verify", key=keys["admin"], json={"receipt_id": "x"}), 422)


def test_users_are_listed_page_by_page(call: Call, keys: dict[str, str], memory: Memory) -> None:
    everybody: list[str] = []
    following: dict[str, str] | None = {}
    while following is not None:
        page = call("GET", "/v1/admin/users", key=keys["admin"], params={"limit": 1, **following}).json()
        everybody += [each["user_id"] for each in page["items"]]
        following = {"after": page["next"]} if page["next"] else None
    assert everybody == [each.user_id for each in memory.users.list(limit=1000)]
    assert ANA in everybody
