"""The cell's first process: forks one isolated child a test, kills it and reports what it left.

It never sees a source text or an answer in its own memory: both are spliced between the pipe and
memory files that only the child reads, so a later test that inspects the heap it inherited finds
nothing of earlier ones.
"""

from __future__ import annotations

import _sitebuiltins
import builtins
import contextlib
import fcntl
import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import time
from typing import Any

from rla_envs.sandbox.inside import isolation, kernel, stages

LENGTH = struct.Struct("<Q")
DETAIL_BYTES = 64 << 10
LOCKED_FD = stages.TASK_FD + 1


class Pipe:
    """The supervisor's end: frames of an 8-byte length, a JSON header and blobs."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd, self._write_fd = read_fd, write_fd

    def receive(self) -> dict[str, Any]:
        """Return the next header, whose "sizes" say what blobs follow."""
        (length,) = LENGTH.unpack(self._read(LENGTH.size))
        return json.loads(self._read(length))

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = os.read(self.read_fd, size - len(data))
            if not part:
                raise EOFError
            data += part
        return data

    def receive_blob(self, size: int) -> int:
        """Return a memory file with the next size bytes."""
        fd = os.memfd_create("blob", os.MFD_CLOEXEC)
        while size:
            moved = os.splice(self.read_fd, fd, size)
            if not moved:
                raise EOFError
            size -= moved
        os.lseek(fd, 0, os.SEEK_SET)
        return fd

    def reply(self, header: dict[str, Any], files: list[tuple[int, int, int]]) -> None:
        """Send header and, of each file, (fd, offset, size) bytes."""
        header["sizes"] = [size for _, _, size in files]
        text = json.dumps(header).encode()
        self._write(LENGTH.pack(len(text)) + text)
        for fd, offset, size in files:
            while size:
                sent = os.sendfile(self._write_fd, fd, offset, size)
                offset, size = offset + sent, size - sent

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._write_fd, data) :]


class Child:
    """One isolated process and the files it writes."""

    def __init__(self, role: dict[str, Any], blobs: list[int], line: int | None) -> None:
        self.role = role
        self.files = [os.memfd_create(name, os.MFD_CLOEXEC) for name in ("out", "err", "answer")]
        self._locked = os.memfd_create("locked", os.MFD_CLOEXEC)
        self._task: int = blobs[role["task"]]
        self._stdin: int | None = blobs[role["stdin"]] if "stdin" in role else None
        self._line = line
        self.pid = 0
        self.pidfd = -1

    def start(self, cell: isolation.Isolation, limits: dict[str, Any]) -> None:
        """Fork; the child never returns from here."""
        cell.before_fork()
        self.pid = os.fork()
        if not self.pid:
            code = 1
            try:
                self._arrange_files()
                cell.enter(self.role, limits)
                os.write(LOCKED_FD, b"+")
                os.close(LOCKED_FD)
                code = stages.run(self.role, limits)
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(code)
        cell.after_fork(self.pid)
        self.pidfd = os.pidfd_open(self.pid)

    def _arrange_files(self) -> None:
        """Leave 0-4, the task and "locked"; all others, the supervisor's pipes too, go."""
        out, err, answer = self.files
        stdin = self._stdin if self._stdin is not None else os.open("/dev/null", os.O_RDONLY)
        line = answer if self._line is None else self._line
        verdict = answer if self.role.get("verdict") else self._locked
        wanted = [stdin, out, err, line, verdict, self._task, self._locked]
        # Out of the way first: a wanted descriptor may have a number that is about to be taken.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 64) for fd in wanted]
        for number, fd in enumerate(high):
            os.dup2(fd, number, inheritable=number < stages.TASK_FD)
        if verdict is self._locked:
            os.close(4)
        os.closerange(LOCKED_FD + 1, 4096)

    def kill(self) -> None:
        """End the child, and with it whatever cannot outlive it."""
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def collect(self) -> dict[str, Any]:
        """Reap the child and return its status and use of resources."""
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self.pidfd)
        locked = os.fstat(self._locked).st_size == 1
        os.close(self._locked)
        return {
            "locked": locked,
            "status": os.waitstatus_to_exitcode(status),
            "cpu": usage.ru_utime + usage.ru_stime,
            "memory": usage.ru_maxrss / 1024,
        }


def run_job(pipe: Pipe, cell: isolation.Isolation, job: dict[str, Any]) -> None:
    """Run the processes of one test and reply."""
    blobs = [pipe.receive_blob(size) for size in job["sizes"]]
    roles = job["roles"]
    lines = socket.socketpair() if len(roles) == 2 else None
    children = [
        Child(role, blobs, lines[number].fileno() if lines else None)
        for number, role in enumerate(roles)
    ]
    start = time.monotonic()
    for child in children:
        child.start(cell, job["limits"])
    if lines:
        for line in lines:
            line.close()
    for fd in blobs:
        os.close(fd)
    # The last child decides when it is over: the only one, or the test's process.
    stop = _wait(pipe, children, job["limits"])
    for child in children:
        child.kill()
    ends = [child.collect() for child in children]
    cell.clean()
    header: dict[str, Any] = {
        "ends": ends,
        "wall": time.monotonic() - start,
        "stop": stop,
        "out_of_memory": any(end["status"] == -9 for end in ends) and cell.killed_for_memory(),
    }
    files: list[tuple[int, int, int]] = []
    for child in children:
        for fd, most, tail in zip(
            child.files,
            (job["limits"]["output"], DETAIL_BYTES, job["limits"]["answer"]),
            (False, True, False),
            strict=True,
        ):
            size = os.fstat(fd).st_size
            files.append((fd, max(0, size - most) if tail else 0, min(size, most)))
    pipe.reply(header, files)
    for child in children:
        for fd in child.files:
            os.close(fd)


def _wait(pipe: Pipe, children: list[Child], limits: dict[str, Any]) -> str | None:
    """Wait for the last child's death; return the limit ("cpu", "wall") that came first.

    Ends the cell with its supervisor.
    """
    pidfd = children[-1].pidfd
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    poll.register(pipe.read_fd, 0)
    end = time.monotonic() + limits["wall"]
    while True:
        left = end - time.monotonic()
        if left <= 0:
            return "wall"
        cpu_left = limits["cpu"] - max(map(_cpu_time, children))
        if cpu_left <= 0:
            return "cpu"
        # One thread cannot use it up sooner; more can, and are caught by the kernel's own limit.
        events = dict(poll.poll(1000 * min(left, cpu_left) + 1))
        if events.get(pipe.read_fd, 0) & (select.POLLHUP | select.POLLERR):
            raise EOFError
        if pidfd in events:
            return None


def _cpu_time(child: Child) -> float:
    """Return the CPU seconds of a child, by the clock that the kernel keeps for its pid."""
    try:
        return time.clock_gettime(~child.pid << 3 | 2)
    except OSError:
        return 0.0


def main() -> None:
    """Serve tests until the supervisor hangs up."""
    config: dict[str, Any] = json.loads(sys.argv[1])
    pipe = Pipe(os.dup(0), os.dup(1))
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    sys.path[:] = [path for path in sys.path if path]
    sys.argv = [""]
    # The zygote starts without "site" and so without the two names that solutions end with.
    builtins.exit = _sitebuiltins.Quitter("exit", "Ctrl-D")
    builtins.quit = _sitebuiltins.Quitter("quit", "Ctrl-D")
    for name in config["preload"]:
        __import__(name)
    cell = isolation.make(config)
    kernel.undumpable()
    gc.disable()
    gc.collect()
    gc.freeze()
    pipe.reply({"ready": True, "python": sys.version.split()[0]}, [])
    try:
        while True:
            run_job(pipe, cell, pipe.receive())
    except (EOFError, BrokenPipeError):
        cell.end()
        os._exit(0)
