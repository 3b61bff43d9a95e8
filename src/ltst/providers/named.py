"""Embedders by name, so that every process can create the one whose vectors a database holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ltst.errors import Invalid
from ltst.providers import joined, multilingual
from ltst.providers.folder import FolderEmbedder
from ltst.providers.joined import JoinedEmbedder
from ltst.providers.local import NAME, LocalEmbedder
from ltst.providers.multilingual import MultilingualEmbedder
from ltst.providers.remote import OpenAIEmbedder

if TYPE_CHECKING:
    from ltst.protocols import Embedder

JOINED = "joined"
LOCAL = "local"
FOLDER = "local:"
MULTILINGUAL = "multilingual"
REMOTE = "openai:"
OPENAI = "https://api.openai.com/v1"
ACCEPTED = (
    f"{JOINED} ({LOCAL} and {MULTILINGUAL} in one), {LOCAL} (all-MiniLM-L6-v2 in this process), {MULTILINGUAL} (16 "
    f"languages, in this process), {FOLDER}FOLDER (a model that lies there as ONNX), {REMOTE}MODEL or "
    f"{REMOTE}MODEL@BASE_URL"
)


def embedder_named(name: str, api_key: str | None = None, threads: int | None = None) -> Embedder:
    """Returns the embedder of a name: `joined`, `local`, `multilingual`, `local:FOLDER` or `openai:MODEL[@BASE_URL]`.

    The key is for embedders on the network, `threads` for models in this process.
    """
    if name in (JOINED, joined.NAME):
        return JoinedEmbedder(threads=threads)
    if name in (LOCAL, NAME):
        return LocalEmbedder(threads=threads)
    if name in (MULTILINGUAL, multilingual.NAME):
        return MultilingualEmbedder()
    if name.startswith(FOLDER) and name.removeprefix(FOLDER).strip():
        return FolderEmbedder(name.removeprefix(FOLDER), threads=threads)
    model, _, base_url = name.removeprefix(REMOTE).partition("@")
    if not name.startswith(REMOTE) or not model:
        raise Invalid(f"there is no embedder {name!r}; accepted are {ACCEPTED}")
    return OpenAIEmbedder(base_url or OPENAI, model, api_key)


def lasting(name: str) -> str:
    """Returns the name in a form that other processes can use: with the absolute path of a folder."""
    if not name.startswith(FOLDER):
        return name
    return FOLDER + str(Path(name.removeprefix(FOLDER)).expanduser().absolute())
