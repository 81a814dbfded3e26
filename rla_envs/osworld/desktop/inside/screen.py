"""The X server's side: pixels, pointer, keyboard, windows."""

import mmap
import select
import struct
import time

from Xlib import XK, X, Xatom, display
from Xlib.ext import xtest
from Xlib.protocol import event

MAX_BORROWED = 40
_SHIFT = XK.string_to_keysym("Shift_L")
_SPECIAL = {"\n": "Return", "\r": "Return", "\t": "Tab", "\b": "BackSpace"}


class Screen:
    """One connection to the X server.

    Args:
        frame_file: Where Xvfb keeps its frame buffer, in the XWD format.
    """

    def __init__(self, frame_file):
        self.display = display.Display()
        self.root = self.display.screen().root
        self.root.change_attributes(event_mask=X.PropertyChangeMask | X.SubstructureNotifyMask)
        self._protocols = self.display.intern_atom("WM_PROTOCOLS")
        self._ping = self.display.intern_atom("_NET_WM_PING")
        self._colour = None
        self._listed = self.display.intern_atom("_NET_CLIENT_LIST")
        self._type = self.display.intern_atom("_NET_WM_WINDOW_TYPE")
        self._splash = self.display.intern_atom("_NET_WM_WINDOW_TYPE_SPLASH")
        XK.load_keysym_group("xf86")
        self._first = self.display.display.info.min_keycode
        self._last = self.display.display.info.max_keycode
        self._table = self.display.get_keyboard_mapping(self._first, self._last - self._first + 1)
        self._width = len(self._table[0])
        rows = enumerate(self._table)
        self._free = [self._first + place for place, row in rows if not any(row)][:MAX_BORROWED]
        self._codes = {}
        for place, row in enumerate(self._table):
            for level, keysym in enumerate(row[:2]):
                if keysym:
                    self._codes.setdefault(keysym, (self._first + place, level == 1))
        self._borrowed = {}
        self._file = open(frame_file, "rb")  # noqa: SIM115
        self._frame = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def pixels(self):
        """Return (width, height, bytes a line, pixels as BGRX)."""
        self.display.sync()
        words = struct.unpack(">25I", self._frame[:100])
        start, width, height, line = words[0] + 12 * words[19], words[4], words[5], words[12]
        return width, height, line, self._frame[start : start + height * line]

    def pointer(self):
        """Return where the pointer is."""
        found = self.root.query_pointer()
        return found.root_x, found.root_y

    def move(self, x, y):
        """Move the pointer; None leaves it where it is."""
        if x is not None:
            self._fake(X.MotionNotify, 0, int(x), int(y))

    def button(self, number, down):
        """Press or release a button."""
        self._fake(X.ButtonPress if down else X.ButtonRelease, number)

    def click(self, number, times, pause=0.04):
        """Click; the pause is far below a double click's limit and above an application's."""
        for _ in range(times):
            self.button(number, True)
            self.button(number, False)
            if times > 1:
                time.sleep(pause)

    def drag(self, x, y, number, hold):
        """Hold a button from where the pointer is to a point."""
        from_x, from_y = self.pointer()
        self.button(number, True)
        hold()
        # A jump is no drag to most toolkits: they want to see the pointer on its way.
        for part in range(1, 11):
            self.move(from_x + (x - from_x) * part // 10, from_y + (y - from_y) * part // 10)
            time.sleep(0.015)
        hold()
        self.button(number, False)

    def key(self, name, down):
        """Press or release a key by X's name of it, or by its character."""
        self._fake(X.KeyPress if down else X.KeyRelease, self._code(self._keysym(name))[0])

    def press(self, names):
        """Press keys together and let them go."""
        keys = [self._code(self._keysym(name)) for name in names]
        codes = [code for code, _ in keys]
        if len(keys) == 1 and keys[0][1]:
            codes.insert(0, self._code(_SHIFT)[0])
        for code in codes:
            self._fake(X.KeyPress, code)
        for code in reversed(codes):
            self._fake(X.KeyRelease, code)

    def type(self, text, hold):
        """Type a text of any characters.

        Characters that no key has borrow keys that have none, all of a piece of text before its
        first key is pressed; ``hold`` waits for the applications before a key changes its meaning.
        """
        for piece in self._pieces(text):
            if missing := [k for k in self._wanted(piece) if not self._known(k)]:
                hold()
                self._borrow(missing)
            for number, character in enumerate(piece, 1):
                self.press([character])
                if character in _SPECIAL:
                    # Office applications move the cursor late, and text overtakes it.
                    hold()
                elif number % 25 == 0:
                    time.sleep(0.02)

    def release(self):
        """Let go of every key and button that is held, and give borrowed keys back."""
        pressed = self.display.query_keymap()
        for code in range(self._first, self._last + 1):
            if pressed[code // 8] >> code % 8 & 1:
                self._fake(X.KeyRelease, code)
        mask = self.root.query_pointer().mask
        for number in (1, 2, 3):
            if mask & 0x80 << number:
                self.button(number, False)
        for code in self._borrowed.values():
            self.display.change_keyboard_mapping(code, [[0] * self._width])
        self._borrowed = {}
        self.display.sync()

    def windows(self):
        """Return the numbers of the windows on the screen, splash screens left out."""
        listed = self.root.get_full_property(self._listed, Xatom.WINDOW)
        return [
            number for number in (listed.value if listed else ()) if not self._is_splash(number)
        ]

    def _is_splash(self, number):
        try:
            window = self.display.create_resource_object("window", number)
            kind = window.get_full_property(self._type, Xatom.ATOM)
        except Exception:  # It was closed in between.
            return True
        return kind is not None and self._splash in kind.value

    def await_change(self, seconds):
        """Wait until the list of windows changes, but no longer than that."""
        self._await(lambda got: got.type == X.PropertyNotify and got.atom == self._listed, seconds)

    def _await(self, wanted, seconds):
        """Return whether a wanted event came in time."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not self.display.pending_events():
                select.select([self.display.fileno()], [], [], left)
            while self.display.pending_events():
                if wanted(self.display.next_event()):
                    return True
        return False

    def answers(self, number, seconds):
        """Return whether a window's application takes events, or cannot be asked.

        The answer to a ping comes from the application's own event loop, after all input that was
        sent before.
        """
        window = self.display.create_resource_object("window", number)
        try:
            if self._ping not in (window.get_wm_protocols() or ()):
                return True
            asked = int(time.monotonic() * 1000) & 0x7FFFFFFF
            message = event.ClientMessage(
                window=window,
                client_type=self._protocols,
                data=(32, [self._ping, asked, number, 0, 0]),
            )
            window.send_event(message, event_mask=X.NoEventMask)
            self.display.sync()
        except Exception:  # It was closed in between.
            return True
        return self._await(
            lambda got: (
                got.type == X.ClientMessage
                and got.client_type == self._protocols
                and list(got.data[1][:2]) == [self._ping, asked]
            ),
            seconds,
        )

    def painted(self, number):
        """Return whether a window has drawn itself: what has not shows the empty desktop."""
        try:
            window = self.display.create_resource_object("window", number)
            size = window.get_geometry()
            corner = window.translate_coords(self.root, 0, 0)
        except Exception:  # It was closed in between.
            return True
        width, height, line, data = self.pixels()
        empty = places = 0
        for row in range(1, 24):
            for column in range(1, 24):
                x = -corner.x + size.width * column // 24
                y = -corner.y + size.height * row // 24
                if 0 <= x < width and 0 <= y < height:
                    start = y * line + 4 * x
                    places += 1
                    empty += data[start : start + 3] == self._colour
        return empty <= places / 2

    def paint(self, colour):
        """Give the empty desktop one colour."""
        self._colour = colour.to_bytes(3, "little")
        self.root.change_attributes(background_pixel=colour)
        self.root.clear_area()
        self.display.sync()

    def _fake(self, kind, detail=0, x=0, y=0):
        xtest.fake_input(self.display, kind, detail, x=x, y=y)
        self.display.sync()

    def _keysym(self, name):
        name = _SPECIAL.get(name, name)
        if len(name) > 1:
            keysym = XK.string_to_keysym(name)
            if not keysym:
                raise ValueError(f"the keyboard has no key {name!r}")
            return keysym
        point = ord(name)
        return point if point < 0x100 else 0x01000000 + point

    def _known(self, keysym):
        return keysym in self._codes or keysym in self._borrowed

    def _code(self, keysym):
        """Return (keycode, whether it takes shift)."""
        if keysym in self._codes:
            return self._codes[keysym]
        if keysym not in self._borrowed:
            self._borrow([keysym])
        return self._borrowed[keysym], False

    def _wanted(self, text):
        return list(dict.fromkeys(self._keysym(character) for character in text))

    def _pieces(self, text):
        """Cut a text so that no piece needs more borrowed keys than there are."""
        piece, needed = "", set()
        for character in text:
            keysym = self._keysym(character)
            needed |= {keysym} if keysym not in self._codes else set()
            if len(needed) > len(self._free):
                yield piece
                piece, needed = "", {keysym}
            piece += character
        yield piece

    def _borrow(self, keysyms):
        if len(self._borrowed) + len(keysyms) > len(self._free):
            self._borrowed = {}
        taken = set(self._borrowed.values())
        free = [code for code in self._free if code not in taken]
        for keysym, code in zip(keysyms, free):  # noqa: B905
            self.display.change_keyboard_mapping(code, [[keysym] * self._width])
            self._borrowed[keysym] = code
        self.display.sync()
        time.sleep(0.1)
