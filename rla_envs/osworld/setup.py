"""Carrying out the setup and postconfig steps of OSWorld's task files."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from time import sleep
from typing import Any

from rla_task_sets.osworld.files import file_bytes

from rla_envs.errors import TaskError, TaskUnavailable
from rla_envs.osworld.guest import DesktopGuest

PASSWORD = "password"
"""What {CLIENT_PASSWORD} stands for; the desktop's user has it."""

_SUDO = re.compile(r"(?:echo \{CLIENT_PASSWORD\} \| )?sudo (?:-S )?(?:-u user )?")
"""There is no root on our desktops, and their user owns what tasks touch."""

_PYAUTOGUI = re.compile(r"\bpyautogui\b")


def run_steps(steps: Sequence[Mapping[str, Any]], guest: DesktopGuest) -> None:
    """Carry out steps, one after the other.

    Raises:
        TaskUnavailable: a step cannot be carried out here, or its file is missing.
        TaskError: a step is malformed.
        RlaError: the desktop failed.
    """
    for step in steps:
        kind, parameters = step["type"], step.get("parameters", {})
        if kind not in _STEPS:
            raise TaskUnavailable(
                f"setup step {kind!r} cannot be carried out here; known are {sorted(_STEPS)}"
            )
        try:
            _STEPS[kind](guest, parameters)
        except KeyError as error:
            raise TaskError(f"setup step {kind} has no parameter {error}") from error


def _write_file(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    guest.write_file(_path(parameters["path"]), file_bytes(parameters))


def _download(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    for file in parameters["files"]:
        path = _path(file["path"])
        guest.write_file(path, guest.asset(file["url"], PurePosixPath(path).name))


def _launch(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    command = _filled(parameters["command"], guest)
    if isinstance(command, str):
        command = ["sh", "-c", command] if parameters.get("shell", False) else shlex.split(command)
    elif parameters.get("shell", False):
        command = ["sh", "-c", shlex.join(command)]
    guest.launch(command)


def _open(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    guest.launch(["xdg-open", _path(parameters["path"])])


def _execute(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    command = _filled(parameters["command"], guest)
    if isinstance(command, str):
        command = command if parameters.get("shell", False) else shlex.split(command)
    if not isinstance(command, str) and len(command) == 3 and _PYAUTOGUI.search(command[2]):
        # OSWorld's images carry pyautogui; here its calls are parsed like an agent's.
        guest.act_code(command[2])
        return
    guest.run(command)


def _sleep(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    del guest
    sleep(float(parameters["seconds"]))


def _activate_window(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    guest.window("-a", parameters["window_name"], strict=parameters.get("strict", False))


def _close_window(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    guest.window("-c", parameters["window_name"], strict=parameters.get("strict", False))


def _open_tabs(guest: DesktopGuest, parameters: Mapping[str, Any]) -> None:
    for url in parameters["urls_to_open"]:
        guest.launch(["google-chrome", url])


_STEPS = {
    "write_file": _write_file,
    "download": _download,
    "launch": _launch,
    "open": _open,
    "execute": _execute,
    "command": _execute,
    "execute_with_verification": _execute,
    "sleep": _sleep,
    "activate_window": _activate_window,
    "close_window": _close_window,
    "chrome_open_tabs": _open_tabs,
}


def _filled(command: str | Sequence[str], guest: DesktopGuest) -> str | list[str]:
    width, height = guest.screen
    values = {
        "{CLIENT_PASSWORD}": PASSWORD,
        "{SCREEN_WIDTH_HALF}": str(width // 2),
        "{SCREEN_HEIGHT_HALF}": str(height // 2),
        "{SCREEN_WIDTH}": str(width),
        "{SCREEN_HEIGHT}": str(height),
    }

    def fill(text: str) -> str:
        text = _SUDO.sub("", text)
        for name, value in values.items():
            text = text.replace(name, value)
        return text

    return fill(command) if isinstance(command, str) else [fill(word) for word in command]


def _path(path: str) -> str:
    return f"/home/user{path[1:]}" if path.startswith("~") else path
