"""Settings and results of a curriculum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rla_envs.curriculum.acceptance import AcceptanceConfig
from rla_envs.errors import ConfigError
from rla_envs.types import Task

RewriteMode = Literal["targeted", "random", "none"]
Role = Literal["train", "trial_old", "trial_new", "null_old", "null_new"]

REJECTIONS = (
    "no proposal",
    "unparsed",
    "malformed",
    "stale instruction",
    "intention lost",
    "duplicate",
    "solved at start",
    "unsolvable",
    "wrong direction",
    "out of band",
    "futile",
    "no evidence",
    "paper rule",
    "superseded",
)
"""Every reason for which a rewrite is counted as rejected: before a trial, then in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurriculumConfig:
    """How tasks follow the policy."""

    band: tuple[float, float] = (0.2, 0.8)
    """Accuracy (low, high) between which a task is left alone."""
    rewrite: RewriteMode = "targeted"
    """"targeted": tasks that left the band, in the direction that brings them back; "random": any
    task, either direction (the control arm); "none": tasks stay as they are."""
    acceptance: AcceptanceConfig = field(default_factory=AcceptanceConfig)
    """How trials are decided."""
    window: int = 8
    """Latest episodes of a task on which its accuracy rests; fewer say nothing."""
    trial_share: float = 0.5
    """Largest share of a draw that trials take, both sides together."""
    null_share: float = 0.2
    """Share of trials that try a task against itself, to measure the rule's false accepts."""
    attempts: int = 4
    """Proposals a task and call until one passes the static checks."""
    rewrites_per_adapt: float = 1.0
    """With rule="always": rewrites installed a call, on average; match it to the arm compared."""
    rollback_alpha: float | None = 0.05
    """Largest probability of taking an accepted task back although it never left the band on the
    far side; None: never take back."""

    def __post_init__(self) -> None:
        low, high = self.band
        if not 0 <= low < high <= 1:
            raise ConfigError(f"band must satisfy 0 <= low < high <= 1, got {self.band}")
        for name in ("trial_share", "null_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must be in [0, 1], got {getattr(self, name)}")
        for name in ("window", "attempts"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.rewrites_per_adapt < 0:
            raise ConfigError(f"rewrites_per_adapt must be >= 0, got {self.rewrites_per_adapt}")
        if self.rollback_alpha is not None and not 0 < self.rollback_alpha < 1:
            raise ConfigError(f"rollback_alpha must be in (0, 1), got {self.rollback_alpha}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A task to run a group (or an episode) on.

    Attributes:
        task: The task; its id tells the curriculum which side of which trial the outcome belongs
            to.
        role: "train"; or a side of a trial: "trial_old", "trial_new", "null_old", "null_new".
    """

    task: Task
    role: Role = "train"

    @property
    def on_trial(self) -> bool:
        """Whether the group must not train: a candidate. Null copies are the old task and do."""
        return self.role == "trial_new"


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptReport:
    """What one call of adapt did, and totals since the curriculum began.

    Attributes:
        proposed: Candidates asked for in this call, null copies not counted.
        rejected: Reason -> rewrites rejected in this call.
        accepted: Task ids installed in this call.
        rolled_back: Task ids taken back in this call.
        on_trial: Open trials now, null ones included.
        totals: "proposed", "rejected", "accepted", "rolled_back", "null_decided", "null_accepted"
            since the start.
        state: Shares and means over the tasks that are served now.
    """

    proposed: int
    rejected: Mapping[str, int]
    accepted: tuple[str, ...]
    rolled_back: tuple[str, ...]
    on_trial: int
    totals: Mapping[str, int]
    state: Mapping[str, float]

    @property
    def null_accept_rate(self) -> float | None:
        """Share of decided null trials that the rule accepted; None before the first."""
        decided = self.totals["null_decided"]
        return self.totals["null_accepted"] / decided if decided else None

    def metrics(self) -> dict[str, float]:
        """Return flat metrics named ``tasks/...``; docs/curriculum.md defines each."""
        metrics: dict[str, float] = {
            "tasks/proposed": self.proposed,
            "tasks/accepted": len(self.accepted),
            "tasks/rolled_back": len(self.rolled_back),
            "tasks/rejected": sum(self.rejected.values()),
            "tasks/on_trial": self.on_trial,
        }
        metrics |= {f"tasks/rejected/{r.replace(' ', '_')}": n for r, n in self.rejected.items()}
        metrics |= {f"tasks/total/{name}": value for name, value in self.totals.items()}
        metrics |= {f"tasks/{name}": value for name, value in self.state.items()}
        if self.null_accept_rate is not None:
            metrics["tasks/null_accept_rate"] = self.null_accept_rate
        return metrics


@dataclass(slots=True, kw_only=True)
class Tally:
    """What a call of adapt has done so far."""

    proposed: int = 0
    rejected: Counter[str] = field(default_factory=Counter[str])
    accepted: list[str] = field(default_factory=list[str])
    rolled_back: list[str] = field(default_factory=list[str])
