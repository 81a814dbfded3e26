"""What a text-only model sees: the elements of the accessibility tree as numbered lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

SKIPPED = frozenset(
    {"filler", "panel", "separator", "redundant object", "scroll pane", "layered pane", "unknown"}
)
"""Roles that hold others and say nothing themselves."""

MAX_TEXT = 400
"""Longest text of one element that is shown, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """One visible element.

    Attributes:
        role: As AT-SPI names it, e.g. "push button".
        name: Its label; may be empty.
        text: What stands in it; may be empty.
        box: (x, y, width, height) on the screen, in pixels.
        focused: Whether keys go to it.
    """

    role: str
    name: str
    text: str
    box: tuple[int, int, int, int]
    focused: bool = False

    @property
    def centre(self) -> tuple[int, int]:
        """Its middle, in pixels."""
        x, y, width, height = self.box
        return x + width // 2, y + height // 2


EMBEDDED = "\N{OBJECT REPLACEMENT CHARACTER}"
"""What AT-SPI puts into a text where another element stands."""


def telling(elements: Sequence[Element]) -> list[Element]:
    """Return the elements that say something, each once.

    An empty cell of a table is named after its place and says nothing; a static text repeats the
    label that it stands in.
    """
    found: dict[Element, None] = {}
    before = ""
    for element in elements:
        text = element.text.replace(EMBEDDED, "")
        label = text if element.role == "table cell" else element.name or text
        repeats = element.role == "static" and element.name == before
        if element.role not in SKIPPED and label.strip() and not repeats:
            found[replace(element, text=text)] = None
            before = element.name or before
    return list(found)


def as_text(title: str, elements: Sequence[Element]) -> str:
    """Return the view: the window's title, then one line an element, counted from 1.

    An element reads ``3 push button "Save"``, with ``: its text`` and ``*`` when it has the focus.
    """
    lines = [f"window: {title or '(none)'}"]
    for number, element in enumerate(elements, 1):
        name = f' "{element.name.strip()}"' if element.name.strip() else ""
        text = element.text.strip()
        shown = f": {text[:MAX_TEXT]}" if text and text != element.name.strip() else ""
        lines.append(f"{number} {element.role}{name}{shown}{' *' if element.focused else ''}")
    return "\n".join(lines)
