"""Programming in the closed loop: generated problems on lists, with the embedded models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import rla_task_sets

from rla_adapters.domains import Models
from rla_adapters.domains.coding_warm_start import warm_start
from rla_envs.coding.credit import TestCredit
from rla_envs.coding.grading import default_grader
from rla_envs.coding.judge import TestJudge
from rla_envs.coding.rewriting import RuleRewriter
from rla_envs.coding.test_writer import TestWriter
from rla_envs.config import TrainConfig
from rla_envs.errors import ConfigError
from rla_envs.prompts.coding import CompactPrompts
from rla_envs.rollout import EnvSpec
from rla_envs.tracking import Progress
from rla_envs.types import ChatModel, Sampling, Task, Trajectory


class Coding:
    """Programs that really run; the judge writes tests, the rules rewrite problems.

    Args:
        config: The run's settings; ``loop.votes`` is the number of tests a task, and
            ``loop.rollout.max_steps`` the number of submissions an episode.

    Raises:
        ConfigError: other than generated tasks are asked for: the embedded models read no others.
    """

    def __init__(self, config: TrainConfig) -> None:
        if config.tasks != "generated":
            raise ConfigError(
                f'rla train coding has tasks="generated" only, got {config.tasks!r}; the embedded '
                "models read no others"
            )
        self.config = config
        self.prompts = CompactPrompts()

    def env_spec(self) -> EnvSpec:
        """Return the compact view, which small models can read."""
        # Generated problems are certified when they are made, rewrites when they are proposed.
        kwargs = {
            "view": "compact",
            "turns": self.config.loop.rollout.max_steps,
            "check_tasks": False,
        }
        return EnvSpec(id="rla/Coding-v0", kwargs=kwargs)

    def tasks(self, split: str, n: int) -> Sequence[Task]:
        """Return the first n generated problems on lists of numbers."""
        return rla_task_sets.load(
            "coding/generated", n=n, seed=0, split=split, size=self.config.size, kinds=("numbers",)
        )

    def rewriter(self, *, targeted: bool) -> RuleRewriter:
        """Return the rule-based rewriter."""
        return RuleRewriter(targeted=targeted)

    def step_labels(self, trajectory: Trajectory) -> list[bool]:
        """Return for each submission whether it passes all ground-truth tests."""
        return [step.info.get("pass_fraction") == 1.0 for step in trajectory.steps]

    def judge(self, model: ChatModel, *, votes: int, sampling: Sampling) -> TestJudge:
        """Return the judge that writes tests and lets them vote."""
        writer = TestWriter(model, self.prompts, tests=votes, sampling=sampling)
        return TestJudge(writer, default_grader())

    def credit(self) -> TestCredit:
        """Return the credit of programs and tests."""
        return TestCredit()

    def warm_start(self, folder: Path, tasks: Sequence[Task], *, progress: Progress) -> Models:
        """Return policy and test writer, fitted to solved problems."""
        return warm_start(self.config, folder, tasks, progress=progress)
