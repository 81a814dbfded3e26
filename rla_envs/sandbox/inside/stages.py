"""What a locked-in child does: run Python, execute a binary, start Node.js, or compile."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import Any

from rla_envs.sandbox.inside import harness, isolation

TASK_FD = 5
_STDIN_COPY = f"{isolation.HOME}/.stdin"


def run(role: dict[str, Any], limits: dict[str, Any]) -> int:
    """Do what role["kind"] says with the task and return the exit code."""
    if role["kind"] == "cpp":
        _restore_signals()
        os.close(3)
        os.execve(TASK_FD, ["solution"], dict(os.environ))
    task = _read(TASK_FD)
    os.close(TASK_FD)
    if role["kind"] == "compile":
        return _compile(task)
    if b"/dev/stdin" in task and not os.path.exists("/proc/self"):
        # /dev/stdin of a cell without /proc points to this copy.
        with open(_STDIN_COPY, "wb") as copy:
            copy.write(os.pread(0, os.fstat(0).st_size, 0))
    if role["kind"] == "javascript":
        return _start_node(task, limits)
    return harness.main(task)


def _read(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    parts: list[bytes] = []
    while size and (part := os.read(fd, size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _compile(source: bytes) -> int:
    """Compile C++ to the answer file; the compiler's words go to standard error."""
    with open("solution.cpp", "wb") as file:
        file.write(source)
    command = ["g++", "-std=c++17", "-O2", "-pipe", "-o", "solution", "solution.cpp"]
    code = subprocess.run(command, stdin=subprocess.DEVNULL, check=False).returncode
    if code == 0:
        with open("solution", "rb") as binary:
            while os.sendfile(harness.ANSWER_FD, binary.fileno(), None, 1 << 20):
                pass
    return code


def _start_node(source: bytes, limits: dict[str, Any]) -> int:
    os.close(3)
    with open("solution.js", "wb") as file:
        file.write(source)
    _restore_signals()
    heap = f"--max-old-space-size={max(16, limits['memory'] * 3 // 4)}"
    os.execvp("node", ["node", heap, "--stack-size=8000", "solution.js"])


def _restore_signals() -> None:
    """Undo what Python set for itself and what survives exec."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
