"""How a child is cut off: by namespaces, by a user id of its own, or (weak) by its group only."""

from __future__ import annotations

import contextlib
import math
import os
import resource
import shutil
import signal
import time
from typing import Any, Protocol

from rla_envs.sandbox.inside import kernel

HOME = "/tmp"
_MIB = 1 << 20


class Isolation(Protocol):
    """One way to isolate children that are forked one test at a time."""

    def before_fork(self) -> None:
        """Prepare the zygote for the next fork."""
        ...

    def after_fork(self, pid: int) -> None:
        """Undo what before_fork did, in the zygote; pid is the child."""
        ...

    def enter(self, role: dict[str, Any], limits: dict[str, Any]) -> None:
        """Lock the child in, in the child."""
        ...

    def clean(self) -> None:
        """Remove everything a finished test may have left."""
        ...

    def killed_for_memory(self) -> bool:
        """Whether the kernel killed for memory since the last call, as far as we can see."""
        ...

    def end(self) -> None:
        """End all that lives in the cell: the supervisor is gone."""
        ...


def make(config: dict[str, Any]) -> Isolation:
    """Return the isolation that config["mode"] names."""
    if config["mode"] == "namespaces":
        return Namespaces(config["uid_base"])
    if config["mode"] == "uids":
        return UserIds()
    return Weak(config["home"])


class Namespaces:
    """A pid and a mount namespace a child, a tmpfs of its own, no capabilities.

    Args:
        uid_base: First of 16 unused user ids of the host, for a zygote started by root; None maps
            the caller's own user id.
    """

    def __init__(self, uid_base: int | None) -> None:
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY)
        self._drop_uid = uid_base is not None
        if uid_base is None:
            self._become_owner()
        else:
            self._become_mapped(uid_base)
        self._become_first()
        self._pid_namespace = os.open("self/ns/pid", os.O_RDONLY, dir_fd=self._proc)
        kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC)
        # /proc of the cell would show the zygote; it cannot be unmounted, but it can be covered.
        kernel.mount_tmpfs("/proc", "size=4k,nr_inodes=2,mode=555", kernel.MS_RDONLY)
        for device in os.listdir("/dev"):
            if not os.path.islink(f"/dev/{device}"):
                kernel.remount_readonly(f"/dev/{device}")
        self._filter = kernel.Filter(kernel.seccomp_program())

    def _become_owner(self) -> None:
        uid, gid = os.getuid(), os.getgid()
        kernel.unshare(kernel.CLONE_NEWUSER)
        self._write("self/setgroups", "deny")
        self._write("self/uid_map", f"{uid} {uid} 1")
        self._write("self/gid_map", f"{gid} {gid} 1")

    def _become_mapped(self, base: int) -> None:
        """Map 0-15 to base..., which only a process outside the new namespace may do."""
        ready, told = os.pipe(), os.pipe()
        zygote = os.getpid()
        helper = os.fork()
        if not helper:
            os.read(ready[0], 1)
            try:
                self._write(f"{zygote}/uid_map", f"0 {base} 16")
                self._write(f"{zygote}/gid_map", f"0 {base} 16")
                os.write(told[1], b"+")
            finally:
                os._exit(0)
        kernel.unshare(kernel.CLONE_NEWUSER)
        os.write(ready[1], b"+")
        os.close(told[1])
        answer = os.read(told[0], 1)
        os.waitpid(helper, 0)
        for fd in (*ready, told[0]):
            os.close(fd)
        if answer != b"+":
            raise OSError("the user namespace could not be mapped")
        os.setgroups([])
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)

    def _become_first(self) -> None:
        """Continue in a pid namespace that our own user namespace owns, so that we may return."""
        kernel.unshare(kernel.CLONE_NEWPID)
        zygote = os.fork()
        if zygote:
            _, status = os.waitpid(zygote, 0)
            os._exit(min(1, status))

    def _write(self, path: str, text: str) -> None:
        fd = os.open(path, os.O_WRONLY, dir_fd=self._proc)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)

    def before_fork(self) -> None:
        """Let the next child be process 1 of a new pid namespace."""
        kernel.unshare(kernel.CLONE_NEWPID)

    def after_fork(self, pid: int) -> None:
        """Point back to the cell's own namespace, or a second unshare would be refused."""
        kernel.setns(self._pid_namespace, kernel.CLONE_NEWPID)

    def enter(self, role: dict[str, Any], limits: dict[str, Any]) -> None:
        """Unshare, mount, drop everything."""
        # No IPC namespace of its own: the filter refuses all calls that would use it, and it costs
        # a tenth of a test.
        kernel.unshare(kernel.CLONE_NEWNS)
        kernel.mount_tmpfs(HOME, f"size={limits['disk']}m,nr_inodes=2048,mode=1777")
        os.chdir(HOME)
        if self._drop_uid:
            _become(1)
        _limit(role, limits)
        kernel.drop_capabilities()
        kernel.undumpable()
        self._filter.install()

    def clean(self) -> None:
        """Nothing survives the namespaces."""

    def killed_for_memory(self) -> bool:
        """Not seen from inside: the supervisor made the memory group."""
        return False

    def end(self) -> None:
        """The zygote is process 1: the kernel ends its children with it."""


class UserIds:
    """For containers, where namespaces cannot be made: new user ids a test, then kill and wipe.

    The program and the test code of a script test get one each.
    """

    FIRST, LAST = 20_000, 60_000
    EVENTS = ("/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")

    def __init__(self) -> None:
        self._uid = self.FIRST
        self._filter = kernel.Filter(kernel.seccomp_program())
        self._kills = 0
        self._shared = [path for path in (HOME, "/dev/shm", "/dev/mqueue") if _writable(path)]

    def before_fork(self) -> None:
        """Nothing to prepare."""

    def after_fork(self, pid: int) -> None:
        """Nothing to undo."""

    def enter(self, role: dict[str, Any], limits: dict[str, Any]) -> None:
        """Take the test's user id and drop everything."""
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")  # When the container's memory is full, the zygote must live.
        os.setsid()
        os.chdir(HOME)
        os.setgroups([])
        _become(self._uid + 1 if role.get("verdict") else self._uid)
        _limit(role, limits)
        kernel.drop_capabilities()
        kernel.undumpable()
        self._filter.install()

    def clean(self) -> None:
        """Kill all but the zygote, wipe what is writable; an anomaly ends the container."""
        _kill_everyone()
        for path in self._shared:
            if os.listdir(path):
                self._wipe(path, self._uid)
                self._wipe(path, self._uid + 1)
            if os.listdir(path):
                os._exit(3)
        self._uid = self._uid + 2 if self._uid < self.LAST else self.FIRST

    def _wipe(self, path: str, uid: int) -> None:
        # Root without DAC_OVERRIDE cannot enter the test's directories; the test's user can.
        wiper = os.fork()
        if not wiper:
            try:
                _become(uid)
                _empty(path)
            finally:
                os._exit(0)
        os.waitpid(wiper, 0)

    def killed_for_memory(self) -> bool:
        """Read the container's own counter."""
        for path in self.EVENTS:
            if os.path.exists(path):
                with open(path) as file:
                    words = file.read().split()
                kills = int(words[words.index("oom_kill") + 1])
                ran_out, self._kills = kills > self._kills, kills
                return ran_out
        return False

    def end(self) -> None:
        """Kill all but the zygote, which ends the container when it ends."""
        _kill_everyone()


class Weak:
    """Resource limits, the system call filter and one process group: no walls around files.

    Args:
        home: The only folder that is emptied after each test.
    """

    def __init__(self, home: str) -> None:
        self._home = home
        self._groups: list[int] = []
        self._filter = kernel.Filter(kernel.seccomp_program(one_group=True))

    def before_fork(self) -> None:
        """Nothing to prepare."""

    def after_fork(self, pid: int) -> None:
        """Remember the child's group."""
        self._groups.append(pid)

    def enter(self, role: dict[str, Any], limits: dict[str, Any]) -> None:
        """Limit, and forbid leaving the process group."""
        os.setsid()
        os.chdir(self._home)
        if os.geteuid() == 0:
            os.setgroups([])
            _become(65534)
        _limit(role, limits)
        kernel.drop_capabilities()
        self._filter.install()

    def clean(self) -> None:
        """Kill the groups of the test and empty its folder."""
        self.end()
        _empty(self._home)

    def killed_for_memory(self) -> bool:
        """Not seen from inside: the supervisor made the memory group."""
        return False

    def end(self) -> None:
        """Kill the groups of the test."""
        for group in self._groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self._groups.clear()


def _become(uid: int) -> None:
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


def _empty(path: str) -> None:
    """Remove what is in the folder path, as far as we may."""
    for entry in os.scandir(path):
        with contextlib.suppress(OSError):
            if not entry.is_dir(follow_symlinks=False):
                os.unlink(entry.path)
                continue
            os.chmod(entry.path, 0o700)
            for folder, names, _ in os.walk(entry.path):
                for inner in (os.path.join(folder, name) for name in names):
                    if not os.path.islink(inner):
                        os.chmod(inner, 0o700)
            shutil.rmtree(entry.path, ignore_errors=True)


def _kill_everyone() -> None:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)
    os._exit(4)


def _writable(path: str) -> bool:
    return os.path.isdir(path) and not os.statvfs(path).f_flag & os.ST_RDONLY


def _limit(role: dict[str, Any], limits: dict[str, Any]) -> None:
    memory = limits["memory"] * _MIB
    kernel.limit(resource.RLIMIT_CORE, 0)
    kernel.limit(resource.RLIMIT_CPU, math.ceil(limits["cpu"]) + 1)
    kernel.limit(resource.RLIMIT_FSIZE, limits["output"])
    kernel.limit(resource.RLIMIT_NOFILE, 128)
    kernel.limit(resource.RLIMIT_MSGQUEUE, 0)
    kernel.limit(resource.RLIMIT_MEMLOCK, 0)
    # Two more: the zygote, and the other process of a script test.
    kernel.limit(resource.RLIMIT_NPROC, limits["processes"] + 2)
    if role["kind"] == "javascript":
        # V8 reserves address space by the gigabyte, so only what it may write counts; five threads
        # take stacks of the stack limit's size, and Node hangs if one of them cannot start.
        kernel.limit(resource.RLIMIT_STACK, 32 * _MIB)
        kernel.limit(resource.RLIMIT_DATA, memory + 256 * _MIB)
    else:
        kernel.limit(resource.RLIMIT_STACK, min(memory, 128 * _MIB))
        kernel.limit(resource.RLIMIT_AS, memory)
        kernel.limit(resource.RLIMIT_DATA, memory)
