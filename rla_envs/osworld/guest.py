"""One desktop as tasks see it: files, commands, windows, actions, what is on the screen."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray
from rla_task_sets.osworld.assets import Assets, needed

from rla_envs.errors import DesktopError
from rla_envs.osworld.actions import NotUnderstood, parse
from rla_envs.osworld.desktop import Desktop, Node
from rla_envs.osworld.view import Element, telling
from rla_envs.types import Task


class DesktopGuest:
    """A desktop with the assets of the task that is played on it.

    Args:
        desktop: The desktop; started when the first episode begins.
        assets: Where files come from that tasks need and do not contain.
    """

    def __init__(self, desktop: Desktop, assets: Assets) -> None:
        self.desktop, self.assets = desktop, assets
        self.elements: Sequence[Element] = ()
        self._task_id = ""
        self._used = False

    @property
    def screen(self) -> tuple[int, int]:
        """Width and height of the screen, in pixels."""
        return self.desktop.size

    def begin(self, task_id: str) -> None:
        """Bring the desktop into its first state for an episode of a task.

        A desktop that died is started again.
        """
        self._task_id, self.elements = task_id, ()
        try:
            self.desktop.start()
            if self._used:
                self.desktop.reset()
        except DesktopError:
            self.desktop.close()
            self.desktop.start()
        self._used = True

    def require(self, task: Task) -> None:
        """Make sure that every file the task names is at hand.

        Raises:
            TaskUnavailable: one is not; the message names it.
        """
        self._task_id = task.id
        for url, name in needed(task.payload):
            self.asset(url, name)

    def asset(self, url: str, name: str) -> bytes:
        """Return a file of the task by its address and name."""
        return self.assets.get(self._task_id, url, name)

    def read_file(self, path: str) -> bytes | None:
        """Return a file's bytes, None if there is no such file."""
        return self.desktop.read_file(path)

    def write_file(self, path: str, data: bytes) -> None:
        """Write a file, folders included."""
        self.desktop.write_file(path, data)

    def run(self, command: Sequence[str] | str) -> tuple[int, str, str]:
        """Run a command; return (exit code, stdout, stderr)."""
        return self.desktop.run(command)

    def launch(self, command: Sequence[str]) -> None:
        """Start an application and wait for its window."""
        self.desktop.launch(command)

    def settle(self) -> None:
        """Wait until the applications are at rest."""
        self.desktop.settle()

    def window(self, flag: str, name: str, *, strict: bool) -> None:
        """Activate ("-a") or close ("-c") a window by its title or a part of it."""
        self.run(["wmctrl", *(["-F"] if strict else []), flag, name])
        self.settle()

    def act_code(self, code: str) -> str | None:
        """Carry out what a text says; return None, or why it could not be understood."""
        try:
            actions = parse(code, self.screen)
        except NotUnderstood as error:
            return str(error)
        for action in actions:
            if action.kind not in ("done", "fail"):
                self.desktop.act(action)
        return None

    def ending(self, code: str) -> str | None:
        """Return "done" or "fail" if that is what a text says, else None."""
        try:
            (action, *rest) = parse(code, self.screen)
        except NotUnderstood:
            return None
        return action.kind if not rest and action.kind in ("done", "fail") else None

    def screenshot(self) -> NDArray[np.uint8]:
        """Return the screen, uint8 [height, width, 3]."""
        return self.desktop.screenshot()

    def cursor(self) -> tuple[int, int]:
        """Return where the pointer is, in pixels."""
        return self.desktop.cursor()

    def look(self) -> tuple[str, Sequence[Element]]:
        """Return the active window's title and its telling elements; clicks count these."""
        tree = self.desktop.a11y()
        self.elements = telling([_element(node) for node in tree["nodes"]])
        return tree["title"], self.elements

    def a11y_xml(self) -> str:
        """Return the active window as OSWorld's XML: tags are roles, texts are contents."""
        tree = self.desktop.a11y()
        parts = ["<desktop-frame>"]
        open_tags: list[str] = []
        for node in tree["nodes"]:
            while len(open_tags) > node["depth"]:
                parts.append(f"</{open_tags.pop()}>")
            tag = node["role"].replace(" ", "-") or "unknown"
            parts.append(f"<{tag} name={quoteattr(_printable(node['name']))}>")
            parts.append(escape(_printable(node["text"])))
            open_tags.append(tag)
        parts += [f"</{tag}>" for tag in reversed(open_tags)]
        return "".join([*parts, "</desktop-frame>"])

    def close(self) -> None:
        """End the desktop."""
        self.desktop.close()


def _element(node: Node) -> Element:
    x, y, width, height = node["box"]
    return Element(
        role=node["role"],
        name=node["name"],
        text=node["text"],
        box=(x, y, width, height),
        focused=node["focused"],
    )


def _printable(text: str) -> str:
    return "".join(
        c for c in text if c in "\n\t" or (ord(c) >= 32 and ord(c) not in (0xFFFE, 0xFFFF))
    )
