"""One thing that a hand does, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

Kind = Literal[
    "click",
    "move",
    "move_by",
    "drag",
    "drag_by",
    "mouse_down",
    "mouse_up",
    "scroll",
    "type",
    "press",
    "key_down",
    "key_up",
    "copy",
    "wait",
    "done",
    "fail",
]
ENDINGS = ("done", "fail")
BUTTONS = {"left": 1, "primary": 1, "middle": 2, "right": 3, "secondary": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that a hand does.

    Attributes:
        kind: What. "press" presses ``keys`` together and lets them go; "drag" holds a button from
            where the pointer is; "copy" puts ``text`` into the clipboard; "done" and "fail" end an
            episode and do nothing on a desktop.
        x: Where to, in pixels from the left; None: where the pointer is.
        y: Where to, in pixels from the top.
        button: Of a click, drag, mouse_down or mouse_up: 1 left, 2 middle, 3 right.
        times: How often to click or press.
        keys: Keys in pyautogui's names ("ctrl", "enter", "a"), as ``keys.key_name`` gives them.
        text: What is typed or copied.
        dx: Clicks of the wheel to the right; of move_by and drag_by, pixels to the right.
        dy: Clicks of the wheel upwards; of move_by and drag_by, pixels downwards.
        seconds: How long to wait.
    """

    kind: Kind
    x: int | None = None
    y: int | None = None
    button: int = 1
    times: int = 1
    keys: tuple[str, ...] = ()
    text: str = ""
    dx: int = 0
    dy: int = 0
    seconds: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """Return the action as plain data."""
        return asdict(self)

    def describe(self) -> str:
        """Return the action in a few words, e.g. ``right click (10, 20) x2``."""
        where = "" if self.x is None else f" ({self.x}, {self.y})"
        often = f" x{self.times}" if self.times > 1 else ""
        if self.kind in ("click", "mouse_down", "mouse_up", "drag"):
            side = {1: "", 2: "middle ", 3: "right "}[self.button]
            return f"{side}{self.kind.replace('_', ' ')}{where}{often}"
        if self.kind in ("scroll", "move_by", "drag_by"):
            return f"{self.kind.replace('_', ' ')} {self.dx:+d}, {self.dy:+d}{where}"
        if self.kind in ("press", "key_down", "key_up"):
            return f"{self.kind.replace('_', ' ')} {'+'.join(self.keys)}{often}"
        if self.kind in ("type", "copy"):
            return f"{self.kind} {self.text!r}"
        return f"wait {self.seconds:g} s" if self.kind == "wait" else f"{self.kind}{where}"


class NotUnderstood(ValueError):
    """The text is no action; the message says why, for the agent to read."""
