"""The desktop in the closed loop: text editing on a real desktop, with the embedded models."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import rla_task_sets
from rla_verifiers.osworld.steps import label_steps

from rla_adapters.domains import Models
from rla_adapters.domains.osworld_warm_start import warm_start
from rla_envs.config import TrainConfig
from rla_envs.errors import ConfigError
from rla_envs.judging import ModelJudge
from rla_envs.osworld.rewriting import RuleRewriter
from rla_envs.prompts.osworld import CompactPrompts
from rla_envs.rollout import EnvSpec
from rla_envs.samples import StepCredit
from rla_envs.tracking import Progress
from rla_envs.types import ChatModel, Sampling, Task, Trajectory

FAMILIES = ("text_edit",)
"""What the embedded models can read and say: their vocabulary is closed."""


class OSWorld:
    """Episodes on real desktops; sub-goals label steps, the rules rewrite tasks.

    Args:
        config: The run's settings.

    Raises:
        ConfigError: other than generated tasks are asked for: the embedded models read no others.
    """

    def __init__(self, config: TrainConfig) -> None:
        if config.tasks != "generated":
            raise ConfigError(
                f'rla train osworld has tasks="generated" only, got {config.tasks!r}; the embedded '
                "models read no others"
            )
        self.config = config
        self.prompts = CompactPrompts()

    def env_spec(self) -> EnvSpec:
        """Return a local desktop that is read as text."""
        max_steps = self.config.loop.rollout.max_steps
        return EnvSpec(
            id="rla/OSWorld-v0", kwargs={"observe": "text", "goals": True, "max_steps": max_steps}
        )

    def tasks(self, split: str, n: int) -> Sequence[Task]:
        """Return the first n text editing tasks of a split."""
        return rla_task_sets.load("osworld/generated", n=n, seed=0, split=split, families=FAMILIES)

    def rewriter(self, *, targeted: bool) -> RuleRewriter:
        """Return the rule-based rewriter."""
        return RuleRewriter(targeted=targeted)

    def step_labels(self, trajectory: Trajectory) -> list[bool]:
        """Return for each step whether it was good, by sub-goals and the expert's path."""
        return label_steps(trajectory)

    def judge(self, model: ChatModel, *, votes: int, sampling: Sampling) -> ModelJudge:
        """Return a judge that votes on every step."""
        return ModelJudge(model, self.prompts, votes=votes, sampling=sampling)

    def credit(self) -> StepCredit:
        """Return the published credit."""
        return StepCredit()

    def warm_start(self, folder: Path, tasks: Sequence[Task], *, progress: Progress) -> Models:
        """Return policy and judge, fitted to written demonstrations of tasks."""
        return warm_start(self.config, folder, tasks, progress=progress)
