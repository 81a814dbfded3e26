"""Names of keys: pyautogui's, with the spellings that models use for them, and X's keysyms."""

from __future__ import annotations

from collections.abc import Sequence

from rla_envs.osworld.actions.action import NotUnderstood

KEYSYMS = {
    "enter": "Return",
    "esc": "Escape",
    "backspace": "BackSpace",
    "delete": "Delete",
    "insert": "Insert",
    "tab": "Tab",
    "space": "space",
    "home": "Home",
    "end": "End",
    "up": "Up",
    "down": "Down",
    "left": "Left",
    "right": "Right",
    "pageup": "Prior",
    "pagedown": "Next",
    "ctrl": "Control_L",
    "ctrlright": "Control_R",
    "shift": "Shift_L",
    "shiftright": "Shift_R",
    "alt": "Alt_L",
    "altright": "Alt_R",
    "win": "Super_L",
    "winright": "Super_R",
    "menu": "Menu",
    "capslock": "Caps_Lock",
    "numlock": "Num_Lock",
    "scrolllock": "Scroll_Lock",
    "printscreen": "Print",
    "pause": "Pause",
    "volumeup": "XF86AudioRaiseVolume",
    "volumedown": "XF86AudioLowerVolume",
    "volumemute": "XF86AudioMute",
    **{f"f{number}": f"F{number}" for number in range(1, 25)},
    **{f"num{digit}": f"KP_{digit}" for digit in range(10)},
    "add": "KP_Add",
    "subtract": "KP_Subtract",
    "multiply": "KP_Multiply",
    "divide": "KP_Divide",
    "decimal": "KP_Decimal",
}
"""Name of a key -> X's name of its keysym. Keys of one character are not in it."""

_SPELLINGS = {
    "return": "enter",
    "\n": "enter",
    "\r": "enter",
    "kp_enter": "enter",
    "numpadenter": "enter",
    "escape": "esc",
    "\t": "tab",
    "\b": "backspace",
    "del": "delete",
    "ins": "insert",
    " ": "space",
    "spacebar": "space",
    "arrowup": "up",
    "arrowdown": "down",
    "arrowleft": "left",
    "arrowright": "right",
    "pgup": "pageup",
    "prior": "pageup",
    "pgdn": "pagedown",
    "pgdown": "pagedown",
    "next": "pagedown",
    "control": "ctrl",
    "ctrlleft": "ctrl",
    "shiftleft": "shift",
    "altleft": "alt",
    "option": "alt",
    "optionleft": "alt",
    "optionright": "altright",
    "super": "win",
    "cmd": "win",
    "command": "win",
    "meta": "win",
    "winleft": "win",
    "superleft": "win",
    "apps": "menu",
    "print": "printscreen",
    "prtsc": "printscreen",
    "prtscr": "printscreen",
    "prntscrn": "printscreen",
    "minus": "-",
    "plus": "+",
    "equal": "=",
    "equals": "=",
    "comma": ",",
    "period": ".",
    "slash": "/",
    "backslash": "\\",
    "semicolon": ";",
    "apostrophe": "'",
    "grave": "`",
    "bracketleft": "[",
    "bracketright": "]",
}
MODIFIERS = frozenset(
    {"ctrl", "ctrlright", "shift", "shiftright", "alt", "altright", "win", "winright"}
)


def key_name(spelling: str) -> str:
    """Return a key's name: one character, or a key of KEYSYMS.

    Raises:
        NotUnderstood: no keyboard has such a key.
    """
    if len(spelling) == 1 and spelling.isprintable() and spelling != " ":
        return spelling
    plain = spelling.lower()
    # X's names have sides: Control_L, Page_Down, Alt_R.
    plain = plain.replace("_l", "left") if plain.endswith("_l") else plain
    plain = plain.replace("_r", "right") if plain.endswith("_r") else plain
    plain = plain.replace("_", "") if plain not in _SPELLINGS else plain
    if plain == "controlright":
        plain = "ctrlright"
    if plain == "controlleft":
        plain = "ctrl"
    plain = _SPELLINGS.get(plain, plain)
    if plain not in KEYSYMS and len(plain) != 1:
        raise NotUnderstood(f"there is no key {spelling!r}")
    return plain


def chord(spellings: Sequence[str]) -> tuple[str, ...]:
    """Return the names of keys that are pressed together; "ctrl+s" counts as two.

    A letter beside a modifier is the key and not the capital: ctrl+S saves, ctrl+shift+S asks for
    a name.
    """
    names: list[str] = []
    for spelling in spellings:
        if len(spelling) > 1 and "+" in spelling:
            # "ctrl++" zooms in: the last plus is a key.
            parts = spelling.removesuffix("++").split("+") if spelling.endswith("++") else None
            names += [key_name(part.strip()) for part in parts or spelling.split("+")]
            names += ["+"] if parts else []
        else:
            names.append(key_name(spelling))
    if not names:
        raise NotUnderstood("no key is named")
    if MODIFIERS.intersection(names):
        names = [name.lower() if len(name) == 1 else name for name in names]
    return tuple(names)
