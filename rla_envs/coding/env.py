"""Programming problems as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
from gymnasium.error import ResetNeeded

from rla_envs.coding.problem import Problem, problem_of
from rla_envs.coding.view import compact_report, first_view, report
from rla_envs.errors import ConfigError, TaskError, TaskUnavailable
from rla_envs.prompts.coding import code_blocks
from rla_envs.spaces import Unicode
from rla_envs.types import Sign, Task

if TYPE_CHECKING:
    from rla_envs.coding.grading import Grade, Grader
    from rla_envs.sandbox.types import Sandbox

View = Literal["full", "compact"]

OBSERVATION_LENGTH = 65_536
"""Longest observation, in characters; longer ones are cut, and say so."""
ACTION_LENGTH = 65_536
"""Longest member of the action space; a longer action is no program."""
DEFAULT_TASKS = 32
"""Size of the generated set that is played when no tasks are given."""


class CodingEnv(gymnasium.Env[str, str]):
    r"""Programming problems: read a statement, submit a program, and tests decide.

    Description:
        Programs run in a sandbox and are judged outside of it; no expected value ever enters it.
        With several turns, the agent reads what its last submission did on the public tests and
        may submit again.

    Observation:
        Text, in ``Unicode(0, 65536)``. ``view="full"``: the statement with starter and public
        tests; after a submission, the public tests that fail, each with a difference.
        ``view="compact"``: the payload's few words, for generated problems.

    Action:
        Text with the program in a fenced code block; the last block counts. Without one the turn
        is lost, and ``info["feedback_reason"]`` says so.

    Info:
        ``won`` (bool), ``pass_fraction`` (share of ground-truth tests that the last submission
        passes, in [0, 1]; 0 before the first), ``task``, ``lineage``, ``feedback`` (what came of
        the last submission), ``feedback_reason`` (str, None when the action was a program),
        ``admissible_commands`` (empty: any program may be submitted), ``extras`` (what a recorded
        step keeps); on the last step also ``outcome`` (+1 or -1) and ``stop_reason``.

    Reward:
        +1 on the submission that passes every ground-truth test, -1 on the last step of an episode
        without one, 0 before.

    Termination:
        Terminated when all tests pass, or after ``turns`` submissions without that: how many there
        are is a rule of the problem and no time limit, so nothing is ever truncated. A sandbox
        that fails raises SandboxError: such an episode has no outcome.

    Registered ids:
        ``rla/Coding-v0``; ``rla/Coding-Adaptive-v0`` wraps it in AdaptiveTasks.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("rla/Coding-v0", turns=2)
        >>> observation, info = env.reset(seed=0)
        >>> reference = info["task"].payload["reference"]
        >>> _, reward, terminated, _, info = env.step("I do not know.")
        >>> reward, info["feedback_reason"]
        (0.0, 'no code block in the reply')
        >>> _, reward, terminated, _, info = env.step(f"```python\n{reference}\n```")
        >>> reward, terminated, info["pass_fraction"]
        (1.0, True, 1.0)
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        tasks: Sequence[Task] | str | None = None,
        *,
        split: str | None = None,
        root: str | Path | None = None,
        turns: int = 1,
        public_tests: int | None = None,
        sandbox: Sandbox | None = None,
        view: View = "full",
        check_tasks: bool = True,
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment; tasks are loaded and the sandbox is started when needed.

        Args:
            tasks: What to play: tasks, the name of a task set ("coding/generated",
                "coding/humaneval", ...), or None for a small generated set.
            split: Split of a named or default set; the set's own default when None.
            root: Where the data of a named set are; generated ones need none.
            turns: Submissions an episode may have.
            public_tests: How many of a problem's public tests are shown and reported at most; all
                when None, 0 hides them.
            sandbox: Where programs run; a local one, shared within this process, when None.
            view: What observations are made of.
            check_tasks: Whether the load gate runs at a task's first reset: the untouched starter
                fails, the reference passes.
            seed: Seeds the default task set and, once, a reset without a seed.
            render_mode: "ansi" makes ``render`` return the transcript; None turns it off.

        Raises:
            ConfigError: an argument is out of range.
        """
        if turns < 1:
            raise ConfigError(f"turns must be at least 1, got {turns}")
        if public_tests is not None and public_tests < 0:
            raise ConfigError(f"public_tests must be at least 0 or None, got {public_tests}")
        if view not in ("full", "compact"):
            raise ConfigError(f'view must be "full" or "compact", got {view!r}')
        if render_mode not in (None, "ansi"):
            raise ConfigError(f'render_mode must be None or "ansi", got {render_mode!r}')
        if root is not None and not isinstance(tasks, str):
            raise ConfigError(f"root={str(root)!r} goes with the name of a task set only")
        if tasks is not None and len(tasks) == 0:
            raise ConfigError("tasks is empty; give at least one task, or None for the default")
        self.observation_space = Unicode(OBSERVATION_LENGTH)
        self.action_space = Unicode(ACTION_LENGTH)
        self.turns, self.public_tests, self.view = turns, public_tests, view
        self.render_mode = render_mode
        self._named, self._split, self._root = tasks, split, root
        self._sandbox, self._check_tasks = sandbox, check_tasks
        self._set_seed, self._first_seed = seed or 0, seed
        self._tasks: Sequence[Task] | None = None
        self._grader: Grader | None = None
        self._task: Task | None = None
        self._problem: Problem | None = None
        self._turn = 0
        self._over = True
        self._transcript: list[str] = []

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that ``reset`` draws from; loaded on first use."""
        if self._tasks is None:
            self._tasks = self._load_tasks()
        return self._tasks

    @property
    def grader(self) -> Grader:
        """What runs the programs."""
        if self._grader is None:
            from rla_envs.coding.grading import Grader, default_grader

            own = self._sandbox
            self._grader = default_grader() if own is None else Grader(own)
        return self._grader

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Makes the draw of tasks that follow a function of it.
            options: {"task": Task or id of one of ``tasks``} plays that task; otherwise one is
                drawn uniformly.

        Raises:
            TaskUnavailable: no task has this id.
            TaskError: the task does not pass the load gate.
            ConfigError: options has an unknown key.
            SandboxError: the sandbox cannot be started or failed.
        """
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        task = self._choose(options or {})
        problem = problem_of(task)
        if self._check_tasks:
            self._pass_gate(task, problem)
        if self.public_tests is not None:
            from dataclasses import replace

            problem = replace(problem, public=problem.public[: self.public_tests])
        self._task, self._problem, self._turn, self._over = task, problem, 0, False
        observation = self._first_observation()
        self._transcript = [observation]
        return observation, self._info(feedback="", reason=None, grade=None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Judge one submission; see the class for what it may be.

        Raises:
            ResetNeeded: the episode is over or none has begun.
            TypeError: action is no string, which is the caller's fault and not the agent's.
            SandboxError: the sandbox failed; the episode has no outcome.
        """
        if not isinstance(action, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"action must be a str, got {action!r}")
        problem = self._problem
        if self._over or problem is None:
            raise ResetNeeded("the episode is over or none has begun; call reset()")
        program, reason = understand(action)
        try:
            grade = None if program is None else self.grader.grade(problem, program)
        except Exception:
            self._over = True
            raise
        self._turn += 1
        won = grade is not None and grade.right
        self._over = won or self._turn >= self.turns
        observation, feedback = self._judged(program, grade, reason, won)
        info = self._info(feedback=feedback, reason=reason, grade=grade)
        reward = 0.0
        if self._over:
            outcome: Sign = 1 if won else -1
            reward = float(outcome)
            info |= {"outcome": outcome, "stop_reason": "won" if won else "failed"}
        self._transcript.append(f"\n[{self._turn}] > {action.strip()}\n{feedback}")
        if reason is not None:
            self._transcript.append(f"    ({reason})")
        return observation, reward, self._over, False, info

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the transcript of the episode so far, or None without render_mode."""
        return None if self.render_mode is None else "\n".join(self._transcript)

    def close(self) -> None:
        """End nothing: a sandbox that was given is its owner's, the default one is shared."""

    def _load_tasks(self) -> Sequence[Task]:
        if self._named is not None and not isinstance(self._named, str):
            return self._named
        import rla_task_sets

        name = self._named or "coding/generated"
        options: dict[str, Any] = {} if self._split is None else {"split": self._split}
        if name.endswith("/generated"):
            if self._root is not None:
                raise ConfigError(f"{name} needs no root, got {str(self._root)!r}")
            options |= {"n": DEFAULT_TASKS, "seed": self._set_seed}
        else:
            options["root"] = self._root
        return rla_task_sets.load(name, **options)

    def _choose(self, options: Mapping[str, Any]) -> Task:
        unknown = sorted(set(options) - {"task"})
        if unknown:
            raise ConfigError(f'reset knows the option "task" only, got {unknown}')
        wanted = options.get("task")
        if wanted is None:
            return self.tasks[int(self.np_random.integers(len(self.tasks)))]
        if isinstance(wanted, Task):
            return wanted
        for task in self.tasks:
            if task.id == wanted:
                return task
        raise TaskUnavailable(
            f"no task has the id {wanted!r}; pass a Task or the id of one of these "
            f"{len(self.tasks)}, e.g. {self.tasks[0].id!r}"
        )

    def _pass_gate(self, task: Task, problem: Problem) -> None:
        from rla_envs.coding.grading import gate

        # What the grader remembers makes every reset but the first one cheap.
        for complaint in gate(problem, self.grader, mutants=False):
            raise TaskError(f"task {task.id}: {complaint}; it needs a fix, or check_tasks=False")

    def _first_observation(self) -> str:
        task, problem = self._task, self._problem
        assert task is not None
        assert problem is not None
        if self.view == "compact":
            text = str(task.payload.get("compact") or " ".join(task.instruction.split()).lower())
        else:
            text = first_view(task, problem)
        return _cut(text)

    def _judged(
        self, program: str | None, grade: Grade | None, reason: str | None, won: bool
    ) -> tuple[str, str]:
        """Return (observation, feedback) after a submission."""
        problem = self._problem
        assert problem is not None
        if won:
            return "solved", "All tests pass."
        if grade is None:
            assert reason is not None
            said = f"That was no submission: {reason}. Put the whole program in one code block."
            first = self._first_observation()
            return (f"{first} | no program" if self.view == "compact" else said), said
        public = [(place, grade.results[place]) for place in problem.public]
        said = report(problem, public)
        if self.view == "compact":
            tried = " ".join((program or "").split())
            first = self._first_observation()
            return _cut(f"{first} | tried {tried} | {compact_report(problem, public)}"), said
        return _cut(said), said

    def _info(self, *, feedback: str, reason: str | None, grade: Grade | None) -> dict[str, Any]:
        task = self._task
        assert task is not None
        known = (task.root_id, task.parent_id, task.id)
        fraction = 0.0 if grade is None else grade.pass_fraction
        return {
            "admissible_commands": [],
            "won": grade is not None and grade.right,
            "pass_fraction": fraction,
            "task": task,
            "lineage": list(dict.fromkeys(task_id for task_id in known if task_id is not None)),
            "feedback": feedback,
            "feedback_reason": reason,
            "extras": {"pass_fraction": fraction},
        }


def understand(action: str) -> tuple[str | None, str | None]:
    """Return the program in an action, or None and the reason why there is none."""
    if len(action) > ACTION_LENGTH:
        return None, f"the reply is longer than {ACTION_LENGTH} characters"
    blocks = code_blocks(action)
    if not blocks:
        return None, "no code block in the reply"
    program = blocks[-1]
    if not program.strip():
        return None, "the code block is empty"
    try:
        program.encode("utf-8")
    except UnicodeEncodeError:
        return None, "the program is no valid Unicode text"
    return program, None


def _cut(text: str) -> str:
    if len(text) <= OBSERVATION_LENGTH:
        return text
    note = f"\n... cut; {len(text)} characters in all"
    return text[: OBSERVATION_LENGTH - len(note)] + note
