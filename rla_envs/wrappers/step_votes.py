"""StepVotes: the judge's opinion of every step, and its share of the reward."""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium

from rla_envs.errors import ConfigError
from rla_envs.seeding import derive_seed
from rla_envs.types import Judge, Vote
from rla_envs.wrappers.episode import EpisodeRecorder, SeedStream


class StepVotes(gymnasium.Wrapper[str, str, str, str]):
    """Attaches m votes to every step as ``info["votes"]`` and adds their mean to the reward.

    The reward of step i becomes r(i) + (1/m) * sum_j S(i, j), a vote without a verdict counting 0
    (arXiv 2602.02488). The judge is asked online, one step at a time, and sees nothing of what
    follows the step, the outcome least of all. Earlier steps come with the votes they got.

    Example:
        >>> import gymnasium, rla_envs
        >>> from rla_envs.judging import ScriptedJudge
        >>> from rla_envs.wrappers import StepVotes
        >>> def rule(step):
        ...     useful = step.next_observation != "Nothing happens."
        ...     return (1, "it worked") if useful else (-1, "nothing happened")
        >>> env = StepVotes(gymnasium.make("rla/AlfWorld-v0"), ScriptedJudge(rule), m=3)
        >>> _ = env.reset(seed=0)
        >>> _, reward, *_, info = env.step("dance")
        >>> reward, [vote.label for vote in info["votes"]]
        (-1.0, [-1, -1, -1])
    """

    def __init__(self, env: gymnasium.Env[str, str], judge: Judge, m: int = 3) -> None:
        """Wrap env.

        Args:
            env: An environment of this package.
            judge: Casts the votes.
            m: Votes a step. A judge that casts fewer at a time is asked again with another seed.

        Raises:
            ConfigError: m is below 1.
        """
        if m < 1:
            raise ConfigError(f"m, the votes a step, must be at least 1, got {m}")
        super().__init__(env)
        self._judge, self._m = judge, m
        self._recorder = EpisodeRecorder()
        self._seeds = SeedStream()
        self._seed = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; reset itself is not voted on."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._seed = derive_seed("votes", *self._seeds.next(seed))
        self._recorder.start(observation, info, seed=self._seed)
        return observation, info

    def step(self, action: str) -> tuple[str, SupportsFloat, bool, bool, dict[str, Any]]:
        """Take a step and have it voted on.

        Raises:
            ModelError: the judge's backend failed.
            ConfigError: the judge cast no vote.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        # The outcome stays out: the record must look to the judge as if the episode went on.
        hidden = {key: info[key] for key in info if key not in ("outcome", "stop_reason", "won")}
        self._recorder.add(action, observation, hidden)
        votes = self._ask()
        self._recorder.vote(votes)
        mean = sum(vote.label or 0 for vote in votes) / self._m
        info = {**info, "votes": votes}
        return observation, float(reward) + mean, terminated, truncated, info

    def _ask(self) -> tuple[Vote, ...]:
        so_far = self._recorder.trajectory()
        votes: list[Vote] = []
        while len(votes) < self._m:
            seed = derive_seed(self._seed, len(so_far.steps), len(votes))
            (judged,) = self._judge.judge([so_far], seed=seed)
            cast = judged.steps[-1].votes
            if not cast:
                raise ConfigError(f"{type(self._judge).__name__} cast no vote on the last step")
            votes += cast
        return tuple(votes[: self._m])
