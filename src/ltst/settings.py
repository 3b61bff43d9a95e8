"""Settings: one frozen object, and the only place that reads the environment."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ltst.errors import Invalid, shown

ONE_MEBIBYTE = 1024 * 1024
SHORTEST_SECRET = 32
# What is derived from messages, and can be switched off.
FEATURES = ("extraction", "episodes", "relationships", "consolidation")
# Who set up an earlier version may still name it; nothing is learnt from hints any more.
FORMER = "inference"


def default_home() -> Path:
    """Returns the folder for the user's data on this platform; for root the machine's."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "ltst"
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return Path("/var/lib/ltst")
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "ltst"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set. Each is an argument here; those with a variable are read by `from_environment`."""

    database_url: str | None = None
    """DATABASE_URL: a Postgres 15 or newer with pgvector 0.8.4 or newer; unset means the embedded one."""
    read_database_url: str | None = field(default=None, repr=False)
    """LTST_READ_DATABASE_URL: a standby of that Postgres, which reads may go to; it is asked only once it has what the
    reader wrote. Unset sends everything to DATABASE_URL."""
    home: Path = field(default_factory=default_home)
    """LTST_HOME: where the embedded Postgres and the key file live."""
    user: str = "local"
    """LTST_USER: whose memory the command line works with."""
    master_key: str | None = field(default=None, repr=False)
    """LTST_MASTER_KEY: wraps the users' data keys; 32 bytes in base64 or hex. Several, comma-separated, newest
    first, while keys are being rotated. Unset means the key file in the home folder."""
    log: str | None = None
    """LTST_LOG: debug, info, warning or error writes structured log lines to standard error; unset is quiet."""
    actor: str = "library"
    """Who the ledger names as the one who made a change."""
    pool_size: int = 32
    """The most connections that one Memory opens."""
    pool_timeout: float = 30.0
    """Seconds that a call waits for a connection before it gives up."""
    statement_timeout: float = 60.0
    """LTST_STATEMENT_TIMEOUT: seconds that the database may take to answer before a call gives up; migrations,
    maintenance, erasing and adopting take as long as they need while the server lives."""
    failover_timeout: float = 60.0
    """LTST_FAILOVER_TIMEOUT: seconds that a call waits for a database that was there before and cannot be reached: it
    may be restarting, or another of the hosts in DATABASE_URL may take its place."""
    max_content_bytes: int = ONE_MEBIBYTE
    """The longest content of one message, entry or value, in bytes of UTF-8."""
    metrics: bool = True
    """Whether the time of each operation is recorded."""
    metrics_days: int = 30
    """LTST_METRICS_DAYS: days after which `maintain` removes measurements."""
    ledger_days: int | None = None
    """LTST_LEDGER_DAYS: days after which `maintain` removes events from the ledger, which is the audit trail and the
    feed; unset keeps them for good. The records of erasures and each user's newest event stay."""
    worker: bool = True
    """LTST_WORKER: whether derived work is done in the background of this process; on or off."""
    warm: bool = True
    """LTST_WARM: whether the embedding model is loaded in the background when a memory is opened, and by a server
    before it is ready; on or off. Only a model of this machine is loaded: none is asked over the network."""
    retention: bool = False
    """LTST_RETENTION: whether `maintain` deletes the conversations of users without a policy of their own after
    memory_retention_days without activity; on or off."""
    learn: Collection[str] = FEATURES
    """LTST_LEARN: what is derived from messages: all, off, or some of extraction, episodes, relationships,
    consolidation, comma-separated. Each can also be switched for one user."""
    learn_seconds: float = 2.0
    """LTST_LEARN_SECONDS: seconds of processor time that the rules may take for one message; one that takes longer is
    set aside."""
    idle_after: float = 1800.0
    """LTST_IDLE_AFTER: seconds without a message after which a conversation rests and its episode is told."""
    summary_tokens: int = 4000
    """How many tokens a conversation may grow by before its older half is summarised."""
    episode_budget: int = 10_000
    """The most episodes that are kept for one user; the least important go first."""
    lease: float = 60.0
    """LTST_LEASE: seconds after which the work of a worker that ended is taken up by another."""
    embedded_parts: int = 16
    """LTST_EMBEDDED_PARTS: how many parts of a text that is too long for the embedding model get a vector; all of it is
    found by its words."""
    large_memory: int = 50_000
    """From how many units on a user's vectors are found by the HNSW index instead of being compared one by one."""
    redis_url: str | None = field(default=None, repr=False)
    """LTST_REDIS_URL: a Redis that keeps windows near, over Postgres; redis://, rediss:// or unix://."""
    window_cache: str | None = None
    """LTST_WINDOW_CACHE: where windows are kept near: off, memory (of this process) or redis; unset means redis where
    there is a redis_url, else off."""
    token_counter: Callable[[str], int] | None = None
    """Counts the tokens of a text for the budget of a context; unset means a quarter of its bytes."""
    embedder: str = "joined"
    """LTST_EMBEDDER: the embedding model of a database that has none yet: joined (local and multilingual in one), local
    (all-MiniLM-L6-v2), multilingual (16 languages), local:FOLDER, openai:MODEL or openai:MODEL@BASE_URL. One that has a
    model keeps it until `ltst embedder switch`."""
    embedder_api_key: str | None = field(default=None, repr=False)
    """LTST_EMBEDDER_API_KEY: the key for an embedding model behind an OpenAI-compatible endpoint."""
    embedder_threads: int | None = None
    """LTST_EMBEDDER_THREADS: how many threads an embedding model of this process computes with; unset means one for
    each processor, four at most."""
    llm_model: str | None = None
    """LTST_LLM_MODEL: the language model that helps to learn and to summarise; unset means that none does."""
    llm_base_url: str | None = None
    """LTST_LLM_BASE_URL: the OpenAI-compatible endpoint of that model, up to /v1; unset means OpenAI's own."""
    llm_api_key: str | None = field(default=None, repr=False)
    """LTST_LLM_API_KEY: the key for that endpoint; unset sends none."""
    llm_timeout: float = 60.0
    """LTST_LLM_TIMEOUT: seconds that one request to that endpoint may take."""
    llm_input_price: float | None = None
    """LTST_LLM_INPUT_PRICE: what a million tokens read by that model cost, in any currency; for the count of costs."""
    llm_output_price: float | None = None
    """LTST_LLM_OUTPUT_PRICE: what a million tokens written by that model cost, in the same currency."""
    allowed_hosts: Collection[str] = ()
    """LTST_ALLOWED_HOSTS: the names by which the server may be called beside localhost, comma-separated; * for any."""
    allowed_origins: Collection[str] = ()
    """LTST_ALLOWED_ORIGINS: the pages that may call the server from a browser, such as https://chat.example.com."""
    max_body_bytes: int = 80 * ONE_MEBIBYTE
    """LTST_MAX_BODY_BYTES: the largest request that the server reads."""
    header_timeout: float = 20.0
    """LTST_HEADER_TIMEOUT: seconds within which a client must have sent the head of its request."""
    body_timeout: float = 60.0
    """LTST_BODY_TIMEOUT: seconds for the body of a request, and one more for each kilobyte; also how long a client may
    take nothing of its answer."""
    max_connections: int = 4000
    """LTST_MAX_CONNECTIONS: how many connections one process of a server holds at most; the one that waits longest
    without a request makes room."""
    document_seconds: float = 300.0
    """LTST_DOCUMENT_SECONDS: seconds of processor time that it may take to read one document."""
    document_memory: int = 2048 * ONE_MEBIBYTE
    """LTST_DOCUMENT_MEMORY: bytes of memory that it may take to read one document; not enforced on macOS."""
    document_pages: int = 20_000
    """LTST_DOCUMENT_PAGES: the most pages of a PDF."""
    document_unpacked_bytes: int = 512 * ONE_MEBIBYTE
    """LTST_DOCUMENT_UNPACKED_BYTES: the most bytes that the pages of a PDF unpack to, all together."""
    jwt_secret: str | None = field(default=None, repr=False)
    """LTST_JWT_SECRET: accept tokens signed with this secret (HS256), at least 32 characters."""
    jwt_keys: str | None = None
    """LTST_JWT_KEYS: accept tokens signed with one of these public keys (RS256): a JWKS, as a file or an address."""
    jwt_claim: str = "sub"
    """LTST_JWT_CLAIM: the claim of a token that names the user."""
    jwt_audience: str | None = None
    """LTST_JWT_AUDIENCE: the audience that tokens must be meant for; unset asks for none."""
    jwt_issuer: str | None = None
    """LTST_JWT_ISSUER: who must have issued tokens; unset accepts anyone who can sign."""
    agents: Path | None = None
    """LTST_AGENTS: the folder with the TOML files of agents; unset means `agents` in the home folder."""
    agent: str | None = None
    """LTST_AGENT: the agent that answers where none is named; unset means `assistant` with a model, else `recall`."""
    executors: int = 1000
    """LTST_EXECUTORS: how many users' agents are kept ready at most; the least lately used go first."""
    executor_ttl: float = 3600.0
    """LTST_EXECUTOR_TTL: seconds without a turn after which a user's agent is let go."""
    proxy_base_url: str | None = None
    """LTST_PROXY_BASE_URL: what the OpenAI-compatible proxy stands before, up to /v1; unset means the model's."""
    proxy_api_key: str | None = field(default=None, repr=False)
    """LTST_PROXY_API_KEY: the key for the endpoint of LTST_PROXY_BASE_URL; unset sends none."""

    def __post_init__(self) -> None:
        """Refuses what cannot work, with the name of the setting."""
        object.__setattr__(self, "home", Path(self.home))
        if self.agents is not None:
            object.__setattr__(self, "agents", Path(self.agents))
        self._check_numbers()
        for name in ("retention", "warm"):
            if not isinstance(getattr(self, name), bool):
                raise Invalid(f"{name} must be True or False, not {shown(getattr(self, name))}")
        object.__setattr__(self, "learn", _features(self.learn))
        if not isinstance(self.actor, str) or not 1 <= len(self.actor.strip()) <= 255:
            raise Invalid("actor must be 1 to 255 characters and not blank")
        if self.token_counter is not None and not callable(self.token_counter):
            raise Invalid("token_counter must be a function from a text to its number of tokens")
        if self.log is not None and self.log.lower() not in LOG_LEVELS:
            raise Invalid(f"LTST_LOG must be one of {', '.join(LOG_LEVELS)}, not {shown(self.log)}")
        if not isinstance(self.embedder, str) or not _is_embedder(self.embedder):
            raise Invalid(
                f"embedder must be one of {', '.join(EMBEDDERS)} or openai:MODEL@BASE_URL, not {shown(self.embedder)}"
            )
        self._check_window_cache()
        self._check_language_model()
        self._check_server()
        self._check_proxy()

    def _check_numbers(self) -> None:
        for name, kind in KINDS.items():
            value = getattr(self, name)
            if value is None and name in MAY_BE_UNSET:
                continue
            if kind == "int" and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
                raise Invalid(f"{name} must be at least 1, a whole number, not {shown(value)}")
            if kind == "float":
                _check_real(name, value)

    def _check_server(self) -> None:
        for name in ("allowed_hosts", "allowed_origins"):
            object.__setattr__(self, name, _listed(getattr(self, name), name))
        if self.jwt_secret is not None and len(self.jwt_secret) < SHORTEST_SECRET:
            raise Invalid(f"jwt_secret must have at least {SHORTEST_SECRET} characters, or tokens can be forged")
        if not isinstance(self.jwt_claim, str) or not self.jwt_claim.strip():
            raise Invalid("jwt_claim must be the name of a claim, such as sub")

    def _check_window_cache(self) -> None:
        if self.redis_url is not None and not _is_redis(self.redis_url):
            raise Invalid("redis_url must begin with redis://, rediss:// or unix://, such as redis://localhost:6379/0")
        if self.window_cache is not None and self.window_cache not in WINDOW_CACHES:
            raise Invalid(f"window_cache must be one of {', '.join(WINDOW_CACHES)}, not {shown(self.window_cache)}")
        if self.window_cache == "redis" and self.redis_url is None:
            raise Invalid("window_cache is redis without redis_url (LTST_REDIS_URL): say where Redis is")

    def _check_language_model(self) -> None:
        if self.llm_model is not None and not (isinstance(self.llm_model, str) and self.llm_model.strip()):
            raise Invalid("llm_model must be the name of a model, or None for no model")
        if self.llm_base_url is not None and self.llm_model is None:
            raise Invalid("llm_base_url is set without llm_model (LTST_LLM_MODEL): name the model to ask for there")
        if self.llm_base_url is not None and not _is_address(self.llm_base_url):
            raise Invalid(
                "llm_base_url must begin with http:// or https:// and a host, such as http://localhost:8080/v1"
            )

    def _check_proxy(self) -> None:
        if self.proxy_base_url is not None and not _is_address(self.proxy_base_url):
            raise Invalid(
                "proxy_base_url must begin with http:// or https:// and a host, such as http://localhost:8080/v1"
            )
        if self.proxy_api_key is not None and self.proxy_base_url is None:
            raise Invalid("proxy_api_key is set without proxy_base_url (LTST_PROXY_BASE_URL): name its endpoint")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None, **arguments: Any) -> Settings:
        """Returns the settings of the environment, each of which an argument overrides (None means: not given)."""
        known = os.environ if environment is None else environment
        values: dict[str, Any] = {
            name: _read(name, variable, known[variable]) for variable, name in VARIABLES.items() if known.get(variable)
        }
        values.update({name: value for name, value in arguments.items() if value is not None})
        unknown = values.keys() - {each.name for each in fields(cls)}
        if unknown:
            raise Invalid(f"there is no setting {', '.join(sorted(unknown))}")
        return cls(**values)


def _features(given: object) -> frozenset[str]:
    """Returns what is to be learnt; LTST_LEARN says it in one line."""
    named = [each.strip() for each in given.lower().split(",")] if isinstance(given, str) else given
    if named in (["all"], ["off"]):
        named = FEATURES if named == ["all"] else ()
    if not isinstance(named, Collection) or not all(each in (*FEATURES, FORMER) for each in named):
        raise Invalid(f"learn must be all, off, or some of {', '.join(FEATURES)}; not {shown(given)}")
    return frozenset(named) - {FORMER}


def _listed(given: object, name: str) -> tuple[str, ...]:
    """Several names; a variable says them in one line."""
    named = given.split(",") if isinstance(given, str) else given
    if not isinstance(named, Collection) or not all(isinstance(each, str) for each in named):
        raise Invalid(f"{name} must be a list of names, comma-separated in a variable")
    return tuple(each.strip() for each in named if each.strip())


def _read(name: str, variable: str, text: str) -> Any:
    """Returns the value of a setting as its variable says it."""
    called, read = READERS.get(name) or READERS.get(KINDS[name], ("a text", str))
    try:
        return read(text)
    except (ValueError, KeyError):
        raise Invalid(f"{variable} must be {called}, not {shown(text)}") from None


def _check_real(name: str, value: Any) -> None:
    if name.endswith("_price"):
        if not _is_number(value) or value < 0:
            raise Invalid(f"{name} must be the price of a million tokens, 0 or more, not {shown(value)}")
    elif not _is_number(value) or value <= 0:
        raise Invalid(f"{name} must be a number of seconds above 0, not {shown(value)}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_address(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        url = urlsplit(value)
        url.port  # noqa: B018 - it is read to see whether it can be
    except ValueError:
        return False
    return url.scheme in ("http", "https") and bool(url.hostname)


def _is_embedder(value: str) -> bool:
    return value in ("joined", "local", "multilingual") or (
        bool(value.removeprefix("local:").removeprefix("openai:").strip()) and (value.startswith(("local:", "openai:")))
    )


def _is_redis(value: object) -> bool:
    return isinstance(value, str) and value.startswith(("redis://", "rediss://", "unix://"))


EMBEDDERS = ("joined", "local", "multilingual", "local:FOLDER", "openai:MODEL")
WINDOW_CACHES = ("off", "memory", "redis")
SWITCH = {"on": True, "off": False, "1": True, "0": False, "true": True, "false": False}
LOG_LEVELS = ("debug", "info", "warning", "error")

# How variables are read: of a kind, or of one setting.
READERS: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "bool": (f"one of {', '.join(SWITCH)}", lambda value: SWITCH[value.lower()]),
    "int": ("a whole number", int),
    "float": ("a number", float),
    "Path": ("a folder", lambda folder: Path(folder).expanduser()),
    "window_cache": ("a word", str.lower),
}
KINDS = {each.name: str(each.type).removesuffix(" | None") for each in fields(Settings)}
MAY_BE_UNSET = {each.name for each in fields(Settings) if each.default is None}
ARGUMENTS_ALONE = {  # they have no variable
    "actor",
    "pool_size",
    "pool_timeout",
    "max_content_bytes",
    "metrics",
    "summary_tokens",
    "episode_budget",
    "large_memory",
    "token_counter",
}
VARIABLES = {
    "DATABASE_URL" if name == "database_url" else f"LTST_{name.upper()}": name
    for name in KINDS
    if name not in ARGUMENTS_ALONE
}
