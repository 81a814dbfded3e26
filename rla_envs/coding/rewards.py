"""What programs and generated tests are worth: pure functions on pass matrices.

``K`` generated tests of one task meet ``C`` sampled programs and ``M`` mutants of its reference:
``passed_KC`` [K, C] and ``killed_KM`` [K, M] are boolean. docs/coding.md derives the formulas.

Source: arXiv 2602.02488 (rewards of programs and tests), arXiv 2506.03136 (CURE: fractions).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rla_envs.errors import ConfigError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
TestReward = Literal["paper", "fractions", "mutants"]

INVALID_REWARD = -1.0
"""form="mutants": reward of a test that could not be read or does not run; the lowest there is."""
WRONG_REWARD = -0.5
"""form="mutants": reward of a wrong test that no wrong program passes; -1 if all of them do."""


def unit_test_rewards(
    passed_KC: ArrayLike,
    right_C: ArrayLike,
    *,
    form: TestReward = "paper",
    valid_K: ArrayLike | None = None,
    killed_KM: ArrayLike | None = None,
    reference_K: ArrayLike | None = None,
) -> Floats | None:
    """Return the raw reward of each generated test of one task, or None when it has no measure.

    A test is correct if every right program passes it (and the reference, where it is given). W are
    the programs that are not right.

    * ``"paper"``: correct: + the number of W that fail it; otherwise - the number of W that pass
      it; without any W +1 and -1. An invalid test counts as one that every program fails.
    * ``"fractions"`` (CURE): the same with shares of W instead of numbers.
    * ``"mutants"``: correct: the mean of the share of W that fail it and of the share of mutants
      that do, either alone where the other is empty; wrong: from WRONG_REWARD down to -1 with the
      share of W that pass it; invalid: INVALID_REWARD. The mutants are the same whatever was
      sampled, so that a test's reward does not hang on which wrong programs there happen to be.

    Args:
        passed_KC: [K, C] whether program c passes test k.
        right_C: [C] whether program c passes all ground-truth tests.
        form: Which rule.
        valid_K: [K] whether the test could be read and run at all; all when None.
        killed_KM: [K, M] whether mutant m fails test k; form="mutants" only.
        reference_K: [K] whether the reference program passes test k; form="mutants" only. Without
            it, correctness rests on the right programs alone.

    Returns:
        [K] rewards; None if nothing tells correct tests from wrong ones: no right program and no
        ``reference_K``.

    Raises:
        ConfigError: shapes do not fit, or mutants or a reference were given to another form.
    """
    passed, right = _matrix(passed_KC, right_C)
    valid = _column(valid_K, len(passed), "valid_K")
    if form not in ("paper", "fractions", "mutants"):
        raise ConfigError(f"form must be paper, fractions or mutants, got {form!r}")
    if form != "mutants" and (killed_KM is not None or reference_K is not None):
        raise ConfigError(f"form={form!r} knows no mutants and no reference; use form='mutants'")
    correct = correct_tests(passed, right, valid_K=valid, reference_K=reference_K)
    if correct is None:
        return None
    wrong_programs = passed[:, ~right] & valid[:, None]
    w = wrong_programs.shape[1]
    passing = wrong_programs.sum(axis=1).astype(np.float64)
    if form in ("paper", "fractions"):
        if w == 0:
            return np.where(correct, 1.0, -1.0)
        scale = 1.0 if form == "paper" else 1.0 / w
        return cast("Floats", np.where(correct, w - passing, 0.0 - passing) * scale)
    shares: list[Floats] = [1.0 - passing / w] if w else []
    killed = np.asarray(np.zeros((len(passed), 0)) if killed_KM is None else killed_KM, dtype=bool)
    if killed.ndim != 2 or len(killed) != len(passed):
        raise ConfigError(f"killed_KM must be [{len(passed)}, M], got shape {killed.shape}")
    if killed.shape[1]:
        shares.append(killed.mean(axis=1, dtype=np.float64))
    found: Floats = np.array(shares).mean(axis=0) if shares else np.ones(len(passed))
    praised = passing / w if w else np.zeros(len(passed))
    penalty = WRONG_REWARD * (1.0 + praised)
    rewards: Floats = np.where(correct, found, penalty)
    rewards[~valid] = INVALID_REWARD
    return rewards


def correct_tests(
    passed_KC: ArrayLike,
    right_C: ArrayLike,
    *,
    valid_K: ArrayLike | None = None,
    reference_K: ArrayLike | None = None,
) -> Bools | None:
    """Return [K] whether each test is correct, or None when nothing can tell.

    Correct: valid, and passed by every right program and by the reference, as far as there are any.
    """
    passed, right = _matrix(passed_KC, right_C)
    valid = _column(valid_K, len(passed), "valid_K")
    if not right.any() and reference_K is None:
        return None
    correct = passed[:, right].all(axis=1) & valid
    return correct & _column(reference_K, len(passed), "reference_K")


def belief(
    passed_KC: ArrayLike,
    right_C: ArrayLike,
    *,
    valid_K: ArrayLike | None = None,
    reference_K: ArrayLike | None = None,
    prior: float = 0.0,
) -> Floats:
    """Return [K] how much each test is believed to be correct, in [0, 1].

    1 if every right program passes it, and the reference where it is given; 0 if one of them fails
    it or it is invalid; ``prior`` for a valid test of a task with neither.

    Raises:
        ConfigError: prior is not in [0, 1].
    """
    if not 0 <= prior <= 1:
        raise ConfigError(f"prior must be in [0, 1], got {prior}")
    passed, right = _matrix(passed_KC, right_C)
    valid = _column(valid_K, len(passed), "valid_K")
    correct = correct_tests(passed, right, valid_K=valid, reference_K=reference_K)
    if correct is None:
        return np.where(valid, prior, 0.0)
    return correct.astype(np.float64)


def program_rewards(
    base_C: ArrayLike, passed_KC: ArrayLike, weight_K: ArrayLike, *, lam: float = 1.0
) -> Floats:
    """Return base + lam * (weighted share of the generated tests that a program passes), [C].

    Args:
        base_C: [C] the share of ground-truth tests passed, or the outcome.
        passed_KC: [K, C] whether program c passes generated test k.
        weight_K: [K] how much test k is believed (see ``belief``), at least 0; when all are 0 the
            generated tests say nothing and base is returned.
        lam: Weight of the generated tests, at least 0.

    Raises:
        ConfigError: shapes do not fit, or a weight or lam is negative.
    """
    base: Floats = np.asarray(base_C, dtype=np.float64)
    weight: Floats = np.asarray(weight_K, dtype=np.float64)
    passed = np.asarray(passed_KC, dtype=np.float64).reshape(len(weight), len(base))
    if lam < 0 or (weight < 0).any():
        raise ConfigError(f"lam and weights must be >= 0, got {lam} and {weight.tolist()}")
    total = weight.sum()
    if total <= 0:
        return base.copy()
    shares: Floats = (weight @ passed) / total
    return base + lam * shares


def best_of_n(passed_KC: ArrayLike, right_C: ArrayLike) -> float:
    """Return the chance that the program which passes most generated tests is right, in [0, 1].

    Among equals one is drawn at random; without tests that is the share of right programs.
    """
    passed, right = _matrix(passed_KC, right_C)
    score = passed.sum(axis=0)
    return float(right[score == score.max()].mean())


def metrics_of_tests(
    passed: Sequence[ArrayLike],
    right: Sequence[ArrayLike],
    *,
    valid: Sequence[ArrayLike],
    reference: Sequence[ArrayLike | None],
    killed: Sequence[ArrayLike],
) -> dict[str, float]:
    """Return how good the generated tests of several tasks are; docs/coding.md has the formulas.

    Args:
        passed: A [K, C] matrix a task.
        right: [C] a task.
        valid: [K] a task.
        reference: [K] a task, None where there is no reference.
        killed: [K, M] a task.

    Returns:
        "tests/valid", "tests/correct", "tests/detection", "tests/kill_rate", "tests/best_of_n" and
        "tests/pass_at_1"; each is left out where no task can say.
    """
    rows: dict[str, list[float]] = {}

    def add(name: str, value: float) -> None:
        rows.setdefault(f"tests/{name}", []).append(value)

    for p, r, v, ref, kills in zip(passed, right, valid, reference, killed, strict=True):
        passed_KC, right_C = _matrix(p, r)
        if not len(passed_KC) or not len(right_C):
            continue
        valid_K = _column(v, len(passed_KC), "valid_K")
        add("valid", float(valid_K.mean()))
        add("best_of_n", best_of_n(passed_KC & valid_K[:, None], right_C))
        add("pass_at_1", float(right_C.mean()))
        correct = correct_tests(passed_KC, right_C, valid_K=valid_K, reference_K=ref)
        if correct is None:
            continue
        add("correct", float(correct.mean()))
        if (~right_C).any():
            add("detection", float((~passed_KC[:, ~right_C] & correct[:, None]).mean()))
        killed_KM = np.asarray(kills, dtype=bool)
        if killed_KM.ndim == 2 and killed_KM.shape[1]:
            add("kill_rate", float((killed_KM & correct[:, None]).mean()))
    return {name: float(np.mean(values)) for name, values in rows.items()}


def _matrix(passed_KC: ArrayLike, right_C: ArrayLike) -> tuple[Bools, Bools]:
    passed, right = np.asarray(passed_KC, dtype=bool), np.asarray(right_C, dtype=bool)
    if passed.ndim != 2 or right.shape != passed.shape[1:]:
        raise ConfigError(
            f"need passed_KC [K, C] and right_C [C], got shapes {passed.shape} and {right.shape}"
        )
    return passed, right


def _column(values_K: Any, k: int, name: str) -> Bools:
    if values_K is None:
        return np.ones(k, dtype=bool)
    column = np.asarray(values_K, dtype=bool)
    if column.shape != (k,):
        raise ConfigError(f"{name} must be [{k}], got shape {column.shape}")
    return column
