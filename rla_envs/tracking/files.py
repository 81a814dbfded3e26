"""Writing files so that a reader sees all of the old or all of the new, even after a kill."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

TMP = ".tmp"
"""Suffix of everything unfinished; whatever carries it may be deleted at any time."""


@contextmanager
def replacing(path: Path) -> Generator[Path]:
    """Yield a temporary path to write to; on success it becomes path in one step."""
    temporary = path.with_name(path.name + TMP)
    yield temporary
    sync(temporary)
    os.replace(temporary, path)
    sync(path.parent)


def write_text(path: Path, text: str) -> None:
    """Replace the content of path in one step."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def sync(path: Path) -> None:
    """Ask the disk to keep a file, or the list of a folder's entries."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Ask the disk to keep folder and all below it."""
    for path in sorted(folder.rglob("*")):
        sync(path)
    sync(folder)


def remove(path: Path) -> None:
    """Delete a file or a folder; a folder disappears under its own name before it is emptied."""
    if path.is_dir() and not path.is_symlink():
        condemned = path if path.name.endswith(TMP) else path.with_name(path.name + TMP)
        if condemned != path:
            shutil.rmtree(condemned, ignore_errors=True)
            path.rename(condemned)
        shutil.rmtree(condemned)
    else:
        path.unlink(missing_ok=True)
