"""Checks that every way of writing an action shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rla_envs.osworld.actions.action import BUTTONS, Action, NotUnderstood

MAX_TEXT = 10_000
"""Longest text of one action, in characters."""
MAX_TIMES = 100
"""How often one action may click, press or turn the wheel."""
MAX_ACTIONS = 100
"""Most actions that one reply may hold."""
LONGEST_WAIT = 10.0
"""In seconds."""
GRID = 999
"""Last point of the grid that some models point on, whatever the screen's size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a reply's coordinates mean.

    Attributes:
        size: Width and height of the screen, in pixels.
        grid: Whether coordinates run from 0 to 999 on both axes, and not in pixels.
    """

    size: tuple[int, int]
    grid: bool

    def point(self, x: Any, y: Any) -> tuple[int, int]:
        """Return a point in pixels.

        Raises:
            NotUnderstood: it is none, or off the screen.
        """
        found: list[int] = []
        for value, length in zip((number(x), number(y)), self.size, strict=True):
            last = GRID if self.grid else length - 1
            # The first pixel beyond the edge is a rounding of the edge.
            if not 0 <= value <= last + 1:
                area = f"0..{GRID}" if self.grid else f"{self.size[0]}x{self.size[1]}"
                raise NotUnderstood(f"the point ({x}, {y}) is off the screen ({area})")
            value = min(value, last)
            found.append(round(value * (length - 1) / GRID) if self.grid else round(value))
            found[-1] = min(found[-1], length - 1)
        return found[0], found[1]

    def pair(self, value: Any) -> tuple[int, int]:
        """Return the point of a list [x, y] or a mapping with x and y."""
        if isinstance(value, Mapping):
            given = cast(Mapping[str, Any], value)
            return self.point(given.get("x"), given.get("y"))
        if isinstance(value, (list, tuple)) and len(cast(Sequence[Any], value)) == 2:
            x, y = cast(Sequence[Any], value)
            return self.point(x, y)
        raise NotUnderstood(f"a point is [x, y], not {value!r}")


def number(value: Any) -> float:
    """Return a finite number of moderate size."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise NotUnderstood(f"{value!r} is no number") from None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 1e6:
        raise NotUnderstood(f"{value!r} is no number of use here")
    return float(value)


def times(value: Any) -> int:
    """Return how often something is done: 1 to MAX_TIMES."""
    count = round(number(value))
    if not 1 <= count <= MAX_TIMES:
        raise NotUnderstood(f"an action is done 1 to {MAX_TIMES} times, not {count}")
    return count


def button(value: Any) -> int:
    """Return the number of a button by its name."""
    if type(value) is int and 1 <= value <= 3:
        return value
    if not isinstance(value, str) or value.lower() not in BUTTONS:
        raise NotUnderstood(f"there is no button {value!r}; there are left, middle and right")
    return BUTTONS[value.lower()]


def typed(value: Any) -> Action:
    """Return the action that types a text."""
    if not isinstance(value, str):
        raise NotUnderstood(f"a text is typed, not {value!r}")
    if len(value) > MAX_TEXT:
        raise NotUnderstood(f"at most {MAX_TEXT} characters are typed, got {len(value)}")
    return Action(kind="type", text=value)


def waited(value: Any) -> Action:
    """Return the action that waits, for LONGEST_WAIT at most."""
    return Action(kind="wait", seconds=max(0.0, min(LONGEST_WAIT, number(value))))


def wheel(value: Any) -> int:
    """Return clicks of the wheel, MAX_TIMES at most in either direction."""
    return max(-MAX_TIMES, min(MAX_TIMES, round(number(value))))
