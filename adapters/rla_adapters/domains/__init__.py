"""What the closed loop has to know of a domain, and where each domain says it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Protocol

from rla_envs.config import TrainConfig
from rla_envs.prompts import Prompts
from rla_envs.rollout import EnvSpec
from rla_envs.samples import Credit
from rla_envs.tracking import Progress
from rla_envs.types import ChatModel, Judge, Rewriter, Sampling, Task, Trajectory

DOMAINS = {
    "osworld": "rla_adapters.domains.osworld:OSWorld",
    "alfworld": "rla_adapters.domains.alfworld:AlfWorld",
    "coding": "rla_adapters.domains.coding:Coding",
}
"""Name of a domain -> where its class is; nothing is imported before it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Models:
    """The two models of a run before its first update."""

    policy: ChatModel
    judge: ChatModel


class Domain(Protocol):
    """One domain of the closed loop. Built from the run's settings, and cheap to build."""

    prompts: Prompts
    """How episodes become conversations."""

    def env_spec(self) -> EnvSpec:
        """Return how a slot makes its environment."""
        ...

    def tasks(self, split: str, n: int) -> Sequence[Task]:
        """Return the first n tasks of a split; a longer list begins with the shorter one."""
        ...

    def rewriter(self, *, targeted: bool) -> Rewriter:
        """Return the domain's rewriter; targeted ones read the error summary, others guess."""
        ...

    def step_labels(self, trajectory: Trajectory) -> Sequence[bool]:
        """Return for each step whether it was good, by the domain's step oracle."""
        ...

    def judge(self, model: ChatModel, *, votes: int, sampling: Sampling) -> Judge:
        """Return the judge that model plays, with so many votes a step."""
        ...

    def credit(self) -> Credit:
        """Return how steps and votes are valued."""
        ...

    def warm_start(self, folder: Path, tasks: Sequence[Task], *, progress: Progress) -> Models:
        """Return the models to start from, made in folder unless they are there already.

        Args:
            folder: Where they are kept.
            tasks: What may be demonstrated; none of the loop's own.
            progress: Told after every pass.
        """
        ...


def load_domain(config: TrainConfig) -> Domain:
    """Return the domain of a run."""
    module, name = DOMAINS[config.domain].split(":")
    return getattr(import_module(module), name)(config)
