"""Metrics on what applications write about themselves: GIMP, VLC, LibreOffice, Thunderbird."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from xml.etree import ElementTree

from rla_verifiers.osworld.guest import GuestFile
from rla_verifiers.osworld.matching import matches

_REGISTRY = "{http://openoffice.org/2001/registry}"
_BLACKISH = 100


def check_config_status(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff a line "(key ... value)" of a GIMP configuration file says so.

    rules["key"] is the first word of the line, or the list of its first two. A file that was never
    written says nothing: 0.
    """
    if result is None:
        return 0.0
    key: str | list[str] = rules["key"]
    wanted = [key] if isinstance(key, str) else key
    for line in result.text.splitlines():
        words = line.strip().lstrip("(").rstrip(")").split()
        if line.startswith("#") or not words:
            continue
        if words[: len(wanted)] == wanted and words[-1] == rules["value"]:
            return 1.0
    return 0.0


def check_auto_saving_time(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff LibreOffice saves automatically every rules["minutes"] minutes."""
    path, name = "/org.openoffice.Office.Common/Save/Document", "AutoSaveTimeIntervall"
    value = registry_value(result, path, name)
    return float(value is not None and int(value) == rules["minutes"])


def check_presenter_console_disable(result: GuestFile | None) -> float:
    """Return 1 iff Impress's presenter console is off."""
    path = "/org.openoffice.Office.Impress/Misc/Start"
    return float(registry_value(result, path, "EnablePresenterScreen") == "false")


def find_default_font(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff Writer's default font is rules["font_name"]."""
    path = "/org.openoffice.Office.Writer/DefaultFont"
    return float(registry_value(result, path, "Standard") == rules["font_name"])


def registry_value(file: GuestFile | None, path: str, name: str) -> str | None:
    """Return a value of registrymodifications.xcu, the last one if it is set twice.

    Raises:
        ValueError: the file is no XML.
    """
    if file is None:
        return None
    try:
        root = ElementTree.fromstring(file.data)
    except ElementTree.ParseError as error:
        raise ValueError(f"{file.name} is no registry of LibreOffice: {error}") from error
    found: str | None = None
    for item in root.iter("item"):
        if item.get(f"{_REGISTRY}path") != path:
            continue
        for prop in item.iter("prop"):
            if prop.get(f"{_REGISTRY}name") == name:
                found = prop.findtext("value")
    return found


def vlc_option(file: GuestFile | None, name: str) -> str | None:
    """Return an option of vlcrc; None where the line is a comment, so that VLC's default holds.

    Raises:
        ValueError: there is no file, so VLC never ran and nothing can be said.
    """
    if file is None:
        raise ValueError("VLC has written no vlcrc: it was never run, or its home is elsewhere")
    found = re.findall(rf"^{re.escape(name)}=(.*)$", file.text, re.MULTILINE)
    return found[-1].strip() if found else None


def is_vlc_recordings_folder(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff VLC records to rules["recording_file_path"]."""
    return float(vlc_option(result, "input-record-path") == rules["recording_file_path"])


def check_qt_max_volume(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the volume goes up to rules["expected_qt_max_volume"] per cent."""
    return _vlc_is(result, "qt-max-volume", "125", rules["expected_qt_max_volume"])


def check_qt_minimal_view(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the minimal view is on (1) or off (0) as asked."""
    return _vlc_is(result, "qt-minimal-view", "0", rules["expected_qt_minimal_view"])


def check_qt_bgcone(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the cone on the background is on (1) or off (0) as asked."""
    return _vlc_is(result, "qt-bgcone", "1", rules["expected_qt_bgcone"])


def check_one_instance_when_started_from_file(
    result: GuestFile | None, rules: Mapping[str, Any]
) -> float:
    """Return 1 iff a second file opens in the running VLC (1) or in one of its own (0) as asked."""
    wanted = rules["expected_one_instance_when_started_from_file"]
    return _vlc_is(result, "one-instance-when-started-from-file", "1", wanted)


def check_global_key_play_pause(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff a global key for play/pause is set (1) or not (0) as asked."""
    value = vlc_option(result, "global-key-play-pause")
    return float(str(int(bool(value))) == str(rules["expected_global_key_play_pause"]))


def check_qt_slider_colours(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the volume slider's colours match, or all are nearly black."""
    value = vlc_option(result, "qt-slider-colours") or "153;210;153;20;210;20;255;199;15;245;39;29"
    if rules["type"] == "match":
        return float(value == rules["expected_qt_slider_colours"])
    if rules["type"] == "blackish":
        return float(all(int(part) < _BLACKISH for part in value.split(";")))
    raise ValueError(f"slider colours are compared by match or blackish, not {rules['type']!r}")


def check_thunderbird_prefs(result: GuestFile | None, rules: Mapping[str, Any]) -> float:
    """Return 1 iff prefs.js has what "expect" asks and nothing that "unexpect" names.

    Both map a preference to {"method", "ref"}; a preference that is not set matches nothing.
    """
    if result is None:
        return 0.0
    prefs: dict[str, Any] = {}
    for name, value in re.findall(r'^user_pref\("((?:[^"\\]|\\.)+)", (.*)\);$', result.text, re.M):
        try:
            prefs[name] = json.loads(value)
        except ValueError:
            prefs[name] = value

    def holds(name: str, rule: Mapping[str, Any]) -> bool:
        return name in prefs and matches(prefs[name], rule)

    return float(
        all(holds(*entry) for entry in rules.get("expect", {}).items())
        and not any(holds(*entry) for entry in rules.get("unexpect", {}).items())
    )


def _vlc_is(result: GuestFile | None, name: str, default: str, wanted: Any) -> float:
    value = vlc_option(result, name)
    return float((default if value is None else value) == str(wanted))
