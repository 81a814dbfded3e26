"""What does a judge reward, and what does training make of it? Votes by the oracle's reason.

Usage: python benchmarks/votes_by_reason.py RUN [RUN ...]

For every reason the step oracle gives (docs/oracle.md): how often it occurs, the judge's mean vote
and the policy's mean step advantage, in the first and in the last quarter of each run's iterations.
A judge that knows the task votes +1 on good steps and -1 on bad ones, whatever the reason.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rla_adapters.domains import load_domain
from rla_verifiers.alfworld import REASONS, step_reasons

from rla_envs.config import TrainConfig, from_dict
from rla_envs.tracking import RunFolder, TrajectoryRecord

Row = tuple[float, float]
"""Mean vote and advantage of a step."""


def rows_by_reason(run: RunFolder, iterations: Sequence[int]) -> dict[str, list[Row]]:
    """Return the rows of each reason, over training episodes of root tasks."""
    config = from_dict(TrainConfig, run.config)
    tasks = load_domain(config).tasks(config.train_split, config.train_tasks)
    roots = {task.id: task for task in tasks}
    rows: dict[str, list[Row]] = defaultdict(list)
    for iteration in iterations:
        for trajectory in run.trajectories(iteration):
            if trajectory.task_id in roots:
                for reason, row in _reasoned(trajectory, roots[trajectory.task_id]):
                    rows[reason].append(row)
    return rows


def _reasoned(trajectory: TrajectoryRecord, task):
    records = trajectory.steps
    reasons = step_reasons(task, [record.step.action for record in records])
    for reason, record in zip(reasons, records, strict=True):
        votes = [vote.label or 0 for vote in record.step.votes]
        yield reason, (float(np.mean(votes)), record.advantage or 0.0)


def main() -> None:
    """Print one table over all runs given."""
    runs = [RunFolder.open(Path(name)) for name in sys.argv[1:]]
    if not runs:
        raise SystemExit(__doc__)
    early: dict[str, list[Row]] = defaultdict(list)
    late: dict[str, list[Row]] = defaultdict(list)
    for run in runs:
        iterations = run.trajectory_iterations()
        quarter = max(1, len(iterations) // 4)
        for part, chosen in ((early, iterations[:quarter]), (late, iterations[-quarter:])):
            for reason, rows in rows_by_reason(run, chosen).items():
                part[reason] += rows
    print("| good | reason | share of steps | mean vote | mean advantage |")
    print("|---|---|---|---|---|")
    total = [sum(map(len, part.values())) for part in (early, late)]
    for reason in sorted(REASONS, key=lambda name: -len(early[name])):
        if not early[reason] or not late[reason]:
            continue
        share = [len(part[reason]) / n for part, n in zip((early, late), total, strict=True)]
        (vote0, gain0), (vote1, gain1) = (np.mean(part[reason], axis=0) for part in (early, late))
        print(
            f"| {'yes' if REASONS[reason] > 0 else 'no'} | {reason} "
            f"| {share[0]:.3f} → {share[1]:.3f} | {vote0:+.2f} → {vote1:+.2f} "
            f"| {gain0:+.2f} → {gain1:+.2f} |"
        )


if __name__ == "__main__":
    main()
