"""How the embedded programmer and test writer come into the world: supervised, on solved problems.

The policy imitates reference programs. The judge writes tests, so it imitates arguments with their
right results. Both see problems with and without examples and hints, so that rewritten tasks read
like what they know.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from shutil import rmtree

from rla_task_sets.coding.operations import OPERATIONS, Value, run_plan
from rla_task_sets.coding.specification import Specification, make_task

from rla_adapters.backends import saved_model
from rla_adapters.domains import Models
from rla_adapters.domains.side_by_side import Fit, fit_side_by_side
from rla_adapters.native.supervised import FitConfig, Row
from rla_adapters.tiny.words import words_in
from rla_envs.config import TrainConfig
from rla_envs.prompts.coding import CompactPrompts
from rla_envs.seeding import derive_seed
from rla_envs.tracking import Progress
from rla_envs.types import Task

CONTEXT = 256
"""Longest sequence of the embedded models, in tokens: a problem with aids, and a program."""

NUMBERS = range(-20, 101)
"""Numbers that are one word each."""

_MARKS = ". , : ; ( ) [ ] | % * + - = < > / ! # \" ' _"
_PROSE = "numbers text example gives hint is program test error no not tried hidden tests fail y"


def coding_words() -> list[str]:
    """Return the closed vocabulary of generated problems on numbers, each word once, in order."""
    said = list(OPERATIONS["numbers"])
    code = [operation.code.format("y", k=1) for operation in OPERATIONS["numbers"].values()]
    numbers = " ".join(map(str, NUMBERS))
    return words_in([_PROSE, *said, *code, "def f(xs): return", _MARKS, numbers])


def warm_start(
    config: TrainConfig, folder: Path, tasks: Sequence[Task], *, progress: Progress
) -> Models:
    """Return warm-started models, made in folder unless they are there already.

    Args:
        config: The run's settings; those of the warm start and the seed matter.
        folder: Where the models are kept, as ordinary Hugging Face folders.
        tasks: Solved problems to learn from.
        progress: Told after every pass.
    """
    if not folder.exists():
        temporary = folder.with_name(folder.name + ".tmp")
        rmtree(temporary, ignore_errors=True)
        _make(config, tasks, temporary, progress)
        temporary.rename(folder)
    # Read back in any case: a resumed run must start from the very same bits.
    return Models(policy=saved_model(folder / "policy"), judge=saved_model(folder / "judge"))


def policy_rows(tasks: Sequence[Task], *, seed: int) -> list[Row]:
    """Return what a policy imitates: the reference program of every problem.

    Each problem comes as it is and once more with an example and a hint.
    """
    rng = Random(derive_seed(seed, "aids"))
    prompts = CompactPrompts()
    rows: list[Row] = []
    for task in tasks:
        for shown in (task, _with_aids(task, rng)):
            conversation = prompts.policy(shown, (), shown.payload["compact"], ())
            rows.append((conversation, shown.payload["reference"], 1.0))
    return rows


TESTS_A_TASK = 6
"""Tests that the judge imitates for each problem."""


def judge_rows(tasks: Sequence[Task], *, noise: float, seed: int) -> list[Row]:
    """Return what a judge learns: arguments with their results.

    Args:
        tasks: Generated problems on numbers.
        noise: Share of results that are those of another argument, in [0, 1].
        seed: Of arguments and noise.
    """
    rng = Random(derive_seed(seed, "tests"))
    prompts = CompactPrompts()
    rows: list[Row] = []
    for task in tasks:
        specification = Specification.from_json(task.payload["specification"])
        for _ in range(TESTS_A_TASK):
            argument, other = _argument(specification, rng), _argument(specification, rng)
            source = other if rng.random() < noise else argument
            result = run_plan(specification.kind, specification.steps, source)
            rows.append((prompts.test(task), f"{argument!r} gives {result!r}", 1.0))
    return rows


def _argument(specification: Specification, rng: Random) -> Value:
    low = -specification.largest if specification.negative else 0
    length = rng.randint(0, specification.length)
    return [rng.randint(low, specification.largest) for _ in range(length)]


def _with_aids(task: Task, rng: Random) -> Task:
    """Return the problem with one more example and a hint."""
    specification = Specification.from_json(task.payload["specification"])
    aided = replace(specification, examples=1, hints=(rng.randrange(len(specification.steps)),))
    made = make_task(aided, task_id=task.id)
    # Aids do not change whether a problem is a good one.
    assert made is not None
    return made


def _make(config: TrainConfig, tasks: Sequence[Task], folder: Path, progress: Progress) -> None:
    """Fit both models and leave them in folder."""
    warm, seed = config.warm_start, derive_seed(config.loop.seed, "warm start")
    taught = policy_rows(tasks[: warm.policy_tasks], seed=seed)
    tested = judge_rows(tasks[: warm.judge_tasks], noise=warm.judge_label_noise, seed=seed)
    fits = [
        Fit(
            role=role,
            shape=shape,
            words=coding_words(),
            context=CONTEXT,
            lora=warm.lora_rank,
            rows=rows,
            config=FitConfig(
                lr=warm.lr, epochs=epochs, minibatch=warm.minibatch, seed=derive_seed(seed, role)
            ),
            folder=folder / role,
        )
        for role, shape, rows, epochs in (
            ("policy", warm.policy_model, taught, warm.policy_epochs),
            ("judge", warm.judge_model, tested, warm.judge_epochs),
        )
    ]
    fit_side_by_side(fits, progress)
