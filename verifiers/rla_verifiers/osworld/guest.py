"""What a verifier may ask of a desktop, and what it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from rla_envs.errors import MissingExtra

HOME = "/home/user"
"""The home directory that every task takes for granted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestFile:
    """A file as it was in the desktop, or a reference file to compare with.

    Attributes:
        name: File name without its folder; the suffix tells the format.
        data: Its bytes.
        siblings: Other files that were fetched together with it, by name: the CSV exports that
            ``compare_table``'s printed comparison reads.
    """

    name: str
    data: bytes
    siblings: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    @property
    def text(self) -> str:
        """The data as text: UTF-8 with or without a mark, else Latin-1, which fits any bytes."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return self.data.decode("latin-1")


class Guest(Protocol):
    """The part of a desktop that verifiers need.

    Every method raises when the desktop itself fails; nothing of that is the agent's fault.
    """

    def read_file(self, path: str) -> bytes | None:
        """Return the file's bytes, or None if there is no such file."""
        ...

    def run(self, command: Sequence[str] | str) -> tuple[int, str, str]:
        """Run a command (a string goes to the shell) and return (exit code, stdout, stderr)."""
        ...

    def a11y_xml(self) -> str:
        """Return the accessibility tree of all windows as OSWorld's XML."""
        ...

    def asset(self, url: str, name: str) -> bytes:
        """Return a reference file of the task by its address and its name in the cache.

        Raises:
            TaskUnavailable: it is neither in the cache nor to be had from its address.
        """
        ...


def library(module: str) -> Any:
    """Import a document library of the extra "osworld".

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"this verifier needs {error.name}, which is missing: pip install 'rla-envs[osworld]'"
        ) from error
