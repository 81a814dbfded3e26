"""Trajectories as Parquet, one row a step: any data-frame library can ask questions of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from rla_envs.errors import ConfigError, MissingExtra, RunError
from rla_envs.tracking.files import replacing
from rla_envs.types import Completion, Group, Sign, Step, StopReason, Vote

Ragged = Sequence[Sequence[float] | None]
"""Numbers of every step, one sequence a trajectory over all groups in order; None where there are
none. An empty outer sequence says that nothing was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """A stored step (without token ids) and what it was worth.

    Attributes:
        step: The step as the episode saw it.
        oracle: The step oracle's label; None when it was not asked.
        reward: Step reward, outcome plus mean vote; None when masked or on trial.
        advantage: Standardised step reward; None as above.
    """

    step: Step
    oracle: Sign | None = None
    reward: float | None = None
    advantage: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryRecord:
    """A stored trajectory.

    Attributes:
        iteration: Iteration that collected it.
        group: Index of its group within the iteration.
        index: Index within its group.
        task_id: The task.
        root_id: Root of the task's lineage.
        parent_id: The task it was rewritten from; None for a root.
        instruction: The task in words.
        difficulty: The domain's estimate, in steps.
        on_trial: Whether the task was being measured and not trained on.
        outcome: +1, -1, or None when masked.
        stop_reason: Why the episode ended.
        seed: Seed of the episode.
        policy_version: Weights that played it.
        steps: [T].
    """

    iteration: int
    group: int
    index: int
    task_id: str
    root_id: str
    parent_id: str | None
    instruction: str
    difficulty: float | None
    on_trial: bool
    outcome: Sign | None
    stop_reason: StopReason
    seed: int
    policy_version: int
    steps: tuple[StepRecord, ...]


def write_trajectories(
    path: Path,
    iteration: int,
    groups: Sequence[Group],
    *,
    oracle: Ragged | None = None,
    rewards: Ragged | None = None,
    advantages: Ragged | None = None,
) -> None:
    """Write groups to path in one step. A trajectory without steps is a row whose ``step`` is null.

    Args:
        path: The Parquet file.
        iteration: Written into every row.
        groups: [G] judged or not.
        oracle: Step oracle's labels as truth values (True = good step).
        rewards: Step rewards.
        advantages: Step advantages.

    Raises:
        ConfigError: a ragged argument does not match the groups.
        MissingExtra: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    rows = list(_rows(iteration, groups, oracle=oracle, reward=rewards, advantage=advantages))
    table = arrow.Table.from_pylist(rows, schema=schema())
    with replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def read_trajectories(path: Path) -> list[TrajectoryRecord]:
    """Return the trajectories of one file, in the order in which they were collected.

    Raises:
        RunError: the file is missing or is not one of ours.
        MissingExtra: pyarrow is not installed.
    """
    arrow, parquet = _pyarrow()
    try:
        # One file, not a dataset: a path like iteration=3/ must not add columns.
        rows: list[dict[str, Any]] = parquet.ParquetFile(path).read().to_pylist()
    except (OSError, arrow.ArrowInvalid) as error:
        raise RunError(f"cannot read the trajectories in {path}: {error}") from error
    by_trajectory = groupby(rows, key=lambda row: (row["group"], row["trajectory"]))
    try:
        return [_record(list(steps)) for _, steps in by_trajectory]
    except (KeyError, ValueError) as error:
        raise RunError(
            f"{path} is not a trajectory file of this version: {error!r} is missing or malformed"
        ) from error


def schema() -> Any:
    """Return the Arrow schema; docs/runs.md explains the columns."""
    arrow, _ = _pyarrow()
    text, sign, real = arrow.string(), arrow.int8(), arrow.float64()
    columns: dict[str, Any] = {
        "iteration": arrow.int32(),
        "group": arrow.int32(),
        "trajectory": arrow.int32(),
        "task_id": text,
        "root_id": text,
        "parent_id": text,
        "instruction": text,
        "difficulty": real,
        "on_trial": arrow.bool_(),
        "seed": arrow.int64(),
        "outcome": sign,
        "stop_reason": text,
        "policy_version": arrow.int32(),
        "step": arrow.int32(),
        "observation": text,
        "action": text,
        "completion": text,
        "next_observation": text,
        "votes": arrow.list_(sign),
        "rationales": arrow.list_(text),
        "oracle": sign,
        "reward": real,
        "advantage": real,
        "info": text,
    }
    return arrow.schema(list(columns.items()))


def _rows(
    iteration: int, groups: Sequence[Group], **numbers: Ragged | None
) -> Iterator[dict[str, Any]]:
    for name, ragged in numbers.items():
        _check(name, ragged, groups)
    place = 0
    for g, group in enumerate(groups):
        for k, trajectory in enumerate(group.trajectories):
            task = trajectory.task
            head: dict[str, Any] = {
                "iteration": iteration,
                "group": g,
                "trajectory": k,
                "task_id": task.id,
                "root_id": task.root_id,
                "parent_id": task.parent_id,
                "instruction": task.instruction,
                "difficulty": task.difficulty,
                "on_trial": group.on_trial,
                "seed": trajectory.seed,
                "outcome": trajectory.outcome,
                "stop_reason": trajectory.stop_reason,
                "policy_version": trajectory.policy_version,
            }
            picked = {name: values[place] if values else None for name, values in numbers.items()}
            place += 1
            if not trajectory.steps:
                yield head
            for t, step in enumerate(trajectory.steps):
                worth = {
                    name: None if values is None else float(values[t])
                    for name, values in picked.items()
                }
                if worth["oracle"] is not None:
                    worth["oracle"] = 1 if worth["oracle"] > 0 else -1
                yield head | {"step": t} | _step_columns(step) | worth


def _step_columns(step: Step) -> dict[str, Any]:
    return {
        "observation": step.observation,
        "action": step.action,
        "completion": step.completion.text,
        "next_observation": step.next_observation,
        "votes": [vote.label for vote in step.votes],
        "rationales": [vote.rationale for vote in step.votes],
        "info": json.dumps(dict(step.info), ensure_ascii=False),
    }


def _check(name: str, ragged: Ragged | None, groups: Sequence[Group]) -> None:
    if not ragged:
        return
    trajectories = [trajectory for group in groups for trajectory in group.trajectories]
    if len(ragged) != len(trajectories):
        raise ConfigError(
            f"{name} has {len(ragged)} entries for {len(trajectories)} trajectories; "
            "use None for one that has no value"
        )
    for place, (values, trajectory) in enumerate(zip(ragged, trajectories, strict=True)):
        if values is not None and len(values) != len(trajectory.steps):
            raise ConfigError(
                f"{name}[{place}] has {len(values)} values for {len(trajectory.steps)} steps"
            )


def _record(rows: Sequence[dict[str, Any]]) -> TrajectoryRecord:
    head = rows[0]
    names = (
        "iteration group task_id root_id parent_id instruction difficulty on_trial outcome"
        " stop_reason seed policy_version"
    )
    return TrajectoryRecord(
        **{name: head[name] for name in names.split()},
        index=head["trajectory"],
        steps=tuple(_step_record(row) for row in rows if row["step"] is not None),
    )


def _step_record(row: dict[str, Any]) -> StepRecord:
    votes = zip(row["votes"], row["rationales"], strict=True)
    return StepRecord(
        step=Step(
            observation=row["observation"],
            completion=Completion(text=row["completion"]),
            action=row["action"],
            next_observation=row["next_observation"],
            votes=tuple(Vote(label=label, rationale=rationale) for label, rationale in votes),
            info=json.loads(row["info"]),
        ),
        oracle=row["oracle"],
        reward=row["reward"],
        advantage=row["advantage"],
    )


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # pyright: ignore[reportMissingTypeStubs]
        import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise MissingExtra(
            "trajectories are stored with pyarrow: pip install 'rla-envs[train]'"
        ) from error
    return pyarrow, pyarrow.parquet
