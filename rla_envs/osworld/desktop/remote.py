"""The owner's side of a desktop: calls to the server inside it, whatever it runs in."""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from rla_envs.errors import ConfigError, DesktopError, MissingExtra
from rla_envs.osworld.actions import Action
from rla_envs.osworld.actions.keys import KEYSYMS
from rla_envs.osworld.desktop.protocol import Tree

SIZE = (1280, 720)
START_S, CALL_S, RUN_S = 60.0, 240.0, 120.0
A11Y_NODES, A11Y_S = 1000, 4.0


class Inside(Protocol):
    """What a desktop runs in: started, watched, and ended with everything in it."""

    shared: Path
    """Folder that both sides see; the server's socket appears in it."""

    def running(self) -> bool:
        """Whether it still runs."""
        ...

    def log(self) -> str:
        """Return the end of what it said."""
        ...

    def end(self) -> None:
        """End it and all its processes, and remove the folder."""
        ...


class ServedDesktop(ABC):
    """A desktop behind the server of ``rla_envs.osworld.desktop.inside``.

    One owner, one call at a time. A desktop that died is started anew by ``start`` and by
    ``reset``.

    Args:
        size: Width and height of the screen, in pixels.
        network: Whether its applications may reach the network.
    """

    def __init__(self, size: tuple[int, int] = SIZE, *, network: bool = False) -> None:
        if min(size) < 200 or max(size) > 8192:
            raise ConfigError(f"a screen has 200 to 8192 pixels a side, got {size}")
        self._size, self.network = size, network
        self._inside: Inside | None = None
        self._connection: _Connection | None = None
        self._token = ""

    @abstractmethod
    def _begin(self, token: str) -> Inside:
        """Start what it runs in; the server is not ready yet."""

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the screen, in pixels."""
        return self._size

    def start(self) -> None:
        """Start it; nothing happens if it runs.

        Raises:
            MissingExtra: a program or package is not installed; the message says how to get it.
            DesktopError: it did not start.
        """
        if self._inside is not None and self._inside.running() and self._connection is not None:
            return
        self.close()
        _pillow()
        self._token = secrets.token_urlsafe(24)
        self._inside = inside = self._begin(self._token)
        path, end = inside.shared / "socket", time.monotonic() + START_S
        while not path.exists():
            if not inside.running():
                raise self._failed("it ended while it started")
            if time.monotonic() > end:
                raise self._failed(f"it was not ready within {START_S:.0f} s")
            time.sleep(0.02)
        self._connection = _Connection(str(path))

    def reset(self, *, hard: bool = False) -> None:
        """End all applications and give the home directory its first state.

        Args:
            hard: Whether to start everything anew; a soft reset keeps display, message buses and
                window manager, and turns into a hard one if any of them is gone.
        """
        if not hard and self._inside is not None:
            try:
                self._call("reset")
            except DesktopError:
                hard = True
        if hard:
            self.close()
        self.start()

    def close(self) -> None:
        """End it and everything that runs on it; closing twice is fine."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        if self._inside is not None:
            inside, self._inside = self._inside, None
            inside.end()

    def screenshot(self) -> NDArray[np.uint8]:
        """Return the screen, uint8 [height, width, 3], RGB, pointer included."""
        data, headers = self._post("pixels", b"[]")
        width, height, line = map(int, headers["X-Frame"].split())
        image = _pillow().frombuffer("RGB", (width, height), data, "raw", "BGRX", line, 1)
        return np.asarray(image, dtype=np.uint8)

    def cursor(self) -> tuple[int, int]:
        """Return where the pointer is, in pixels."""
        x, y = self._call("cursor")
        return x, y

    def act(self, action: Action, *, settle: bool = True) -> None:
        """Carry out one action and, unless told not to, wait until the applications are at rest."""
        data = action.as_json()
        data["keys"] = [KEYSYMS.get(key, key) for key in action.keys]
        self._call("act", data, settle)

    def settle(self) -> None:
        """Wait until the applications are at rest, for some seconds at most."""
        self._call("settle")

    def a11y(self, *, nodes: int = A11Y_NODES, seconds: float = A11Y_S) -> Tree:
        """Return the active window's elements; the walk ends after so many nodes or seconds."""
        tree = self._call("a11y", nodes, seconds)
        for node in tree["nodes"]:
            node["box"] = tuple(node["box"])
        return tree

    def windows(self) -> int:
        """Return how many windows are on the screen."""
        return self._call("windows")

    def launch(self, command: Sequence[str]) -> None:
        """Start an application and wait for its window, or until nothing happens any more."""
        self._call("launch", list(command))

    def run(
        self, command: Sequence[str] | str, *, timeout_s: float = RUN_S
    ) -> tuple[int, str, str]:
        """Run a command (a string goes to the shell); return (exit code, stdout, stderr)."""
        given = command if isinstance(command, str) else list(command)
        code, out, error = self._call("run", given, timeout_s)
        return code, out, error

    def read_file(self, path: str) -> bytes | None:
        """Return a file's bytes, None if there is no such file."""
        data, headers = self._post(f"read_file?{urlencode({'path': path})}", b"")
        return None if headers["status"] == "404" else data

    def write_file(self, path: str, data: bytes) -> None:
        """Write a file, folders included."""
        self._post(f"write_file?{urlencode({'path': path})}", data)

    def __enter__(self) -> ServedDesktop:
        """Start it."""
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _call(self, name: str, *arguments: Any) -> Any:
        data, _ = self._post(name, json.dumps(arguments).encode())
        return json.loads(data)["value"]

    def _post(self, path: str, body: bytes) -> tuple[bytes, dict[str, str]]:
        name = path.partition("?")[0]
        if self._connection is None:
            raise DesktopError(f"{name}: the desktop is not running; call start()")
        headers = {"Authorization": f"Bearer {self._token}"}
        try:
            self._connection.request("POST", f"/{path}", body, headers)
            answer = self._connection.getresponse()
            data = answer.read()
        except (OSError, http.client.HTTPException) as error:
            raise self._failed(f"{name}: {error or type(error).__name__}") from error
        if answer.status == 422:
            raise DesktopError(f"{name}: {json.loads(data)['error']}")
        if answer.status not in (200, 404):
            raise DesktopError(f"{name}: the desktop's server answered {answer.status}")
        return data, {**dict(answer.getheaders()), "status": str(answer.status)}

    def _failed(self, what: str) -> DesktopError:
        said = self._inside.log() if self._inside is not None else ""
        self.close()
        return DesktopError(
            f"the desktop failed: {what}; start() makes a new one. "
            f"It said: {said.strip() or 'nothing'}"
        )


class _Connection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("desktop", timeout=CALL_S)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket."""
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra("screenshots need Pillow: pip install 'rla-envs[osworld]'") from None
    return Image
