"""A finished run with every kind of metric, a hostile judge and a curriculum's archive."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from rla_envs.curriculum.store import Store, task_to_json
from rla_envs.tracking import RunFolder
from rla_envs.types import Completion, Group, Step, Task, Trajectory, Vote

HOSTILE = "</div><script>alert('owned')</script><img src=x onerror=alert(1)>"
ROOMS = ("countertop 1", "fridge 1", "cabinet 2", "diningtable 1", "sinkbasin 1")


def write_run(
    path: Path, *, iterations: int = 20, judge: bool = True, curriculum: bool = True
) -> RunFolder:
    """Write a run whose numbers are made up but move as those of a real one do."""
    pytest.importorskip("pyarrow")
    rng = random.Random(0)
    arm = "full" if curriculum else "reward" if judge else "policy"
    config = {"arm": arm, "tasks": "generated", "loop": {"seed": 0, "iterations": iterations}}
    with RunFolder.create(path, config) as run:
        run.append_metrics(
            {"iteration": 0, "accuracy/in_domain": 0.2, "accuracy/out_of_domain": 0.1}
        )
        for iteration in range(1, iterations + 1):
            done = iteration / iterations
            metrics = _policy_metrics(iteration, done, rng)
            if judge:
                metrics |= _judge_metrics(done, rng)
            if curriculum:
                metrics |= _task_metrics(iteration)
            run.append_metrics(metrics)
            if iteration in (1, iterations):
                groups = [_group(rng, name, judge) for name in ("a", "b", "c")]
                played = [t for group in groups for t in group.trajectories]
                run.write_trajectories(
                    iteration,
                    groups,
                    oracle=[[rng.random() < 0.6 for _ in t.steps] for t in played],
                    rewards=[[rng.uniform(-2, 2) for _ in t.steps] for t in played],
                )
        if curriculum:
            _archive(run.archive)
        with run.checkpoint(iterations):
            pass
    return run


def _policy_metrics(iteration: int, done: float, rng: random.Random) -> dict[str, float]:
    metrics: dict[str, float] = {
        "iteration": iteration,
        "policy_version": iteration,
        "accuracy/train": 0.3 + 0.3 * done + rng.uniform(-0.08, 0.08),
        "episode_steps/mean": 14 - 5 * done + rng.random(),
        "oracle/good_share": 0.4 + 0.2 * done,
        "lambda": 1.0,
        "policy/kl": 0.01 + 0.005 * rng.random(),
        "policy/entropy": 1.1 - 0.6 * done,
        "policy/clip_share": 0.06 + 0.03 * rng.random(),
        "policy/samples": rng.randint(600, 900),
        "seconds/model": 6 + rng.random(),
        "seconds/env": 0.3,
        "seconds/trainer": 4 + rng.random(),
        "seconds/total": 16.5,
        "share_outside_models": 0.05 + 0.02 * rng.random(),
    }
    if iteration % 5 == 0:
        metrics["accuracy/in_domain"] = 0.2 + 0.5 * done
        metrics["accuracy/out_of_domain"] = 0.1 + 0.35 * done
    return metrics


def _judge_metrics(done: float, rng: random.Random) -> dict[str, float]:
    return {
        "judge/process_accuracy": 0.68 + 0.12 * done + rng.uniform(-0.02, 0.02),
        "judge/balanced_accuracy": 0.62 + 0.15 * done + rng.uniform(-0.02, 0.02),
        "judge/outcome_accuracy": 0.6 + 0.1 * done,
        "judge/outcome_auc": 0.66 + 0.12 * done,
        "judge/agreement": 0.7 + 0.1 * done,
        "judge/split_rate": 0.4 - 0.15 * done,
        "judge/unparsed_rate": 0.01,
        "judge/negative_share": 0.45,
        "judge_trainer/kl": 0.004 + 0.002 * rng.random(),
        "judge_trainer/entropy": 0.5 - 0.2 * done,
        "judge_trainer/clip_share": 0.03,
        "judge_trainer/samples": rng.randint(1500, 2000),
        "seconds/judge": 4 + rng.random(),
    }


def _task_metrics(iteration: int) -> dict[str, float]:
    return {
        "tasks/proposed": 3,
        "tasks/rejected": 1,
        f"tasks/rejected/{('duplicate', 'not_solvable')[iteration % 2]}": 1,
        "tasks/on_trial": 3,
        "tasks/total/proposed": 3 * iteration,
        "tasks/total/rejected": iteration,
        "tasks/total/accepted": iteration // 2,
        "tasks/total/rolled_back": iteration // 9,
        "tasks/rewritten_share": iteration / 32,
        "tasks/in_band_share": 0.5 + iteration / 64,
        "tasks/null_accept_rate": 0.03 if iteration > 4 else float("nan"),
        "tasks/difficulty": 5 + 0.15 * iteration,
    }


def _group(rng: random.Random, name: str, judge: bool) -> Group:
    task = Task(
        id=f"train/{name}",
        domain="alfworld",
        instruction=f"put a clean mug ({name}) in the fridge",
        payload={"task_type": "pick_clean_then_place_in_recep"},
        difficulty=7,
    )
    played = [
        Trajectory(
            task=task,
            steps=tuple(_step(rng, judge) for _ in range(rng.randint(3, 6))),
            outcome=(None, -1, 1, 1)[k],
            stop_reason=("crashed", "budget", "won", "won")[k],
            seed=k,
            policy_version=0,
        )
        for k in range(4)
    ]
    return Group(task=task, trajectories=tuple(played), on_trial=name == "c")


def _step(rng: random.Random, judge: bool) -> Step:
    place = rng.choice(ROOMS)
    action = f"go to {place}"
    rationale = {1: "this place may hold the mug", -1: "was here before", None: HOSTILE}
    labels = rng.choices((1, -1, None), (6, 4, 1), k=3) if judge else ()
    return Step(
        observation=f"goal: put a clean mug in fridge 1. at: middle of room. unopened: {place}.",
        completion=Completion(text=f"{action} <end>"),
        action=action,
        next_observation=f"You arrive at {place}. On it you see a mug 1 & a knife 2. {HOSTILE}",
        votes=tuple(Vote(label=label, rationale=rationale[label]) for label in labels),
        info={"admissible_commands": [f"go to {room}" for room in ROOMS]},
    )


def _archive(path: Path) -> None:
    store = Store(path)
    for index, (transform, kind, wins) in enumerate(
        [("null", "null", 4), ("hide_object", "rewrite", 12), ("specific_instance", "rewrite", 15)]
    ):
        old = Task(
            id=f"r{index}", domain="alfworld", instruction="put a mug in the fridge", payload={}
        )
        new = Task(
            id=f"r{index}+1",
            domain="alfworld",
            instruction=f"put a mug that you have cleaned in the fridge <{transform}>",
            payload={},
            parent_id=old.id,
            root_id=old.id,
            difficulty=8 + index,
        )
        for task, status in ((old, "archived"), (new, "active")):
            store.insert(
                "tasks",
                id=task.id,
                root_id=old.id,
                parent_id=task.parent_id,
                status=status,
                transform=transform if task is new else None,
                direction="harder" if task is new else None,
                reason="12 votes: revisits places it has seen" if task is new else None,
                fingerprint=task.id,
                data=task_to_json(task),
                created_version=index,
            )
        trial = store.insert(
            "trials",
            kind=kind,
            root_id=old.id,
            old_id=old.id,
            new_id=new.id,
            direction="harder",
            status="accepted",
            opened_version=index,
        )
        numbers = {"e_value": 31.25, "in_band": 0.93, "old_wins": 30, "old_n": 32}
        store.record(
            "accepted",
            new.id,
            "evidence",
            2 * index,
            trial=store.row("select * from trials where id = ?", trial),
            transform=transform,
            numbers={**numbers, "new_wins": wins, "new_n": 32},
        )
    store.record(
        "rolled_back", "r2+1", "too hard", 9, numbers={"e_value": 44.0, "wins": 1, "losses": 23}
    )
    store.close()


@pytest.fixture(scope="session")
def example_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a run of the full arm; do not write to it."""
    return write_run(tmp_path_factory.mktemp("runs") / "example").path
