"""The embedded desktop: Xvfb and its applications in namespaces of their own, on this machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

from rla_envs.errors import MissingExtra
from rla_envs.osworld.desktop.doctor import lacking, remedy
from rla_envs.osworld.desktop.owners import owner, remove_leftovers
from rla_envs.osworld.desktop.remote import ServedDesktop

PYTHON = "/usr/bin/python3"
"""Debian's own: AT-SPI and Xlib exist for no other."""
INSIDE = Path(__file__).parent / "inside"
_CODE, _SHARED = "/run/rla/code", "/run/rla/shared"
_LOG_BYTES = 600
# What programs read of /etc. Secrets stay outside, because an agent's programs read what they can.
_ETC = [
    "alternatives",
    "X11",
    "xdg",
    "fonts",
    "gtk-2.0",
    "gtk-3.0",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "dbus-1",
    "dconf",
    "libreoffice",
    "chromium",
    "chromium.d",
    "gimp",
    "vlc",
    "mime.types",
    "mailcap",
    "mailcap.order",
    "localtime",
    "timezone",
    "ssl/certs",
    "ca-certificates.conf",
    "bash.bashrc",
    "profile",
    "profile.d",
    "inputrc",
    "nsswitch.conf",
    "protocols",
    "services",
    "debian_version",
    "os-release",
    "openal",
    "pulse",
    "vulkan",
    "terminfo",
    "default",
    "python3",
    "python3.11",
    "magic",
    "magic.mime",
    "ImageMagick-6",
    "papersize",
    "glvnd",
    "host.conf",
]
_NETWORK_ETC = ("resolv.conf", "hosts", "gai.conf")
_PASSWD = "user:x:1000:1000:User,,,:/home/user:/bin/bash\n"
_GROUP = "user:x:1000:\n"


class LocalDesktop(ServedDesktop):
    """A desktop of this machine; several may run side by side.

    Its processes live in mount, process, network and IPC namespaces made by bubblewrap: they see
    the system's programs read-only, a home directory and a /tmp of their own in memory, and no
    network unless asked. They end with the owner, even if it is killed.

    Args:
        size: Width and height of the screen, in pixels.
        network: Whether its applications may reach the network.
    """

    def _begin(self, token: str) -> _Namespaces:
        missing = lacking(optional=False)
        if missing:
            raise MissingExtra(f"a local desktop needs programs: {remedy(missing)}")
        remove_leftovers()
        return _Namespaces(token, self.size, network=self.network)


class _Namespaces:
    """The processes of one local desktop."""

    def __init__(self, token: str, size: tuple[int, int], *, network: bool) -> None:
        self.shared = Path(tempfile.mkdtemp(prefix=f"rla-desktop-{owner()}-"))
        (self.shared / "token").write_text(token)
        self._log = self.shared / "log"
        arguments = [PYTHON, "-B", f"{_CODE}/session.py", _SHARED, *map(str, size)]
        files = {
            "/etc/passwd": _PASSWD,
            "/etc/group": _GROUP,
            "/etc/machine-id": f"{uuid.uuid4().hex}\n",
        }
        pipes = {path: _readable(text) for path, text in files.items()}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                _bubblewrap(self.shared, pipes, arguments, network=network),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=list(pipes.values()),
                start_new_session=True,
            )
        for descriptor in pipes.values():
            os.close(descriptor)
        (self.shared / "process").write_text(owner(self._process.pid))

    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    def log(self) -> str:
        """Return the end of what it said."""
        if not self._log.exists():
            return ""
        return self._log.read_bytes()[-_LOG_BYTES:].decode("utf-8", "replace")

    def end(self) -> None:
        """Kill it; the process namespace takes everything with it."""
        # The namespace's first process is in the same group, and may be all that is left of it.
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        shutil.rmtree(self.shared, ignore_errors=True)


def _bubblewrap(
    shared: Path, files: dict[str, int], arguments: list[str], *, network: bool
) -> list[str]:
    line = ["bwrap", "--unshare-user", "--uid", "1000", "--gid", "1000", "--unshare-pid"]
    line += ["--unshare-ipc", "--unshare-uts", "--hostname", "desktop"]
    line += ["--clearenv", "--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LANG", "C.UTF-8"]
    line += [] if network else ["--unshare-net"]
    line += ["--ro-bind", "/usr", "/usr"]
    for folder in ("/bin", "/sbin", "/lib", "/lib32", "/lib64"):
        if os.path.islink(folder):
            line += ["--symlink", os.readlink(folder), folder]
        elif os.path.isdir(folder):
            line += ["--ro-bind", folder, folder]
    for name in (*_ETC, *(_NETWORK_ETC if network else ())):
        line += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    for folder in ("/var/cache/fontconfig", "/var/lib/libreoffice", "/usr/share/fonts"):
        line += ["--ro-bind-try", folder, folder]
    for path, descriptor in files.items():
        line += ["--ro-bind-data", str(descriptor), path]
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--dir", "/home/user"]
    line += ["--tmpfs", "/home/user", "--tmpfs", "/var/tmp", "--tmpfs", "/run/user"]
    line += ["--ro-bind", str(INSIDE), _CODE, "--bind", str(shared), _SHARED]
    return [*line, "--remount-ro", "/", "--chdir", "/home/user", "--", *arguments]


def _readable(text: str) -> int:
    """Return a descriptor from which the text can be read."""
    reader, writer = os.pipe()
    os.write(writer, text.encode())
    os.close(writer)
    return reader
