"""Comparing values: the rules that OSWorld's task files write down."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

_ORDER = {"eq", "ne", "le", "lt", "ge", "gt"}


def matches(value: Any, rule: Mapping[str, Any]) -> bool:
    """Return whether value satisfies {"method": ..., "ref": ...}.

    Methods: eq, ne, le, lt, ge, gt; "re" with flags as in "re.I"; "approx:0.01"; "range.te" and
    its kin (left and right bound, t = strict, e = inclusive); "str_list_eq" and "str_set_eq" for
    comma-separated text.

    Raises:
        ValueError: the method is none of these.
    """
    method, ref = str(rule["method"]), rule["ref"]
    if method in _ORDER:
        try:
            return bool(getattr(operator, method)(value, ref))
        except TypeError:
            return False
    if re.fullmatch(r"re(\.[A-Z]+)*", method):
        flags = 0
        for name in method.split(".")[1:]:
            flags |= int(getattr(re, name))
        return value is not None and re.search(ref, str(value), flags) is not None
    if method.startswith("approx:"):
        number = as_number(value)
        return number is not None and abs(number - ref) <= float(method.partition(":")[2])
    bounds = re.fullmatch(r"range\.([te])([te])", method)
    if bounds:
        below = {"t": operator.lt, "e": operator.le}
        number = as_number(value)
        return (
            number is not None
            and below[bounds[1]](ref[0], number)
            and below[bounds[2]](number, ref[1])
        )
    if method in ("str_list_eq", "str_set_eq"):
        given, wanted = str(value).strip("\"'").split(","), [str(item) for item in ref]
        return given == wanted if method == "str_list_eq" else set(given) == set(wanted)
    raise ValueError(f"no comparison is called {method!r}")


def as_number(value: Any) -> float | None:
    """Return value as a float, or None if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def similarity(one: str, other: str) -> float:
    """Return twice the longest common subsequence over the sum of lengths, in [0, 1].

    Two empty texts are equal (1.0). It is what rapidfuzz calls ``ratio``, over 100.
    """
    total = len(one) + len(other)
    return 1.0 if total == 0 else 2 * common_length(one, other) / total


def common_length(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Return the length of the longest common subsequence (Hyyro's bit-parallel recurrence)."""
    places: dict[Any, int] = {}
    for index, item in enumerate(one):
        places[item] = places.get(item, 0) | 1 << index
    full = (1 << len(one)) - 1
    row = full
    for item in other:
        hits = row & places.get(item, 0)
        row = (row + hits | row - hits) & full
    return len(one) - row.bit_count()
