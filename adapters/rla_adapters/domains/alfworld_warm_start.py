"""How the embedded policy and judge come into the world: supervised, on planner demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from shutil import rmtree

from rla_verifiers.alfworld import REASONS, step_reasons

from rla_adapters.domains import Models
from rla_adapters.domains.side_by_side import Fit, fit_side_by_side
from rla_adapters.native.supervised import FitConfig, Row
from rla_adapters.tiny.sampler import TinyChatModel
from rla_adapters.tiny.words import alfworld_words
from rla_envs.alfworld.engine import World, game_of
from rla_envs.alfworld.engine.knowledge import explorer_action
from rla_envs.alfworld.engine.planner import expert_actions
from rla_envs.alfworld.view import EpisodeMemory, compact_view
from rla_envs.config import TrainConfig
from rla_envs.prompts.alfworld import CompactPrompts
from rla_envs.seeding import derive_seed
from rla_envs.tracking import Progress
from rla_envs.types import Completion, Step, Task, Trajectory

CONTEXT = 512
"""Longest sequence of the embedded models, in tokens: a large room before and after a step."""


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
        _make(config, tasks, temporary, progress)
        temporary.rename(folder)
    # Read back in any case: a resumed run must start from the very same bits.
    return Models(
        policy=TinyChatModel.load(folder / "policy"), judge=TinyChatModel.load(folder / "judge")
    )


def demonstrate(
    task: Task, *, noise: float, max_steps: int, seed: int, foreign: Sequence[str] = ()
) -> Trajectory:
    """Return an episode that is often knocked off course, with a sensible command at every step.

    A step's completion is what an explorer would do who knows what the compact view shows; its
    action is what was done: the same, or with probability noise a random command, half of them
    commands of other rooms, so that a model also learns how to go on after "nothing happens".

    Args:
        task: The game.
        noise: Probability of a random command, in [0, 1].
        max_steps: Step budget.
        seed: Of exploration and noise.
        foreign: Commands of other rooms.
    """
    rng = Random(seed)
    world = World(game_of(task))
    memory = EpisodeMemory(world)
    steps: list[Step] = []
    while not world.won and len(steps) < max_steps:
        before = compact_view(memory)
        sensible = explorer_action(world, memory.knowledge, rng, noise=0)
        command = sensible
        if rng.random() < noise:
            strange = bool(foreign) and rng.random() < 0.5
            command = rng.choice(foreign if strange else world.admissible())
        happened = world.resolve(command) is not None
        world.step(command)
        memory.update(command, happened=happened)
        steps.append(
            Step(
                observation=before,
                completion=Completion(text=sensible),
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


def demonstrations(
    tasks: Sequence[Task], *, noise: float, max_steps: int, seed: int
) -> list[Trajectory]:
    """Return one demonstration a task; see ``demonstrate``."""
    foreign = sorted({command for task in tasks[:50] for command in _first_commands(task)})
    return [
        demonstrate(
            task,
            noise=noise,
            max_steps=max_steps,
            seed=derive_seed(seed, "demonstration", index),
            foreign=foreign,
        )
        for index, task in enumerate(tasks)
    ]


def policy_rows(trajectories: Sequence[Trajectory]) -> list[Row]:
    """Return what a policy imitates: the sensible command of every step."""
    prompts = CompactPrompts()
    return [
        (prompts.policy(t.task, (), step.observation, ()), step.completion.text, 1.0)
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


def _make(config: TrainConfig, tasks: Sequence[Task], folder: Path, progress: Progress) -> None:
    """Fit both models and leave them in folder."""
    warm = config.warm_start
    seed = derive_seed(config.loop.seed if warm.seed is None else warm.seed, "warm start")
    trajectories = demonstrations(
        tasks, noise=warm.noise, max_steps=config.loop.rollout.max_steps, seed=seed
    )
    judged = trajectories[: warm.judge_tasks]
    fits = [
        Fit(
            role=role,
            shape=shape,
            words=alfworld_words(),
            context=CONTEXT,
            rows=rows,
            config=FitConfig(
                lr=warm.lr, epochs=epochs, minibatch=warm.minibatch, seed=derive_seed(seed, role)
            ),
            folder=folder / role,
        )
        for role, shape, rows, epochs in (
            (
                "policy",
                warm.policy_model,
                policy_rows(trajectories[: warm.policy_tasks]),
                warm.policy_epochs,
            ),
            (
                "judge",
                warm.judge_model,
                judge_rows(judged, label_noise=warm.judge_label_noise, seed=seed),
                warm.judge_epochs,
            ),
        )
    ]
    fit_side_by_side(fits, progress)


def _first_commands(task: Task) -> list[str]:
    """Return the expert's commands and the choices of the first moment."""
    return [*expert_actions(task), *World(game_of(task)).admissible()]
