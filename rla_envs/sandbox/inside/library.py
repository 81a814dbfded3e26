"""Values of the standard library that tests compare: they cross the wall as what they store."""

# The objects that pass through here are of any type by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import sys
from collections import deque
from typing import Any

from rla_envs.sandbox.inside import values


def pack(value: Any) -> list[Any] | None:
    """Return the tagged list of value, or None if this module does not know its exact type."""
    kind = type(value)
    name = kind.__name__
    if kind is range:
        return ["range", value.start, value.stop, value.step]
    if kind is deque:
        return ["deque", values.encode(list(value)), value.maxlen]
    if kind is bytearray:
        return ["bytearray", bytes(value).hex()]
    if kind.__module__ == "decimal" and name == "Decimal":
        return ["decimal", str(value)]
    if kind.__module__ == "fractions" and name == "Fraction":
        return ["fraction", hex(value.numerator), hex(value.denominator)]
    if kind.__module__ == "datetime" and getattr(value, "tzinfo", None) is None:
        if name in ("date", "datetime", "time"):
            return [name, value.isoformat()]
        if name == "timedelta":
            return [name, value.days, value.seconds, value.microseconds]
    return None


def unpack(packed: list[Any]) -> Any:
    """Return the value that ``pack`` made the list from.

    Raises:
        NotPlain: If the tag is not known.
    """
    tag, *items = packed
    if tag == "range":
        return range(*items)
    if tag == "deque":
        return deque(values.decode(items[0]), items[1])
    if tag == "bytearray":
        return bytearray.fromhex(items[0])
    if tag in ("decimal", "fraction"):
        import decimal
        import fractions

        if tag == "decimal":
            return decimal.Decimal(items[0])
        return fractions.Fraction(int(items[0], 16), int(items[1], 16))
    if tag in ("date", "datetime", "time", "timedelta"):
        import datetime

        kind = getattr(datetime, tag)
        return kind(*items) if tag == "timedelta" else kind.fromisoformat(items[0])
    raise values.NotPlain(f"no encoded value: {str(packed)[:80]} in Python {sys.version_info[:2]}")
