"""Who owns a desktop: so that what a killed owner left behind is found and removed."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from pathlib import Path

_PREFIX = "rla-desktop-"


def owner(pid: int | None = None) -> str:
    """Return a process's number and start, in ticks since boot: a reused number is no owner."""
    pid = os.getpid() if pid is None else pid
    return f"{pid}.{_started(pid)}"


def owner_lives(label: str) -> bool:
    """Return whether the owner of a label still runs on this machine."""
    number = label.partition(".")[0]
    return number.isdigit() and owner(int(number)) == label and not label.endswith(".")


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
    except (OSError, IndexError):
        return ""


def remove_leftovers() -> int:
    """Remove folders of desktops whose owner is dead; return their number.

    Their processes end when the owner's side of a pipe closes; a desktop that did not notice,
    because its server was stopped, is killed here.
    """
    removed = 0
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        label = folder.name.removeprefix(_PREFIX).partition("-")[0]
        if not owner_lives(label) and folder.stat().st_uid == os.getuid():
            process = folder / "process"
            first = process.read_text() if process.exists() else ""
            if owner_lives(first):
                os.killpg(int(first.partition(".")[0]), signal.SIGKILL)
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed
