"""What a local desktop needs of the system, and how to get it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

PYTHON = "/usr/bin/python3"


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """One program or module.

    Attributes:
        name: A program on the path or by its full path, or "python3: MODULE".
        packages: Debian packages that bring it.
        optional: Whether only some tasks need it.
    """

    name: str
    packages: str
    optional: bool = False


NEEDS = (
    Need(name=PYTHON, packages="python3"),
    Need(name="bwrap", packages="bubblewrap"),
    Need(name="Xvfb", packages="xvfb"),
    Need(name="dbus-daemon", packages="dbus"),
    Need(name="openbox", packages="openbox"),
    Need(name="/usr/libexec/at-spi-bus-launcher", packages="at-spi2-core"),
    Need(name="python3: Xlib", packages="python3-xlib"),
    Need(name="python3: gi.repository.Atspi", packages="python3-gi gir1.2-atspi-2.0"),
    Need(name="gsettings", packages="libglib2.0-bin dconf-gsettings-backend"),
    Need(name="xclip", packages="xclip", optional=True),
    Need(name="wmctrl", packages="wmctrl", optional=True),
    Need(name="xdg-open", packages="xdg-utils", optional=True),
    Need(name="mousepad", packages="mousepad", optional=True),
    Need(name="xfce4-terminal", packages="xfce4-terminal", optional=True),
    Need(name="pcmanfm", packages="pcmanfm", optional=True),
    Need(
        name="libreoffice",
        packages="libreoffice-calc libreoffice-writer libreoffice-impress libreoffice-gtk3",
        optional=True,
    ),
    Need(name="chromium", packages="chromium", optional=True),
    Need(name="gimp", packages="gimp", optional=True),
    Need(name="vlc", packages="vlc", optional=True),
    Need(name="socat", packages="socat", optional=True),
    Need(name="bc", packages="bc", optional=True),
)


def lacking(*, optional: bool = True) -> list[Need]:
    """Return what is not installed.

    Args:
        optional: Whether to look for applications too, or only for what every desktop needs.
    """
    return [need for need in NEEDS if (optional or not need.optional) and not _present(need.name)]


def remedy(needs: Sequence[Need]) -> str:
    """Return one line: what is missing, and the command that brings it."""
    names = ", ".join(need.name for need in needs)
    packages = " ".join(need.packages for need in needs)
    return f"{names}; apt-get install --no-install-recommends {packages}"


def report() -> tuple[str, bool]:
    """Return what ``rla desktop doctor`` prints, and whether a local desktop can start."""
    missing = lacking()
    lines = [
        f"{'missing' if need in missing else 'ok':<8} {need.name}"
        f"{' (for tasks that use it)' if need.optional else ''}"
        for need in NEEDS
    ]
    namespaces = "" if _present("bwrap") is False else _namespaces()
    lines.append(f"{'missing' if namespaces else 'ok':<8} user namespaces")
    if namespaces:
        lines.append(f"  {namespaces}")
    if missing:
        lines.append(
            "apt-get install --no-install-recommends " + " ".join(need.packages for need in missing)
        )
    able = not namespaces and all(need.optional for need in missing)
    return "\n".join(lines), able


def _present(name: str) -> bool:
    program, _, module = name.partition(": ")
    if not module:
        return shutil.which(program) is not None
    if not os.path.exists(PYTHON):
        return False
    last = module.rpartition(".")[2]
    code = (
        f"import gi; gi.require_version('{last}', '2.0'); from gi.repository import {last}"
        if module.startswith("gi.")
        else f"import {module}"
    )
    done = subprocess.run([PYTHON, "-c", code], capture_output=True, check=False)
    return done.returncode == 0


def _namespaces() -> str:
    """Return why bubblewrap cannot make a namespace here, "" if it can."""
    line = ["bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/", "/"]
    done = subprocess.run([*line, "true"], capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""
