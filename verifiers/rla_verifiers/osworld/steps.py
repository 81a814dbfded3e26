"""A step oracle for generated desktop tasks: sub-goals, and the expert's path while it lasts."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rla_envs.types import Task, Trajectory

REASONS = {
    "goal reached": 1,
    "right way": 1,
    "done in time": 1,
    "goal lost": -1,
    "not understood": -1,
    "done too early": -1,
    "wrong way": -1,
}
"""What the oracle says of a step -> its verdict."""


def step_reasons(
    task: Task,
    actions: Sequence[str],
    goals: Sequence[Collection[str]],
    understood: Sequence[bool],
) -> list[str]:
    """Return one of ``REASONS`` for every step.

    A step that reaches a sub-goal is good and one that loses a sub-goal is bad. Otherwise it is
    good iff it is what the expert does next, after what was done so far: other ways to the goal
    count as wrong until they reach something. Giving up a generated task is always wrong.

    Args:
        task: A generated task.
        actions: [T] what was done, in the environment's short form.
        goals: [T] names of the sub-goals that held after each step.
        understood: [T] whether the environment could read the action.
    """
    expert = [_plain(action) for action in task.payload["expert"]]
    everything = {goal["name"] for goal in task.payload["goals"]}
    reasons: list[str] = []
    place, before = 0, set[str]()
    for action, held, readable in zip(actions, goals, understood, strict=True):
        now, word = set(held), _plain(action)
        follows = place < len(expert) and word == expert[place]
        if not readable:
            reasons.append("not understood")
        elif word == "done":
            reasons.append("done in time" if now == everything else "done too early")
        elif before - now:
            reasons.append("goal lost")
        elif now - before:
            reasons.append("goal reached")
        else:
            reasons.append("right way" if follows else "wrong way")
        place = place + 1 if follows else place
        before = now
    return reasons


def label_steps(trajectory: Trajectory) -> list[bool]:
    """Return for each step of an episode with sub-goal checks whether it was good."""
    steps = trajectory.steps
    reasons = step_reasons(
        trajectory.task,
        [step.action for step in steps],
        [step.info.get("goals", ()) for step in steps],
        [step.info.get("feedback_reason") is None for step in steps],
    )
    return [REASONS[reason] > 0 for reason in reasons]


def _plain(action: str) -> str:
    verb, _, rest = action.strip().partition(" ")
    # The case of keys does not matter, that of typed text does.
    return f"{verb.lower()} {rest}" if verb.lower() == "type" else action.strip().lower()
