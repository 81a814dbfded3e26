"""The environment's short actions, for small models and for experts.

One line each, case of the verb aside::

    press ctrl+s          press Down x3         type 2 apples
    click 4               click "Save"          double_click 4     right_click 4
    scroll down           wait                  done               fail

Numbers count the elements of the accessibility view; a quoted name means the first visible element
of that name. Everything after "type " is typed, a final line end excepted. A line in this form
stands for a pyautogui call, which is what the desktop gets.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rla_envs.osworld.view import Element

_CLICKS = {"click": "click", "double_click": "doubleClick", "right_click": "rightClick"}
_CLICK = re.compile(r'(click|double_click|right_click)\s+(?:\[?(\d{1,4})\]?|"([^"]+)")', re.I)
_PRESS = re.compile(r"press\s+(\S+?)(?:\s+x\s*(\d{1,2}))?", re.I)
_SCROLL = re.compile(r"scroll\s+(up|down)", re.I)
_ENDS = {"wait": "WAIT", "done": "DONE", "fail": "FAIL"}
_KEYS = {
    "return": "enter",
    "escape": "esc",
    "backspace": "backspace",
    "page_up": "pageup",
    "page_down": "pagedown",
}

SCROLL_CLICKS = 5
"""How far one scroll goes, in clicks of the wheel."""


def expand(action: str, elements: Sequence[Element]) -> tuple[str, str | None]:
    """Return the action in full and None, or the action and why it means nothing.

    What is not in the short form comes back as it is: it may be in another that the desktop knows.

    Args:
        action: What the agent said.
        elements: What the accessibility view shows, for clicks.
    """
    line = action.strip()
    if line.lower() in _ENDS:
        return _ENDS[line.lower()], None
    if action.lstrip()[:5].lower() == "type ":
        text = action.lstrip()[5:].removesuffix("\n")
        return f"pyautogui.write({text!r})", None if text else "there is nothing to type"
    if press := _PRESS.fullmatch(line):
        return _press(press[1], int(press[2] or 1)), None
    if scroll := _SCROLL.fullmatch(line):
        clicks = SCROLL_CLICKS if scroll[1].lower() == "up" else -SCROLL_CLICKS
        return f"pyautogui.scroll({clicks})", None
    if click := _CLICK.fullmatch(line):
        element = _find(click[2], click[3], elements)
        if element is None:
            return line, f"there is no element {click[2] or click[3]!r} in view"
        x, y = element.centre
        return f"pyautogui.{_CLICKS[click[1].lower()]}({x}, {y})", None
    return line, None if line else "the action is empty"


def _press(keys: str, times: int) -> str:
    names = [key or "+" for key in re.split(r"\+(?=.)", keys)]
    names = [_KEYS.get(key.lower(), key.lower()) for key in names]
    if len(names) == 1:
        return f"pyautogui.press({names[0]!r}, presses={times})"
    call = f"pyautogui.hotkey({', '.join(map(repr, names))})"
    return "\n".join([call] * times)


def _find(number: str | None, name: str | None, elements: Sequence[Element]) -> Element | None:
    if number is not None:
        place = int(number) - 1
        return elements[place] if 0 <= place < len(elements) else None
    assert name is not None
    wanted = name.strip().lower()
    named = [element for element in elements if element.name.strip().lower() == wanted]
    return named[0] if named else None
