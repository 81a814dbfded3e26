"""The desktop's server: HTTP on a Unix socket in a private folder, with a bearer token.

``POST /NAME`` with a JSON list of arguments answers {"value": ...}; ``/pixels`` and ``/read_file``
answer bytes and ``/write_file`` takes them. 422 with {"error": ...} says why something failed.
"""

import hmac
import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler

import home
from processes import alive, end_all

ACT_LIMIT, LAUNCH_LIMIT, READY_LIMIT = 12.0, 90.0, 30.0
"""Longest settling after an action, wait for a window, and settling of its application, in s."""
WINDOWLESS = 2.0
"""Seconds of rest after which a program is taken for one without a window."""
FILMS = ("wait", "done", "fail")


class Desk:
    """What the server can do, by name."""

    def __init__(self, screen, rest, core, run):
        self.screen, self.rest, self.core, self.run_folder = screen, rest, core, run
        self.launched = []

    def act(self, action, settle=True):
        """Carry out one action; return whether the applications came to rest."""
        screen, kind, x, y = self.screen, action["kind"], action["x"], action["y"]
        button, keys = action["button"], action["keys"]

        def hold():
            if settle:
                self.rest.settle(3.0, calm=4)

        if kind == "drag_by":
            (here_x, here_y), kind = screen.pointer(), "drag"
            x, y = here_x + action["dx"], here_y + action["dy"]
        if kind == "move_by":
            (here_x, here_y), kind = screen.pointer(), "move"
            x, y = here_x + action["dx"], here_y + action["dy"]
        if kind in ("click", "move", "scroll", "mouse_down", "mouse_up"):
            screen.move(x, y)
        if kind == "click":
            screen.click(button, action["times"])
        elif kind == "drag":
            screen.drag(x, y, button, hold)
        elif kind in ("mouse_down", "mouse_up"):
            screen.button(button, kind == "mouse_down")
        elif kind == "scroll":
            screen.click(4 if action["dy"] > 0 else 5, abs(action["dy"]), 0.01)
            screen.click(7 if action["dx"] > 0 else 6, abs(action["dx"]), 0.01)
        elif kind == "type":
            screen.type(action["text"], hold)
        elif kind == "press":
            for number in range(action["times"]):
                if number:
                    hold()
                screen.press(keys)
        elif kind in ("key_down", "key_up"):
            for key in keys:
                screen.key(key, kind == "key_down")
        elif kind == "copy":
            subprocess.run(
                ["xclip", "-selection", "clipboard"], input=action["text"].encode(), check=True,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=10,
            )  # fmt: skip
        elif kind == "wait":
            time.sleep(action["seconds"])
        return self.rest.settle(ACT_LIMIT) if settle else None

    def settle(self):
        """Wait for rest."""
        return self.rest.settle(ACT_LIMIT)

    def cursor(self):
        """Return where the pointer is."""
        return self.screen.pointer()

    def windows(self):
        """Return the number of windows."""
        return len(self.screen.windows())

    def launch(self, command):
        """Start a program; return whether a window of it came."""
        before = set(self.screen.windows())
        with open(f"{self.run_folder}/applications.log", "ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        self.launched = [p for p in self.launched if p.poll() is None] + [process]
        end, resting = time.monotonic() + LAUNCH_LIMIT, None
        while time.monotonic() < end:
            if new := set(self.screen.windows()) - before:
                if self.ready(new, before):
                    return True
                self.screen.await_change(0.1)
                continue
            if not self.rest.settle(0.5):
                resting = None
            else:
                resting = resting or time.monotonic()
                if process.poll() is not None or time.monotonic() - resting > WINDOWLESS:
                    return False
            self.screen.await_change(0.1)
        return False

    def ready(self, windows, before):
        """Return whether windows have drawn themselves, take events, and nobody works any more.

        A window and its title come long before its content, applications sleep in between, and the
        first window may be a splash screen that goes again.
        """
        self.rest.settle(READY_LIMIT)
        if not all(map(self.screen.painted, windows)):
            return False
        if not all(self.screen.answers(window, 5.0) for window in windows):
            return False
        self.rest.settle(READY_LIMIT)
        return set(self.screen.windows()) - before == windows

    def reset(self):
        """End what was started and bring files, keys and pointer into their first state."""
        if not alive(self.core):
            raise RuntimeError("a part of the desktop itself has ended")
        self.screen.release()
        end_all(self.core)
        for process in self.launched:
            process.wait()
        self.launched = []
        end = time.monotonic() + 5
        while self.screen.windows():
            if time.monotonic() > end:
                raise RuntimeError("a window stayed after its application was killed")
            self.screen.await_change(0.2)
        home.clear([home.HOME, "/tmp", "/dev/shm"])
        home.fill()
        width, height = self.screen.pixels()[:2]
        self.screen.move(width // 2, height // 2)
        self.rest.settle(3.0, calm=3)
        # A process that was killed just before may have been alive at first.
        if not alive(self.core):
            raise RuntimeError("a part of the desktop itself has ended")

    def a11y(self, nodes, seconds):
        """Return the active window's tree, within a budget."""
        process = subprocess.Popen(
            ["/usr/bin/python3", os.path.join(os.path.dirname(__file__), "tree.py"),
             str(nodes), str(seconds)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            out, _ = process.communicate(timeout=seconds + 5)
        except subprocess.TimeoutExpired:
            process.kill()
            out, _ = process.communicate()
        rows = [json.loads(line) for line in out.splitlines() if line.endswith(b"}")]
        title = rows[0]["title"] if rows else ""
        nodes = [row for row in rows if "role" in row]
        return {
            "title": title,
            "nodes": nodes,
            "complete": bool(rows) and rows[-1].get("complete", False),
        }

    def run(self, command, limit):
        """Run a command; return [exit code, stdout, stderr]."""
        try:
            process = subprocess.Popen(
                command, shell=isinstance(command, str), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return [127, "", str(error)]
        error = None
        try:
            output = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            try:
                output = process.communicate(timeout=1)
            except subprocess.TimeoutExpired:
                output = b"", b""
            error = 124
        return [error or process.returncode, *(part.decode("utf-8", "replace") for part in output)]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = False

    def do_POST(self):
        """Answer one call."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        given = self.headers.get("Authorization", "")
        if not hmac.compare_digest(given, f"Bearer {self.server.token}"):
            self.answer(401, b"{}")
            return
        url = urllib.parse.urlsplit(self.path)
        try:
            with self.server.lock:
                self.call(url.path[1:], dict(urllib.parse.parse_qsl(url.query)), body)
        except BrokenPipeError:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            self.answer(422, json.dumps({"error": message}).encode())

    def call(self, name, query, body):
        """Carry out one call and answer it."""
        desk = self.server.desk
        if name == "pixels":
            width, height, line, data = desk.screen.pixels()
            self.answer(200, data, {"X-Frame": f"{width} {height} {line}"})
        elif name == "read_file":
            try:
                with open(query["path"], "rb") as file:
                    self.answer(200, file.read())
            except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
                self.answer(404, b"")
        elif name == "write_file":
            os.makedirs(os.path.dirname(query["path"]), exist_ok=True)
            with open(query["path"], "wb") as file:
                file.write(body)
            self.answer(200, b"{}")
        elif name in ("act", "settle", "cursor", "windows", "launch", "reset", "a11y", "run"):
            value = getattr(desk, name)(*json.loads(body))
            self.answer(200, json.dumps({"value": value}).encode())
        else:
            self.answer(404, b"{}")

    def answer(self, status, data, headers=None):
        """Send an answer."""
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        """Say nothing: the log is for what goes wrong."""


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """Serves one desktop, one call at a time."""

    daemon_threads = True

    def __init__(self, path, token, screen, rest, core, run):
        self.token, self.lock = token, threading.Lock()
        self.desk = Desk(screen, rest, core, run)
        # Renamed once it listens: a socket that is there answers.
        super().__init__(f"{path}.new", Handler)
        os.chmod(f"{path}.new", 0o666)
        os.rename(f"{path}.new", path)

    def handle_error(self, *_):
        """Keep quiet about callers that hung up."""
        if not isinstance(sys.exc_info()[1], (BrokenPipeError, ConnectionResetError)):
            super().handle_error(*_)
