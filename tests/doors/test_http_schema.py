"""The server keeps to the document that it publishes: whatever is sent, by a user with a key of their own.

`make contract` looks far longer than the suite does.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings, strategies
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance

from helpers.household import furnish
from helpers.serving import Listening, listening
from ltst import Memory, Settings
from ltst.doors.http.app import Serving, create

EXAMPLES = int(os.environ.get("LTST_CONTRACT_EXAMPLES", "3"))
ANA, EVE = "ana", "eve"


def without_the_user(document: dict[str, Any]) -> dict[str, Any]:
    """Leave out the header that names a user: whether it is accepted depends on who calls, which no schema tells."""
    for operation in (each for path in document["paths"].values() for each in path.values()):
        parameters = operation.get("parameters", [])
        operation["parameters"] = [each for each in parameters if not each.get("$ref", "").endswith("/UserId")]
    return document


DOCUMENT = schemathesis.openapi.from_dict(without_the_user(create(Serving(Settings())).openapi()))
# Postgres keeps no NUL; where any JSON may stand, a schema cannot say so.
DOCUMENT.config.generation.update(allow_x00=False)
# Nor that times are in the years 2 to 9998.
schemathesis.openapi.format(
    "date-time",
    strategies.datetimes(datetime(3, 1, 1), datetime(9997, 12, 31), timezones=strategies.just(UTC)).map(
        datetime.isoformat
    ),
)
OPERATIONS = [each.ok() for each in DOCUMENT.get_all_operations()]
# What a schema cannot tell, by operation: who is refused although the request looks right.
UNTOLD = {
    "POST /v1/documents/file": "what is a PDF, or UTF-8",
    "POST /v1/erase": "who calls",
    "POST /v1/import": "what its rows refer to",
    "POST /v1/sessions": "that keys are different, and that each message stands after its parent",
    "POST /v1/sessions/{session_id}/fork": "how many messages there are",
    "POST /v1/sessions/{session_id}/links": "that the sessions are two",
    "POST /v1/sessions/{session_id}/messages/ready": "which index is the next, and which numbers four bytes hold",
}

NOTHING_TO_SAY = {"GET /healthz", "GET /readyz"}


@pytest.fixture(scope="module")
def ana(shared: Memory) -> Iterator[Memory]:
    """Another user, who has something of everything; when all was tried, she has it still."""
    furnish(shared.user(ANA), "ANAS-OWN-WORDS")
    before = (shared.user(ANA).export(), shared.user(ANA).events.list(limit=1000), shared.keys.list(ANA))
    yield shared
    assert (shared.user(ANA).export(), shared.user(ANA).events.list(limit=1000), shared.keys.list(ANA)) == before


@pytest.fixture(scope="module")
def door(ana: Memory) -> Iterator[Listening]:
    with listening(ana.settings) as answering:
        yield answering


@pytest.fixture(scope="module")
def eves(ana: Memory) -> Iterator[requests.Session]:
    """Requests with the key of a user."""
    with requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {ana.keys.create(EVE).secret}"
        yield session


@pytest.mark.parametrize(
    ("operation", "mode"),
    [
        pytest.param(operation, mode, id=f"{operation.label} {mode.value}")
        for operation in OPERATIONS
        for mode in GenerationMode
        if mode is GenerationMode.POSITIVE or operation.label not in NOTHING_TO_SAY
    ],
)
def test_every_operation_keeps_to_its_document(
    operation: Any, mode: GenerationMode, door: Listening, eves: requests.Session
) -> None:
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def tried(case: Any) -> None:
        untold = [positive_data_acceptance] if operation.label in UNTOLD else []
        answer = case.call_and_validate(base_url=door.url, session=eves, excluded_checks=untold, timeout=60)
        assert "ANAS-OWN-WORDS" not in answer.text

    tried()
