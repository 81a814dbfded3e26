"""How the embedded policy and judge come into the world: supervised, on planner demonstrations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from shutil import rmtree

from rla_verifiers.alfworld import REASONS, step_reasons

from rla_adapters import load_model
from rla_adapters.native.supervised import FitConfig, Row, fit
from rla_adapters.native.supervised import Progress as FitProgress
from rla_adapters.tiny.sampler import TinyChatModel
from rla_envs.alfworld.engine import World, game_of
from rla_envs.alfworld.engine.knowledge import explorer_action
from rla_envs.alfworld.view import EpisodeMemory, compact_view
from rla_envs.config import TrainConfig, WarmStartConfig
from rla_envs.prompts.alfworld import CompactPrompts
from rla_envs.seeding import derive_seed
from rla_envs.tracking import Progress
from rla_envs.types import Completion, Step, Task, Trajectory

CONTEXT = 512
"""Longest sequence of the embedded models, in tokens: a large room before and after a step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The two embedded models."""

    policy: TinyChatModel
    judge: TinyChatModel


def warm_start(
    config: TrainConfig, folder: Path, tasks: Sequence[Task], *, progress: Progress
) -> Models:
    """Return warm-started models, made in folder unless they are there already.

    Args:
        config: The run's settings; those of the warm start, the seed and the step budget matter.
        folder: Where the models are kept, as ordinary Hugging Face folders.
        tasks: What is demonstrated.
        progress: Told after every pass.
    """
    if not folder.exists():
        temporary = folder.with_name(folder.name + ".tmp")
        rmtree(temporary, ignore_errors=True)
        models = _make(config, tasks, progress)
        models.policy.save(temporary / "policy")
        models.judge.save(temporary / "judge")
        temporary.rename(folder)
    # Read back in any case: a resumed run must start from the very same bits.
    return Models(
        policy=TinyChatModel.load(folder / "policy"), judge=TinyChatModel.load(folder / "judge")
    )


def demonstrate(task: Task, *, noise: float, max_steps: int, seed: int) -> Trajectory:
    """Return an episode of an agent that explores sensibly, with a share of random commands.

    Args:
        task: The game.
        noise: Probability of a random command, in [0, 1].
        max_steps: Step budget.
        seed: Of exploration and noise.
    """
    rng = Random(seed)
    world = World(game_of(task))
    memory = EpisodeMemory(world)
    steps: list[Step] = []
    while not world.won and len(steps) < max_steps:
        before = compact_view(memory)
        command = explorer_action(world, memory.knowledge, rng, noise=noise)
        world.step(command)
        memory.update(command)
        steps.append(
            Step(
                observation=before,
                completion=Completion(text=command),
                action=command,
                next_observation=compact_view(memory),
            )
        )
    return Trajectory(
        task=task,
        steps=tuple(steps),
        outcome=1 if world.won else -1,
        stop_reason="won" if world.won else "budget",
        seed=seed,
        policy_version=0,
    )


def policy_rows(trajectories: Sequence[Trajectory]) -> list[Row]:
    """Return what a policy imitates: the command of every step, the random ones included."""
    prompts = CompactPrompts()
    return [
        (prompts.policy(t.task, (), step.observation, ()), step.action, 1.0)
        for t in trajectories
        for step in t.steps
    ]


def judge_rows(trajectories: Sequence[Trajectory], *, label_noise: float, seed: int) -> list[Row]:
    """Return what a judge learns: reason and verdict of as many good as bad steps.

    Args:
        trajectories: Demonstrations with enough noise for both kinds of steps.
        label_noise: Share of verdicts that are turned round, with a reason to match, in [0, 1].
        seed: Of the choice of steps and of the noise.
    """
    rng = Random(seed)
    prompts = CompactPrompts()
    rows: dict[int, list[Row]] = {1: [], -1: []}
    for trajectory in trajectories:
        reasons = step_reasons(trajectory.task, [step.action for step in trajectory.steps])
        for index, reason in enumerate(reasons):
            verdict = REASONS[reason]
            said = reason
            if rng.random() < label_noise:
                said = rng.choice([other for other in REASONS if REASONS[other] == -verdict])
            reply = rf"{said} \boxed{{{REASONS[said]:+d}}}"
            rows[verdict].append((prompts.judge(trajectory, index), reply, 1.0))
    fewest = min(map(len, rows.values()))
    return [row for side in rows.values() for row in rng.sample(side, fewest)]


def _make(config: TrainConfig, tasks: Sequence[Task], progress: Progress) -> Models:
    warm, seed = config.warm_start, derive_seed(config.loop.seed, "warm start")
    trajectories = [
        demonstrate(
            task,
            noise=warm.noise,
            max_steps=config.loop.rollout.max_steps,
            seed=derive_seed(seed, "demonstration", index),
        )
        for index, task in enumerate(tasks)
    ]
    policy = _fitted(
        warm.policy_model,
        policy_rows(trajectories),
        warm,
        epochs=warm.policy_epochs,
        seed=derive_seed(seed, "policy"),
        report=lambda p: progress.phase("warm start: policy", p.epoch, p.epochs),
    )
    judge = _fitted(
        warm.judge_model,
        judge_rows(trajectories, label_noise=warm.judge_label_noise, seed=seed),
        warm,
        epochs=warm.judge_epochs,
        seed=derive_seed(seed, "judge"),
        report=lambda p: progress.phase("warm start: judge", p.epoch, p.epochs),
    )
    return Models(policy=policy, judge=judge)


def _fitted(
    shape: str,
    rows: Sequence[Row],
    warm: WarmStartConfig,
    *,
    epochs: int,
    seed: int,
    report: Callable[[FitProgress], None],
) -> TinyChatModel:
    model = load_model(f"tiny:{shape}", seed=seed, context=CONTEXT)
    fit(model, rows, FitConfig(lr=warm.lr, epochs=epochs, seed=seed), progress=report)
    return model
