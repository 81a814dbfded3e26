"""ALFWorld in the closed loop: generated or official games, embedded or other models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random

import rla_task_sets
from rla_verifiers.alfworld import label_steps

from rla_adapters.domains import Models
from rla_adapters.domains.alfworld_warm_start import prompts_for, warm_start
from rla_envs.alfworld.rewriting import RuleRewriter
from rla_envs.config import TrainConfig
from rla_envs.judging import ModelJudge
from rla_envs.rollout import EnvSpec
from rla_envs.samples import StepCredit
from rla_envs.tracking import Progress
from rla_envs.types import ChatModel, Sampling, Task, Trajectory


class AlfWorld:
    """Text games; the planner labels steps, the rules rewrite tasks.

    Args:
        config: The run's settings.
    """

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.prompts = prompts_for(config)

    def env_spec(self) -> EnvSpec:
        """Return the environment, with the view that the run's prompts are made for."""
        max_steps = self.config.loop.rollout.max_steps
        view = "compact" if self.config.prompts == "compact" else "full"
        return EnvSpec(id="rla/AlfWorld-v0", kwargs={"view": view, "max_steps": max_steps})

    def tasks(self, split: str, n: int) -> Sequence[Task]:
        """Return the first n games of a split.

        Raises:
            TaskUnavailable: the official games are not where they should be.
        """
        config = self.config
        if config.tasks == "generated":
            return rla_task_sets.load(
                "alfworld/generated", n=n, seed=0, split=split, size=config.size
            )
        tasks = rla_task_sets.load("alfworld/official", root=config.root, split=split)
        # Folders are sorted by task type; a fixed shuffle mixes them, and a longer list begins with
        # the shorter one, as that of generated games does.
        places = list(range(len(tasks)))
        Random(split).shuffle(places)
        return [tasks[place] for place in places[:n]]

    def rewriter(self, *, targeted: bool) -> RuleRewriter:
        """Return the rule-based rewriter."""
        return RuleRewriter(targeted=targeted)

    def step_labels(self, trajectory: Trajectory) -> list[bool]:
        """Return for each step whether it was good, by the planner (rla_verifiers.alfworld)."""
        return label_steps(trajectory.task, [step.action for step in trajectory.steps])

    def judge(self, model: ChatModel, *, votes: int, sampling: Sampling) -> ModelJudge:
        """Return a judge that votes on every step."""
        return ModelJudge(model, self.prompts, votes=votes, sampling=sampling)

    def credit(self) -> StepCredit:
        """Return the published credit."""
        return StepCredit()

    def warm_start(self, folder: Path, tasks: Sequence[Task], *, progress: Progress) -> Models:
        """Return policy and judge, fitted to planner demonstrations of tasks."""
        return warm_start(self.config, folder, tasks, progress=progress)
