"""What a generated problem is, and the task it makes: statement, tests, reference and mutants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from rla_envs.errors import TaskError
from rla_envs.types import Task

from .operations import (
    ARGUMENT,
    ENTRY_POINT,
    OPERATIONS,
    Kind,
    Step,
    Value,
    check_plan,
    expression,
    neighbours,
    program,
    run_plan,
)

TESTS = 8
"""Ground-truth tests of a problem."""
PUBLIC = 2
"""How many of them are public, from the first on."""
MUTANTS = 6
"""Mutants of the reference that a problem carries at most."""
TRIED = 48
"""Arguments from which the tests are chosen."""

_LETTERS = "aaeeioubcdlmnrst"


@dataclass(frozen=True, slots=True, kw_only=True)
class Specification:
    """A generated problem in its own words.

    Attributes:
        kind: Type of the argument: a list of integers, or text.
        steps: The plan.
        length: Longest argument.
        largest: Largest absolute value of a number in the argument; without meaning for text.
        negative: Whether numbers below zero occur.
        examples: How many examples the statement shows.
        hints: Places of steps whose Python the statement gives away.
    """

    kind: Kind
    steps: tuple[Step, ...]
    length: int = 4
    largest: int = 9
    negative: bool = False
    examples: int = 0
    hints: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_plan(self.kind, self.steps)
        if not 1 <= self.length <= 64 or not 1 <= self.largest <= 10_000:
            raise TaskError(
                f"bounds must satisfy 1 <= length <= 64 and 1 <= largest <= 10000, got "
                f"{self.length} and {self.largest}"
            )
        if not 0 <= self.examples <= PUBLIC:
            raise TaskError(f"examples must be in [0, {PUBLIC}], got {self.examples}")
        if any(not 0 <= place < len(self.steps) for place in self.hints):
            raise TaskError(f"hints must be places of steps, got {self.hints}")

    def to_json(self) -> dict[str, Any]:
        """Return what ``from_json`` reads."""
        return {
            "kind": self.kind,
            "steps": [list(step) for step in self.steps],
            "length": self.length,
            "largest": self.largest,
            "negative": self.negative,
            "examples": self.examples,
            "hints": list(self.hints),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Specification:
        """Read what ``to_json`` wrote.

        Raises:
            TaskError: data is no specification.
        """
        try:
            return cls(
                kind=data["kind"],
                steps=tuple((name, constant) for name, constant in data["steps"]),
                length=data["length"],
                largest=data["largest"],
                negative=data["negative"],
                examples=data["examples"],
                hints=tuple(data["hints"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise TaskError(f"malformed specification {dict(data)!r}: {error}") from error


def make_task(
    specification: Specification,
    *,
    task_id: str,
    parent_id: str | None = None,
    root_id: str = "",
    edits: Sequence[str] = (),
) -> Task | None:
    """Return the task of a specification, or None when it is no good problem.

    The task is a function of the specification and the ids. It is no good when its tests would not
    fail a program with one step left out, when fewer than two mutants fail them, or when fewer than
    three different results occur: such a problem would not ask what its statement says.
    """
    kind, steps = specification.kind, specification.steps
    # Neither hints nor examples change what is asked, so they do not change the tests either.
    rng = Random(repr((kind, steps, specification.length, specification.largest)))
    arguments = _arguments(specification, rng)
    mutants = [plan for plan in neighbours(kind, steps) if _differ(kind, plan, steps, arguments)]
    shorter = {(*steps[:i], *steps[i + 1 :]) for i in range(len(steps))}
    known = set(mutants)
    if any(plan not in known for plan in shorter & set(neighbours(kind, steps))):
        return None
    chosen = _telling(kind, steps, arguments, mutants, rng)
    results = {repr(run_plan(kind, steps, argument)) for argument in chosen}
    kept = [plan for plan in mutants if _differ(kind, plan, steps, chosen)]
    if len(results) < 3 or len(kept) < 2 or any(plan not in set(kept) for plan in shorter & known):
        return None
    if all(run_plan(kind, steps, argument) == argument for argument in chosen):
        return None
    if len(kept) > MUTANTS:
        kept = sorted(rng.sample(kept, MUTANTS), key=kept.index)
    tests = [{"args": repr((a,)), "expected": repr(run_plan(kind, steps, a))} for a in chosen]
    payload: dict[str, Any] = {
        "kind": "call",
        "language": "python",
        "entry_point": ENTRY_POINT,
        "starter": f"def {ENTRY_POINT}({ARGUMENT[kind]}):\n    pass\n",
        "tests": tests,
        "public": list(range(PUBLIC)),
        "reference": program(kind, steps),
        "mutants": [program(kind, plan) for plan in kept],
        "compact": compact(specification, tests),
        "specification": specification.to_json(),
        "edits": list(edits),
    }
    return Task(
        id=task_id,
        domain="coding",
        instruction=statement(specification, tests),
        payload=payload,
        parent_id=parent_id,
        root_id=root_id,
        difficulty=difficulty(specification),
    )


def difficulty(specification: Specification) -> float:
    """Return the number of steps, plus a quarter for each constant, less a half for each aid."""
    steps = specification.steps
    constants = sum(constant is not None for _, constant in steps)
    aids = specification.examples + len(specification.hints)
    return max(0.0, len(steps) + 0.25 * constants - 0.5 * aids)


def statement(specification: Specification, tests: Sequence[Mapping[str, str]]) -> str:
    """Return what the agent is asked to do, in words; tests give the examples."""
    argument = ARGUMENT[specification.kind]
    if specification.kind == "numbers":
        low = -specification.largest if specification.negative else 0
        what = (
            f"`{argument}` is a list of at most {specification.length} integers between {low} and "
            f"{specification.largest}; it may be empty."
        )
    else:
        what = (
            f"`{argument}` is a text of at most {specification.length} lower-case letters; it may "
            "be empty."
        )
    lines = [f"Write a Python function `{ENTRY_POINT}({argument})`. {what}"]
    lines.append("Do the following in this order and return the result:")
    for number, (name, constant) in enumerate(specification.steps, 1):
        words = OPERATIONS[specification.kind][name].words.replace("{k}", str(constant))
        lines.append(f"{number}. {words}")
    for test in tests[: specification.examples]:
        lines.append(f"Example: {ENTRY_POINT}({_inside(test['args'])}) returns {test['expected']}.")
    for place in specification.hints:
        hint = expression(specification.kind, specification.steps[place], argument="y")
        lines.append(f"Hint: step {place + 1} of a value y is `{hint}`.")
    return "\n".join(lines)


def compact(specification: Specification, tests: Sequence[Mapping[str, str]]) -> str:
    """Return the statement in a few words for a small word-level model."""
    kind = specification.kind
    said = [
        name if constant is None else f"{name} {constant}" for name, constant in specification.steps
    ]
    parts = [kind, *said]
    for test in tests[: specification.examples]:
        parts.append(f"example {_inside(test['args'])} gives {test['expected']}")
    for place in specification.hints:
        hint = expression(kind, specification.steps[place])
        parts.append(f"hint {said[place]} is {hint}")
    return " | ".join(parts)


def _inside(arguments: str) -> str:
    """Return "[1, 2]" for "([1, 2],)": what stands between the parentheses of a call."""
    return arguments.removeprefix("(").removesuffix(")").removesuffix(",")


def _arguments(specification: Specification, rng: Random) -> list[Value]:
    """Return different arguments: empty, single, with repetitions, then of all lengths."""
    found: dict[str, Value] = {}
    for attempt in range(TRIED * 3):
        length = (0, 1)[attempt] if attempt < 2 else rng.randint(2, max(2, specification.length))
        length = min(length, specification.length)
        argument = _argument(specification, length, rng)
        if length >= 2 and attempt % 3 == 0:
            # Things that come twice are rare by chance when numbers are large.
            argument = argument[: length - 1] + argument[:1]
        found.setdefault(repr(argument), argument)
        if len(found) >= TRIED:
            break
    return list(found.values())


def _argument(specification: Specification, length: int, rng: Random) -> Value:
    if specification.kind == "text":
        return "".join(rng.choice(_LETTERS) for _ in range(length))
    low = -specification.largest if specification.negative else 0
    return [rng.randint(low, specification.largest) for _ in range(length)]


def _differ(
    kind: Kind, plan: Sequence[Step], steps: Sequence[Step], arguments: Sequence[Value]
) -> bool:
    return any(not _same(kind, plan, steps, argument) for argument in arguments)


def _same(kind: Kind, plan: Sequence[Step], steps: Sequence[Step], argument: Value) -> bool:
    """Return whether the two plans agree; the empty plan is the identity."""
    mine = run_plan(kind, plan, argument) if plan else argument
    return repr(mine) == repr(run_plan(kind, steps, argument))


def _telling(
    kind: Kind,
    steps: Sequence[Step],
    arguments: Sequence[Value],
    mutants: Sequence[Sequence[Step]],
    rng: Random,
) -> list[Value]:
    """Choose arguments that together tell the plan from as many mutants as they can.

    The one that fails most mutants comes first, then the one that fails most of the rest, and so
    on; what is left of the places is filled at random.
    """
    fails = [
        {m for m, plan in enumerate(mutants) if not _same(kind, plan, steps, argument)}
        for argument in arguments
    ]
    left, chosen = set(range(len(mutants))), list[int]()
    while left and len(chosen) < TESTS:
        best = max(range(len(arguments)), key=lambda place: len(fails[place] & left))
        if not fails[best] & left:
            break
        chosen.append(best)
        left -= fails[best]
    others = [place for place in range(len(arguments)) if place not in chosen]
    chosen += rng.sample(others, min(len(others), TESTS - len(chosen)))
    return [arguments[place] for place in chosen]
