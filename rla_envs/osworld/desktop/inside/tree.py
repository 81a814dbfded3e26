"""Print the active window's accessibility tree, one JSON line an element, first its title.

A process of its own for each look: AT-SPI's cache is stale without a main loop, and an application
that hangs must hang nobody else. Usage: tree.py NODES SECONDS.
"""

import json
import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi  # noqa: E402

MAX_DEPTH, MAX_CHILDREN, MAX_TEXT = 40, 200, 4000
SHEET_ROWS, SHEET_COLUMNS = 24, 10
TEXTLESS = frozenset(
    {"push button", "toggle button", "menu", "menu item", "check menu item", "radio menu item",
     "filler", "panel", "separator", "tool bar", "menu bar", "scroll bar", "frame", "icon", "image",
     "split pane", "scroll pane", "root pane", "page tab", "page tab list"}
)  # fmt: skip


class Walk:
    """A walk through one window within a budget."""

    def __init__(self, nodes, seconds):
        self.left, self.end = nodes, time.monotonic() + seconds
        self.complete = True

    def visit(self, node, depth):
        """Print a node that shows, and what it holds."""
        if self.left <= 0 or time.monotonic() > self.end:
            self.complete = False
            return
        try:
            states = node.get_state_set()
            if not states.contains(Atspi.StateType.SHOWING):
                return
            role = node.get_role_name()
            area = node.get_component_iface()
            box = area.get_extents(Atspi.CoordType.SCREEN) if area else None
            self.left -= 1
            print(
                json.dumps(
                    {
                        "role": role,
                        "name": node.get_name() or "",
                        "text": "" if role in TEXTLESS else _text(node),
                        "box": [box.x, box.y, box.width, box.height] if box else [0, 0, 0, 0],
                        "focused": states.contains(Atspi.StateType.FOCUSED),
                        "depth": depth,
                    }
                ),
                flush=True,
            )
            children = self._children(node, role)
        except gi.repository.GLib.Error:
            return  # A window that closes while it is read.
        for place in children:
            try:
                child = node.get_child_at_index(place)
            except gi.repository.GLib.Error:
                continue
            if child is not None and depth < MAX_DEPTH:
                self.visit(child, depth + 1)

    def _children(self, node, role):
        count = node.get_child_count()
        table = node.get_table_iface() if role == "table" and count > 1000 else None
        if table is None:
            if count > MAX_CHILDREN:
                self.complete = False
            return range(min(count, MAX_CHILDREN))
        # A sheet has a billion cells: what it shows begins at the cell in its upper left corner.
        columns, first = table.get_n_columns(), 0
        area = node.get_component_iface()
        if area is not None:
            box = area.get_extents(Atspi.CoordType.SCREEN)
            corner = area.get_accessible_at_point(box.x + 5, box.y + 5, Atspi.CoordType.SCREEN)
            first = max(0, corner.get_index_in_parent()) if corner is not None else 0
        rows, column = divmod(first, columns)
        return [
            (rows + row) * columns + column + place
            for row in range(SHEET_ROWS)
            for place in range(SHEET_COLUMNS)
            if (rows + row) * columns + column + place < count
        ]


def _text(node):
    text = node.get_text_iface()
    return text.get_text(0, min(text.get_character_count(), MAX_TEXT)) if text else ""


def _active():
    root = Atspi.get_desktop(0)
    found = None
    for i in range(root.get_child_count()):
        try:
            application = root.get_child_at_index(i)
            for j in range(application.get_child_count() if application else 0):
                window = application.get_child_at_index(j)
                if window and window.get_state_set().contains(Atspi.StateType.ACTIVE):
                    # A dialog is active beside its parent, and comes later.
                    found = window
        except gi.repository.GLib.Error:
            continue
    return found


def main(nodes, seconds):
    """Print the tree."""
    Atspi.set_timeout(int(seconds * 1000), 5000)
    walk, window = Walk(nodes, seconds), _active()
    print(json.dumps({"title": (window.get_name() or "") if window else ""}), flush=True)
    if window:
        walk.visit(window, 0)
    print(json.dumps({"complete": walk.complete}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
