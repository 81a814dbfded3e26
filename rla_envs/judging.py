"""Judges: the reward model and its stand-ins for tests, theory checks and upper bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rla_envs.credit import Floats
from rla_envs.errors import ConfigError
from rla_envs.prompts import Prompts
from rla_envs.seeding import derive_seed
from rla_envs.types import ChatModel, Sampling, Sign, Step, Trajectory, Vote

StepLabels = Callable[[Trajectory], Sequence[bool]]
"""Tells for each step whether it was good: a step oracle."""


class ModelJudge:
    """A chat model that votes m times on every step, all steps of a call in one batch.

    Args:
        model: Samples the votes.
        prompts: The domain's judge prompt and vote parser.
        votes: m, votes a step (the paper: 3).
        sampling: How the votes are drawn; the model's default when None.
    """

    def __init__(
        self,
        model: ChatModel,
        prompts: Prompts,
        *,
        votes: int = 3,
        sampling: Sampling | None = None,
    ) -> None:
        if votes < 1:
            raise ConfigError(f"votes must be at least 1, got {votes}")
        self.model, self.prompts, self.votes, self.sampling = model, prompts, votes, sampling

    def judge(self, trajectories: Sequence[Trajectory], *, seed: int) -> list[Trajectory]:
        """Return the trajectories with m votes on every step."""
        places = [(t, i) for t, traj in enumerate(trajectories) for i in range(len(traj.steps))]
        completions = self.model.sample(
            [self.prompts.judge(trajectories[t], i) for t, i in places],
            n=self.votes,
            sampling=self.sampling,
            seeds=[derive_seed(seed, "vote", t, i) for t, i in places],
        )
        votes = iter(completions)
        return [
            replace(
                trajectory,
                steps=tuple(
                    replace(step, votes=tuple(self.prompts.vote(reply) for reply in next(votes)))
                    for step in trajectory.steps
                ),
            )
            for trajectory in trajectories
        ]


class OracleJudge:
    """A judge that knows the step labels and errs at a chosen rate, each vote independently.

    Args:
        labels: The step oracle.
        p_plus: P(vote +1 | good step), in [0, 1].
        p_minus: P(vote -1 | bad step), in [0, 1].
        votes: m, votes a step.
    """

    def __init__(
        self, labels: StepLabels, *, p_plus: float = 1.0, p_minus: float = 1.0, votes: int = 3
    ) -> None:
        for name, value in (("p_plus", p_plus), ("p_minus", p_minus)):
            if not 0 <= value <= 1:
                raise ConfigError(f"{name} must be a probability in [0, 1], got {value}")
        self.labels, self.p_plus, self.p_minus, self.votes = labels, p_plus, p_minus, votes

    def judge(self, trajectories: Sequence[Trajectory], *, seed: int) -> list[Trajectory]:
        """Return the trajectories with m noisy copies of the oracle's label on every step."""
        return [
            self._judge_one(trajectory, np.random.default_rng(derive_seed(seed, "oracle", t)))
            for t, trajectory in enumerate(trajectories)
        ]

    def _judge_one(self, trajectory: Trajectory, rng: np.random.Generator) -> Trajectory:
        def votes(good: bool) -> tuple[Vote, ...]:
            right = rng.random(self.votes) < (self.p_plus if good else self.p_minus)
            return tuple(_vote(good == bool(is_right)) for is_right in right)

        labelled = zip(trajectory.steps, self.labels(trajectory), strict=True)
        return replace(
            trajectory, steps=tuple(replace(step, votes=votes(good)) for step, good in labelled)
        )


class ScriptedJudge:
    """A judge whose votes a function computes from the step: for tests and hand-written rules.

    Args:
        rule: Step -> (label, rationale).
        votes: How often the same verdict is cast.
    """

    def __init__(self, rule: Callable[[Step], tuple[Sign | None, str]], *, votes: int = 1) -> None:
        self.rule, self.votes = rule, votes

    def judge(self, trajectories: Sequence[Trajectory], *, seed: int = 0) -> list[Trajectory]:
        """Return the trajectories with the rule's verdict on every step."""
        del seed

        def voted(step: Step) -> Step:
            label, rationale = self.rule(step)
            return replace(step, votes=(Vote(label=label, rationale=rationale),) * self.votes)

        return [
            replace(trajectory, steps=tuple(map(voted, trajectory.steps)))
            for trajectory in trajectories
        ]


def vote_matrix(trajectory: Trajectory) -> Floats:
    """Return the votes of a trajectory as votes_TM [T, M]: +1, -1, or NaN for no verdict.

    Raises:
        ConfigError: steps have different numbers of votes.
    """
    counts = {len(step.votes) for step in trajectory.steps}
    if len(counts) > 1:
        raise ConfigError(f"every step needs the same number of votes, got {sorted(counts)}")
    rows = [
        [float("nan") if vote.label is None else float(vote.label) for vote in step.votes]
        for step in trajectory.steps
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), counts.pop() if counts else 0)


def _vote(good: bool) -> Vote:
    return Vote(label=1 if good else -1, rationale="good step" if good else "bad step")
