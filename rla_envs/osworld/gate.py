"""The load gate: a task is served only if it is not solved untouched and its expert solves it."""

from __future__ import annotations

from collections.abc import Callable, Collection

from rla_task_sets.osworld.generated import expert_actions
from rla_task_sets.osworld.rewrites import check_rewrite

from rla_envs.osworld.env import OSWorldEnv
from rla_envs.types import Task


def load_gate(task: Task, env: OSWorldEnv) -> str | None:
    """Return why a generated task must not be served, or None.

    "solved at start": DONE at once wins. "unsolvable": the expert's actions do not win. "crashed":
    its verifier cannot tell.

    Args:
        task: The task.
        env: Plays it, twice; its step budget must hold the expert's actions.

    Raises:
        RlaError: the desktop failed.
    """
    untouched = _play(task, ["done"], env)
    if untouched is None:
        return "crashed"
    if untouched > 0:
        return "solved at start"
    solved = _play(task, expert_actions(task), env)
    if solved is None:
        return "crashed"
    return None if solved > 0 else "unsolvable"


def gated(env: OSWorldEnv) -> Callable[[Task, Task, Task, Collection[str]], str | None]:
    """Return the check of a curriculum that tries every rewrite on a real desktop first."""

    def check(root: Task, old: Task, new: Task, known: Collection[str]) -> str | None:
        return check_rewrite(root, old, new, known) or load_gate(new, env)

    return check


def _play(task: Task, actions: Collection[str], env: OSWorldEnv) -> int | None:
    env.reset(options={"task": task})
    for action in actions:
        *_, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            return info["outcome"]
    return -1
