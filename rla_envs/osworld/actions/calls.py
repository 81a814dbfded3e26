"""What one call of pyautogui, time or pyperclip does, as actions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from rla_envs.osworld.actions.action import Action, NotUnderstood
from rla_envs.osworld.actions.keys import chord, key_name
from rla_envs.osworld.actions.limits import Frame, button, number, times, typed, waited, wheel

_CLICKS = {
    "click": (1, 1),
    "leftClick": (1, 1),
    "rightClick": (3, 1),
    "middleClick": (2, 1),
    "doubleClick": (1, 2),
    "tripleClick": (1, 3),
}
# Time that pyautogui spends on the way changes nothing about where it ends.
_PACE = ("duration", "tween", "interval", "logScreenshot", "_pause", "pause", "mouseDownUp")


class _Given:
    """Arguments of a call, by place or by name."""

    def __init__(self, name: str, given: Sequence[Any], named: Mapping[str, Any]) -> None:
        self.name, self.given = name, given
        self.named = {key: value for key, value in named.items() if key not in _PACE}

    def get(self, place: int, *names: str, default: Any = None) -> Any:
        for one in names:
            if one in self.named:
                return self.named.pop(one)
        return self.given[place] if 0 <= place < len(self.given) else default

    def point(self, frame: Frame, place: int = 0) -> tuple[int | None, int | None]:
        x, y = self.get(place, "x"), self.get(place + 1, "y")
        if isinstance(x, (tuple, list)):
            return frame.pair(cast(Sequence[Any], x))
        if x is None and y is None:
            return None, None
        return frame.point(x, y)

    def finished(self) -> None:
        if self.named:
            raise NotUnderstood(f"{self.name} has no argument {next(iter(self.named))!r}")


def call_action(
    name: str, given: Sequence[Any], named: Mapping[str, Any], frame: Frame
) -> list[Action]:
    """Return the actions of a call by its full name, e.g. "pyautogui.click".

    Raises:
        NotUnderstood: there is no such call, or it does not take these arguments.
    """
    if name not in _CALLS:
        raise NotUnderstood(f"there is no action {name}")
    arguments = _Given(name, given, named)
    actions = _CALLS[name](arguments, frame)
    arguments.finished()
    return actions


def _click(name: str) -> Callable[[_Given, Frame], list[Action]]:
    side, count = _CLICKS[name]

    def read(given: _Given, frame: Frame) -> list[Action]:
        x, y = given.point(frame)
        often = times(given.get(2, "clicks", default=1)) if name == "click" else count
        chosen = given.get(4 if name == "click" else 3, "button")
        which = side if chosen is None or side == 3 else button(chosen)
        return [Action(kind="click", x=x, y=y, button=which, times=often)]

    return read


def _move(given: _Given, frame: Frame) -> list[Action]:
    x, y = given.point(frame)
    if x is None:
        raise NotUnderstood(f"{given.name} needs x and y")
    return [Action(kind="move", x=x, y=y)]


def _drag(given: _Given, frame: Frame) -> list[Action]:
    x, y = given.point(frame)
    if x is None:
        raise NotUnderstood(f"{given.name} needs x and y")
    return [Action(kind="drag", x=x, y=y, button=button(given.get(4, "button", default="left")))]


def _move_by(given: _Given, frame: Frame) -> list[Action]:
    del frame
    return [Action(kind="move_by", dx=_pixels(given, 0), dy=_pixels(given, 1))]


def _drag_by(given: _Given, frame: Frame) -> list[Action]:
    del frame
    side = button(given.get(4, "button", default="left"))
    return [Action(kind="drag_by", dx=_pixels(given, 0), dy=_pixels(given, 1), button=side)]


def _pixels(given: _Given, place: int) -> int:
    names = ("xOffset", "x") if place == 0 else ("yOffset", "y")
    return round(number(given.get(place, *names, default=0)))


def _mouse_down(given: _Given, frame: Frame) -> list[Action]:
    x, y = given.point(frame)
    side = button(given.get(2, "button", default="left"))
    return [Action(kind="mouse_down", x=x, y=y, button=side)]


def _mouse_up(given: _Given, frame: Frame) -> list[Action]:
    x, y = given.point(frame)
    side = button(given.get(2, "button", default="left"))
    return [Action(kind="mouse_up", x=x, y=y, button=side)]


def _scroll(given: _Given, frame: Frame) -> list[Action]:
    clicks = wheel(given.get(0, "clicks"))
    x, y = given.point(frame, 1)
    if given.name == "pyautogui.hscroll":
        return [Action(kind="scroll", x=x, y=y, dx=clicks)]
    return [Action(kind="scroll", x=x, y=y, dy=clicks)]


def _write(given: _Given, frame: Frame) -> list[Action]:
    del frame
    text = given.get(0, "message", "text")
    if isinstance(text, (list, tuple)):
        keys = cast(Sequence[Any], text)
        return [Action(kind="press", keys=(_key(key),)) for key in keys]
    return [typed(text)]


def _press(given: _Given, frame: Frame) -> list[Action]:
    del frame
    keys = given.get(0, "keys", "key")
    listed = cast(Sequence[Any], keys) if isinstance(keys, (list, tuple)) else [keys]
    often = times(given.get(1, "presses", default=1))
    names = [_key(key) for key in listed]
    if len(names) == 1:
        return [Action(kind="press", keys=(names[0],), times=often)]
    return [Action(kind="press", keys=(key,)) for _ in range(often) for key in names]


def _hotkey(given: _Given, frame: Frame) -> list[Action]:
    del frame
    flat: list[Any] = []
    for value in given.given:
        flat += cast(Sequence[Any], value) if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(key, str) for key in flat):
        raise NotUnderstood(f"keys are names, not {flat!r}")
    return [Action(kind="press", keys=chord(flat))]


def _key_down(given: _Given, frame: Frame) -> list[Action]:
    del frame
    return [Action(kind="key_down", keys=(_key(given.get(0, "key")),))]


def _key_up(given: _Given, frame: Frame) -> list[Action]:
    del frame
    return [Action(kind="key_up", keys=(_key(given.get(0, "key")),))]


def _sleep(given: _Given, frame: Frame) -> list[Action]:
    del frame
    return [waited(given.get(0, "seconds", "secs", default=0))]


def _copy(given: _Given, frame: Frame) -> list[Action]:
    del frame
    return [Action(kind="copy", text=typed(given.get(0, "text")).text)]


def _key(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise NotUnderstood(f"a key has a name, {value!r} is none")
    return key_name(value)


_CALLS: Mapping[str, Callable[[_Given, Frame], list[Action]]] = {
    **{f"pyautogui.{name}": _click(name) for name in _CLICKS},
    "pyautogui.moveTo": _move,
    "pyautogui.dragTo": _drag,
    "pyautogui.move": _move_by,
    "pyautogui.moveRel": _move_by,
    "pyautogui.drag": _drag_by,
    "pyautogui.dragRel": _drag_by,
    "pyautogui.mouseDown": _mouse_down,
    "pyautogui.mouseUp": _mouse_up,
    "pyautogui.scroll": _scroll,
    "pyautogui.vscroll": _scroll,
    "pyautogui.hscroll": _scroll,
    "pyautogui.write": _write,
    "pyautogui.typewrite": _write,
    "pyautogui.press": _press,
    "pyautogui.hotkey": _hotkey,
    "pyautogui.keyDown": _key_down,
    "pyautogui.keyUp": _key_up,
    "pyautogui.sleep": _sleep,
    "time.sleep": _sleep,
    "pyperclip.copy": _copy,
}
