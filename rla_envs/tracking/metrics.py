"""The metrics of a run: one JSON object a line, and what every name means."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rla_envs.errors import ConfigError, RunError
from rla_envs.tracking.files import write_text

Metrics = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One name in metrics.jsonl.

    Attributes:
        label: For axes and tables.
        meaning: One sentence; the formula is in docs/runs.md.
        unit: "share" (in [0, 1]), "count", "s", "nats", "steps" or "".
    """

    label: str
    meaning: str
    unit: str = ""


def append_metrics(path: Path, metrics: Mapping[str, float]) -> None:
    """Add a line to path and ask the disk to keep it.

    Raises:
        ConfigError: "iteration" is missing or a value is not a number.
    """
    if "iteration" not in metrics:
        raise ConfigError(f"metrics need an 'iteration'; got {sorted(metrics)}")
    line: dict[str, float | int | None] = {}
    for name, value in metrics.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ConfigError(f"metric {name!r} must be a number, got {value!r}") from None
        whole = number.is_integer() and isinstance(value, int)
        line[name] = int(value) if whole else number if math.isfinite(number) else None
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())


def read_metrics(path: Path) -> list[Metrics]:
    """Return one dict an iteration; names whose value is null are left out.

    A half-written last line (the run is being written, or was killed) is left out as well.

    Raises:
        RunError: another line is not a JSON object with an iteration.
    """
    return [
        {name: value for name, value in line.items() if value is not None} for line in _lines(path)
    ]


def cut_metrics(path: Path, last: int | None) -> None:
    """Drop what came after iteration last; drop everything when it is None."""
    kept = [line for line in _lines(path) if last is not None and line["iteration"] <= last]
    write_text(path, "".join(json.dumps(line) + "\n" for line in kept))


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    *lines, _half = path.read_bytes().split(b"\n")
    parsed: list[dict[str, Any]] = []
    for number, text in enumerate(lines, start=1):
        try:
            line: Any = json.loads(text)
        except ValueError as error:
            raise RunError(f"{path}, line {number} is not JSON: {error}") from error
        if not isinstance(line, dict) or "iteration" not in line:
            raise RunError(f"{path}, line {number} is not a JSON object with an 'iteration'")
        parsed.append(line)  # pyright: ignore[reportUnknownArgumentType]
    return parsed


_SHARE = "share"
_METRICS: dict[str, Metric] = {
    "iteration": Metric(label="iteration", meaning="Number of finished iterations."),
    "policy_version": Metric(label="policy version", meaning="Updates the policy has had."),
    "accuracy/train": Metric(
        label="training tasks", unit=_SHARE, meaning="Share won of this iteration's episodes."
    ),
    "accuracy/in_domain": Metric(
        label="in-domain panel", unit=_SHARE, meaning="Share won of the fixed in-domain panel."
    ),
    "accuracy/out_of_domain": Metric(
        label="out-of-domain panel",
        unit=_SHARE,
        meaning="Share won of the fixed out-of-domain panel.",
    ),
    "episodes": Metric(label="episodes", unit="count", meaning="Episodes of this iteration."),
    "episodes/crashed": Metric(
        label="crashed", unit="count", meaning="Episodes masked because their world failed."
    ),
    "episodes/overflow": Metric(
        label="overflow", unit="count", meaning="Episodes that outgrew the model's context."
    ),
    "groups/without_spread": Metric(
        label="groups without spread",
        unit=_SHARE,
        meaning="Share of groups whose outcomes are all alike.",
    ),
    "episode_steps/mean": Metric(
        label="steps an episode", unit="steps", meaning="Mean length of training episodes."
    ),
    "judge/process_accuracy": Metric(
        label="process accuracy",
        unit=_SHARE,
        meaning="Share of steps whose verdict is the oracle's.",
    ),
    "judge/balanced_accuracy": Metric(
        label="balanced process accuracy",
        unit=_SHARE,
        meaning="Mean of the verdicts' hit rates on good and bad steps.",
    ),
    "judge/vote_accuracy": Metric(
        label="accuracy of single votes",
        unit=_SHARE,
        meaning="Share of parsed votes equal to the step oracle.",
    ),
    "judge/outcome_pairs": Metric(
        label="outcome pairs", unit="count", meaning="Pairs the outcome AUC rests on."
    ),
    "judge/outcome_accuracy": Metric(
        label="outcome accuracy",
        unit=_SHARE,
        meaning="Share of episodes whose mean vote has the sign of the outcome.",
    ),
    "judge/outcome_auc": Metric(
        label="outcome AUC",
        unit=_SHARE,
        meaning="How often a won episode has a higher mean vote than a lost one of its task.",
    ),
    "judge/agreement": Metric(
        label="vote agreement", unit=_SHARE, meaning="Share of pairs of a step's votes that agree."
    ),
    "judge/split_rate": Metric(
        label="split votes", unit=_SHARE, meaning="Share of steps whose votes differ."
    ),
    "judge/unparsed_rate": Metric(
        label="unparsed votes", unit=_SHARE, meaning="Share of votes without a verdict."
    ),
    "judge/negative_share": Metric(
        label="negative votes", unit=_SHARE, meaning="Share of -1 among parsed votes."
    ),
    "oracle/good_share": Metric(
        label="good steps", unit=_SHARE, meaning="Share of steps the oracle calls good."
    ),
    "lambda": Metric(label="lambda", meaning="Weight of the mean vote in the step reward."),
    "tasks/proposed": Metric(
        label="proposed", unit="count", meaning="Rewrites asked for in this iteration."
    ),
    "tasks/rejected": Metric(
        label="rejected", unit="count", meaning="Rewrites rejected in this iteration."
    ),
    "tasks/accepted": Metric(
        label="accepted", unit="count", meaning="Rewrites accepted in this iteration."
    ),
    "tasks/rolled_back": Metric(
        label="rolled back", unit="count", meaning="Accepted rewrites taken back in this iteration."
    ),
    "tasks/on_trial": Metric(label="on trial", unit="count", meaning="Rewrites being measured."),
    "tasks/total/proposed": Metric(
        label="proposed", unit="count", meaning="Rewrites asked for since the start."
    ),
    "tasks/total/rejected": Metric(
        label="rejected", unit="count", meaning="Rewrites rejected since the start."
    ),
    "tasks/total/accepted": Metric(
        label="accepted", unit="count", meaning="Rewrites accepted since the start."
    ),
    "tasks/total/rolled_back": Metric(
        label="rolled back", unit="count", meaning="Rewrites taken back since the start."
    ),
    "tasks/total/null_decided": Metric(
        label="null trials", unit="count", meaning="Trials of unchanged tasks since the start."
    ),
    "tasks/total/null_accepted": Metric(
        label="null accepted", unit="count", meaning="Those of them that the rule accepted."
    ),
    "tasks/rewritten_share": Metric(
        label="rewritten", unit=_SHARE, meaning="Share of the served tasks that are rewrites."
    ),
    "tasks/accuracy": Metric(
        label="recent accuracy", unit=_SHARE, meaning="Mean recent accuracy of the served tasks."
    ),
    "tasks/in_band_share": Metric(
        label="in the band", unit=_SHARE, meaning="Share of served tasks with accuracy in the band."
    ),
    "tasks/null_accept_rate": Metric(
        label="null control",
        unit=_SHARE,
        meaning="Share of finished trials of unchanged tasks that were accepted.",
    ),
    "tasks/difficulty": Metric(
        label="task difficulty", unit="steps", meaning="Mean plan length of the served tasks."
    ),
    "share_outside_models": Metric(
        label="outside the models",
        unit=_SHARE,
        meaning="Share of the iteration spent neither sampling, judging nor training.",
    ),
}
for _role, _name in (("policy", "policy"), ("judge_trainer", "judge")):
    _METRICS.update(
        {
            f"{_role}/loss": Metric(label=f"{_name} loss", meaning=f"Loss of the {_name} update."),
            f"{_role}/kl": Metric(
                label=f"{_name} KL", unit="nats", meaning=f"KL of the {_name} to its reference."
            ),
            f"{_role}/entropy": Metric(
                label=f"{_name} entropy", unit="nats", meaning=f"Token entropy of the {_name}."
            ),
            f"{_role}/clip_share": Metric(
                label=f"{_name} clip share",
                unit=_SHARE,
                meaning=f"Share of the {_name}'s tokens whose ratio was clipped.",
            ),
            f"{_role}/samples": Metric(
                label=f"{_name} samples", unit="count", meaning=f"Samples in the {_name} update."
            ),
        }
    )
for _part, _what in {
    "model": "sampling actions",
    "env": "environments",
    "judge": "sampling votes",
    "trainer": "updating weights",
    "oracle": "labelling steps",
    "curriculum": "adapting tasks",
    "tracking": "writing the run folder",
    "evaluation": "playing the panels",
    "total": "the whole iteration",
}.items():
    _METRICS[f"seconds/{_part}"] = Metric(label=_part, unit="s", meaning=f"Time spent {_what}.")
METRICS: Mapping[str, Metric] = _METRICS
"""What the loop writes. Trainers and tasks/rejected/<reason> add names of their own."""
