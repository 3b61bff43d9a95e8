"""Types of arguments in JSON or in an address: pydantic types made from a verb's signature."""

from __future__ import annotations

import json
import re
import types
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    create_model,
)
from pydantic.fields import FieldInfo

from ltst.arguments import LARGEST, Argument, Bounds, Letters, argument
from ltst.support.validate import moment

MOST = 1000  # items of a list in one answer
# At least one visible character and no NUL. The docs show it; the core checks it, with a readable message.
VISIBLE = r"^[^\x00]*[^\x00\x09-\x0d\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^\x00]*$"
PRINTABLE = r"^[^\x00]*$"
DATE = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ]")


def _whole_number(value: object) -> object:
    """Reads 10.0 as a whole number, which it is in JSON."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _dates_as_text(value: object) -> object:
    """Accepts only text as a time, because a bare number could be seconds or anything else."""
    if not isinstance(value, datetime) and not (isinstance(value, str) and DATE.match(value)):
        raise ValueError("a time is a text with its zone, such as 2026-03-01T09:30:00Z")
    return value


Moment = Annotated[
    datetime,
    BeforeValidator(_dates_as_text),
    AfterValidator(lambda value: moment(value, "a time")),
    Field(examples=["2026-03-01T09:30:00Z"], description="With its zone, in the years 2 to 9998."),
]


def _object(value: str) -> Any:
    """Reads a JSON object from an address."""
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ValueError('an object in an address is written as JSON, such as {"topic": "food"}')
    return found


InAddress = Annotated[
    StrictStr, AfterValidator(_object), Field(json_schema_extra={"contentMediaType": "application/json"})
]


def text_schema(letters: Letters) -> Any:
    """Return what a schema says about a text that the core checks."""
    schema: dict[str, Any] = {} if letters.most is None else {"maxLength": letters.most}
    if letters.pattern:
        return Field(json_schema_extra={**schema, "minLength": 1, "pattern": letters.pattern})
    schema |= {"pattern": PRINTABLE} if letters.blank else {"minLength": 1, "pattern": VISIBLE}
    return Field(json_schema_extra=schema)


# For models that are written by hand.
Id = Annotated[StrictStr, text_schema(Letters(255))]
Text = Annotated[StrictStr, text_schema(Letters())]
ShortLine = Annotated[StrictStr, text_schema(Letters(500, blank=True))]
Whole = Annotated[StrictInt, Field(ge=1, le=LARGEST), BeforeValidator(_whole_number)]
Object = dict[str, JsonValue]
Limit = Annotated[int, Field(ge=1, le=MOST, description="How many at most.")]
Offset = Annotated[int, Field(ge=0, le=LARGEST, description="How many to pass over.")]
IN_JSON = {bool: StrictBool, int: StrictInt, float: StrictFloat}


class StrictModel(BaseModel):
    """The base of request bodies: a field that it does not name is refused."""

    model_config = ConfigDict(extra="forbid")


def taken(given: Argument, *, strict: bool = True) -> Any:
    """Return the type that checks an argument: strictly in JSON, which has numbers; else texts may say them."""
    kind = _kind(given, strict)
    return kind | None if given.optional else kind


def model(name: str, arguments: Iterable[Argument], *, about: str = "", some: bool = False) -> type[BaseModel]:
    """Return the model of a body; with `some` at least one must be there, and none of them is null."""
    fields: dict[str, Any] = {each.name: _field(each, some) for each in arguments}
    made = create_model(name, __base__=StrictModel, __doc__=about or None, **fields)
    if some:
        made.model_config["json_schema_extra"] = {"minProperties": 1}
        made.model_rebuild(force=True)
    return made


def values(given: BaseModel) -> dict[str, Any]:
    """Return what a model was given, by name; models in it as dictionaries of their own."""
    return {name: _plain(getattr(given, name)) for name in type(given).model_fields}


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return values(value)
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _field(given: Argument, some: bool) -> tuple[Any, FieldInfo]:
    about: dict[str, Any] = {"description": given.about} if given.about else {}
    if given.needed:
        return taken(given), Field(**about)
    if some:
        return _kind(given, True), Field(default_factory=lambda: None, **about)
    return taken(given), Field(given.default, **about)


def _kind(given: Argument, strict: bool) -> Any:
    kind = given.kind
    if get_origin(kind) in (Union, types.UnionType):
        return _one_of(given, strict)
    if kind is Any:
        return JsonValue
    if kind is datetime:
        return Moment
    if kind is str:
        return _text(given)
    if kind in IN_JSON:
        return _number(given, strict)
    if get_origin(kind) in (Iterable, list):
        (each,) = get_args(kind)
        bounds = given.bounds or Bounds(0, 10_000)
        many = Field(min_length=int(bounds.least) or None, max_length=int(bounds.most))
        return Annotated[list[_kind(argument(given.name, each), strict)], many]  # type: ignore[misc]
    if get_origin(kind) is Mapping:
        return dict[str, JsonValue] if strict else InAddress
    return kind


def _one_of(given: Argument, strict: bool) -> Any:
    """Returns the type for those members of a union that JSON has; a duration is a number of seconds."""
    members = [argument(given.name, each) for each in get_args(given.kind)]
    sent = [each for each in members if each.kind in (str, int, float)]
    if len(sent) == 1:
        spans = any(each.kind is timedelta for each in members)
        return _number(given, strict, float) if spans else _kind(sent[0], strict)
    return Union[tuple(IN_JSON.get(each.kind, StrictStr) for each in sent)]  # noqa: UP007 - computed


def _number(given: Argument, strict: bool, kind: Any = None) -> Any:
    kind = kind or given.kind
    found = IN_JSON[kind] if strict else kind
    if given.bounds is None:
        return found
    bounds = Field(ge=given.bounds.least, le=most(given))
    return (
        Annotated[found, bounds, BeforeValidator(_whole_number)] if kind is int and strict else Annotated[found, bounds]
    )


def most(given: Argument) -> float:
    """Return the most that a number may be; of a list, no more than an answer holds."""
    assert given.bounds is not None
    return min(given.bounds.most, MOST) if given.name == "limit" else given.bounds.most


def _text(given: Argument) -> Any:
    """Returns the type of a text. The core checks it; the schema tells the rules beforehand."""
    if given.choices is not None:
        return Annotated[StrictStr, Field(json_schema_extra={"enum": [*given.choices.words]})]
    return StrictStr if given.letters is None else Annotated[StrictStr, text_schema(given.letters)]
