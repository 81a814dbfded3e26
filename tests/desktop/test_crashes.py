"""What dies, and what is left: nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from rla_envs.errors import DesktopError
from rla_envs.osworld.desktop.local import LocalDesktop
from rla_envs.osworld.desktop.owners import owner, owner_lives, remove_leftovers

pytestmark = pytest.mark.desktop

_OWNER = """
import time
from rla_envs.osworld.desktop.local import LocalDesktop
desktop = LocalDesktop()
desktop.start()
desktop.launch(["mousepad"])
print(desktop._inside.shared, flush=True)
time.sleep(1000)
"""


def members(shared: str) -> list[int]:
    """Return the processes of a desktop: all in the namespaces of those that name its folder."""
    space, found = {}, []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            space[int(folder.name)] = os.readlink(folder / "ns" / "pid")
            if shared.encode() in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    spaces = {space[pid] for pid in found} - {os.readlink("/proc/self/ns/pid")}
    return found + [pid for pid, name in space.items() if name in spaces and pid not in found]


def gone(pids: list[int], seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while any(os.path.exists(f"/proc/{pid}/exe") for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def test_an_application_that_crashes_leaves_the_desktop_alone(desktop):
    desktop.launch(["mousepad"])
    desktop.run("pkill -9 mousepad")
    desktop.settle()
    assert desktop.windows() == 0
    desktop.launch(["mousepad"])
    assert desktop.windows() == 1


@pytest.mark.parametrize("victim", ["pkill -9 -f session.py", "pkill -9 Xvfb", "pkill -9 openbox"])
def test_a_part_of_the_desktop_that_crashes_is_replaced(desktop, victim):
    desktop.write_file("/home/user/x", b"x")
    with suppress(DesktopError):
        desktop.run(victim, timeout_s=5)
    with pytest.raises(DesktopError):
        desktop._call("reset")
    desktop.reset()
    assert desktop.read_file("/home/user/x") is None
    desktop.launch(["mousepad"])
    assert desktop.windows() == 1


def test_calls_to_a_closed_desktop_name_the_way_out():
    with pytest.raises(DesktopError, match=r"start\(\)"):
        LocalDesktop().screenshot()


@pytest.mark.parametrize("server", ["running", "stopped"])
def test_killing_the_owner_leaves_nothing_running(local_desktops, server):
    process = subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    shared = process.stdout.readline().strip()
    process.stdout.close()
    pids = members(shared)
    assert len(pids) > 8
    if server == "stopped":
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
    process.kill()
    process.wait()
    if server == "stopped":
        assert remove_leftovers() >= 1
    assert gone(pids)
    remove_leftovers()
    assert not os.path.exists(shared)


def test_a_desktop_outlives_the_thread_that_started_it(local_desktops):
    desktop = LocalDesktop()
    thread = threading.Thread(target=desktop.start)
    thread.start()
    thread.join()
    time.sleep(0.3)
    with desktop:
        assert desktop.cursor() == (640, 360)


def test_an_owner_is_known_by_number_and_start():
    assert owner_lives(owner())
    assert not owner_lives(f"{os.getpid()}.1")
    assert not owner_lives("nobody")
    assert not owner_lives("")
