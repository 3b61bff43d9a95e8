"""The proxy: an OpenAI client that changes its base URL gets memory, from its own model or an agent of this server."""

from ltst.doors.http.routes.proxy import completions, embeddings, models, responses
from ltst.doors.http.routes.proxy.common import router

__all__ = ["completions", "embeddings", "models", "responses", "router"]
