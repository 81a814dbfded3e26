"""Scoring the state of a desktop as OSWorld does: getters, metrics and how they are joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rla_envs.errors import TaskError, TaskUnavailable, VerifierError
from rla_verifiers.osworld import (
    browser,
    documents,
    files,
    general,
    pdf,
    settings,
    slides,
    tables,
)
from rla_verifiers.osworld.getters import GETTERS
from rla_verifiers.osworld.guest import Guest

INFEASIBLE = "infeasible"
"""The metric of a task that cannot be done and must be given up."""

_MODULES = (browser, documents, files, general, pdf, settings, slides, tables)
_PREFIXES = ("check_", "compare_", "is_", "has_", "contains_", "evaluate_", "find_", "diff_")
_OTHERS = (
    "exact_match",
    "match_in_list",
    "fuzzy_match",
    "literal_match",
    "file_contains",
    "pdf_contains",
    "run_sqlite3",
)


def _metrics() -> dict[str, Callable[..., float]]:
    found: dict[str, Any] = {
        name: function
        for module in _MODULES
        for name, function in vars(module).items()
        if callable(function) and getattr(function, "__module__", "") == module.__name__
        if name.startswith(_PREFIXES) or name in _OTHERS
    }
    found["check_slide_orientation_Portrait"] = found.pop("check_slide_orientation_portrait")
    del found["check_number"]
    return found


METRICS: Mapping[str, Callable[..., float]] = MappingProxyType(_metrics())
"""Name in a task file -> metric."""


def evaluate(evaluator: Mapping[str, Any], guest: Guest, *, gave_up: bool) -> float:
    """Return the score of the present state, in [0, 1]; postconfig steps must have run before.

    A task that cannot be done scores 1 iff it was given up; any other scores 0 if it was. Several
    metrics are joined with "and" (0 if one is 0, else their mean) or "or" (the highest). A file
    that the agent should have made and did not make scores 0.

    Args:
        evaluator: The "evaluator" of a task file.
        guest: The desktop.
        gave_up: Whether the agent's last action was FAIL.

    Raises:
        VerifierError: nothing can be said about the state: the sample must be masked.
        TaskUnavailable: a getter, a metric or a reference file is not to be had.
    """
    if evaluator["func"] == INFEASIBLE:
        return float(gave_up)
    if gave_up:
        return 0.0
    parts = metric_parts(evaluator)
    scores = [_score(part, guest) for part in parts]
    if evaluator.get("conj", "and") == "or":
        return max(scores)
    return 0.0 if 0.0 in scores else sum(scores) / len(scores)


def metric_parts(
    evaluator: Mapping[str, Any],
) -> list[tuple[str, Mapping[str, Any], Mapping[str, Any] | None, Mapping[str, Any]]]:
    """Return (metric, result getter, expected getter or None, options) of every part.

    Raises:
        TaskError: lists that should be parallel are not.
    """
    functions: str | Sequence[str] = evaluator["func"]
    if isinstance(functions, str):
        single: Mapping[str, Any] | None = evaluator.get("expected") or None
        result: Mapping[str, Any] = evaluator.get("result") or {}
        given: Mapping[str, Any] = evaluator.get("options") or {}
        return [(functions, result, single, given)]
    count = len(functions)
    results: Sequence[Any] = evaluator["result"]
    expected: Sequence[Any] = evaluator.get("expected") or [None] * count
    options: Sequence[Any] = evaluator.get("options") or [None] * count
    if not len(results) == len(expected) == len(options) == count:
        raise TaskError(
            f"evaluator has {count} metrics, {len(results)} results, {len(expected)} expected, "
            f"{len(options)} options; these lists must be parallel"
        )
    return [
        (functions[i], results[i] or {}, expected[i] or None, options[i] or {})
        for i in range(count)
    ]


def unsupported(evaluator: Mapping[str, Any]) -> list[str]:
    """Return the metrics and getters of an evaluator that this package does not have."""
    if evaluator["func"] == INFEASIBLE:
        return []
    missing: list[str] = []
    for function, result, expected, _ in metric_parts(evaluator):
        missing += [f"metric {function}"] * (function not in METRICS)
        kinds = [getter.get("type", "") for getter in (result, expected) if getter]
        missing += [f"getter {kind}" for kind in kinds if kind not in GETTERS]
    return list(dict.fromkeys(missing))


def _score(
    part: tuple[str, Mapping[str, Any], Mapping[str, Any] | None, Mapping[str, Any]], guest: Guest
) -> float:
    function, result, expected, options = part
    if missing := _missing(part):
        raise TaskUnavailable(f"no verifier here has {', '.join(missing)}")
    try:
        arguments = [GETTERS[one["type"]](guest, one) for one in (result, expected) if one]
    except TaskUnavailable:
        raise
    except Exception as error:
        raise VerifierError(f"{result.get('type')}: {type(error).__name__}: {error}") from error
    try:
        return float(METRICS[function](*arguments, **options))
    except Exception as error:
        raise VerifierError(f"{function}: {type(error).__name__}: {error}") from error


def _missing(part: tuple[str, Any, Any, Any]) -> list[str]:
    function, result, expected, _ = part
    return unsupported({"func": [function], "result": [result], "expected": [expected]})
