"""Files that survive a power loss: a new name lasts only once the folder that holds it is written too."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Waits until a file's bytes, or a folder's names, are on disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def make_folder(folder: Path) -> None:
    """Creates a private folder, and those above it, unless it exists."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync(folder.parent)


def link(draft: Path, file: Path) -> None:
    """Gives a finished file, already on disk, its name; raises FileExistsError if the name is taken."""
    os.link(draft, file)
    sync(file.parent)


def replace(draft: Path, file: Path) -> None:
    """Replaces a file by a finished one that is already on disk."""
    draft.replace(file)
    sync(file.parent)
