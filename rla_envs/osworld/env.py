"""Computer-use tasks on a real desktop, as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Box, Dict
from numpy.typing import NDArray

from rla_envs.errors import ConfigError, TaskError, TaskUnavailable, VerifierError
from rla_envs.osworld.evaluation import Scorer
from rla_envs.osworld.short_form import expand
from rla_envs.osworld.view import as_text
from rla_envs.prompts.osworld import IMAGE
from rla_envs.spaces import Unicode
from rla_envs.types import Sign, Task

if TYPE_CHECKING:
    from rla_envs.osworld.desktop import Desktop
    from rla_envs.osworld.guest import DesktopGuest

Observe = Literal["image", "image+a11y", "text"]

INSTRUCTION_LENGTH = 4096
VIEW_LENGTH = 16_384
PATH_LENGTH = 4096
ACTION_LENGTH = 8192
DEFAULT_TASKS = 16
"""Size of the generated set that is played when no tasks are given."""
SCREEN = (1280, 720)
"""Width and height of the default desktop, in pixels."""
MAX_ELEMENTS = 100
"""Elements of the accessibility view."""


class OSWorldEnv(gymnasium.Env[Any, str]):
    """A task on a graphical desktop: look at the screen, move the mouse, type, and say when done.

    Description:
        Each episode sets up a desktop for its task (files, windows), then the agent acts on it as
        a person would. When it says DONE or FAIL, or the step budget is used up, a script verifier
        looks at what was left: files, settings, pages. Tasks are OSWorld's own or those of the
        project's generator; the desktop is a local one, a container, or any object with the same
        methods.

    Observation:
        ``observe="image"``: Dict of "image" (uint8 [height, width, 3]), "instruction" (text) and
        "cursor" (int32 [2], x and y in pixels). ``"image+a11y"`` adds "a11y", the numbered
        elements of the active window. ``"text"``: instruction, that view and, when screenshots are
        kept, a line that names the present one, as one text: the form in which trajectories are
        collected and judged.

    Action:
        Text: pyautogui calls, a computer-use tool call as JSON, "WAIT", "DONE", "FAIL", or the
        short form (``press ctrl+s``, ``type hello``, ``click 3``; see
        ``rla_envs.osworld.short_form``). What cannot be read costs a step, does nothing and is
        explained in ``info["feedback_reason"]``.

    Info:
        ``task`` (Task), ``lineage`` (list of str), ``won`` (bool), ``feedback`` (str),
        ``feedback_reason`` (str, None when the action was carried out), ``admissible_commands``
        (empty), ``extras`` (what a trajectory should keep of the step: "image", the path of the
        screenshot when ``screenshots`` is given; "goals", the sub-goals that hold, when ``goals``
        is on); on the last step ``outcome`` (+1, -1, or None when the verifier could not tell),
        ``score`` (float in [0, 1] or None) and ``stop_reason``.

    Reward:
        +1 on the last step of an episode that solved its task (score 1), -1 on that of one that
        did not, 0 before, and 0 for an episode that is masked because its verifier failed.

    Termination:
        Terminated by DONE or FAIL; truncated after ``max_steps`` steps.

    Registered ids:
        ``rla/OSWorld-v0``; ``rla/OSWorld-Adaptive-v0`` wraps it in AdaptiveTasks.

    Example:
        >>> import gymnasium, rla_envs
        >>> env = gymnasium.make("rla/OSWorld-v0")  # starts no desktop before the first reset
        >>> env.observation_space["image"].shape
        (720, 1280, 3)
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self,
        tasks: Sequence[Task] | str | None = None,
        *,
        desktop: Desktop | str = "local",
        split: str | None = None,
        root: str | Path | None = None,
        cache: str | Path | None = None,
        download: bool = False,
        observe: Observe = "image",
        max_steps: int = 30,
        goals: bool = False,
        screenshots: str | Path | None = None,
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        """Make the environment; the desktop starts at the first reset.

        Args:
            tasks: What to play: tasks, the name of a task set ("osworld/generated",
                "osworld/official"), or None for a small generated set.
            desktop: "local", "docker", or a desktop of one's own, which is left open by ``close``.
            split: Split of a named or default set; the set's first when None.
            root: Data folder of "osworld/official"; ``$OSWORLD_DATA`` when None.
            cache: Folder of asset files that official tasks need.
            download: Whether a missing asset may be fetched from its address.
            observe: What observations are made of.
            max_steps: Step budget of an episode.
            goals: Whether sub-goals are checked after every step (for step oracles).
            screenshots: Folder for one PNG a step; None keeps none.
            seed: Seeds the default task set and, once, a reset without a seed.
            render_mode: "rgb_array" or None.

        Raises:
            ConfigError: an argument is out of range.
        """
        if max_steps < 1:
            raise ConfigError(f"max_steps must be at least 1, got {max_steps}")
        if observe not in ("image", "image+a11y", "text"):
            raise ConfigError(f'observe must be "image", "image+a11y" or "text", got {observe!r}')
        if render_mode not in (None, "rgb_array"):
            raise ConfigError(f'render_mode must be None or "rgb_array", got {render_mode!r}')
        if tasks is not None and len(tasks) == 0:
            raise ConfigError("tasks is empty; give at least one task, or None for the default")
        self.observe, self.max_steps, self.render_mode = observe, max_steps, render_mode
        self.goals = goals
        self._desktop, self._screen = desktop, _screen_of(desktop)
        self._named, self._split, self._root = tasks, split, root
        self._cache, self._download = cache, download
        self._screenshots = None if screenshots is None else Path(screenshots)
        self._set_seed, self._first_seed = seed or 0, seed
        self.observation_space = self._space()
        self.action_space = Unicode(ACTION_LENGTH)
        self._tasks: Sequence[Task] | None = None
        self._guest: DesktopGuest | None = None
        self._task: Task | None = None
        self._scorer: Scorer | None = None
        self._steps = self._episode = 0
        self._over = True
        self._frame: NDArray[np.uint8] | None = None
        self._kept = ""

    @property
    def tasks(self) -> Sequence[Task]:
        """The tasks that ``reset`` draws from; loaded on first use."""
        if self._tasks is None:
            self._tasks = self._load_tasks()
        return self._tasks

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Set up the desktop for a task and start an episode.

        Args:
            seed: Makes the draw of tasks a function of it.
            options: {"task": Task or id of one of ``tasks``} plays that task; otherwise one is
                drawn uniformly.

        Raises:
            TaskUnavailable: no task has this id, or it needs what is not to be had here: a file, a
                setup step, a verifier.
            TaskError: the task is of another domain or malformed.
            ConfigError: options has an unknown key.
        """
        if seed is None:
            seed, self._first_seed = self._first_seed, None
        super().reset(seed=seed)
        task = self._choose(options or {})
        if task.domain != "osworld":
            raise TaskError(f"task {task.id} is of domain {task.domain!r}, this env plays osworld")
        guest = self._ready_guest()
        self._scorer = Scorer(task, guest)
        guest.begin(task.id)
        self._scorer.set_up()
        self._task, self._steps, self._over = task, 0, False
        self._episode += 1
        return self._look(guest), self._info(feedback="", reason=None)

    def step(self, action: str) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Carry out one action; see the class for what it may be.

        Raises:
            ResetNeeded: the episode is over or none has begun.
            TypeError: action is no string, which is the caller's fault and not the agent's.
        """
        if not isinstance(action, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"action must be a str, got {action!r}")
        guest, scorer = self._guest, self._scorer
        if self._over or guest is None or scorer is None:
            raise ResetNeeded("the episode is over or none has begun; call reset()")
        code, reason = expand(action, guest.elements)
        ending = guest.ending(code) if reason is None else None
        ended = ending is not None
        if reason is None and not ended:
            reason = guest.act_code(code)
        self._steps += 1
        truncated = not ended and self._steps >= self.max_steps
        self._over = ended or truncated
        observation = self._look(guest)
        info = self._info(feedback=code, reason=reason)
        reward = 0.0
        if self._over:
            end = self._judge(scorer, gave_up=ending == "fail", ended=ended)
            info |= end
            reward = float(end["outcome"] or 0)
        return observation, reward, ended, truncated, info

    def render(self) -> NDArray[np.uint8] | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Return the last screenshot, uint8 [height, width, 3], or None without render_mode."""
        return None if self.render_mode is None else self._frame

    def close(self) -> None:
        """End the desktop, unless it was given as an object."""
        if self._guest is not None:
            if isinstance(self._desktop, str):
                self._guest.close()
            self._guest, self._over = None, True

    def _judge(self, scorer: Scorer, *, gave_up: bool, ended: bool) -> dict[str, Any]:
        try:
            score = scorer.score(gave_up=gave_up)
        except VerifierError as error:
            return {
                "outcome": None,
                "score": None,
                "stop_reason": "crashed",
                "won": False,
                "verifier_error": str(error),
            }
        won = score >= 1.0
        outcome: Sign = 1 if won else -1
        stop = "won" if won else "failed" if ended else "budget"
        return {"outcome": outcome, "score": score, "stop_reason": stop, "won": won}

    def _look(self, guest: DesktopGuest) -> Any:
        """Return the observation; keeps the screenshot for ``render``."""
        assert self._task is not None
        wants_image = self.observe != "text" or self.render_mode or self._screenshots is not None
        if wants_image:
            self._frame = guest.screenshot()
        if self._screenshots is not None:
            self._kept = self._keep_screenshot()
        view = "" if self.observe == "image" else self._view(guest)
        instruction = self._task.instruction[:INSTRUCTION_LENGTH]
        if self.observe == "text":
            image = f"\n{IMAGE}{self._kept}]" if self._kept else ""
            # One line, so that what follows it is the view and nothing else.
            return f"{' '.join(instruction.split())}\n{view}{image}"
        observation = {
            "image": self._frame,
            "instruction": instruction,
            "cursor": np.array(guest.cursor(), dtype=np.int32),
        }
        return observation if self.observe == "image" else {**observation, "a11y": view}

    def _view(self, guest: DesktopGuest) -> str:
        title, elements = guest.look()
        return as_text(title, elements[:MAX_ELEMENTS])[:VIEW_LENGTH]

    def _space(self) -> Dict | Unicode:
        if self.observe == "text":
            return Unicode(INSTRUCTION_LENGTH + VIEW_LENGTH + PATH_LENGTH)
        width, height = self._screen
        spaces: dict[str, Any] = {
            "image": Box(0, 255, (height, width, 3), np.uint8),
            "instruction": Unicode(INSTRUCTION_LENGTH),
            "cursor": Box(0, max(width, height), (2,), np.int32),
        }
        if self.observe == "image+a11y":
            spaces["a11y"] = Unicode(VIEW_LENGTH)
        return Dict(spaces)

    def _ready_guest(self) -> DesktopGuest:
        if self._guest is None:
            from rla_task_sets.osworld.assets import Assets

            from rla_envs.osworld.guest import DesktopGuest

            assets = Assets(self._cache, download=self._download)
            self._guest = DesktopGuest(_make_desktop(self._desktop, self._screen), assets)
        return self._guest

    def _load_tasks(self) -> Sequence[Task]:
        if self._named is not None and not isinstance(self._named, str):
            return self._named
        import rla_task_sets

        name = self._named or "osworld/generated"
        options: dict[str, Any] = {} if self._split is None else {"split": self._split}
        if name.endswith("/official"):
            options["root"] = self._root
        else:
            options |= {"seed": self._set_seed, "n": DEFAULT_TASKS}
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

    def _info(self, *, feedback: str, reason: str | None) -> dict[str, Any]:
        task, scorer = self._task, self._scorer
        assert task is not None
        assert scorer is not None
        known = (task.root_id, task.parent_id, task.id)
        extras: dict[str, Any] = {}
        if self.goals:
            extras["goals"] = scorer.goals_met()
        if self._screenshots is not None:
            extras["image"] = self._kept
        return {
            "admissible_commands": [],
            "won": False,
            "task": task,
            "lineage": list(dict.fromkeys(task_id for task_id in known if task_id is not None)),
            "feedback": feedback,
            "feedback_reason": reason,
            "extras": extras,
        }

    def _keep_screenshot(self) -> str:
        from PIL import Image

        assert self._screenshots is not None
        assert self._frame is not None
        self._screenshots.mkdir(parents=True, exist_ok=True)
        name = f"{id(self):x}-{self._episode:05d}-{self._steps:03d}.png"
        path = self._screenshots / name
        Image.fromarray(self._frame).save(path, compress_level=1)
        return str(path)


def _screen_of(desktop: Desktop | str) -> tuple[int, int]:
    return SCREEN if isinstance(desktop, str) else desktop.size


def _make_desktop(desktop: Desktop | str, screen: tuple[int, int]) -> Desktop:
    if not isinstance(desktop, str):
        return desktop
    from rla_envs.osworld.desktop import make_desktop

    return make_desktop(desktop, size=screen)
