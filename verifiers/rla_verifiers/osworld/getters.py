"""What a metric is fed with: getters that ask a desktop, by the names of OSWorld's task files."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from xml.etree import ElementTree

from rla_verifiers.osworld import browser
from rla_verifiers.osworld.guest import HOME, Guest, GuestFile
from rla_verifiers.osworld.tables import Book, cell_values

Config = Mapping[str, Any]

PROFILES = (f"{HOME}/.config/google-chrome", f"{HOME}/.config/chromium")
"""Where the browser may keep its profile, first match wins."""

DEVTOOLS = "http://127.0.0.1:1337/json/list"
"""Where the browser of OSWorld's tasks lists its tabs, seen from inside the desktop."""

_LIST_FOLDER = """
import json, os, sys
def tree(path):
    name = os.path.basename(path.rstrip("/")) or "/"
    if not os.path.isdir(path):
        return {"type": "file", "name": name}
    children = [tree(os.path.join(path, child)) for child in sorted(os.listdir(path))]
    return {"type": "directory", "name": name, "children": children}
print(json.dumps(tree(sys.argv[1]) if os.path.isdir(sys.argv[1]) else None))
"""


def get_rule(guest: Guest, config: Config) -> Any:
    """Return what the task file wrote down."""
    del guest
    return config["rules"]


def get_vm_file(guest: Guest, config: Config) -> GuestFile | list[GuestFile | None] | None:
    """Return a file of the desktop, None if it does not exist; with "multi" those of "gives"."""
    return _files(config, lambda path, name: guest.read_file(_expand(path)))


def get_cloud_file(guest: Guest, config: Config) -> GuestFile | list[GuestFile | None] | None:
    """Return a reference file of the task, or with "multi" those of "gives"."""
    return _files(config, guest.asset)


def get_cache_file(guest: Guest, config: Config) -> GuestFile:
    """Return a file that an earlier getter or setup step left in the task's cache."""
    name = str(config["path"])
    return GuestFile(name=PurePosixPath(name).name, data=guest.asset("", name))


def get_content_from_vm_file(guest: Guest, config: Config) -> list[str] | None:
    """Return the last row of a workbook's first sheet, as text."""
    if (config["file_type"], config["file_content"]) != ("xlsx", "last_row"):
        raise ValueError(f"only the last row of an xlsx can be read, not {config}")
    data = guest.read_file(_expand(config["path"]))
    if data is None:
        return None
    book = Book(GuestFile(name=PurePosixPath(config["path"]).name, data=data))
    rows = cell_values(book.computed[book.names[0]], 12)
    return [str(value) for value in rows[-1]] if rows else []


def get_vm_command_line(guest: Guest, config: Config) -> str:
    """Return what a command prints."""
    return guest.run(_command(config))[1]


def get_vm_command_error(guest: Guest, config: Config) -> str:
    """Return what a command prints to standard error."""
    return guest.run(_command(config))[2]


def get_list_directory(guest: Guest, config: Config) -> Mapping[str, Any] | None:
    """Return the tree below a folder: type, name, children; None if there is no such folder."""
    code, out, error = guest.run(["python3", "-c", _LIST_FOLDER, _expand(config["path"])])
    if code:
        raise ValueError(f"listing {config['path']} failed: {error}")
    return json.loads(out)


def get_gimp_config_file(guest: Guest, config: Config) -> GuestFile | None:
    """Return a configuration file of GIMP, None as long as GIMP has not written it."""
    return _file(guest, f"{HOME}/.config/GIMP/2.10/{config['file_name']}")


def get_vlc_config(guest: Guest, config: Config) -> GuestFile | None:
    """Return vlcrc."""
    del config
    return _file(guest, f"{HOME}/.config/vlc/vlcrc")


def get_bookmarks(guest: Guest, config: Config) -> Mapping[str, Any]:
    """Return the roots of the browser's bookmarks, empty when there are none yet."""
    del config
    return _profile_json(guest, "Default/Bookmarks").get("roots", {})


def get_enabled_experiments(guest: Guest, config: Config) -> Sequence[str]:
    """Return the browser's experiments that are switched on."""
    del config
    return browser.enabled_experiments(_profile_json(guest, "Local State"))


def get_accessibility_tree(guest: Guest, config: Config) -> str:
    """Return the accessibility tree as XML."""
    del config
    return guest.a11y_xml()


def get_active_url_from_access_tree(guest: Guest, config: Config) -> str | None:
    """Return what the browser's address bar shows, with "goto_prefix" before it."""
    tree = ElementTree.fromstring(guest.a11y_xml())
    for entry in tree.iter("entry"):
        if entry.get("name") == "Address and search bar":
            shown = (entry.text or "").strip()
            prefix = str(config.get("goto_prefix", "https://"))
            return shown if not shown or "://" in shown else prefix + shown
    return None


def get_open_tabs_info(guest: Guest, config: Config) -> list[dict[str, str]]:
    """Return title and address of every open tab."""
    del config
    read = f"import urllib.request as r; print(r.urlopen({DEVTOOLS!r}, timeout=10).read().decode())"
    code, out, error = guest.run(["python3", "-c", read])
    if code:
        raise ValueError(f"the browser lists no tabs at {DEVTOOLS}: {error[-300:]}")
    return [
        {"title": tab["title"], "url": tab["url"]}
        for tab in json.loads(out)
        if tab.get("type") == "page"
    ]


def get_active_tab_info(guest: Guest, config: Config) -> dict[str, str] | None:
    """Return title and address of the tab that was used last."""
    tabs = get_open_tabs_info(guest, config)
    return tabs[0] if tabs else None


def get_default_video_player(guest: Guest, config: Config) -> str:
    """Return the desktop file of the application that opens most kinds of video."""
    del config
    kinds = "mp4 mpeg quicktime webm x-matroska x-msvideo ogg"
    script = (
        f"for k in {kinds}; do xdg-mime query default video/$k; done | sort | uniq -c | sort -nr"
    )
    lines = guest.run(script)[1].splitlines()
    return lines[0].split()[-1] if lines else ""


def get_vm_screen_size(guest: Guest, config: Config) -> dict[str, int]:
    """Return the size of the screen, in pixels."""
    del config
    code, out, error = guest.run("xdpyinfo | sed -n 's/.*dimensions: *\\([0-9x]*\\).*/\\1/p'")
    if code or "x" not in out:
        raise ValueError(f"the size of the screen cannot be read: {error or out}")
    width, height = out.strip().split("x")
    return {"width": int(width), "height": int(height)}


def _from_preferences(read: Callable[[Mapping[str, Any]], Any]) -> Callable[[Guest, Config], Any]:
    def getter(guest: Guest, config: Config) -> Any:
        del config
        return read(_profile_json(guest, "Default/Preferences"))

    return getter


GETTERS: Mapping[str, Callable[[Guest, Config], Any]] = MappingProxyType(
    {
        "rule": get_rule,
        "vm_file": get_vm_file,
        "cloud_file": get_cloud_file,
        "cache_file": get_cache_file,
        "content_from_vm_file": get_content_from_vm_file,
        "vm_command_line": get_vm_command_line,
        "vm_command_error": get_vm_command_error,
        "list_directory": get_list_directory,
        "gimp_config_file": get_gimp_config_file,
        "vlc_config": get_vlc_config,
        "bookmarks": get_bookmarks,
        "enabled_experiments": get_enabled_experiments,
        "default_search_engine": _from_preferences(browser.default_search_engine),
        "profile_name": _from_preferences(browser.profile_name),
        "chrome_font_size": _from_preferences(browser.font_sizes),
        "data_delete_automacally": _from_preferences(browser.deletes_data),
        "enable_do_not_track": _from_preferences(browser.do_not_track),
        "enable_safe_browsing": _from_preferences(browser.safe_browsing),
        "enable_enhanced_safety_browsing": _from_preferences(browser.enhanced_safe_browsing),
        "new_startup_page": _from_preferences(browser.new_startup_page),
        "accessibility_tree": get_accessibility_tree,
        "active_url_from_accessTree": get_active_url_from_access_tree,
        "open_tabs_info": get_open_tabs_info,
        "active_tab_info": get_active_tab_info,
        "default_video_player": get_default_video_player,
        "vm_screen_size": get_vm_screen_size,
    }
)
"""Name in a task file -> getter."""


def _files(
    config: Config, read: Callable[[str, str], bytes | None]
) -> GuestFile | list[GuestFile | None] | None:
    multi = config.get("multi", False)
    paths: list[str] = list(config["path"]) if multi else [config["path"]]
    names: list[str] = list(config["dest"]) if multi else [config["dest"]]
    found = {n: read(p, n) for p, n in zip(paths, names, strict=True)}
    there = {name: data for name, data in found.items() if data is not None}
    places: Sequence[int] = config.get("gives", (0,))
    given = [
        GuestFile(name=name, data=there[name], siblings=there) if name in there else None
        for name in (names[place] for place in places)
    ]
    return given[0] if len(given) == 1 else given


def _file(guest: Guest, path: str) -> GuestFile | None:
    data = guest.read_file(path)
    return None if data is None else GuestFile(name=PurePosixPath(path).name, data=data)


def _profile_json(guest: Guest, name: str) -> Mapping[str, Any]:
    for profile in PROFILES:
        data = guest.read_file(f"{profile}/{name}")
        if data is not None:
            return json.loads(data)
    return {}


def _expand(path: str) -> str:
    return HOME + path[1:] if path.startswith("~") else path


def _command(config: Config) -> Sequence[str] | str:
    command: Sequence[str] | str = config["command"]
    if isinstance(command, str):
        # OSWorld's server splits a string that is not meant for the shell.
        return command if config.get("shell", False) else shlex.split(command)
    return " ".join(map(shlex.quote, command)) if config.get("shell", False) else command
