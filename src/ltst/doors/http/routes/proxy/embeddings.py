"""The embeddings API, answered by the database's embedding model or by a model behind this server."""

from __future__ import annotations

import base64
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request, Response

from ltst.agents.relay import Relay
from ltst.doors.http.callers import Calling
from ltst.doors.http.routes.proxy.common import OWN, WHOLE, answered, described, is_own, passed_whole, read, router
from ltst.errors import Invalid, NotFound
from ltst.memory import AsyncMemory
from ltst.support import tokens

EMBEDDER = f"{OWN}embedder"
MOST_TEXTS = 2048
ENCODINGS = ("float", "base64")
NEEDED = "the request must be a JSON object with model and input, a text or a list of texts"
REQUEST = described(
    ["model", "input"],
    {
        "input": {
            "description": "What to embed: a text, or up to 2,048 of them.",
            "anyOf": [
                {"type": "string", "pattern": r"\S"},
                {"type": "array", "minItems": 1, "maxItems": MOST_TEXTS, "items": {"type": "string", "pattern": r"\S"}},
            ],
        },
        "encoding_format": {"enum": [*ENCODINGS]},
        "dimensions": {"type": "integer", "description": "The length of the vectors, which is the model's own."},
    },
    {"model": EMBEDDER, "input": "Where do I live?"},
)


@router.post("/embeddings", openapi_extra=REQUEST, responses=WHOLE, response_class=Response)
async def create_embeddings(request: Request, caller: Calling) -> Response:
    """Return the vectors of texts, each of length one, by the embedding model of this server's database."""
    body = await read(request)
    if not isinstance(body, Mapping):
        raise Invalid(NEEDED)
    memory: AsyncMemory = request.app.state.memory
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise Invalid(f"model is missing: ask for {EMBEDDER}")
    if model not in (EMBEDDER, await memory.embedder_model()):
        return await _elsewhere(request, model)
    texts, encoding = _texts(body.get("input"), memory.settings.max_content_bytes), _encoding(body)
    vectors = await memory.embed(texts)
    _check_dimensions(body.get("dimensions"), len(vectors[0]))
    spent = sum(map(tokens.count, texts))
    data = [
        {"object": "embedding", "index": index, "embedding": _encoded(vector, encoding)}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": spent, "total_tokens": spent}
    return answered({"object": "list", "data": data, "model": await memory.embedder_model(), "usage": usage})


async def _elsewhere(request: Request, model: str) -> Response:
    """Returns the vectors of a model behind this server, unchanged."""
    relay: Relay = request.app.state.relay
    if is_own(model) or not relay.leads_somewhere:
        raise NotFound(f"there is no embedding model {model!r} here: ask for {EMBEDDER}")
    sent = await relay.send("POST", "/embeddings", await request.body(), dict(request.headers))
    return await passed_whole(sent)


def _texts(given: object, most_bytes: int) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) for each in texts):
        raise Invalid("input must be a text, or a list of at least one text; lists of tokens are not read")
    if not all(each.strip() for each in texts):
        raise Invalid("each text of input must have something in it: none may be empty or blank")
    if len(texts) > MOST_TEXTS:
        raise Invalid(f"input must be at most {MOST_TEXTS:,} texts, not {len(texts):,}")
    if sum(len(each.encode(errors="replace")) for each in texts) > most_bytes:
        raise Invalid(f"the texts of input must be at most {most_bytes:,} bytes of UTF-8 together")
    return texts


def _encoding(body: Mapping[str, Any]) -> str:
    encoding = body.get("encoding_format") or "float"
    if encoding not in ENCODINGS:
        raise Invalid(f"encoding_format must be one of {', '.join(ENCODINGS)}, not {encoding!r}")
    return str(encoding)


def _check_dimensions(wanted: object, length: int) -> None:
    if wanted is not None and wanted != length:
        raise Invalid(f"dimensions must be {length}, the length of this model's vectors, or left out, not {wanted!r}")


def _encoded(vector: Sequence[float], encoding: str) -> list[float] | str:
    """Return a vector as numbers, or as the bytes of its numbers, in four little-endian bytes each."""
    if encoding == "float":
        return [*vector]
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
