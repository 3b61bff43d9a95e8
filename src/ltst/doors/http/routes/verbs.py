"""Makes an HTTP route for each verb of the catalog."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel

from ltst.arguments import Argument
from ltst.doors.http.callers import GuardedRoute, User
from ltst.doors.http.routes.common import IdempotencyKey, gone
from ltst.verbs.catalog import VERBS
from ltst.verbs.outside import NewMessage
from ltst.verbs.verb import OPENING, Verb
from ltst.verbs.wire import model, most, taken, values

NAMED = re.compile(r"\{(\w+)\}")
HEADER = "idempotency_key"

router = APIRouter(route_class=GuardedRoute)


def _add(verb: Verb, tag: str) -> None:
    """Adds the route of a verb."""
    method, _, path = verb.http.partition(" ")
    answer: dict[str, Any] = {"status_code": 204, "response_class": Response}
    if verb.shape is not None:
        answer = {"status_code": verb.status, "response_model": verb.shape}
    described: dict[str, Any] = {"name": verb.name, "description": verb.about, "tags": [tag]}
    router.add_api_route(NAMED.sub(r"{\1:segment}", path), _endpoint(verb), methods=[method], **described, **answer)


def _endpoint(verb: Verb) -> Callable[..., Any]:
    """Return the function of a route. FastAPI reads its signature and calls it with the request."""

    async def answer(user: User, given: BaseModel | None = None, **named: Any) -> Any:
        asked = {verb.renamed.get(name, name): value for name, value in named.items()}
        asked |= {} if given is None else values(given)
        if verb.keyed:
            key = asked.pop(HEADER)
            asked["key"] = asked["key"] or key
        done = await verb.answer(user, asked)
        return done if verb.shape is not None else gone(done, verb.missing.format(**asked))

    answer.__signature__ = inspect.Signature([*_parameters(verb)])  # type: ignore[attr-defined]
    return answer


def _parameters(verb: Verb) -> Iterator[inspect.Parameter]:
    """Yield a parameter for each argument: in the path, the body, the query or a header."""
    path = {name: verb.renamed.get(name, name) for name in NAMED.findall(verb.http)}
    rest = {name: each for name, each in verb.arguments.items() if name not in (*path.values(), HEADER)}
    # Options of a new conversation go into the address; a verb that only reads has them in its body.
    opening = () if verb.effect.reads else OPENING
    asked = [each for each in rest.values() if not verb.body or each.name in opening]
    yield _parameter("user", User)
    yield from (_parameter(name, taken(verb.arguments[argument])) for name, argument in path.items())
    if verb.body:
        yield _parameter("given", _body(verb, [each for each in rest.values() if each not in asked]))
    for each in asked:
        default = inspect.Parameter.empty if each.needed else each.default
        yield _parameter(each.name, Annotated[taken(each, strict=False), _query(each)], default)
    if verb.keyed or HEADER in verb.arguments:
        yield _parameter(HEADER, IdempotencyKey, None)


def _parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _body(verb: Verb, arguments: list[Argument]) -> type[BaseModel]:
    if verb.body == NewMessage.__name__:
        return NewMessage  # type: ignore[no-any-return] # batches use this model too
    return model(verb.body, arguments, about=verb.about, some=verb.some)


def _query(argument: Argument) -> Any:
    if argument.bounds is None or argument.kind is not int:
        return Query(description=argument.about)
    return Query(ge=argument.bounds.least, le=most(argument), description=argument.about)


for _tag, _verbs in VERBS.items():
    for _verb in _verbs:
        if _verb.http:
            _add(_verb, _tag)
