"""Environments whose tasks follow the policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import gymnasium

from rla_envs.errors import ConfigError
from rla_envs.types import Group, Judge, Rewriter, Task
from rla_envs.wrappers.adaptive_tasks import AdaptiveTasks, DrawnTask, TaskCurriculum
from rla_envs.wrappers.step_votes import StepVotes

if TYPE_CHECKING:
    from rla_envs.curriculum import Curriculum


class _Playable(Protocol):
    """A domain's environment, as far as a curriculum needs it."""

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks to start from."""
        ...


class AdaptiveEnv(gymnasium.Env[str, str]):
    """What the adaptive environments of all domains share: StepVotes and AdaptiveTasks inside."""

    def __init__(
        self,
        inner: gymnasium.Env[str, str],
        *,
        tasks: _Playable,
        default_rewriter: Callable[[], Rewriter],
        curriculum: TaskCurriculum | None,
        rewriter: Rewriter | None,
        judge: Judge | None,
        votes: int,
        adapt_every: int,
        seed: int | None,
    ) -> None:
        """Wrap inner.

        Args:
            inner: The domain's environment.
            tasks: The same, as the source of root tasks.
            default_rewriter: Makes the rewriter of the default curriculum.
            curriculum: Draws tasks; a new one over the tasks when None.
            rewriter: Proposes rewrites to the new curriculum; the default one when None.
            judge: Votes on each step; None leaves outcomes alone.
            votes: m, votes a step.
            adapt_every: Episodes between two adaptations of the tasks.
            seed: Seeds, once, a reset without a seed.

        Raises:
            ConfigError: an argument is out of range, or a rewriter came with a curriculum, which
                has one already.
        """
        if curriculum is not None and rewriter is not None:
            raise ConfigError("give the rewriter to the curriculum, or leave curriculum=None")
        self._first_seed = seed
        self._base = inner
        env = inner
        if judge is not None:
            env = StepVotes(env, judge, votes)
        proposes = default_rewriter if rewriter is None else lambda: rewriter
        self._own = _OwnCurriculum(tasks, proposes) if curriculum is None else None
        served = curriculum if self._own is None else self._own
        assert served is not None
        self._env = AdaptiveTasks(env, served, adapt_every=adapt_every)
        self.observation_space = inner.observation_space
        self.action_space = inner.action_space
        self.render_mode = inner.render_mode

    @property
    def curriculum(self) -> TaskCurriculum:
        """What draws the tasks."""
        return self._env.curriculum if self._own is None else self._own.curriculum

    @property
    def policy_version(self) -> int:
        """Version of the policy that acts; assign it when the policy changes."""
        return self._env.policy_version

    @policy_version.setter
    def policy_version(self, version: int) -> None:
        self._env.policy_version = version

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode on the curriculum's next task; see AdaptiveTasks."""
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        if seed is not None and self._own is not None:
            self._own.restart()
        observation, info = self._env.reset(seed=seed, options=dict(options or {}))
        self._np_random = self._base.np_random
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take one step; see the domain's environment."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        return observation, float(reward), terminated, truncated, info

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the transcript of the episode so far, or None without render_mode."""
        return self._base.render()  # pyright: ignore[reportReturnType]

    def close(self) -> None:
        """End what the inner environments and the default curriculum started."""
        self._env.close()
        if self._own is not None:
            self._own.restart()


class _OwnCurriculum:
    """The default curriculum, built at the first draw, so that making an environment is cheap."""

    def __init__(self, env: _Playable, rewriter: Callable[[], Rewriter]) -> None:
        self._env, self._rewriter = env, rewriter
        self._built: Curriculum | None = None

    @property
    def curriculum(self) -> Curriculum:
        if self._built is None:
            from rla_envs.curriculum import Curriculum

            self._built = Curriculum(self._env.tasks, rewriter=self._rewriter())
        return self._built

    def restart(self) -> None:
        if self._built is not None:
            self._built.close()
            self._built = None

    def draw(self, n: int, *, seed: int) -> Sequence[DrawnTask]:
        return self.curriculum.draw(n, seed=seed)

    def report(self, groups: Sequence[Group], *, policy_version: int) -> None:
        self.curriculum.report(groups, policy_version=policy_version)

    def adapt(self, *, policy_version: int, seed: int) -> Any:
        return self.curriculum.adapt(policy_version=policy_version, seed=seed)

    def lineage(self, task_id: str) -> Sequence[Task]:
        return self.curriculum.lineage(task_id)
