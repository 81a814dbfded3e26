"""System calls that Python does not wrap, by ctypes. Linux on x86-64 only."""

from __future__ import annotations

import ctypes
import os
import resource
import struct

CLONE_NEWNS, CLONE_NEWIPC = 0x00020000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID = 0x10000000, 0x20000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT, MS_BIND = 1, 2, 4, 8, 32, 4096

_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 4, 22, 38
_SYS_UNSHARE, _SYS_SETNS, _SYS_CAPSET, _SYS_MOUNT = 272, 308, 126, 165

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long


def _call(number: int, *args: object) -> None:
    converted = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
    if _libc.syscall(ctypes.c_long(number), *converted) < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def unshare(flags: int) -> None:
    """Move this process (for CLONE_NEWPID: its next children) into new namespaces."""
    _call(_SYS_UNSHARE, flags)


def setns(fd: int, flags: int) -> None:
    """Join the namespace behind fd."""
    _call(_SYS_SETNS, fd, flags)


def mount_tmpfs(path: str, options: str, flags: int = 0) -> None:
    """Mount an empty tmpfs over path."""
    _call(
        _SYS_MOUNT,
        b"tmpfs",
        path.encode(),
        b"tmpfs",
        flags | MS_NOSUID | MS_NODEV,
        options.encode(),
    )


def remount_readonly(path: str) -> None:
    """Make the mount at path read-only; a device can still be written to, not its times."""
    flags = MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NOEXEC
    _call(_SYS_MOUNT, b"none", path.encode(), b"none", flags, 0)


def drop_capabilities() -> None:
    """Give up all capabilities, and with no_new_privs every way to get one back."""
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    header = struct.pack("=Ii", 0x20080522, 0)
    _call(_SYS_CAPSET, header, bytes(24))


def undumpable() -> None:
    """No core file, no ptrace by equals, /proc/<pid> owned by root."""
    _prctl(_PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int, pointer: object = 0) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), pointer, ctypes.c_ulong(0), ctypes.c_ulong(0)):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def limit(kind: int, value: int) -> None:
    """Set soft and hard limit, so that nothing can be raised again."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(kind, (value, value))


_EPERM, _ENOSYS = 1, 38
_AF_UNIX = 1
_ALLOW, _ERRNO, _KILL = 0x7FFF0000, 0x00050000, 0x80000000
_ARCH_X86_64 = 0xC000003E
_NAMESPACE_FLAGS = 0x7E020000  # CLONE_NEW{NS,CGROUP,UTS,IPC,USER,PID,NET}

# Kernel surface that no solution needs. Names in the order of the numbers.
_FORBIDDEN = {
    29: "shmget", 30: "shmat", 31: "shmctl", 64: "semget", 65: "semop", 66: "semctl",
    67: "shmdt", 68: "msgget", 69: "msgsnd", 70: "msgrcv", 71: "msgctl",
    101: "ptrace", 103: "syslog", 134: "uselib", 135: "personality", 139: "sysfs",
    153: "vhangup", 154: "modify_ldt", 155: "pivot_root", 156: "_sysctl", 159: "adjtimex",
    161: "chroot", 163: "acct", 164: "settimeofday", 165: "mount",
    166: "umount2", 167: "swapon", 168: "swapoff", 169: "reboot", 170: "sethostname",
    171: "setdomainname", 172: "iopl", 173: "ioperm", 175: "init_module",
    176: "delete_module", 179: "quotactl", 206: "io_setup", 212: "lookup_dcookie",
    220: "semtimedop", 227: "clock_settime", 237: "mbind", 238: "set_mempolicy",
    240: "mq_open", 241: "mq_unlink", 246: "kexec_load", 248: "add_key",
    249: "request_key", 250: "keyctl", 256: "migrate_pages", 272: "unshare",
    279: "move_pages", 298: "perf_event_open", 300: "fanotify_init",
    303: "name_to_handle_at", 304: "open_by_handle_at", 305: "clock_adjtime",
    308: "setns", 310: "process_vm_readv", 311: "process_vm_writev", 312: "kcmp",
    313: "finit_module", 319: "memfd_create", 320: "kexec_file_load", 321: "bpf",
    323: "userfaultfd", 425: "io_uring_setup", 426: "io_uring_enter",
    427: "io_uring_register", 428: "open_tree", 429: "move_mount", 430: "fsopen",
    431: "fsconfig", 432: "fsmount", 433: "fspick", 438: "pidfd_getfd",
    440: "process_madvise", 442: "mount_setattr", 443: "quotactl_fd",
    447: "memfd_secret", 448: "process_mrelease", 450: "set_mempolicy_home_node",
}  # fmt: skip
_CLONE, _CLONE3, _SOCKET, _SOCKETPAIR, _SETRLIMIT, _PRLIMIT = 56, 435, 41, 53, 160, 302
_KILL_GROUP_LEAVERS = {109: "setpgid", 112: "setsid"}


def _load(offset: int) -> bytes:
    return struct.pack("=HBBI", 0x20, 0, 0, offset)


def _jump(code: int, value: int, then: int, otherwise: int) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)


def _give(value: int) -> bytes:
    return struct.pack("=HBBI", 0x06, 0, 0, value)


def seccomp_program(*, one_group: bool = False) -> bytes:
    """Return the filter: other ABIs kill, forbidden calls fail with EPERM, clone3 with ENOSYS.

    Args:
        one_group: Also forbid leaving the process group, where killing it is all we have.
    """
    equal, at_least, any_bit = 0x15, 0x35, 0x45
    number, arch, argument, third, third_high = 0, 4, 16, 32, 36
    program = [
        _load(arch),
        _jump(equal, _ARCH_X86_64, 1, 0),
        _give(_KILL),
        _load(number),
        _jump(at_least, 0x40000000, 0, 1),  # x32
        _give(_KILL),
        _jump(equal, _CLONE3, 0, 1),
        _give(_ERRNO | _ENOSYS),
        _jump(equal, _CLONE, 0, 4),
        _load(argument),
        _jump(any_bit, _NAMESPACE_FLAGS, 0, 1),
        _give(_ERRNO | _EPERM),
        _give(_ALLOW),
        _jump(equal, _SOCKET, 1, 0),
        _jump(equal, _SOCKETPAIR, 0, 4),
        _load(argument),
        _jump(equal, _AF_UNIX, 1, 0),
        _give(_ERRNO | _EPERM),
        _give(_ALLOW),
    ]
    # Many solutions raise their stack limit first thing: told yes, and nothing changes.
    program += [
        _jump(equal, _SETRLIMIT, 0, 1),
        _give(_ERRNO),
        _jump(equal, _PRLIMIT, 0, 6),
        _load(third),
        _jump(equal, 0, 0, 2),
        _load(third_high),
        _jump(equal, 0, 1, 0),
        _give(_ERRNO),
        _give(_ALLOW),
    ]
    forbidden = [*_FORBIDDEN, *(_KILL_GROUP_LEAVERS if one_group else ())]
    for call in forbidden:
        program += [_jump(equal, call, 0, 1), _give(_ERRNO | _EPERM)]
    program.append(_give(_ALLOW))
    return b"".join(program)


class Filter:
    """A seccomp program in memory, built once and installed in each child."""

    def __init__(self, program: bytes) -> None:
        self._program = ctypes.create_string_buffer(program, len(program))
        self._header = ctypes.create_string_buffer(
            struct.pack("@HP", len(program) // 8, ctypes.addressof(self._program))
        )

    def install(self) -> None:
        """Filter this process and its descendants for good; needs no_new_privs."""
        _prctl(_PR_SET_SECCOMP, 2, self._header)
