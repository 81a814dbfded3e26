"""Processes of the desktop: are they at rest, and how they are ended."""

import os
import signal
import time

PAUSE = 0.025
"""Seconds between two looks."""
CALM = 12
"""Looks in a row that must find everybody asleep."""
FILM = 10.0
"""Seconds of work without a rest that mark a process as one that never rests."""
RESTLESS_LIMIT = 1.5
"""Seconds to wait when only those run that never rested before, such as a film."""


def pids():
    """Return the numbers of all processes but this one and the namespace's first."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != 1]


def busy(own):
    """Return the processes of which a thread runs or waits for the disk.

    A starved process is runnable and so counts as busy, which is what makes this a measure of
    readiness on a loaded machine.
    """
    found = set()
    for pid in pids():
        if pid == own:
            continue
        try:
            for thread in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                    if file.read(400).rpartition(b")")[2].split(None, 1)[0] in b"RD":
                        found.add(pid)
                        break
        except (OSError, IndexError):
            continue
    return found


class Rest:
    """Waits until all processes sleep."""

    def __init__(self):
        self._restless = set()

    def settle(self, limit, calm=CALM):
        """Return whether all processes were asleep for ``calm`` looks in a row, in time."""
        own, start, quiet = os.getpid(), time.monotonic(), 0
        seen, looks = {}, 0
        while True:
            time.sleep(PAUSE)
            looks += 1
            now = busy(own)
            for pid in now:
                seen[pid] = seen.get(pid, 0) + 1
            quiet = 0 if now else quiet + 1
            if quiet >= calm:
                self._restless.difference_update(set(seen))
                return True
            spent = time.monotonic() - start
            active = {pid for pid, times in seen.items() if times > looks / 4}
            if spent > min(limit, RESTLESS_LIMIT) and active and active <= self._restless:
                return False
            if spent > limit:
                if limit >= FILM:
                    self._restless |= {pid for pid, times in seen.items() if times > looks / 2}
                return False


def end_all(kept):
    """Kill every process outside ``kept``, those they leave behind included; return the number."""
    own, ended = os.getpid(), set()
    for _ in range(50):
        left = [pid for pid in pids() if pid not in kept and pid != own and not _gone(pid)]
        if not left:
            return len(ended)
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
            ended.add(pid)
        time.sleep(0.02)
    raise RuntimeError(f"processes {left} cannot be ended")


def _gone(pid):
    """Return whether a process has ended; its parent may not have taken notice yet."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(400).rpartition(b")")[2].split(None, 1)[0] in b"ZX"
    except OSError:
        return True


def alive(numbers):
    """Return whether all of these processes still run."""
    return not any(_gone(pid) for pid in numbers)
