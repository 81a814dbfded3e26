"""Settings of a run: frozen data, a docstring a field."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from rla_envs.credit import StepBaseline, VoteBaseline
from rla_envs.errors import ConfigError

Arm = Literal["policy", "reward", "full", "random-rewrite"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RolloutConfig:
    """How much is sampled in an iteration."""

    tasks: int = 8
    """Groups an iteration (the paper: 16)."""
    rollouts: int = 8
    """Trajectories a group (the paper: 8)."""
    slots: int = 64
    """Episodes that run at the same time and share one batch."""
    workers: int = 0
    """Environment processes; 0 steps environments in this process (right for the embedded engine)."""
    max_steps: int = 20
    """Turns until an episode is truncated."""
    temperature: float = 1.0
    """Sampling temperature of policy and judge; the trainers use the same."""

    def __post_init__(self) -> None:
        for name in ("tasks", "rollouts", "slots", "max_steps"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.workers < 0:
            raise ConfigError(f"workers must be at least 0, got {self.workers}")


@dataclass(frozen=True, slots=True, kw_only=True)
class CreditConfig:
    """How rewards become advantages."""

    lam: float = 1.0
    """Weight of the mean vote in the step reward (the paper: 1); the upper limit when lam_follows_worth."""
    lam_follows_worth: bool = False
    """Scale lam by how well votes have lately told wins from losses: max(0, 2 AUC - 1), no oracle needed."""
    step_baseline: StepBaseline = "index"
    """What a step is compared with: "index" (published) or "group"."""
    vote_baseline: VoteBaseline = "step"
    """What a vote is compared with: "step" (published), "group" or "centred"."""
    policy_band: tuple[float, float] | None = None
    """Accuracies between which a task trains the policy (the authors' code: 1/8, 7/8); None: all.

    Groups without spread have advantage 0 by themselves; the filter also drops groups that all fail
    but whose votes differ, where votes are the only signal."""
    judge_band: tuple[float, float] | None = (0.2, 0.8)
    """Accuracies between which a task trains the judge (the authors' code: 0.2, 0.8); None: all."""

    def __post_init__(self) -> None:
        if self.lam < 0:
            raise ConfigError(f"lam must be >= 0, got {self.lam}")
        for name in ("policy_band", "judge_band"):
            band = getattr(self, name)
            if band is not None and not 0 <= band[0] < band[1] <= 1:
                raise ConfigError(f"{name} must satisfy 0 <= low < high <= 1, got {band}")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopConfig:
    """One run of the closed loop."""

    iterations: int = 40
    """Iterations in all."""
    seed: int = 0
    """Everything random is derived from it."""
    votes: int = 3
    """m, votes a step (the paper: 3)."""
    evaluate_every: int = 5
    """Iterations between two evaluations on the fixed panels; the last one is always evaluated."""
    train_judge: bool = True
    """Whether votes train the judge; otherwise it stays as it was warm-started."""
    rollout: RolloutConfig = field(default_factory=RolloutConfig)
    """What is sampled."""
    credit: CreditConfig = field(default_factory=CreditConfig)
    """How it is valued."""

    def __post_init__(self) -> None:
        for name in ("iterations", "votes", "evaluate_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
