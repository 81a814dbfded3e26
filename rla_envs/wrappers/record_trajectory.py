"""RecordTrajectory: the whole episode as one record."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
from gymnasium.utils import RecordConstructorArgs

from rla_envs.wrappers.episode import EpisodeRecorder, SeedStream


class RecordTrajectory(gymnasium.Wrapper[str, str, str, str], RecordConstructorArgs):
    """Puts ``info["trajectory"]``, a ``types.Trajectory``, into the last step's info.

    Example:
        >>> import gymnasium, rla_envs
        >>> from rla_envs.wrappers import RecordTrajectory
        >>> env = RecordTrajectory(gymnasium.make("rla/AlfWorld-v0", max_steps=2))
        >>> _ = env.reset(seed=0)
        >>> _ = env.step("look")
        >>> *_, info = env.step("inventory")
        >>> trajectory = info["trajectory"]
        >>> [step.action for step in trajectory.steps], trajectory.outcome, trajectory.stop_reason
        (['look', 'inventory'], -1, 'budget')
    """

    def __init__(self, env: gymnasium.Env[str, str], *, policy_version: int = 0) -> None:
        """Wrap env.

        Args:
            env: An environment of this package.
            policy_version: Written into the trajectories; assign it when the policy changes.
        """
        RecordConstructorArgs.__init__(self, policy_version=policy_version)
        gymnasium.Wrapper.__init__(self, env)
        self.policy_version = policy_version
        self._recorder = EpisodeRecorder()
        self._seeds = SeedStream()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode and its record."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._recorder.start(observation, info, seed=self._seeds.next(seed)[0])
        return observation, info

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step; the last one's info carries the trajectory."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._recorder.add(action, observation, info)
        if terminated or truncated:
            record = self._recorder.trajectory(policy_version=self.policy_version)
            info = {**info, "trajectory": record}
        return observation, reward, terminated, truncated, info
