"""The models API: lists the models behind this server and its own agents."""

from __future__ import annotations

import json
from typing import Annotated, Any
from urllib.parse import quote, unquote

from fastapi import Path, Request, Response

from ltst.agents.relay import Relay
from ltst.agents.turns import Turns
from ltst.doors.http.callers import Calling
from ltst.doors.http.routes.proxy.common import OWN, WHOLE, answered, is_own, passed_whole, relay_for, router
from ltst.doors.http.routes.proxy.embeddings import EMBEDDER
from ltst.errors import NotFound

ModelId = Annotated[str, Path(description="The id of a model, such as ltst/recall.", min_length=1)]


@router.get("/models", responses=WHOLE, response_class=Response)
async def list_models(request: Request, caller: Calling) -> Response:
    """Return the models to choose from: those behind this server, and its own agents."""
    turns: Turns = request.app.state.turns
    own = [_model(f"{OWN}{agent.name}") for agent in turns.agents.list()]
    relay: Relay = request.app.state.relay
    if not relay.leads_somewhere:
        return answered({"object": "list", "data": own})
    passage = await relay.send("GET", "/models", headers=dict(request.headers))
    whole = await passed_whole(passage)
    try:
        upstream = json.loads(bytes(whole.body))["data"]
    except (ValueError, KeyError, TypeError):
        upstream = None
    if not passage.ok or not isinstance(upstream, list):
        return whole
    return answered({"object": "list", "data": [*upstream, *own]})


@router.get("/models/{model_id:path}", responses=WHOLE, response_class=Response)
async def get_model(request: Request, caller: Calling, model_id: ModelId) -> Response:
    """Return one model: an agent of this server, its embedder, or a model behind it."""
    named = unquote(model_id)
    if not is_own(named):
        relay = relay_for(request, named)
        path = f"/models/{quote(named, safe='')}"
        return await passed_whole(await relay.send("GET", path, headers=dict(request.headers)))
    turns: Turns = request.app.state.turns
    if named != EMBEDDER and named.removeprefix(OWN) not in {each.name for each in turns.agents.list()}:
        raise NotFound(f"there is no model {named!r} here: GET /v1/models lists them")
    return answered(_model(named))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ltst"}
