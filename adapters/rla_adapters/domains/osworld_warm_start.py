"""How the embedded desktop policy and judge come into the world: supervised, on written episodes.

A real desktop gives some ten episodes a minute, too few to teach a model its first words. What the
small models read of the text editor is the text in it, so demonstrations are written down with a
line editor that keeps the text as the real one shows it. The loop itself runs on the desktop.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from shutil import rmtree

from rla_task_sets.osworld.families.text_edit import OPERATIONS
from rla_task_sets.osworld.families.words import FILES, THINGS, VERBS
from rla_verifiers.osworld import METRICS, GuestFile
from rla_verifiers.osworld.steps import REASONS, step_reasons

from rla_adapters.domains import Models
from rla_adapters.domains.side_by_side import Fit, fit_side_by_side
from rla_adapters.native.supervised import FitConfig, Row
from rla_adapters.tiny.sampler import TinyChatModel
from rla_adapters.tiny.words import words_in
from rla_envs.config import TrainConfig
from rla_envs.prompts.osworld import CompactPrompts
from rla_envs.seeding import derive_seed
from rla_envs.tracking import Progress
from rla_envs.types import Completion, Step, Task, Trajectory

CONTEXT = 320
"""Longest sequence of the embedded models, in tokens: text before and after a step."""

KEYS = (
    *("ctrl+Home", "ctrl+End", "Down", "Down x2", "Down x3", "shift+End", "shift+Down"),
    *("Delete", "ctrl+s"),
)
"""Keys that edit a text."""

_PROSE = """
the file is open in the text editor add line at end save replace by delete with ctrl s did do then
same nothing no window txt press type done fail wait other here
"""
_MARKS = '. , : ; | / + - " ( ) \\boxed{+1} \\boxed{-1}'


def desktop_words() -> list[str]:
    """Return the closed vocabulary of the text editor's tasks, each word once, in order."""
    numbers = " ".join(map(str, range(10)))
    parts = [_PROSE, _MARKS, *REASONS, *KEYS, *OPERATIONS, *FILES, *THINGS, *VERBS, numbers]
    return words_in(parts)


class LineEditor:
    """A text and a cursor, moved by the keys that the expert uses."""

    def __init__(self, text: str) -> None:
        self.text, self.saved = text, text
        self.cursor = self.anchor = 0

    def do(self, action: str) -> bool:
        """Carry out a short action; return whether it is one."""
        verb, _, rest = action.partition(" ")
        if verb == "type":
            self._put(rest)
            return bool(rest)
        key, _, times = rest.partition(" x")
        if verb != "press" or key.lower() not in {k.partition(" ")[0].lower() for k in KEYS}:
            return False
        for _ in range(int(times or 1)):
            self._press(key.lower())
        return True

    def _press(self, key: str) -> None:
        if key == "ctrl+s":
            self.saved = self.text
        elif key == "delete":
            if self.cursor == self.anchor:
                self.cursor = min(len(self.text), self.cursor + 1)
            self._put("")
        else:
            name = key.removeprefix("ctrl+").removeprefix("shift+")
            whole = key.startswith("ctrl+")
            self.cursor = self._target(name, whole)
            if not key.startswith("shift+"):
                self.anchor = self.cursor

    def _target(self, name: str, whole: bool) -> int:
        if whole:
            return 0 if name == "home" else len(self.text)
        start = self.text.rfind("\n", 0, self.cursor) + 1
        end = self.text.find("\n", self.cursor)
        end = len(self.text) if end < 0 else end
        if name == "end":
            return end
        following = self.text.find("\n", end + 1)
        following = len(self.text) if following < 0 else following
        return min(end + 1 + self.cursor - start, following) if end < len(self.text) else end

    def _put(self, text: str) -> None:
        first, last = sorted((self.cursor, self.anchor))
        self.text = self.text[:first] + text + self.text[last:]
        self.cursor = self.anchor = first + len(text)


def demonstrate(task: Task, *, noise: float, seed: int) -> Trajectory:
    """Return an episode of a text_edit task as the small models see it.

    At every step the completion is what the expert does next; the action is the same or, with
    probability noise, another one, after which the episode goes on for one step and ends.
    """
    rng = Random(seed)
    editor = LineEditor("\n".join(task.payload["params"]["lines"]) + "\n")
    steps: list[Step] = []
    strayed = False
    for sensible in [*task.payload["expert"], "done"]:
        action = sensible
        if rng.random() < noise:
            action = rng.choice(
                [f"press {rng.choice(KEYS)}", f"type {rng.choice(VERBS)} {rng.choice(THINGS)}"]
            )
        before = _seen(task, editor)
        if action != "done":
            editor.do(action)
        steps.append(
            Step(
                observation=before,
                completion=Completion(text=sensible),
                action=action,
                next_observation=_seen(task, editor),
                info={"goals": _goals(task, editor), "feedback_reason": None},
            )
        )
        if strayed:
            break
        strayed = action != sensible
    won = not strayed and steps[-1].action == "done"
    return Trajectory(
        task=task,
        steps=tuple(steps),
        outcome=1 if won else -1,
        stop_reason="won" if won else "budget",
        seed=seed,
        policy_version=0,
    )


def policy_rows(trajectories: Sequence[Trajectory]) -> list[Row]:
    """Return what a policy imitates: the expert's next action, as long as it was followed."""
    prompts = CompactPrompts()
    rows: list[Row] = []
    for trajectory in trajectories:
        for index, step in enumerate(trajectory.steps):
            chat = prompts.policy(trajectory.task, trajectory.steps[:index], step.observation, ())
            rows.append((chat, step.completion.text, 1.0))
            if step.action != step.completion.text:
                break
    return rows


def judge_rows(trajectories: Sequence[Trajectory]) -> list[Row]:
    """Return what a judge learns: the step oracle's reason and verdict."""
    prompts = CompactPrompts()
    rows: list[Row] = []
    for trajectory in trajectories:
        steps = trajectory.steps
        reasons = step_reasons(
            trajectory.task,
            [step.action for step in steps],
            [step.info["goals"] for step in steps],
            [True] * len(steps),
        )
        rows += [
            (prompts.judge(trajectory, i), rf"{reason} \boxed{{{REASONS[reason]:+d}}}", 1.0)
            for i, reason in enumerate(reasons)
        ]
    return rows


def warm_start(
    config: TrainConfig, folder: Path, tasks: Sequence[Task], *, progress: Progress
) -> Models:
    """Return warm-started models, made in folder unless they are there already.

    Args:
        config: The run's settings; those of the warm start and the seed matter.
        folder: Where the models are kept, as ordinary Hugging Face folders.
        tasks: What is demonstrated.
        progress: Told after every pass.
    """
    if not folder.exists():
        temporary = folder.with_name(folder.name + ".tmp")
        rmtree(temporary, ignore_errors=True)
        _make(config, tasks, temporary, progress)
        temporary.rename(folder)
    # Read back in any case: a resumed run must start from the very same bits.
    return Models(
        policy=TinyChatModel.load(folder / "policy"), judge=TinyChatModel.load(folder / "judge")
    )


def _make(config: TrainConfig, tasks: Sequence[Task], folder: Path, progress: Progress) -> None:
    """Fit both models and leave them in folder."""
    warm, seed = config.warm_start, derive_seed(config.loop.seed, "warm start")
    shown = [
        demonstrate(task, noise=0.0, seed=derive_seed(seed, "shown", index))
        for index, task in enumerate(tasks[: warm.policy_tasks])
    ]
    judged = [
        demonstrate(task, noise=warm.noise, seed=derive_seed(seed, "judged", index))
        for index, task in enumerate(tasks[: warm.judge_tasks])
    ]
    fits = [
        Fit(
            role=role,
            shape=shape,
            words=desktop_words(),
            context=CONTEXT,
            rows=rows,
            config=FitConfig(
                lr=warm.lr, epochs=epochs, minibatch=warm.minibatch, seed=derive_seed(seed, role)
            ),
            folder=folder / role,
        )
        for role, shape, rows, epochs in (
            ("policy", warm.policy_model, policy_rows(shown), warm.policy_epochs),
            ("judge", warm.judge_model, judge_rows(judged), warm.judge_epochs),
        )
    ]
    fit_side_by_side(fits, progress)


def _seen(task: Task, editor: LineEditor) -> str:
    """Return the observation as far as ``compact`` reads it."""
    return f"{task.instruction}\nwindow: editor\n1 text: {editor.text.strip()}"


def _goals(task: Task, editor: LineEditor) -> list[str]:
    file = GuestFile(name="a.txt", data=editor.saved.encode())
    return [
        goal["name"]
        for goal in task.payload["goals"]
        if METRICS[goal["evaluator"]["func"]](file, goal["evaluator"]["expected"]["rules"]) >= 1
    ]
