"""Files over HTTP, sent as they are."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import StrictStr

from ltst.arguments import Letters
from ltst.doors.http.callers import Guarded, User
from ltst.errors import Invalid
from ltst.support.reading.source import MEDIA_TYPES
from ltst.verbs import shapes
from ltst.verbs.wire import ShortLine, told

router = APIRouter(route_class=Guarded)

Title = Annotated[ShortLine | None, Query(description="What to call it.")]
Uri = Annotated[
    Annotated[StrictStr, told(Letters(4096, blank=True))] | None,
    Query(description="Where it is from; the same uri again changes the document."),
]
Metadata = Annotated[StrictStr | None, Query(description="A JSON object, as text.", examples=['{"topic": "food"}'])]
FILE = {
    "requestBody": {
        "required": True,
        "content": {name: {"schema": {"type": "string", "format": "binary"}} for name in MEDIA_TYPES},
    }
}


@router.post(
    "/v1/documents/file",
    response_model=shapes.DocumentWhole,
    status_code=201,
    tags=["documents"],
    openapi_extra=FILE,
)
async def add_file(
    request: Request, user: User, title: Title = None, uri: Uri = None, metadata: Metadata = None
) -> Any:
    """Keep a file: a PDF, HTML, Markdown or plain text, sent as it is with its content type."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in MEDIA_TYPES:
        raise Invalid(f"a file is one of {', '.join(MEDIA_TYPES)}, named in the header Content-Type")
    about = None if metadata is None else _object(metadata)
    return await user.documents.add(await request.body(), title=title, uri=uri, metadata=about, media_type=kind)


def _object(written: str) -> Any:
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        raise Invalid("metadata must be a JSON object, written as text") from None
