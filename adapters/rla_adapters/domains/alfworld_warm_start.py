"""How policy and judge come into the world: supervised, on planner demonstrations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from shutil import rmtree

from rla_verifiers.alfworld import REASONS, step_reasons

from rla_adapters import load_model
from rla_adapters.backends import REMOTE, require, saved_model
from rla_adapters.domains import Models
from rla_adapters.domains.side_by_side import Fit, fit_side_by_side
from rla_adapters.native.supervised import FitConfig, Row
from rla_adapters.sampling import EMBEDDED_CONTEXT
from rla_adapters.tiny.words import alfworld_words
from rla_envs.alfworld.engine import World, game_of
from rla_envs.alfworld.engine.knowledge import explorer_action
from rla_envs.alfworld.engine.planner import expert_actions
from rla_envs.alfworld.view import EpisodeMemory, compact_view
from rla_envs.config import TrainConfig
from rla_envs.errors import ConfigError
from rla_envs.prompts import Prompts
from rla_envs.prompts.alfworld import ChatPrompts, CompactPrompts
from rla_envs.seeding import derive_seed
from rla_envs.tracking import Progress
from rla_envs.types import Completion, Step, Task, Trajectory


def warm_start(
    config: TrainConfig, folder: Path, tasks: Sequence[Task], *, progress: Progress
) -> Models:
    """Return warm-started models, made in folder unless they are there already.

    Args:
        config: The run's settings; those of the warm start, the seed and the step budget matter.
        folder: Where the models are kept, as ordinary Hugging Face folders.
        tasks: What is demonstrated.
        progress: Told after every pass.

    Raises:
        ConfigError: the policy's weights are not in this process, or the judge's are not and it is
            to be trained.
        TaskUnavailable: no model in the folder that the settings name.
    """
    judge_model = config.warm_start.judge_model
    if config.warm_start.policy_model.startswith(REMOTE):
        raise ConfigError(
            f"policy_model {config.warm_start.policy_model!r} cannot be trained from here; give its"
            " folder"
        )
    if judge_model.startswith(REMOTE) and config.loop.train_judge and config.arm != "policy":
        raise ConfigError(
            f"judge_model {judge_model!r} cannot be trained from here; add --no-loop.train-judge"
        )
    if not folder.exists():
        require(config.warm_start.policy_model)
        require(judge_model)
        temporary = folder.with_name(folder.name + ".tmp")
        rmtree(temporary, ignore_errors=True)
        _make(config, tasks, temporary, progress)
        temporary.rename(folder)
    # Read back in any case: a resumed run must start from the very same bits.
    return Models(
        policy=saved_model(folder / "policy"),
        judge=load_model(judge_model)
        if judge_model.startswith(REMOTE)
        else saved_model(folder / "judge"),
    )


def prompts_for(config: TrainConfig) -> Prompts:
    """Return how the run's models are spoken to."""
    return CompactPrompts() if config.prompts == "compact" else ChatPrompts()


def demonstrate(
    task: Task,
    *,
    noise: float,
    max_steps: int,
    seed: int,
    foreign: Sequence[str] = (),
    compact: bool = True,
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
        compact: Whether observations are the compact view or the engine's words.
    """
    rng = Random(seed)
    world = World(game_of(task))
    memory = EpisodeMemory(world)
    steps: list[Step] = []
    after = compact_view(memory) if compact else world.feedback
    while not world.won and len(steps) < max_steps:
        before, admissible = after, tuple(world.admissible())
        sensible = explorer_action(world, memory.knowledge, rng, noise=0)
        command = sensible
        if rng.random() < noise:
            strange = bool(foreign) and rng.random() < 0.5
            command = rng.choice(foreign if strange else admissible)
        happened = world.resolve(command) is not None
        world.step(command)
        memory.update(command, happened=happened)
        after = compact_view(memory) if compact else world.feedback
        steps.append(
            Step(
                observation=before,
                completion=Completion(text=sensible),
                action=command,
                next_observation=after,
                info={"admissible_commands": admissible},
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
    tasks: Sequence[Task], *, noise: float, max_steps: int, seed: int, compact: bool = True
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
            compact=compact,
        )
        for index, task in enumerate(tasks)
    ]


def policy_rows(trajectories: Sequence[Trajectory], prompts: Prompts | None = None) -> list[Row]:
    """Return what a policy imitates: the sensible command of every step.

    Args:
        trajectories: Demonstrations.
        prompts: How a step is asked for; ``CompactPrompts`` when None.
    """
    asked = (prompts or CompactPrompts()).policy
    return [
        (
            asked(t.task, t.steps[:i], step.observation, step.info["admissible_commands"]),
            step.completion.text,
            1.0,
        )
        for t in trajectories
        for i, step in enumerate(t.steps)
    ]


def judge_rows(
    trajectories: Sequence[Trajectory],
    prompts: Prompts | None = None,
    *,
    label_noise: float,
    seed: int,
) -> list[Row]:
    """Return what a judge learns: reason and verdict of as many good as bad steps.

    Args:
        trajectories: Demonstrations with enough noise for both kinds of steps.
        prompts: How a vote is asked for; ``CompactPrompts`` when None.
        label_noise: Share of verdicts that are turned round, with a reason to match, in [0, 1].
        seed: Of the choice of steps and of the noise.
    """
    rng = Random(seed)
    asked = (prompts or CompactPrompts()).judge
    rows: dict[int, list[Row]] = {1: [], -1: []}
    for trajectory in trajectories:
        reasons = step_reasons(trajectory.task, [step.action for step in trajectory.steps])
        for index, reason in enumerate(reasons):
            verdict = REASONS[reason]
            said = reason
            if rng.random() < label_noise:
                said = rng.choice([other for other in REASONS if REASONS[other] == -verdict])
            reply = rf"{said} \boxed{{{REASONS[said]:+d}}}"
            rows[verdict].append((asked(_acted(trajectory, index), index), reply, 1.0))
    fewest = min(map(len, rows.values()))
    return [row for side in rows.values() for row in rng.sample(side, fewest)]


def _make(config: TrainConfig, tasks: Sequence[Task], folder: Path, progress: Progress) -> None:
    """Fit both models and leave them in folder."""
    warm = config.warm_start
    seed = derive_seed(config.loop.seed if warm.seed is None else warm.seed, "warm start")
    prompts = prompts_for(config)
    trajectories = demonstrations(
        tasks,
        noise=warm.noise,
        max_steps=config.loop.rollout.max_steps,
        seed=seed,
        compact=config.prompts == "compact",
    )
    judged = trajectories[: warm.judge_tasks]
    fits = [
        Fit(
            role=role,
            shape=spec,
            lora=warm.lora_rank,
            words=alfworld_words(),
            context=EMBEDDED_CONTEXT,
            rows=rows,
            config=FitConfig(
                lr=warm.lr, epochs=epochs, minibatch=warm.minibatch, seed=derive_seed(seed, role)
            ),
            folder=folder / role,
        )
        for role, spec, rows, epochs in (
            (
                "policy",
                warm.policy_model,
                policy_rows(trajectories[: warm.policy_tasks], prompts),
                warm.policy_epochs,
            ),
            (
                "judge",
                warm.judge_model,
                judge_rows(judged, prompts, label_noise=warm.judge_label_noise, seed=seed),
                warm.judge_epochs,
            ),
        )
        if not spec.startswith(REMOTE)
    ]
    fit_side_by_side(fits, progress)


def _acted(trajectory: Trajectory, index: int) -> Trajectory:
    """Return trajectory as if the command that was carried out at index had been meant."""
    steps = list(trajectory.steps)
    steps[index] = replace(steps[index], completion=Completion(text=steps[index].action))
    return replace(trajectory, steps=tuple(steps))


def _first_commands(task: Task) -> list[str]:
    """Return the expert's commands and the choices of the first moment."""
    return [*expert_actions(task), *World(game_of(task)).admissible()]
