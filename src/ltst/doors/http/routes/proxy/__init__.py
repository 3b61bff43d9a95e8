"""The proxy: gives OpenAI clients that change their base URL a memory, with their model or an agent of this server."""

from ltst.doors.http.routes.proxy import completions, embeddings, models, responses
from ltst.doors.http.routes.proxy.common import router

__all__ = ["completions", "embeddings", "models", "responses", "router"]
