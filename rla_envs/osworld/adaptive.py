"""Desktop tasks that follow the policy, as one environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rla_envs.adaptive import AdaptiveEnv
from rla_envs.osworld.env import OSWorldEnv
from rla_envs.types import Judge, Rewriter, Task
from rla_envs.wrappers.adaptive_tasks import TaskCurriculum


class AdaptiveOSWorldEnv(AdaptiveEnv):
    """Desktop tasks under a curriculum: those too easy or too hard are rewritten and tried.

    Description:
        ``rla/OSWorld-v0`` inside the wrappers StepVotes (when there is a judge) and AdaptiveTasks.
        Works by itself: the default curriculum starts from the given tasks, keeps its book in
        memory, and gets its rewrites from the rule-based rewriter; no model is needed. A reset
        with a seed makes everything that follows a function of the seed, so it starts the default
        curriculum anew; seed once, or pass a ``curriculum``, which is left alone.

    Observation:
        As ``rla/OSWorld-v0``.

    Action:
        As ``rla/OSWorld-v0``.

    Info:
        As ``rla/OSWorld-v0``, and ``on_trial`` (bool): whether the task is a candidate whose
        episodes only decide about it; with a judge also ``votes`` (tuple of Vote) after a step.

    Reward:
        As ``rla/OSWorld-v0``; with a judge plus the mean vote of each step.

    Termination:
        As ``rla/OSWorld-v0``.

    Registered ids:
        ``rla/OSWorld-Adaptive-v0``.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("rla/OSWorld-Adaptive-v0", observe="text", max_steps=5)
        >>> env.unwrapped.policy_version = 1  # after an update of the policy
    """

    metadata: dict[str, Any] = OSWorldEnv.metadata

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
        **osworld: Any,
    ) -> None:
        """Make the environment.

        Args:
            tasks: Root tasks, as for ``rla/OSWorld-v0``.
            curriculum: Draws tasks; a new one over ``tasks`` when None.
            rewriter: Proposes rewrites to the new curriculum; rule-based when None.
            judge: Votes on each step, adds the mean vote to the reward and gives the curriculum
                the reasons of failures; None leaves outcomes alone.
            votes: m, votes a step.
            adapt_every: Episodes between two adaptations of the tasks.
            seed: Seeds the default task set and, once, a reset without a seed.
            render_mode: As for ``rla/OSWorld-v0``.
            **osworld: The other arguments of OSWorldEnv.

        Raises:
            ConfigError: an argument is out of range, or a rewriter came with a curriculum, which
                has one already.
        """
        inner = OSWorldEnv(tasks, seed=seed, render_mode=render_mode, **osworld)
        super().__init__(
            inner,
            tasks=inner,
            default_rewriter=_rules,
            curriculum=curriculum,
            rewriter=rewriter,
            judge=judge,
            votes=votes,
            adapt_every=adapt_every,
            seed=seed,
        )


def _rules() -> Rewriter:
    from rla_envs.osworld.rewriting import RuleRewriter

    return RuleRewriter()
