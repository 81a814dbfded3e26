"""What a desktop can do, whatever it runs in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypedDict

import numpy as np
from numpy.typing import NDArray

from rla_envs.osworld.actions import Action


class Node(TypedDict):
    """One element of an accessibility tree."""

    role: str
    """As AT-SPI names it, e.g. "push button"."""
    name: str
    text: str
    """What stands in it; may be empty."""
    box: tuple[int, int, int, int]
    """x, y, width and height on the screen, in pixels."""
    focused: bool
    depth: int
    """0 for the window."""


class Tree(TypedDict):
    """The active window as assistive technology sees it."""

    title: str
    """The window's title, "" when no window is active."""
    nodes: list[Node]
    """Visible elements in reading order."""
    complete: bool
    """False when the budget of nodes or of time ended the walk."""


class Desktop(Protocol):
    """A graphical desktop with a home directory /home/user.

    Every method raises DesktopError when the desktop itself fails; it then takes ``close`` and
    ``start`` to go on.
    """

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen, in pixels."""
        ...

    def start(self) -> None:
        """Start it; nothing happens if it runs."""
        ...

    def reset(self) -> None:
        """End all applications and give the home directory its first state."""
        ...

    def close(self) -> None:
        """End it and everything that runs on it; closing twice is fine."""
        ...

    def screenshot(self) -> NDArray[np.uint8]:
        """Return the screen, uint8 [height, width, 3], RGB."""
        ...

    def cursor(self) -> tuple[int, int]:
        """Return where the pointer is, in pixels."""
        ...

    def act(self, action: Action) -> None:
        """Carry out one action and wait until the applications are at rest."""
        ...

    def settle(self) -> None:
        """Wait until the applications are at rest, for some seconds at most."""
        ...

    def a11y(self) -> Tree:
        """Return the active window's elements, within a budget of nodes and of time."""
        ...

    def launch(self, command: Sequence[str]) -> None:
        """Start an application and wait for its window, or until nothing happens any more."""
        ...

    def run(self, command: Sequence[str] | str) -> tuple[int, str, str]:
        """Run a command (a string goes to the shell); return (exit code, stdout, stderr).

        What does not end in time ends with the exit code 124, as with timeout(1).
        """
        ...

    def read_file(self, path: str) -> bytes | None:
        """Return a file's bytes, None if there is no such file."""
        ...

    def write_file(self, path: str, data: bytes) -> None:
        """Write a file, folders included."""
        ...
