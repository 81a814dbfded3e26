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
        """Take in how tasks that were drawn went."""
        ...

    def adapt(self, *, policy_version: int, seed: int) -> Any:
        """Propose, try, accept, reject and roll back rewrites."""
        ...

    def lineage(self, task_id: str) -> Sequence[Task]:
        """Return the tasks from the root down to task_id."""
        ...


class AdaptiveTasks(gymnasium.Wrapper[str, str, str, str]):
    """Draws the task from a curriculum on reset and reports on episode end.

    ``info["on_trial"]`` says whether the task is a candidate whose episodes must not train, and
    ``info["lineage"]`` names every task from the root to this one. A reset with
    ``options={"task": ...}`` plays that task outside the curriculum, and an episode that is given
    up before its end is not reported. Assign ``policy_version`` whenever the policy changes,
    because a candidate is compared with the task it may replace under one and the same policy.

    Example:
        >>> import gymnasium, rla_envs
        >>> from rla_envs.curriculum import Curriculum, CurriculumConfig
        >>> from rla_envs.wrappers import AdaptiveTasks
        >>> inner = gymnasium.make("rla/AlfWorld-v0", max_steps=1)
        >>> tasks = inner.unwrapped.tasks
        >>> fixed = Curriculum(tasks, config=CurriculumConfig(rewrite="none"), rewriter=None)
        >>> env = AdaptiveTasks(inner, fixed)
        >>> observation, info = env.reset(seed=0)
        >>> info["task"] in tasks, info["on_trial"]
        (True, False)
    """

    def __init__(
        self, env: gymnasium.Env[str, str], curriculum: TaskCurriculum, *, adapt_every: int = 8
    ) -> None:
        """Wrap env.

        Args:
            env: An environment of this package; with StepVotes inside, the judge's reasons reach
                the curriculum.
            curriculum: Draws tasks and takes reports.
            adapt_every: Reported episodes between two adaptations of the tasks.

        Raises:
            ConfigError: adapt_every is below 1.
        """
        if adapt_every < 1:
            raise ConfigError(f"adapt_every must be at least 1, got {adapt_every}")
        super().__init__(env)
        self.curriculum = curriculum
        self.policy_version = 0
        self._adapt_every = adapt_every
        self._reported = 0
        self._drawn: DrawnTask | None = None
        self._lineage: list[str] = []
        self._seeds = SeedStream()
        self._recorder = EpisodeRecorder()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode on the curriculum's next task."""
        options = dict(options or {})
        if seed is not None:
            self._reported = 0
        episode_seed = derive_seed("adaptive", *self._seeds.next(seed))
        self._drawn = None
        if options.get("task") is None:
            (self._drawn,) = self.curriculum.draw(1, seed=episode_seed)
            options["task"] = self._drawn.task
            self._lineage = [task.id for task in self.curriculum.lineage(self._drawn.task.id)]
        observation, info = self.env.reset(seed=seed, options=options)
        self._recorder.start(observation, info, seed=episode_seed)
        return observation, self._with_origin(info)

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step; after the last one of an episode, report and, when it is time, adapt."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._recorder.add(action, observation, info)
        info = self._with_origin(info)
        if (terminated or truncated) and self._drawn is not None:
            self._report(self._drawn)
            self._drawn = None
        return observation, reward, terminated, truncated, info

    def _with_origin(self, info: dict[str, Any]) -> dict[str, Any]:
        if self._drawn is None:
            return {**info, "on_trial": False}
        return {**info, "on_trial": self._drawn.on_trial, "lineage": list(self._lineage)}

    def _report(self, drawn: DrawnTask) -> None:
        version = self.policy_version
        trajectory = self._recorder.trajectory(policy_version=version)
        group = Group(task=drawn.task, trajectories=(trajectory,), on_trial=drawn.on_trial)
        self.curriculum.report([group], policy_version=version)
        self._reported += 1
        if self._reported % self._adapt_every == 0:
            self.curriculum.adapt(
                policy_version=version, seed=derive_seed("adapt", self._recorder.seed)
            )
