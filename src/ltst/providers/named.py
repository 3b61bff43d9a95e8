"""Embedders by name, so that every process can make the one whose vectors a database holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ltst.errors import Invalid
from ltst.providers.local import NAME, LocalEmbedder
from ltst.providers.remote import OpenAIEmbedder

if TYPE_CHECKING:
    from ltst.protocols import Embedder

LOCAL = "local"
REMOTE = "openai:"
OPENAI = "https://api.openai.com/v1"
ACCEPTED = f"{LOCAL} (all-MiniLM-L6-v2 in this process), {REMOTE}MODEL or {REMOTE}MODEL@BASE_URL"


def embedder_named(name: str, api_key: str | None = None, threads: int | None = None) -> Embedder:
    """The embedder of a name: `local`, `openai:MODEL` for OpenAI's, `openai:MODEL@BASE_URL` for any that speaks so.

    The key is for those that are asked over the network, the threads are for the one of this process.
    """
    if name in (LOCAL, NAME):
        return LocalEmbedder(threads=threads)
    model, _, base_url = name.removeprefix(REMOTE).partition("@")
    if not name.startswith(REMOTE) or not model:
        raise Invalid(f"there is no embedder {name!r}; accepted are {ACCEPTED}")
    return OpenAIEmbedder(base_url or OPENAI, model, api_key)
