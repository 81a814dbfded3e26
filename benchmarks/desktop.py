"""How fast a local desktop is, as ratios and limits within one run.

    python benchmarks/desktop.py [--episodes 200] [--json]

An action is compared with what OSWorld's server does: a fresh Python that imports an X library and
sends one click. CPU times are those of the whole desktop and of this process together. Wall times
depend on what else the machine does; they are printed with their aims and the load.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rla_envs.osworld.actions import Action
from rla_envs.osworld.desktop.local import LocalDesktop

# pyautogui would import Xlib too, and more; this is a lower bound for a process an action.
_CLICK = (
    "from Xlib import X, display; from Xlib.ext import xtest; d = display.Display();"
    "xtest.fake_input(d, X.MotionNotify, x=300, y=300);"
    "xtest.fake_input(d, X.ButtonPress, 1); xtest.fake_input(d, X.ButtonRelease, 1); d.sync()"
)
CLICK = Action(kind="click", x=300, y=300)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--episodes", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows: list[tuple[str, float, str]] = []
    with LocalDesktop() as desktop:
        rows += actions(desktop) + screenshots(desktop) + resets(desktop)
        rows += episodes(desktop, options.episodes)
    rows += side_by_side()
    if options.json:
        json.dump({name: value for name, value, _ in rows}, sys.stdout)
        return
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name, value, aim in rows:
        print(f"{name:<52} {value:>9.3f}  {aim}")


def actions(desktop: LocalDesktop) -> list[tuple[str, float, str]]:
    """Return seconds of a click by the server, by a process, and the ratio."""
    desktop.act(CLICK, settle=False)
    ours = median(lambda: desktop.act(CLICK, settle=False), 100)
    command = ["/usr/bin/python3", "-c", _CLICK]
    theirs = median(lambda: desktop.run(command), 10)
    return [
        ("click, ms", 1000 * ours, ""),
        ("click by a Python process, ms", 1000 * theirs, ""),
        ("ratio", theirs / ours, "aim: 50"),
    ]


def screenshots(desktop: LocalDesktop) -> list[tuple[str, float, str]]:
    """Return CPU seconds of a screenshot, on both sides."""
    times, start = 50, cpu(desktop)
    for _ in range(times):
        desktop.screenshot()
    return [("screenshot, ms CPU", 1000 * (cpu(desktop) - start) / times, "aim: under 60")]


def resets(desktop: LocalDesktop) -> list[tuple[str, float, str]]:
    """Return seconds of both kinds of reset, with an editor open."""
    soft: list[float] = []
    hard: list[float] = []
    for kind in (soft, soft, soft, hard, hard):
        desktop.launch(["mousepad"])
        start = time.perf_counter()
        desktop.reset(hard=kind is hard)
        kind.append(time.perf_counter() - start)
    return [
        ("soft reset, s", statistics.median(soft), "aim: under 2"),
        ("hard reset, s", statistics.median(hard), "aim: under 8"),
    ]


def episodes(desktop: LocalDesktop, number: int) -> list[tuple[str, float, str]]:
    """Play short episodes in an editor; return what is left over after each of them."""
    desktop.reset()
    empty = desktop.screenshot()
    processes, memory = count(desktop), used(desktop)
    stale = leaked = 0
    for _ in range(number):
        desktop.launch(["mousepad"])
        desktop.act(Action(kind="type", text="é < x"))
        desktop.reset()
        stale += bool(desktop.windows()) or not (desktop.screenshot() == empty).all()
        leaked += count(desktop) != processes
    return [
        ("episodes", number, "aim: 200"),
        ("episodes that began with a stale window", stale, "aim: 0"),
        ("episodes that left a process", leaked, "aim: 0"),
        ("memory of the desktop grown by, MiB", used(desktop) - memory, ""),
    ]


def side_by_side() -> list[tuple[str, float, str]]:
    """Return how many times longer two desktops at once take than one."""

    def play(_: int) -> None:
        with LocalDesktop() as desktop:
            desktop.launch(["mousepad"])
            desktop.act(Action(kind="type", text="x"))

    def run(number: int) -> float:
        start = time.perf_counter()
        with ThreadPoolExecutor(number) as pool:
            list(pool.map(play, range(number)))
        return time.perf_counter() - start

    return [("two desktops at once / one", run(2) / run(1), "aim: under 2 on two cores")]


def median(call: Callable[[], object], times: int) -> float:
    """Return the median wall time of a call, in seconds."""
    taken: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def cpu(desktop: LocalDesktop) -> float:
    """Return CPU seconds spent by this process and the desktop's server and display."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    code = "cat /proc/2/stat /proc/$(pgrep -x Xvfb)/stat"
    ticks = 0
    for line in desktop.run(code)[1].splitlines():
        fields = line.rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return own.ru_utime + own.ru_stime + ticks / os.sysconf("SC_CLK_TCK")


def count(desktop: LocalDesktop) -> int:
    """Return the number of processes, less those of asking."""
    return int(desktop.run(["sh", "-c", "ls -d /proc/[0-9]* | wc -l"])[1])


def used(desktop: LocalDesktop) -> float:
    """Return the memory of all processes, in MiB."""
    return sum(int(n) for n in desktop.run(["ps", "axo", "rss="])[1].split()) / 1024


if __name__ == "__main__":
    main()
