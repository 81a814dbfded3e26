"""The part of pytest that generated tests use, for cells that have no third-party packages."""

# The objects that pass through here are of any type by nature.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
import re
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any


class Approx:
    """Numbers, sequences and mappings that are equal up to a tolerance, as pytest.approx."""

    def __init__(self, expected: Any, rel: float | None = None, abs: float | None = None) -> None:
        self._expected = expected
        self._relative = 1e-6 if rel is None and abs is None else rel or 0.0
        self._absolute = 1e-12 if abs is None else abs

    def __eq__(self, other: object) -> bool:
        return self._close(self._expected, other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def _close(self, expected: Any, actual: Any) -> bool:
        if isinstance(expected, dict):
            return (
                isinstance(actual, dict)
                and expected.keys() == actual.keys()
                and all(self._close(value, actual[key]) for key, value in expected.items())
            )
        if isinstance(expected, list | tuple):
            return (
                isinstance(actual, list | tuple)
                and len(expected) == len(actual)
                and all(map(self._close, expected, actual))
            )
        if isinstance(expected, int | float) and isinstance(actual, int | float):
            return math.isclose(expected, actual, rel_tol=self._relative, abs_tol=self._absolute)
        return bool(expected == actual)


class Raises:
    """``with raises(kind, match=...) as info``; info.value is the exception."""

    def __init__(self, kind: Any, *, match: str | None = None) -> None:
        self._kind, self._match = kind, match
        self.value: BaseException | None = None

    def __enter__(self) -> Raises:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> bool:
        if error is None:
            raise AssertionError(f"did not raise {self._kind}")
        if not isinstance(error, self._kind):
            return False
        if self._match is not None and not re.search(self._match, str(error)):
            raise AssertionError(f"{str(error)!r} does not match {self._match!r}")
        self.value = error
        return True


def _parametrize(names: str | Sequence[str], rows: Iterable[Any]) -> Callable[[Any], Any]:
    parts = [name.strip() for name in names.split(",")] if isinstance(names, str) else [*names]

    def decorate(function: Any) -> Any:
        cases = [dict(zip(parts, row if len(parts) > 1 else (row,), strict=True)) for row in rows]
        old = getattr(function, "cases", [{}])
        function.cases = [{**one, **other} for one in old for other in cases]
        return function

    return decorate


class _Marks:
    parametrize = staticmethod(_parametrize)

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **_: args[0] if args and callable(args[0]) else lambda f: f  # pyright: ignore


def run_function(function: Any) -> None:
    """Call a test function, once for each of its parameter rows."""
    for case in getattr(function, "cases", [{}]):
        function(**case)


def _fail(reason: str = "") -> None:
    raise AssertionError(reason)


def module() -> types.ModuleType:
    """Return a module to be imported as ``pytest``."""
    pytest = types.ModuleType("pytest")
    pytest.__dict__.update(
        approx=Approx, raises=Raises, mark=_Marks(), fail=_fail, main=lambda *_: 0
    )
    return pytest
