"""One writer a run folder: a lock file with its process id, taken over once that is gone."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Generator
from dataclasses import asdict, dataclass
from pathlib import Path

from rla_envs.errors import RunError
from rla_envs.tracking.files import write_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The process that writes to a run folder.

    Attributes:
        pid: Process id.
        host: Name of the machine; a process id means nothing on another.
        started: When the process started, in clock ticks since boot; None where the system does not
            tell. Tells a process from a later one that got the same id.
    """

    pid: int
    host: str
    started: int | None


class Lock:
    """The lock of one run folder, held from construction to ``release``.

    Raises:
        RunError: another living process holds it, or one on another machine that we cannot ask.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / "lock"
        self._owner = _this_process()
        with _alone(folder):
            holder = _read(self._path)
            if holder is not None and _alive(holder):
                where = "" if holder.host == self._owner.host else f" on {holder.host}"
                raise RunError(
                    f"{folder} is being written by process {holder.pid}{where}; "
                    "wait for it or stop it"
                    f" (if you know that it is gone, delete {self._path})"
                )
            write_text(self._path, json.dumps(asdict(self._owner)))

    def release(self) -> None:
        """Give the lock back; harmless when it is no longer ours, or in a forked child."""
        if os.getpid() == self._owner.pid and _read(self._path) == self._owner:
            self._path.unlink(missing_ok=True)


@contextlib.contextmanager
def _alone(folder: Path) -> Generator[None]:
    """Keep others from looking at the lock while we decide whether to take it over."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _read(path: Path) -> Owner | None:
    try:
        return Owner(**json.loads(path.read_text(encoding="utf-8")))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _this_process() -> Owner:
    return Owner(pid=os.getpid(), host=socket.gethostname(), started=_started(os.getpid()))


def _started(pid: int) -> int | None:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    # The second field is the program's name in brackets and may hold blanks; starttime is field 22.
    return int(stat.rpartition(")")[2].split()[19])


def _alive(owner: Owner) -> bool:
    if owner.host != socket.gethostname():
        return True
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return owner.started is None or _started(owner.pid) in (owner.started, None)
