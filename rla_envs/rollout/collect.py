"""Collecting groups: all running episodes share one batched model."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from rla_envs.errors import WorkerCrashed
from rla_envs.prompts import Prompts
from rla_envs.rollout.pool import Answer, EnvPool, Request
from rla_envs.rollout.stopwatch import Stopwatch
from rla_envs.seeding import derive_seed
from rla_envs.types import (
    ChatModel,
    Completion,
    Group,
    Sampling,
    Sign,
    Step,
    StopReason,
    Task,
    Trajectory,
)

_LOG = logging.getLogger(__name__)

ATTEMPTS = 3
"""An episode whose world failed this often is masked."""


def collect(
    policy: ChatModel,
    tasks: Sequence[Task],
    *,
    rollouts: int,
    pool: EnvPool,
    prompts: Prompts,
    seed: int,
    policy_version: int = 0,
    sampling: Sampling | None = None,
    stopwatch: Stopwatch | None = None,
    on_finished: Callable[[int, int], None] | None = None,
) -> list[Group]:
    """Run ``rollouts`` episodes of every task and return one group a task, in order.

    A slot that finishes its episode takes the next one, so that the model's batch stays full until
    the last episodes. An episode whose environment fails starts again with the same seed; after
    three failures it is masked (outcome None, stop_reason "crashed"). The result depends on the
    arguments alone, not on timing.

    Args:
        policy: Samples the actions.
        tasks: [G] tasks; the same task may occur twice.
        rollouts: Episodes a task.
        pool: Environments.
        prompts: The domain's policy prompt and action parser.
        seed: Seeds episodes and sampling.
        policy_version: Written into the trajectories.
        sampling: How actions are drawn; the model's default when None.
        stopwatch: Gets seconds under "model" and "env".
        on_finished: Called with (finished, total) episodes.

    Raises:
        WorkerCrashed: environment workers keep dying, or no episode at all could be run.
        ModelError: the policy's backend failed.
    """
    stopwatch = stopwatch or Stopwatch()
    episodes = [
        _Episode(group=g, task=task, seed=derive_seed(seed, "episode", g, r))
        for g, task in enumerate(tasks)
        for r in range(rollouts)
    ]
    queue = deque(episodes)
    running: dict[int, _Episode] = {}
    finished = 0

    def start(slots: Sequence[int]) -> None:
        requests: list[Request] = []
        for slot in slots:
            if slot not in running and queue:
                running[slot] = episode = queue.popleft()
                requests.append(Request(slot=slot, task=episode.task, seed=episode.seed))
        pool.send(requests)

    with stopwatch.measure("env"):
        for cohort in pool.cohorts:
            start(cohort)
    while running:
        for cohort in pool.cohorts:
            with stopwatch.measure("env"):
                answers = pool.receive(cohort)
            for answer in answers:
                episode = running[answer.slot]
                episode.take(answer)
                if answer.error is not None and episode.attempts < ATTEMPTS:
                    queue.appendleft(running.pop(answer.slot))
                elif episode.stop_reason is not None:
                    del running[answer.slot]
                    finished += 1
            acting = [slot for slot in cohort if slot in running]
            with stopwatch.measure("model"):
                _act([running[slot] for slot in acting], policy, prompts, sampling)
            requests: list[Request] = []
            for slot in acting:
                if running[slot].stop_reason is None:
                    requests.append(Request(slot=slot, action=running[slot].action))
                else:
                    del running[slot]
                    finished += 1
            with stopwatch.measure("env"):
                pool.send(requests)
                start(cohort)
        if on_finished:
            on_finished(finished, len(episodes))
    if episodes and all(episode.stop_reason == "crashed" for episode in episodes):
        raise WorkerCrashed(
            f"all {len(episodes)} episodes failed {ATTEMPTS} times, and not by the agent's fault; "
            f"the last one: {episodes[-1].error}"
        )
    return [
        Group(
            task=task,
            trajectories=tuple(
                episode.trajectory(policy_version) for episode in episodes if episode.group == g
            ),
        )
        for g, task in enumerate(tasks)
    ]


@dataclass(slots=True)
class _Episode:
    """An episode while it runs."""

    group: int
    task: Task
    seed: int
    steps: list[Step] = field(default_factory=list[Step])
    observation: str = ""
    admissible: Sequence[str] = ()
    completion: Completion | None = None
    action: str = ""
    outcome: Sign | None = None
    stop_reason: StopReason | None = None
    attempts: int = 0
    error: str = ""

    def take(self, answer: Answer) -> None:
        """Take in what the environment said."""
        if answer.error is not None:
            self.attempts += 1
            self.steps, self.completion, self.stop_reason = [], None, None
            if self.attempts >= ATTEMPTS:
                self.stop_reason, self.error = "crashed", answer.error
                _LOG.warning("masked an episode of %s: %s", self.task.id, answer.error)
            return
        if self.completion is not None:
            self._add_step(answer.observation, answer.info)
        if answer.terminated or answer.truncated:
            won = bool(answer.info.get("won"))
            # An environment whose verifier could not tell says so: outcome None.
            self.outcome = answer.info.get("outcome", 1 if won else -1)
            self.stop_reason = "won" if won else "failed" if answer.terminated else "budget"
            if self.outcome is None:
                self.stop_reason = "crashed"
        self.observation = answer.observation
        self.admissible = answer.info.get("admissible_commands", ())

    def choose(self, completion: Completion, action: str) -> None:
        """Take in what the policy said."""
        self.completion, self.action = completion, action
        if completion.stop == "overflow":
            # The agent let its context overflow: its failure, told apart from running out of steps.
            self.outcome, self.stop_reason = -1, "overflow"

    def _add_step(self, next_observation: str, info: Any) -> None:
        assert self.completion is not None
        self.steps.append(
            Step(
                observation=self.observation,
                completion=self.completion,
                action=self.action,
                next_observation=next_observation,
                info={
                    "admissible_commands": tuple(self.admissible),
                    "feedback": info.get("feedback", ""),
                    "feedback_reason": info.get("feedback_reason"),
                    **info.get("extras", {}),
                },
            )
        )

    def trajectory(self, policy_version: int) -> Trajectory:
        """Return the record of the finished episode."""
        assert self.stop_reason is not None
        return Trajectory(
            task=self.task,
            steps=tuple(self.steps),
            outcome=self.outcome,
            stop_reason=self.stop_reason,
            seed=self.seed,
            policy_version=policy_version,
        )


def _act(
    episodes: Sequence[_Episode], policy: ChatModel, prompts: Prompts, sampling: Sampling | None
) -> None:
    if not episodes:
        return
    replies = policy.sample(
        [prompts.policy(e.task, e.steps, e.observation, e.admissible) for e in episodes],
        sampling=sampling,
        seeds=[derive_seed(e.seed, "step", len(e.steps)) for e in episodes],
    )
    for episode, (completion,) in zip(episodes, replies, strict=True):
        episode.choose(completion, prompts.action(completion))
