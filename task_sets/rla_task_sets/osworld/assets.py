"""Files that a task needs and does not contain: from a cache folder, or from their address."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

from rla_envs.errors import TaskUnavailable

TIMEOUT = 60
"""Longest wait for a server, in seconds."""


class Assets:
    """A cache of asset files.

    A file is looked for as ``<cache>/<task id>/<name>`` and ``<cache>/<name>``, where the name is
    the one the task file gives or the last part of the address.

    Args:
        cache: The folder; None means that there are no files at hand.
        download: Whether what is missing is fetched from its address and kept in the cache.
    """

    def __init__(self, cache: Path | str | None = None, *, download: bool = False) -> None:
        self.cache = None if cache is None else Path(cache)
        self.download = download

    def get(self, task_id: str, url: str, name: str) -> bytes:
        """Return the bytes of an asset.

        Raises:
            TaskUnavailable: it is neither in the cache nor to be had from its address.
        """
        last = PurePosixPath(unquote(urlsplit(url).path)).name
        if self.cache is not None:
            folder = self.cache / PurePosixPath(task_id).name
            for path in (folder / name, folder / last, self.cache / name, self.cache / last):
                if path.is_file() and path.resolve().is_relative_to(self.cache.resolve()):
                    return path.read_bytes()
        if not self.download or not url.startswith(("https://", "http://")):
            raise TaskUnavailable(
                f"task {task_id} needs the file {name!r} ({url or 'no address'}), which is not in "
                f"the cache {self.cache}; put it there, or allow download=True"
            )
        data = self._fetch(task_id, url, name)
        if self.cache is not None:
            kept = self.cache / PurePosixPath(task_id).name / PurePosixPath(name).name
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)
        return data

    def _fetch(self, task_id: str, url: str, name: str) -> bytes:
        try:
            with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
                return answer.read()
        except (urllib.error.URLError, TimeoutError, OSError) as error:
            raise TaskUnavailable(
                f"task {task_id} needs the file {name!r}, and {url} does not give it: {error}"
            ) from error


def needed(payload: object) -> list[tuple[str, str]]:
    """Return (address, name) of every file that a task's payload names, setup and references."""
    found: list[tuple[str, str]] = []
    _collect(payload, found)
    return list(dict.fromkeys(found))


def _collect(node: object, found: list[tuple[str, str]]) -> None:
    if isinstance(node, list):
        for child in node:  # pyright: ignore[reportUnknownVariableType]
            _collect(child, found)  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(node, dict):
        entries: dict[str, object] = node  # pyright: ignore[reportUnknownVariableType]
        kind = entries.get("type")
        if kind == "cloud_file":
            _add(entries.get("path"), entries.get("dest"), found)
        elif kind == "download":
            parameters = entries.get("parameters")
            assert isinstance(parameters, dict)
            for file in parameters.get("files", ()):  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
                found.append((str(file["url"]), PurePosixPath(str(file["path"])).name))  # pyright: ignore[reportUnknownArgumentType]
        else:
            for child in entries.values():
                _collect(child, found)


def _add(path: object, name: object, found: list[tuple[str, str]]) -> None:
    if isinstance(path, str) and isinstance(name, str):
        found.append((path, name))
    elif isinstance(path, list) and isinstance(name, list):
        found.extend(zip(map(str, path), map(str, name), strict=True))  # pyright: ignore[reportUnknownArgumentType]
