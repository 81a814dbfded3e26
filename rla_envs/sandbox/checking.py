"""Whether an answer is right: pure functions of what came out of the cell and what was expected.

Text is compared after CRLF and trailing blanks of each line and trailing empty lines are dropped.
Values are compared as Python would, except that a tuple equals a list with the same elements and a
bool equals no number.
"""

# The objects that pass through here are of any type by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from rla_envs.sandbox.types import Checker, Custom, Exact, FloatTolerance, Tokens, Unordered


def text_difference(checker: Checker, output: str, expected: str) -> str | None:
    """Return None if output is right, else where it first differs from expected."""
    match checker:
        case Exact():
            return _first_difference(_lines(output), _lines(expected), _same)
        case Tokens():
            return _first_difference(output.split(), expected.split(), _same)
        case FloatTolerance(relative, absolute):
            close = _close_tokens(relative, absolute)
            return _first_difference(output.split(), expected.split(), close)
        case Unordered():
            return _first_difference(sorted(_lines(output)), sorted(_lines(expected)), _same)
        case Custom():
            raise TypeError("a custom checker is a program and needs the sandbox")


def value_difference(checker: Checker, value: Any, expected: Any) -> str | None:
    """Return None if value is right, else what it is and what it should be."""
    match checker:
        case Exact():
            right = same_value(value, expected)
        case FloatTolerance(relative, absolute):
            right = same_value(
                value,
                expected,
                lambda a, b: math.isclose(a, b, rel_tol=relative, abs_tol=absolute),
            )
        case Unordered():
            right = _same_elements(value, expected)
        case Tokens():
            raise TypeError("Tokens compares text; use Exact, FloatTolerance or Unordered")
        case Custom():
            raise TypeError("a custom checker is a program and needs the sandbox")
    return None if right else f"returned {_short(value)}, expected {_short(expected)}"


def same_value(
    value: Any, expected: Any, same_number: Callable[[Any, Any], bool] | None = None
) -> bool:
    """Whether two plain values are equal; ``same_number`` compares int and float."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return isinstance(value, bool) and isinstance(expected, bool) and value is expected
    if isinstance(value, int | float) and isinstance(expected, int | float):
        if same_number is None or (isinstance(value, int) and isinstance(expected, int)):
            return value == expected
        return same_number(value, expected)
    if isinstance(value, list | tuple) and isinstance(expected, list | tuple):
        return len(value) == len(expected) and all(
            same_value(a, b, same_number) for a, b in zip(value, expected, strict=True)
        )
    if isinstance(value, dict) and isinstance(expected, dict):
        if value.keys() != expected.keys():
            return False
        return all(same_value(value[key], expected[key], same_number) for key in value)
    if isinstance(value, set | frozenset) and isinstance(expected, set | frozenset):
        return value == expected
    return type(value) is type(expected) and value == expected


def _same_elements(value: Any, expected: Any) -> bool:
    sequences = (list, tuple, set, frozenset)
    if not isinstance(value, sequences) or not isinstance(expected, sequences):
        return same_value(value, expected)
    left: list[Any] = [*expected]
    if len(value) != len(left):
        return False
    for item in value:
        for place, other in enumerate(left):
            if same_value(item, other):
                del left[place]
                break
        else:
            return False
    return True


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def _same(one: str, other: str) -> bool:
    return one == other


def _close_tokens(relative: float, absolute: float) -> Callable[[str, str], bool]:
    def close(one: str, other: str) -> bool:
        if one == other:
            return True
        try:
            numbers = float(one), float(other)
        except ValueError:
            return False
        return math.isclose(*numbers, rel_tol=relative, abs_tol=absolute)

    return close


def _first_difference(
    got: Sequence[str], wanted: Sequence[str], same: Callable[[str, str], bool]
) -> str | None:
    for number, (one, other) in enumerate(zip(got, wanted, strict=False), start=1):
        if not same(one, other):
            return f"item {number}: got {_short(one)}, expected {_short(other)}"
    if len(got) != len(wanted):
        return f"got {len(got)} items, expected {len(wanted)}"
    return None


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # an int with more than 4,300 digits
        text = f"<{type(value).__name__} too long to print>"
    return text if len(text) <= 200 else f"{text[:200]}..."
