"""ALFWorld whose tasks follow the policy, as one environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium

from rla_envs.alfworld.env import AlfWorldEnv
from rla_envs.errors import ConfigError
from rla_envs.types import Group, Judge, Rewriter, Task
from rla_envs.wrappers.adaptive_tasks import AdaptiveTasks, DrawnTask, TaskCurriculum
from rla_envs.wrappers.step_votes import StepVotes

if TYPE_CHECKING:
    from rla_envs.curriculum import Curriculum


class AdaptiveAlfWorldEnv(gymnasium.Env[str, str]):
    """ALFWorld under a curriculum: tasks that are too easy or too hard are rewritten and tried.

    Description:
        ``rla/AlfWorld-v0`` inside the wrappers StepVotes (when there is a judge) and AdaptiveTasks.
        Works by itself: the default curriculum starts from the given tasks, keeps its book in
        memory, and gets its rewrites from the rule-based rewriter; no model is needed. A reset
        with a seed makes everything that follows a function of the seed, so it starts the default
        curriculum anew; seed once, or pass a ``curriculum``, which is left alone.

    Observation:
        As ``rla/AlfWorld-v0``.

    Action:
        As ``rla/AlfWorld-v0``.

    Info:
        As ``rla/AlfWorld-v0``, and ``on_trial`` (bool): whether the task is a candidate whose
        episodes only decide about it; with a judge also ``votes`` (tuple of Vote) after a step.

    Reward:
        As ``rla/AlfWorld-v0``; with a judge plus the mean vote of each step.

    Termination:
        As ``rla/AlfWorld-v0``.

    Registered ids:
        ``rla/AlfWorld-Adaptive-v0``.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("rla/AlfWorld-Adaptive-v0", max_steps=1)
        >>> observation, info = env.reset(seed=0)
        >>> env.step("look")[-1]["outcome"]
        -1
        >>> env.unwrapped.policy_version = 1  # after an update of the policy
    """

    metadata: dict[str, Any] = AlfWorldEnv.metadata

    def __init__(
        self,
        tasks: Sequence[Task] | str | None = None,
        *,
        curriculum: TaskCurriculum | None = None,
        rewriter: Rewriter | None = None,
        judge: Judge | None = None,
        votes: int = 3,
        adapt_every: int = 8,
        seed: int | None = None,
        render_mode: str | None = None,
        **alfworld: Any,
    ) -> None:
        """Make the environment.

        Args:
            tasks: Root tasks, as for ``rla/AlfWorld-v0``.
            curriculum: Draws tasks; a new one over ``tasks`` when None.
            rewriter: Proposes rewrites to the new curriculum; rule-based when None.
            judge: Votes on each step, adds the mean vote to the reward and gives the curriculum
                the reasons of failures; None leaves outcomes alone.
            votes: m, votes a step.
            adapt_every: Episodes between two adaptations of the tasks.
            seed: Seeds the default task set and, once, a reset without a seed.
            render_mode: As for ``rla/AlfWorld-v0``.
            **alfworld: The other arguments of AlfWorldEnv.

        Raises:
            ConfigError: an argument is out of range, or a rewriter came with a curriculum, which
                has one already.
        """
        if curriculum is not None and rewriter is not None:
            raise ConfigError("give the rewriter to the curriculum, or leave curriculum=None")
        inner = AlfWorldEnv(tasks, seed=seed, render_mode=render_mode, **alfworld)
        self._first_seed = seed
        self._base = inner
        env: gymnasium.Env[str, str] = inner
        if judge is not None:
            env = StepVotes(env, judge, votes)
        self._own = _OwnCurriculum(inner, rewriter) if curriculum is None else None
        served = curriculum if self._own is None else self._own
        assert served is not None
        self._env = AdaptiveTasks(env, served, adapt_every=adapt_every)
        self.observation_space = inner.observation_space
        self.action_space = inner.action_space
        self.render_mode = render_mode

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
        """Start an episode on the curriculum's next task; see AdaptiveTasks and AlfWorldEnv."""
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        if seed is not None and self._own is not None:
            self._own.restart()
        observation, info = self._env.reset(seed=seed, options=dict(options or {}))
        self._np_random = self._base.np_random
        return observation, info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one command; see AlfWorldEnv."""
        observation, reward, terminated, truncated, info = self._env.step(action)
        return observation, float(reward), terminated, truncated, info

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the transcript of the episode so far, or None without render_mode."""
        return self._base.render()

    def close(self) -> None:
        """End what the inner environments and the default curriculum started."""
        self._env.close()
        if self._own is not None:
            self._own.restart()


class _OwnCurriculum:
    """The default curriculum, built at the first draw, so that making an environment is cheap."""

    def __init__(self, env: AlfWorldEnv, rewriter: Rewriter | None) -> None:
        self._env, self._rewriter = env, rewriter
        self._built: Curriculum | None = None

    @property
    def curriculum(self) -> Curriculum:
        if self._built is None:
            from rla_envs.alfworld.rewriting import RuleRewriter
            from rla_envs.curriculum import Curriculum

            self._built = Curriculum(self._env.tasks, rewriter=self._rewriter or RuleRewriter())
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
