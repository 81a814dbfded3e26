"""Metrics on the browser: bookmarks, preferences, addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any
from urllib.parse import urlsplit

_DEFAULT_ENGINE = "Google"
_SESSION_ONLY = 4
_DEFAULT_FONTS = {"default_fixed_font_size": 13, "default_font_size": 16, "minimum_font_size": 13}


def default_search_engine(preferences: Mapping[str, Any]) -> str:
    """Return the short name of the default search engine; Chrome's own when none was chosen."""
    provider = preferences.get("default_search_provider_data", {})
    return str(provider.get("template_url_data", {}).get("short_name", _DEFAULT_ENGINE))


def profile_name(preferences: Mapping[str, Any]) -> str | None:
    """Return the profile's name."""
    return preferences.get("profile", {}).get("name")


def font_sizes(preferences: Mapping[str, Any]) -> Mapping[str, int]:
    """Return the font sizes, in pixels; Chrome's own where none was chosen."""
    return {**_DEFAULT_FONTS, **preferences.get("webkit", {}).get("webprefs", {})}


def deletes_data(preferences: Mapping[str, Any]) -> str:
    """Return "true" iff site data is kept for a session only.

    OSWorld takes any default of any content setting for it; newer Chromium writes some untouched.
    """
    chosen = preferences.get("profile", {}).get("default_content_setting_values", {})
    return "true" if chosen.get("cookies") == _SESSION_ONLY else "false"


def do_not_track(preferences: Mapping[str, Any]) -> str:
    """Return "true" iff Do Not Track is on."""
    return "true" if preferences.get("enable_do_not_track") else "false"


def safe_browsing(preferences: Mapping[str, Any]) -> str:
    """Return "true" iff Safe Browsing is on, enhanced or standard."""
    chosen = preferences.get("safebrowsing", {})
    return "true" if chosen.get("enhanced") or chosen.get("enabled") else "false"


def enhanced_safe_browsing(preferences: Mapping[str, Any]) -> str:
    """Return "true" iff enhanced Safe Browsing is on."""
    return "true" if preferences.get("safebrowsing", {}).get("enhanced") else "false"


def enabled_experiments(state: Mapping[str, Any]) -> Sequence[str]:
    """Return the experiments that are switched on, from the browser's "Local State"."""
    return list(state.get("browser", {}).get("enabled_labs_experiments", ()))


def new_startup_page(preferences: Mapping[str, Any]) -> str:
    """Return "true" iff the browser opens a new tab page on start."""
    return "true" if preferences.get("session", {}).get("restore_on_startup", 5) == 5 else "false"


def check_font_size(sizes: Mapping[str, Any], rules: Mapping[str, Any]) -> float:
    """Return 1 iff the default size is rules["value"], or strictly between "min" and "max"."""
    size = sizes["default_font_size"]
    if rules["type"] == "value":
        return float(size == rules["value"])
    if rules["type"] == "range":
        return float(rules["min"] < size < rules["max"])
    raise ValueError(f"font sizes are compared by value or range, not by {rules['type']!r}")


def is_expected_bookmarks(roots: Mapping[str, Any], rules: Mapping[str, Any]) -> float:
    """Return 1 iff the bookmark bar holds exactly what is asked for.

    Args:
        roots: The "roots" of Chrome's Bookmarks file; empty when there is none.
        rules: {"type": "bookmark_bar_folders_names", "names"}, {"type":
            "bookmark_bar_websites_urls", "urls"} or {"type": "liked_authors_websites_urls",
            "urls"}, where each entry of urls may be a list of alternatives.
    """
    bar = roots.get("bookmark_bar", {}).get("children", ())
    kind = rules["type"]
    if kind == "bookmark_bar_folders_names":
        return float({one["name"] for one in bar if one["type"] == "folder"} == set(rules["names"]))
    if kind == "bookmark_bar_websites_urls":
        return float({one["url"] for one in bar if one["type"] == "url"} == set(rules["urls"]))
    if kind == "liked_authors_websites_urls":
        liked = [o for o in bar if o["type"] == "folder" and o["name"] == "Liked Authors"]
        if not liked:
            return 0.0
        found = {one["url"] for one in liked[0]["children"] if one["type"] == "url"}
        choices = [[url] if isinstance(url, str) else url for url in rules["urls"]]
        return float(any(set(choice) == found for choice in product(*choices)))
    raise ValueError(f"no check of bookmarks is called {kind!r}")


def is_expected_url_pattern_match(result: Any, rules: Mapping[str, Sequence[str]]) -> float:
    """Return 1 iff every pattern of rules["expected"] is found in the address."""
    url = _address(result)
    return float(bool(url) and all(re.search(pattern, url) for pattern in rules["expected"]))


def is_expected_active_tab(result: Any, rules: Mapping[str, Any]) -> float:
    """Return 1 iff the active tab's address is rules["url"], as ``same_url`` sees it."""
    return float(bool(_address(result)) and same_url(_address(result), rules["url"]))


def is_expected_tabs(tabs: Sequence[Mapping[str, str]], rules: Mapping[str, Any]) -> float:
    """Return 1 iff as many tabs are open as rules["urls"] and each of those is among them."""
    found = [tab["url"] for tab in tabs or ()]
    wanted = rules["urls"]
    return float(
        len(found) == len(wanted) > 0
        and all(any(same_url(url, one) for one in found) for url in wanted)
    )


def same_url(one: str, other: str) -> bool:
    """Return whether two addresses are the same but for scheme, "www.", case of host, end slash."""

    def parts(url: str) -> tuple[str, str, str, str]:
        split = urlsplit(url if "://" in url else f"http://{url}")
        host = split.netloc.lower().removeprefix("www.")
        return host, split.path.rstrip("/"), split.query, split.fragment

    return parts(one) == parts(other)


def _address(result: Any) -> str:
    if isinstance(result, Mapping):
        return str(result.get("url", ""))  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
    return str(result or "")
