"""Start a desktop and serve it: X server, message buses, window manager, then the server.

Usage: session.py SHARED WIDTH HEIGHT, with a folder that the owner sees too: the server's socket
lies in it, and its token until the server has read it. The session ends when standard input does.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import home
from processes import Rest, pids

COLOUR = 0x2E5C6E
RUN = "/tmp/.XDG"
"""Sockets of the session; a name with .X is kept by a reset."""
START_SECONDS = 40.0
_ENVIRONMENT = {
    "HOME": home.HOME,
    "USER": "user",
    "LOGNAME": "user",
    "SHELL": "/bin/bash",
    "LANG": "C.UTF-8",
    "XDG_RUNTIME_DIR": RUN,
    "XDG_SESSION_TYPE": "x11",
    "XDG_CURRENT_DESKTOP": "openbox",
    "DBUS_SESSION_BUS_ADDRESS": f"unix:path={RUN}/bus",
    "GTK_MODULES": "gail:atk-bridge",
    "QT_ACCESSIBILITY": "1",
    "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
    "SAL_USE_VCLPLUGIN": "gtk3",
    "NO_AT_BRIDGE": "0",
    "GTK_OVERLAY_SCROLLING": "0",
    "PATH": f"{RUN}/bin:/usr/local/bin:/usr/bin:/bin:/usr/games",
}


def main(shared, width, height):
    """Start everything and serve until the owner is gone."""
    threading.Thread(target=_end_with_owner, daemon=True).start()
    os.makedirs(RUN, mode=0o700, exist_ok=True)
    home.write_commands(os.path.join(RUN, "bin"))
    home.fill()
    os.environ.clear()
    os.environ.update(_ENVIRONMENT)
    os.chdir(home.HOME)
    _start_x(width, height)
    _start("dbus-daemon", "--session", "--nofork", f"--address=unix:path={RUN}/bus")
    _until(lambda: os.path.exists(f"{RUN}/bus"), "dbus-daemon")
    _run("gsettings", "set", "org.gnome.desktop.interface", "toolkit-accessibility", "true")
    _start("/usr/libexec/at-spi-bus-launcher", "--launch-immediately")
    _start("openbox")
    from screen import Screen
    from server import Server

    screen = Screen(f"{RUN}/Xvfb_screen0")
    screen.paint(COLOUR)
    atom = screen.display.intern_atom("_NET_SUPPORTING_WM_CHECK")
    _until(lambda: screen.root.get_full_property(atom, 0), "openbox")
    # The first look starts what is left of the accessibility services.
    _run("/usr/bin/python3", os.path.join(os.path.dirname(__file__), "tree.py"), "1", "5")
    _run("/usr/bin/pkill", "-x", "dconf-service")
    rest = Rest()
    rest.settle(10.0)
    screen.move(width // 2, height // 2)
    with open(f"{shared}/token") as file:
        token = file.read()
    os.remove(f"{shared}/token")
    Server(f"{shared}/socket", token, screen, rest, frozenset(pids()), RUN).serve_forever()


def _start_x(width, height):
    ours, theirs = socket.socketpair()
    number = str(theirs.fileno())
    line = ["Xvfb", "-displayfd", number, "-screen", "0", f"{width}x{height}x24", "-fbdir", RUN]
    line += ["-nolisten", "tcp", "-noreset", "-s", "0", "-dpi", "96"]
    process = subprocess.Popen(line, pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL)
    theirs.close()
    ours.settimeout(START_SECONDS)
    display = b""
    while not display.endswith(b"\n"):
        part = ours.recv(16)
        if not part:
            raise SystemExit(f"Xvfb ended with {process.wait()} before it was ready")
        display += part
    ours.close()
    os.environ["DISPLAY"] = f":{display.decode().strip()}"


def _start(*line):
    subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def _run(*line):
    subprocess.run(
        line,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        timeout=START_SECONDS,
        check=False,
    )


def _until(condition, what):
    end = time.monotonic() + START_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"{what} was not ready within {START_SECONDS:.0f} s")
        time.sleep(0.01)


def _end_with_owner():
    while os.read(0, 4096):
        pass
    # The first process of the namespace waits for all others; this ends them all but itself.
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
