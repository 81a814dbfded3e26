"""The command line that starts a zygote in a bubblewrap cell."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rla_envs.errors import SandboxError

_DEVICES = ("null", "zero", "full", "random", "urandom")
ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "TMPDIR": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",
    "OMP_NUM_THREADS": "1",
}


def interpreter() -> str:
    """Return the real path of the Python that runs us, outside any virtual environment."""
    return os.path.realpath(sys.executable)


def command(arguments: Sequence[str], *, root: bool) -> list[str]:
    """Return the bwrap command that runs arguments with nothing but system folders, read-only.

    Raises:
        SandboxError: If bubblewrap is not installed.
    """
    bwrap = shutil.which("bwrap")
    if bwrap is None:
        raise SandboxError(
            "LocalSandbox needs bubblewrap: install it (apt-get install bubblewrap), use "
            'DockerSandbox, or ask for isolation="weak" by name'
        )
    line = [bwrap, "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"]
    line += ["--unshare-cgroup-try", "--hostname", "cell", "--as-pid-1", "--clearenv"]
    if root:
        # The zygote maps its children to user ids of nobody; only root may write that map.
        line += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        line += ["--unshare-user"]
    for name, value in ENVIRONMENT.items():
        line += ["--setenv", name, value]
    prefixes = {Path(sys.base_prefix).resolve(), Path(sys.base_exec_prefix).resolve()}
    outside = sorted(prefix for prefix in prefixes if not prefix.is_relative_to("/usr"))
    # bubblewrap makes missing parents for their owner only, and children have another user id.
    for folder in ("/etc", "/tmp", *_parents(outside)):
        line += ["--perms", "0755", "--dir", folder]
    line += ["--ro-bind", "/usr", "/usr"]
    for folder in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
        if os.path.islink(folder):
            line += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            line += ["--ro-bind", folder, folder]
    for path in ("/etc/ld.so.cache", "/etc/alternatives"):
        line += ["--ro-bind-try", path, path]
    for prefix in outside:
        line += ["--ro-bind", str(prefix), str(prefix)]
    line += ["--proc", "/proc", "--perms", "0755", "--tmpfs", "/dev"]
    for device in _DEVICES:
        line += ["--dev-bind", f"/dev/{device}", f"/dev/{device}"]
    line += ["--symlink", "/tmp", "/dev/shm", "--symlink", "/tmp/.stdin", "/dev/stdin"]
    # A writable device folder would carry state from one test to the next; the zygote does the
    # devices, because here a read-only device is no device.
    for path in ("/dev", "/"):
        line += ["--remount-ro", path]
    return [*line, "--chdir", "/", "--", *arguments]


def _parents(folders: Sequence[Path]) -> list[str]:
    parents = {str(parent) for folder in folders for parent in folder.parents}
    return sorted(parents - {"/"})


def explain(message: str) -> str:
    """Return message of a cell that did not start, with what can be done about it."""
    advice = ""
    if (
        "Operation not permitted" in message
        or "namespace" in message
        or "No permissions" in message
    ):
        advice = (
            "; unprivileged user namespaces seem to be disabled: enable them (sysctl -w "
            "kernel.unprivileged_userns_clone=1, or on Ubuntu "
            "kernel.apparmor_restrict_unprivileged_userns=0), use DockerSandbox, or ask for "
            'isolation="weak" by name'
        )
    return f"the cell did not start: {message.strip() or 'no message'}{advice}"


def version() -> str:
    """Return bubblewrap's version line."""
    return subprocess.run(
        ["bwrap", "--version"], capture_output=True, text=True, check=True
    ).stdout.strip()
