"""Writes down an episode while a Gymnasium environment plays it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rla_envs.errors import ConfigError
from rla_envs.types import Completion, Step, Task, Trajectory, Vote


class EpisodeRecorder:
    """Turns the results of reset and step into a Trajectory.

    A plain Gymnasium user has no completions, so each step's completion is the action's text
    without tokens; such a trajectory can be judged and shown but holds nothing to train on.
    """

    def __init__(self) -> None:
        self._task: Task | None = None
        self._steps: list[Step] = []
        self._observation = ""
        self._admissible: Sequence[str] = ()
        self._end: Mapping[str, Any] = {}
        self.seed = 0

    def start(self, observation: str, info: Mapping[str, Any], *, seed: int) -> None:
        """Begin an episode with what reset returned.

        Raises:
            ConfigError: the environment does not put its task into info.
        """
        task = info.get("task")
        if not isinstance(task, Task):
            raise ConfigError(
                f'info["task"] must be a Task, got {task!r}; wrap an environment of this package'
            )
        self._task, self._steps, self._end, self.seed = task, [], {}, seed
        self._observation = observation
        self._admissible = tuple(info.get("admissible_commands", ()))

    def add(self, action: str, observation: str, info: Mapping[str, Any]) -> None:
        """Append a step with what step returned; votes are taken from info if it has them."""
        votes: Sequence[Vote] = info.get("votes", ())
        self._steps.append(
            Step(
                observation=self._observation,
                completion=Completion(text=action),
                action=action,
                next_observation=observation,
                votes=tuple(votes),
                info={
                    "admissible_commands": self._admissible,
                    "feedback": info.get("feedback", ""),
                    "feedback_reason": info.get("feedback_reason"),
                },
            )
        )
        self._observation = observation
        self._admissible = tuple(info.get("admissible_commands", ()))
        self._end = {key: info[key] for key in ("outcome", "stop_reason") if key in info}

    def vote(self, votes: Sequence[Vote]) -> None:
        """Attach votes to the last step."""
        self._steps[-1] = replace(self._steps[-1], votes=tuple(votes))

    def __len__(self) -> int:
        """Return the number of steps so far."""
        return len(self._steps)

    def trajectory(self, *, policy_version: int = 0) -> Trajectory:
        """Return the record so far; outcome None and stop_reason "budget" while it is running.

        Raises:
            ConfigError: no episode has begun.
        """
        if self._task is None:
            raise ConfigError("no episode has begun; call reset() first")
        return Trajectory(
            task=self._task,
            steps=tuple(self._steps),
            outcome=self._end.get("outcome"),
            stop_reason=self._end.get("stop_reason", "budget"),
            seed=self.seed,
            policy_version=policy_version,
        )


class SeedStream:
    """Numbers episodes since the last seeded reset, so that each has a seed of its own."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.episode = 0

    def next(self, seed: int | None) -> tuple[int, int]:
        """Return (seed, episode) of the episode that a reset with this seed begins."""
        if seed is not None:
            self.seed, self.episode = seed, 0
        elif self.seed is None:
            # Nobody asked for determinism: take the operating system's entropy, once.
            from gymnasium.utils.seeding import np_random

            self.seed = np_random(None)[1] % 2**63
        else:
            self.episode += 1
        return self.seed, self.episode
