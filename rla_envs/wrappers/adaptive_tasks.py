"""AdaptiveTasks: the curriculum chooses what is played and learns how it went."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, SupportsFloat

import gymnasium

from rla_envs.errors import ConfigError
from rla_envs.seeding import derive_seed
from rla_envs.types import Group, Task
from rla_envs.wrappers.episode import EpisodeRecorder, SeedStream


class DrawnTask(Protocol):
    """A task to play."""

    @property
    def task(self) -> Task:
        """The task."""
        ...

    @property
    def on_trial(self) -> bool:
        """Whether it is still a candidate."""
        ...


class TaskCurriculum(Protocol):
    """What this wrapper needs of a curriculum; ``rla_envs.curriculum.Curriculum`` is one."""

    def draw(self, n: int, *, seed: int) -> Sequence[DrawnTask]:
        """Return n tasks to play."""
        ...

    def report(self, groups: Sequence[Group], *, policy_version: int) -> Any:
        """Take in how they went, in the order of the draw."""
        ...

    def adapt(self, *, policy_version: int, seed: int) -> Any:
        """Propose, try, accept, reject and roll back rewrites."""
        ...


class AdaptiveTasks(gymnasium.Wrapper[str, str, str, str]):
    """Draws the task on reset and reports on episode end, so that tasks follow the policy.

    Episodes come in rounds: a round's tasks are drawn together (a task on trial and the one it may
    replace come side by side), each is played once, and after the last one the round is reported
    and the curriculum adapts. Assign ``policy_version`` when the policy changes: a round that
    spans the change is dropped, because a trial must compare under one policy.

    ``info["on_trial"]`` says whether the task is a candidate. A reset with
    ``options={"task": ...}`` plays that task outside the curriculum.

    Example:
        >>> import gymnasium, rla_envs
        >>> from rla_envs.wrappers import AdaptiveTasks
        >>> env = gymnasium.make("rla/AlfWorld-Adaptive-v0", max_steps=1)
        >>> observation, info = env.reset(seed=0)
        >>> info["on_trial"], info["task"].domain
        (False, 'alfworld')
    """

    def __init__(
        self, env: gymnasium.Env[str, str], curriculum: TaskCurriculum, *, round_size: int = 8
    ) -> None:
        """Wrap env.

        Args:
            env: An environment of this package; inside StepVotes, rationales reach the curriculum.
            curriculum: Draws tasks and takes reports.
            round_size: Episodes drawn together.

        Raises:
            ConfigError: round_size is below 1.
        """
        if round_size < 1:
            raise ConfigError(f"round_size must be at least 1, got {round_size}")
        super().__init__(env)
        self.curriculum = curriculum
        self.policy_version = 0
        self._round_size = round_size
        self._round: list[DrawnTask] = []
        self._round_version = 0
        self._groups: list[Group] = []
        self._seeds = SeedStream()
        self._recorder = EpisodeRecorder()
        self._drawn: DrawnTask | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode on the next task of the round."""
        options = dict(options or {})
        if seed is not None:
            # What follows must be a function of the seed, so no unfinished round may leak into it.
            self._round, self._groups = [], []
        run_seed, episode = self._seeds.next(seed)
        self._drawn = None
        if "task" not in options:
            self._drawn = self._next_draw(derive_seed("draw", run_seed, episode))
            options["task"] = self._drawn.task
        observation, info = self.env.reset(seed=seed, options=options)
        self._recorder.start(observation, info, seed=derive_seed("play", run_seed, episode))
        return observation, {**info, "on_trial": self._on_trial}

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step; after the last one of a round, report and adapt."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._recorder.add(action, observation, info)
        info = {**info, "on_trial": self._on_trial}
        if (terminated or truncated) and self._drawn is not None:
            self._finish(self._drawn)
        return observation, reward, terminated, truncated, info

    @property
    def _on_trial(self) -> bool:
        return self._drawn is not None and self._drawn.on_trial

    def _next_draw(self, seed: int) -> DrawnTask:
        if not self._round or self._round_version != self.policy_version:
            self._round = list(self.curriculum.draw(self._round_size, seed=seed))
            self._groups = []
            self._round_version = self.policy_version
        # An abandoned episode left no group, so its task comes again.
        return self._round[len(self._groups)]

    def _finish(self, drawn: DrawnTask) -> None:
        self._drawn = None
        trajectory = self._recorder.trajectory(policy_version=self._round_version)
        self._groups.append(
            Group(task=drawn.task, trajectories=(trajectory,), on_trial=drawn.on_trial)
        )
        if len(self._groups) < len(self._round):
            return
        version = self._round_version
        self.curriculum.report(self._groups, policy_version=version)
        self.curriculum.adapt(
            policy_version=version, seed=derive_seed("adapt", self._recorder.seed)
        )
        self._round, self._groups = [], []
