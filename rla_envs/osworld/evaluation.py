"""Setting a task up and scoring what an episode left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rla_task_sets.osworld.official import missing_parts, postconfig
from rla_verifiers.osworld import evaluate

from rla_envs.errors import TaskUnavailable, VerifierError
from rla_envs.osworld.guest import DesktopGuest
from rla_envs.osworld.setup import run_steps
from rla_envs.types import Task


class Scorer:
    """One task on one desktop.

    Args:
        task: The task.
        guest: The desktop.

    Raises:
        TaskUnavailable: a setup step, a verifier or a reference file is not to be had here.
    """

    def __init__(self, task: Task, guest: DesktopGuest) -> None:
        if missing := missing_parts(task):
            raise TaskUnavailable(f"task {task.id} needs {', '.join(missing)}: not available here")
        guest.require(task)
        self.task, self.guest = task, guest

    def set_up(self) -> None:
        """Carry out the task's setup steps and wait until the desktop is at rest."""
        run_steps(self.task.payload["config"], self.guest)
        self.guest.settle()

    def score(self, *, gave_up: bool) -> float:
        """Run the task's postconfig steps and return the score of the state, in [0, 1].

        Raises:
            VerifierError: nothing can be said about the state.
        """
        evaluator: Mapping[str, Any] = self.task.payload["evaluator"]
        try:
            if not gave_up and postconfig(self.task):
                run_steps(postconfig(self.task), self.guest)
                self.guest.settle()
        except Exception as error:
            raise VerifierError(f"postconfig of {self.task.id} failed: {error}") from error
        return evaluate(evaluator, self.guest, gave_up=gave_up)

    def goals_met(self) -> list[str]:
        """Return the names of the sub-goals that hold now, in the task's order.

        A sub-goal that cannot be checked does not hold.
        """
        goals: Sequence[Mapping[str, Any]] = self.task.payload.get("goals", ())
        return [goal["name"] for goal in goals if self._holds(goal["evaluator"])]

    def _holds(self, evaluator: Mapping[str, Any]) -> bool:
        try:
            return evaluate(evaluator, self.guest, gave_up=False) >= 1.0
        except VerifierError:
            return False
