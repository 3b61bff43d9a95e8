"""Files that survive a loss of power: a new name lasts only once the folder that holds it was written too."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def make_folder(folder: Path) -> None:
    """Make a private folder, with those above it, unless it is there."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)
        sync(folder.parent)


def link(draft: Path, file: Path) -> None:
    """Give a finished file, which is on the disk, its name; FileExistsError if the name is taken."""
    os.link(draft, file)
    sync(file.parent)


def replace(draft: Path, file: Path) -> None:
    """Put a finished file, which is on the disk, in the place of another."""
    draft.replace(file)
    sync(file.parent)
