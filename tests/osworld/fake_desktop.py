"""A scripted desktop: files in a dict, one text field, every action written down."""

from __future__ import annotations

import numpy as np

from rla_envs.errors import DesktopError


class FakeDesktop:
    """Implements the protocol without a screen: keys go into one text, ctrl+s saves it."""

    def __init__(self, size=(64, 48), *, outputs=None):
        self.size, self.outputs = size, outputs or {}
        self.calls, self.files, self.text = [], {}, ""
        self.saves_to = None
        self.dead = False

    def start(self):
        self.calls.append("start")

    def reset(self):
        if self.dead:
            raise DesktopError("it died")
        self.calls.append("reset")
        self.files, self.text, self.saves_to = {}, "", None

    def close(self):
        self.calls.append("close")
        self.dead = False

    def screenshot(self):
        width, height = self.size
        return np.full((height, width, 3), len(self.text) % 256, np.uint8)

    def cursor(self):
        return (1, 2)

    def act(self, action):
        self.calls.append(action)
        if action.kind == "type":
            self.text += action.text
        elif action.kind == "press" and action.keys == ("ctrl", "s") and self.saves_to:
            self.files[self.saves_to] = self.text.encode()

    def settle(self):
        self.calls.append("settle")

    def a11y(self):
        nodes = [
            ("frame", "Notes", "", (0, 0, 60, 40), 0),
            ("push button", "Save", "", (10, 20, 20, 10), 1),
            ("table cell", "A1", "", (0, 0, 5, 5), 1),
            ("text", "", self.text, (0, 0, 60, 20), 1),
        ]
        return {
            "title": "Notes",
            "complete": True,
            "nodes": [
                {"role": r, "name": n, "text": t, "box": b, "depth": d, "focused": r == "text"}
                for r, n, t, b, d in nodes
            ],
        }

    def launch(self, command):
        self.calls.append(("launch", *command))
        self.saves_to = command[-1]
        self.text = self.files.get(self.saves_to, b"").decode()

    def run(self, command):
        self.calls.append(("run", command))
        key = command if isinstance(command, str) else tuple(command)
        answer = self.outputs.get(key, "")
        if isinstance(answer, Exception):
            raise answer
        return (0, answer, "")

    def read_file(self, path):
        return self.files.get(path)

    def write_file(self, path, data):
        self.files[path] = data
