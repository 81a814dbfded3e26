"""ALFWorld as a Gymnasium environment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
from gymnasium.error import ResetNeeded

from rla_envs.alfworld.engine import World, game_of, why_not
from rla_envs.alfworld.view import EpisodeMemory, compact_view
from rla_envs.errors import ConfigError, TaskError, TaskUnavailable, WorkerCrashed
from rla_envs.spaces import Unicode
from rla_envs.types import Sign, Task

if TYPE_CHECKING:
    from rla_envs.alfworld.engine.textworld import RealWorld

Engine = Literal["native", "textworld"]
View = Literal["full", "compact"]

OBSERVATION_LENGTH = 8192
"""Longest observation, in characters; official ones stay below 1,500."""
ACTION_LENGTH = 1024
"""Longest member of the action space; ``step`` takes longer text and calls it inadmissible."""
DEFAULT_TASKS = 32
"""Size of the generated set that is played when no tasks are given."""


class AlfWorldEnv(gymnasium.Env[str, str]):
    """A household text game: find things, change them, put them where they belong.

    Description:
        A room holds receptacles (some closed) and objects. The agent reads what it sees, types a
        command and has to reach the goal of its task: one of the six ALFWorld task types, on
        official games or on games from the project's generator. The native engine answers as
        TextWorld does, word for word; ``engine="textworld"`` runs the real one.

    Observation:
        Text, in ``Unicode(0, 8192)``. ``view="full"``: the engine's words (at reset the room and
        the task). ``view="compact"``: a summary of all that was seen in this episode, in lower
        case words separated by blanks; see ``rla_envs.alfworld.view``.

    Action:
        Text: one of ``info["admissible_commands"]``, or the same command in the other syntax
        ("put X in/on Y" for "move X to Y"), or its place in that list, counted from 0: "3" or
        "[3]". Anything else costs a step, is answered with "Nothing happens." and explained in
        ``info["feedback_reason"]``.

    Info:
        ``admissible_commands`` (list of str, sorted), ``won`` (bool), ``task`` (Task), ``lineage``
        (list of task ids from the root to this task, as far as the task knows them), ``feedback``
        (the engine's text), ``feedback_reason`` (str, None when the action was admissible); on the
        last step also ``outcome`` (+1 or -1) and ``stop_reason`` ("won" or "budget").

    Reward:
        +1 on the step that wins, -1 on the last step of an episode that did not, 0 before.

    Termination:
        Terminated when the goal holds; truncated after ``max_steps`` steps without that.

    Registered ids:
        ``rla/AlfWorld-v0``; ``rla/AlfWorld-Adaptive-v0`` wraps it in AdaptiveTasks.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("rla/AlfWorld-v0")
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step("look")
        >>> reward, terminated, truncated, info["won"]
        (0.0, False, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        tasks: Sequence[Task] | str | None = None,
        *,
        split: str = "train",
        root: str | Path | None = None,
        max_steps: int = 50,
        engine: Engine = "native",
        view: View = "full",
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment; tasks are loaded when the first one is drawn.

        Args:
            tasks: What to play: tasks, the name of a task set ("alfworld/generated",
                "alfworld/official"), or None for a small generated set.
            split: Split of a named or default set.
            root: Data folder of "alfworld/official"; ``$ALFWORLD_DATA`` when None.
            max_steps: Step budget of an episode.
            engine: "native", or "textworld" for the real engine (extra "alfworld").
            view: What observations are made of.
            seed: Seeds the default task set and, once, a reset without a seed.
            render_mode: "ansi" makes ``render`` return the transcript; None turns it off.

        Raises:
            ConfigError: an argument is out of range.
        """
        if max_steps < 1:
            raise ConfigError(f"max_steps must be at least 1, got {max_steps}")
        if engine not in ("native", "textworld"):
            raise ConfigError(f'engine must be "native" or "textworld", got {engine!r}')
        if view not in ("full", "compact"):
            raise ConfigError(f'view must be "full" or "compact", got {view!r}')
        if render_mode not in (None, "ansi"):
            raise ConfigError(f'render_mode must be None or "ansi", got {render_mode!r}')
        if root is not None and tasks != "alfworld/official":
            raise ConfigError(f'root={str(root)!r} goes with tasks="alfworld/official" only')
        if tasks is not None and len(tasks) == 0:
            raise ConfigError("tasks is empty; give at least one task, or None for the default")
        self.observation_space = Unicode(OBSERVATION_LENGTH)
        self.action_space = Unicode(ACTION_LENGTH)
        self.max_steps, self.engine, self.view = max_steps, engine, view
        self.render_mode = render_mode
        self._named, self._split, self._root = tasks, split, root
        self._set_seed, self._first_seed = seed or 0, seed
        self._tasks: Sequence[Task] | None = None
        self._places: dict[str, int] | None = None
        self._real: RealWorld | None = None
        self._task: Task | None = None
        self._world: World | None = None
        self._memory: EpisodeMemory | None = None
        self._steps = 0
        self._over = True
        self._feedback = ""
        self._transcript: list[str] = []

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that ``reset`` draws from; loaded on first use."""
        if self._tasks is None:
            self._tasks = self._load_tasks()
        return self._tasks

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Makes everything that follows, the draw of tasks included, a function of it.
            options: {"task": Task or id of one of ``tasks``} plays that task; otherwise one is
                drawn uniformly.

        Raises:
            TaskUnavailable: no task has this id.
            TaskError: the task is not playable here or solved before the first step.
            ConfigError: options has an unknown key.
        """
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        task = self._choose(options or {})
        if task.domain != "alfworld":
            raise TaskError(f"task {task.id} is of domain {task.domain!r}, this env plays alfworld")
        # The native world runs beside the real one as well: it knows what the memory has to
        # remember and why a command was not admissible.
        world = World(game_of(task))
        if world.won:
            raise TaskError(f"task {task.id} is solved before the first step; its goal needs a fix")
        self._task, self._world, self._memory = task, world, EpisodeMemory(world)
        self._feedback = world.feedback
        if self.engine == "textworld":
            self._feedback = self._start_real(task)
        self._steps, self._over = 0, False
        self._transcript = [self._feedback.strip()]
        return self._observation(), self._info(reason=None)

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Run one command; see the class for what it may be.

        Raises:
            ResetNeeded: the episode is over or none has begun.
            TypeError: action is no string, which is the caller's fault and not the agent's.
            WorkerCrashed: the real engine died.
        """
        if not isinstance(action, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"action must be a str, got {action!r}; numbers go in as text: '3'")
        world, memory = self._world, self._memory
        if self._over or world is None or memory is None:
            raise ResetNeeded("the episode is over or none has begun; call reset()")
        command, reason = understand(world, action)
        self._feedback, won = world.step(command), world.won
        if self.engine == "textworld":
            self._feedback, won = self._run_real(command)
        memory.update(command, happened=reason is None)
        self._steps += 1
        truncated = not won and self._steps >= self.max_steps
        self._over = won or truncated
        info = self._info(reason=reason)
        reward = 0.0
        if self._over:
            outcome: Sign = 1 if won else -1
            reward = float(outcome)
            info |= {"outcome": outcome, "stop_reason": "won" if won else "budget"}
        self._transcribe(action, command, reason, won, truncated)
        return self._observation(), reward, won, truncated, info

    def render(self) -> str | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the transcript of the episode so far, or None without render_mode."""
        return None if self.render_mode is None else "\n".join(self._transcript)

    def close(self) -> None:
        """End the real engine, if one runs."""
        if self._real is not None:
            self._real.close()
            self._real = None

    def _load_tasks(self) -> Sequence[Task]:
        if self._named is not None and not isinstance(self._named, str):
            return self._named
        import rla_task_sets

        if self._named is None:
            return rla_task_sets.load(
                "alfworld/generated", n=DEFAULT_TASKS, seed=self._set_seed, split=self._split
            )
        options: dict[str, Any] = {"split": self._split}
        if self._named.endswith("/official"):
            options["root"] = self._root
        else:
            options["seed"] = self._set_seed
        return rla_task_sets.load(self._named, **options)

    def _choose(self, options: Mapping[str, Any]) -> Task:
        unknown = sorted(set(options) - {"task"})
        if unknown:
            raise ConfigError(f'reset knows the option "task" only, got {unknown}')
        wanted = options.get("task")
        if wanted is None:
            return self.tasks[int(self.np_random.integers(len(self.tasks)))]
        if isinstance(wanted, Task):
            return wanted
        if self._places is None:
            # A lazy set knows its ids without reading its thousands of games.
            ids = getattr(self.tasks, "ids", None) or [task.id for task in self.tasks]
            self._places = {task_id: i for i, task_id in enumerate(ids)}
        if wanted not in self._places:
            raise TaskUnavailable(
                f"no task has the id {wanted!r}; pass a Task or the id of one of these "
                f"{len(self._places)}, e.g. {next(iter(self._places))!r}"
            )
        return self.tasks[self._places[wanted]]

    def _start_real(self, task: Task) -> str:
        from rla_envs.alfworld.engine.textworld import RealWorld

        file = task.payload.get("game_file")
        source = game_of(task) if file is None else Path(file)
        if self._real is not None:
            try:
                return self._real.load(source)
            except WorkerCrashed:
                self.close()
        self._real = RealWorld(source)
        return self._real.feedback

    def _run_real(self, command: str) -> tuple[str, bool]:
        assert self._real is not None
        try:
            return self._real.step(command), self._real.won
        except WorkerCrashed:
            self.close()
            self._over = True
            raise

    def _observation(self) -> str:
        if self.view == "full":
            return self._feedback
        assert self._memory is not None
        return compact_view(self._memory)

    def _info(self, *, reason: str | None) -> dict[str, Any]:
        world, task = self._world, self._task
        assert world is not None
        assert task is not None
        shown = world if self._real is None else self._real
        known = (task.root_id, task.parent_id, task.id)
        return {
            "admissible_commands": list(shown.admissible()),
            "won": bool(shown.won),
            "task": task,
            "lineage": list(dict.fromkeys(task_id for task_id in known if task_id is not None)),
            "feedback": self._feedback,
            "feedback_reason": reason,
        }

    def _transcribe(
        self, action: str, command: str, reason: str | None, won: bool, truncated: bool
    ) -> None:
        if self.render_mode is None:
            return
        typed = action if action.strip() == command else f"{action}  ({command})"
        self._transcript.append(f"\n[{self._steps}] > {typed}\n{self._feedback.strip()}")
        if reason is not None:
            self._transcript.append(f"    ({reason})")
        if won:
            self._transcript.append(f"\nWon after {self._steps} steps.")
        elif truncated:
            self._transcript.append(f"\nNot solved within {self.max_steps} steps.")


def understand(world: World, action: str) -> tuple[str, str | None]:
    """Return the engine's command for an action and, when it is inadmissible, the reason.

    An action is an admissible command, its alias in the other syntax, or its place in
    ``world.admissible()`` counted from 0 ("3" or "[3]").
    """
    text = action.strip()
    if not text:
        return text, "the action is empty"
    number = re.fullmatch(r"\[?\s*([0-9]{1,9})\s*\]?", text)
    if number is None:
        command = world.resolve(text)
        return (text, why_not(world, text)) if command is None else (command, None)
    commands = world.admissible()
    place = int(number[1])
    if place < len(commands):
        return commands[place], None
    return text, f"there is no command {place}; they are numbered 0 to {len(commands) - 1}"
