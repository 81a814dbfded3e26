"""Tool calls of computer-use models: Qwen's, Anthropic's and OpenAI's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from rla_envs.osworld.actions.action import Action, NotUnderstood
from rla_envs.osworld.actions.keys import chord
from rla_envs.osworld.actions.limits import Frame, button, number, times, typed, waited, wheel

WAIT_SECONDS = 2.0
PIXELS_A_CLICK = 100
"""A wheel's click, for models that scroll by pixels."""
_CLICKS = {
    "click": (1, 1),
    "left_click": (1, 1),
    "right_click": (3, 1),
    "middle_click": (2, 1),
    "double_click": (1, 2),
    "triple_click": (1, 3),
}
_LOOKS = ("screenshot", "cursor_position", "zoom")


def read_tool_call(call: Mapping[str, Any], frame: Frame) -> list[Action]:
    """Return the actions of one call.

    Args:
        call: The call as the model's API writes it, or its arguments alone. Qwen: name and
            arguments; Anthropic: name and input; OpenAI: type "computer_call" and action.
        frame: What its coordinates mean.

    Raises:
        NotUnderstood: there is no such action, or an argument is missing or of no use.
    """
    given = _arguments(call)
    name = given.get("action", given.get("type"))
    if not isinstance(name, str):
        raise NotUnderstood(f"a tool call names its action, this does not: {str(dict(call))[:80]}")
    return _read(name.lower(), given, frame)


def _arguments(call: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in ("function", "arguments", "input", "action"):
        inner = call.get(name)
        if name == "arguments" and isinstance(inner, str):
            try:
                inner = json.loads(inner, strict=False)
            except ValueError as error:
                raise NotUnderstood(f"the arguments are no JSON: {error}") from None
        if isinstance(inner, Mapping):
            return _arguments(cast(Mapping[str, Any], inner))
    return call


def _read(name: str, given: Mapping[str, Any], frame: Frame) -> list[Action]:
    x, y = _point(given, frame)
    if name in _CLICKS:
        side, count = _CLICKS[name]
        side = button(given["button"]) if name == "click" and "button" in given else side
        click = Action(kind="click", x=x, y=y, button=side, times=count)
        return _holding(given, [click])
    match name:
        case "mouse_move" | "move":
            if x is None:
                raise NotUnderstood(f"{name} needs a point")
            return [Action(kind="move", x=x, y=y)]
        case "left_click_drag" | "drag":
            return _drag(given, x, y, frame)
        case "left_mouse_down":
            return [Action(kind="mouse_down", x=x, y=y)]
        case "left_mouse_up":
            return [Action(kind="mouse_up", x=x, y=y)]
        case "type":
            return [typed(given.get("text"))]
        case "key" | "keypress":
            count = times(given.get("repeat", 1))
            return [Action(kind="press", keys=_keys(given), times=count)]
        case "key_down":
            return [Action(kind="key_down", keys=_keys(given))]
        case "key_up":
            return [Action(kind="key_up", keys=_keys(given))]
        case "hold_key":
            keys = _keys(given)
            wait = waited(given.get("duration", 1))
            return [
                Action(kind="key_down", keys=keys),
                wait,
                Action(kind="key_up", keys=keys[::-1]),
            ]
        case "scroll" | "hscroll":
            return _holding(given, [_scroll(name, given, x, y)])
        case "wait":
            return [waited(given.get("time", given.get("duration", WAIT_SECONDS)))]
        case "terminate":
            failed = given.get("status") in ("failure", "fail", "infeasible")
            return [Action(kind="fail" if failed else "done")]
        case _ if name in _LOOKS:
            # The next observation is a look; asking for one changes nothing.
            return [waited(0)]
        case _:
            raise NotUnderstood(f"there is no action {name!r}")


def _point(given: Mapping[str, Any], frame: Frame) -> tuple[int | None, int | None]:
    if given.get("coordinate") is not None:
        return frame.pair(given["coordinate"])
    if given.get("x") is not None:
        return frame.point(given["x"], given.get("y"))
    return None, None


def _drag(given: Mapping[str, Any], x: int | None, y: int | None, frame: Frame) -> list[Action]:
    path = given.get("path")
    if isinstance(path, list) and len(cast(list[Any], path)) >= 2:
        points = [frame.pair(point) for point in cast(list[Any], path)]
        actions = [Action(kind="move" if n else "mouse_down", x=p[0], y=p[1])
                   for n, p in enumerate(points)]  # fmt: skip
        return [*actions, Action(kind="mouse_up", x=points[-1][0], y=points[-1][1])]
    if x is None:
        raise NotUnderstood("a drag needs the point where it ends")
    start = given.get("start_coordinate")
    first: list[Action] = []
    if start is not None:
        start_x, start_y = frame.pair(start)
        first = [Action(kind="move", x=start_x, y=start_y)]
    return [*first, Action(kind="drag", x=x, y=y)]


def _scroll(name: str, given: Mapping[str, Any], x: int | None, y: int | None) -> Action:
    if "scroll_direction" in given:
        direction, amount = given["scroll_direction"], wheel(given.get("scroll_amount", 5))
        steps = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}
        if direction not in steps:
            raise NotUnderstood(f"scroll up, down, left or right, not {direction!r}")
        dx, dy = steps[direction]
        return Action(kind="scroll", x=x, y=y, dx=dx * amount, dy=dy * amount)
    if "scroll_x" in given or "scroll_y" in given:
        # OpenAI's point to where the page goes: positive is down.
        dx, dy = _clicks(given.get("scroll_x", 0)), -_clicks(given.get("scroll_y", 0))
        return Action(kind="scroll", x=x, y=y, dx=dx, dy=dy)
    amount = _clicks(given.get("pixels", given.get("amount", 0)))
    if name == "hscroll":
        return Action(kind="scroll", x=x, y=y, dx=amount)
    return Action(kind="scroll", x=x, y=y, dy=amount)


def _clicks(pixels: Any) -> int:
    """Return clicks of the wheel; models say "pixels" and often mean clicks."""
    amount = number(pixels)
    if abs(amount) < PIXELS_A_CLICK / 2:
        return wheel(amount)
    return wheel(amount / PIXELS_A_CLICK) or (1 if amount > 0 else -1)


def _holding(given: Mapping[str, Any], actions: list[Action]) -> list[Action]:
    """Return the actions with keys held down, which Anthropic puts into "text"."""
    held = given.get("text") or given.get("key")
    if not held:
        return actions
    keys = chord([str(held)])
    down = [Action(kind="key_down", keys=(key,)) for key in keys]
    up = [Action(kind="key_up", keys=(key,)) for key in reversed(keys)]
    return [*down, *actions, *up]


def _keys(given: Mapping[str, Any]) -> tuple[str, ...]:
    value = given.get("keys", given.get("text", given.get("key")))
    if isinstance(value, str):
        return chord(value.split() if " " in value.strip() else [value])
    if isinstance(value, list) and all(isinstance(key, str) for key in cast(list[Any], value)):
        return chord(cast(list[str], value))
    raise NotUnderstood(f"keys are names, not {value!r}")
