"""Metrics on file trees, archives, screens and the accessibility tree."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from rla_verifiers.osworld.guest import GuestFile


def check_tree(result: Mapping[str, Any] | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff a folder holds every path of "present" and none of "absent".

    Args:
        result: A tree as the getter "list_directory" gives it.
        rules: Paths below the folder, with "/" between names.
    """
    if result is None:
        return 0.0
    paths = set(tree_paths(result))
    return float(
        set(rules.get("present", ())) <= paths and not paths & set(rules.get("absent", ()))
    )


def tree_paths(tree: Mapping[str, Any]) -> list[str]:
    """Return all paths below a tree's root, folders included."""
    paths: list[str] = []
    for child in tree.get("children", ()):
        paths.append(str(child["name"]))
        paths += [f"{child['name']}/{path}" for path in tree_paths(child)]
    return paths


def check_moved_jpgs(result: Mapping[str, Any] | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff the folder holds exactly the files rules["expected"]."""
    if result is None:
        return 0.0
    names = {child["name"] for child in result["children"] if child["type"] == "file"}
    return float(names == set(rules["expected"]))


def compare_archive(result: GuestFile | None, expected: GuestFile | None, **options: Any) -> float:
    """Return 1 iff two archives (zip, tar) hold the same files with the same bytes.

    Args:
        result: The agent's archive.
        expected: The reference.
        **options: file_path keeps to the files below that folder.
    """
    mine = _members(result)
    if mine is None:
        return 0.0
    theirs = _members(expected)
    if theirs is None:
        raise ValueError("the reference archive is missing or broken")
    below = str(options.get("file_path", ""))
    return float(
        {k: v for k, v in mine.items() if k.startswith(below)}
        == {k: v for k, v in theirs.items() if k.startswith(below)}
    )


def compare_zip_files(result: GuestFile | None, expected: GuestFile | None) -> float:
    """Return 1 iff two zip files hold the same files with the same bytes."""
    return compare_archive(result, expected)


def check_accessibility_tree(result: str, rules: Sequence[Mapping[str, Any]]) -> float:
    """Return 1 iff, for every rule, an element of the tree fits.

    Args:
        result: OSWorld's XML.
        rules: Each with "xpath" (what ElementTree understands of it) or "role" (the element's
            tag), optionally "name" and "text" (both exact).
    """
    root = ElementTree.fromstring(result)

    def fits(rule: Mapping[str, Any]) -> bool:
        path = rule["xpath"] if "xpath" in rule else f".//{rule['role']}"
        found: Iterable[ElementTree.Element] = root.iterfind(path)
        return any(
            ("name" not in rule or element.get("name") == rule["name"])
            and ("text" not in rule or (element.text or "") == rule["text"])
            for element in found
        )

    return float(all(map(fits, rules)))


def check_left_panel(result: str) -> float:
    """Return 1 iff Impress shows its slide panel."""
    panels = ElementTree.fromstring(result).iter("document-frame")
    return float(any(panel.get("name") == "Slides View" for panel in panels))


def is_vlc_fullscreen(window: Mapping[str, int] | None, screen: Mapping[str, int]) -> float:
    """Return 1 iff the window is as large as the screen."""
    return float(
        window is not None
        and (window["width"], window["height"]) == (screen["width"], screen["height"])
    )


def check_gnome_favorite_apps(result: str | None, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff GNOME's list of favourites holds exactly rules["expected"]."""
    if result is None:
        return 0.0
    names = [part.strip(" '\"\n") for part in result.strip().strip("[]").split(",")]
    return float(sorted(filter(None, names)) == sorted(rules["expected"]))


def is_utc_0(result: str | None) -> float:
    """Return 1 iff timedatectl's fourth line says that the offset is +0000."""
    lines = (result or "").splitlines()
    return float(len(lines) > 3 and lines[3].endswith("+0000)"))


def _members(file: GuestFile | None) -> dict[str, bytes] | None:
    if file is None:
        return None
    try:
        if zipfile.is_zipfile(io.BytesIO(file.data)):
            with zipfile.ZipFile(io.BytesIO(file.data)) as archive:
                return {n: archive.read(n) for n in archive.namelist() if not n.endswith("/")}
        with tarfile.open(fileobj=io.BytesIO(file.data)) as archive:
            parts = ((member.name, archive.extractfile(member)) for member in archive)
            return {name: part.read() for name, part in parts if part is not None}
    except (zipfile.BadZipFile, tarfile.TarError, EOFError):
        return None
