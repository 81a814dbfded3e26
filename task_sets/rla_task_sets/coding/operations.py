"""A small language of list and text operations: each one in words, as Python, and as a function.

A plan is a sequence of operations, applied in order to the argument of a function. Its program has
one statement an operation; its meaning is computed here, without running any program text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rla_envs.errors import TaskError

Kind = Literal["numbers", "text"]
Value = Any
Form = Literal["items", "value"]
"""What an operation takes or gives: the list (text) itself, or one number."""

ARGUMENT: Mapping[Kind, str] = {"numbers": "xs", "text": "s"}
ENTRY_POINT = "f"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One thing to do.

    Attributes:
        name: Its short name, words separated by blanks: what the compact view says.
        words: What a statement says; "{k}" is the constant.
        code: Python with "{0}" for what it is applied to and "{k}" for the constant.
        run: The same as a function of (value, constant).
        takes: Form of its input.
        gives: Form of its output.
        constants: Values that k may have; empty for an operation without one.
        near: Names of operations that a programmer could confuse it with.
    """

    name: str
    words: str
    code: str
    run: Callable[[Any, int], Value]
    takes: Form = "items"
    gives: Form = "items"
    constants: tuple[int, ...] = ()
    near: tuple[str, ...] = ()


Step = tuple[str, int | None]
"""An operation's name and its constant."""

_SMALL = (2, 3, 4, 5)

_NUMBERS = (
    Operation(
        name="keep even",
        words="keep only the even numbers",
        code="[x for x in {0} if x % 2 == 0]",
        run=lambda xs, _: [x for x in xs if x % 2 == 0],
        near=("keep odd", "keep positive"),
    ),
    Operation(
        name="keep odd",
        words="keep only the odd numbers",
        code="[x for x in {0} if x % 2 == 1]",
        run=lambda xs, _: [x for x in xs if x % 2 == 1],
        near=("keep even", "keep positive"),
    ),
    Operation(
        name="keep positive",
        words="keep only the numbers above zero",
        code="[x for x in {0} if x > 0]",
        run=lambda xs, _: [x for x in xs if x > 0],
        near=("keep negative", "absolute"),
    ),
    Operation(
        name="keep negative",
        words="keep only the numbers below zero",
        code="[x for x in {0} if x < 0]",
        run=lambda xs, _: [x for x in xs if x < 0],
        near=("keep positive", "negate"),
    ),
    Operation(
        name="keep above",
        words="keep only the numbers above {k}",
        code="[x for x in {0} if x > {k}]",
        run=lambda xs, k: [x for x in xs if x > k],
        constants=_SMALL,
        near=("keep below", "drop first"),
    ),
    Operation(
        name="keep below",
        words="keep only the numbers below {k}",
        code="[x for x in {0} if x < {k}]",
        run=lambda xs, k: [x for x in xs if x < k],
        constants=_SMALL,
        near=("keep above", "first"),
    ),
    Operation(
        name="keep multiples",
        words="keep only the multiples of {k}",
        code="[x for x in {0} if x % {k} == 0]",
        run=lambda xs, k: [x for x in xs if x % k == 0],
        constants=(3, 4, 5),
        near=("times", "keep above"),
    ),
    Operation(
        name="square",
        words="square every number",
        code="[x * x for x in {0}]",
        run=lambda xs, _: [x * x for x in xs],
        near=("double", "absolute"),
    ),
    Operation(
        name="double",
        words="double every number",
        code="[x + x for x in {0}]",
        run=lambda xs, _: [x + x for x in xs],
        near=("square", "negate"),
    ),
    Operation(
        name="negate",
        words="negate every number",
        code="[- x for x in {0}]",
        run=lambda xs, _: [-x for x in xs],
        near=("absolute", "reverse"),
    ),
    Operation(
        name="absolute",
        words="replace every number by its absolute value",
        code="[abs(x) for x in {0}]",
        run=lambda xs, _: [abs(x) for x in xs],
        near=("negate", "keep positive"),
    ),
    Operation(
        name="add",
        words="add {k} to every number",
        code="[x + {k} for x in {0}]",
        run=lambda xs, k: [x + k for x in xs],
        constants=_SMALL,
        near=("subtract", "times"),
    ),
    Operation(
        name="subtract",
        words="subtract {k} from every number",
        code="[x - {k} for x in {0}]",
        run=lambda xs, k: [x - k for x in xs],
        constants=_SMALL,
        near=("add", "times"),
    ),
    Operation(
        name="times",
        words="multiply every number by {k}",
        code="[x * {k} for x in {0}]",
        run=lambda xs, k: [x * k for x in xs],
        constants=_SMALL,
        near=("add", "subtract"),
    ),
    Operation(
        name="reverse",
        words="reverse the order",
        code="{0}[::-1]",
        run=lambda xs, _: xs[::-1],
        near=("sort", "negate"),
    ),
    Operation(
        name="sort",
        words="sort from smallest to largest",
        code="sorted({0})",
        run=lambda xs, _: sorted(xs),
        near=("sort down", "reverse"),
    ),
    Operation(
        name="sort down",
        words="sort from largest to smallest",
        code="sorted({0})[::-1]",
        run=lambda xs, _: sorted(xs)[::-1],
        near=("sort", "reverse"),
    ),
    Operation(
        name="unique",
        words="let no number come twice: keep the first of equal ones",
        code="list(dict.fromkeys({0}))",
        run=lambda xs, _: list(dict.fromkeys(xs)),
        near=("sort", "every second"),
    ),
    Operation(
        name="every second",
        words="take every second number, beginning with the first",
        code="{0}[::2]",
        run=lambda xs, _: xs[::2],
        near=("unique", "reverse"),
    ),
    Operation(
        name="first",
        words="take the first {k} numbers",
        code="{0}[:{k}]",
        run=lambda xs, k: xs[:k],
        constants=(1, 2, 3),
        near=("last", "drop first"),
    ),
    Operation(
        name="last",
        words="take the last {k} numbers",
        code="{0}[-{k}:]",
        run=lambda xs, k: xs[-k:],
        constants=(1, 2, 3),
        near=("first", "drop first"),
    ),
    Operation(
        name="drop first",
        words="leave out the first {k} numbers",
        code="{0}[{k}:]",
        run=lambda xs, k: xs[k:],
        constants=(1, 2, 3),
        near=("first", "last"),
    ),
    Operation(
        name="sum",
        words="give the sum of the numbers",
        code="sum({0})",
        run=lambda xs, _: sum(xs),
        gives="value",
        near=("count", "largest"),
    ),
    Operation(
        name="count",
        words="give how many numbers there are",
        code="len({0})",
        run=lambda xs, _: len(xs),
        gives="value",
        near=("sum", "largest"),
    ),
    Operation(
        name="largest",
        words="give the largest number, or 0 when there is none",
        code="max({0}, default=0)",
        run=lambda xs, _: max(xs, default=0),
        gives="value",
        near=("smallest", "sum"),
    ),
    Operation(
        name="smallest",
        words="give the smallest number, or 0 when there is none",
        code="min({0}, default=0)",
        run=lambda xs, _: min(xs, default=0),
        gives="value",
        near=("largest", "count"),
    ),
    Operation(
        name="plus",
        words="add {k}",
        code="{0} + {k}",
        run=lambda x, k: x + k,
        takes="value",
        gives="value",
        constants=_SMALL,
        near=("remainder",),
    ),
    Operation(
        name="remainder",
        words="give the remainder of the division by {k}",
        code="{0} % {k}",
        run=lambda x, k: x % k,
        takes="value",
        gives="value",
        constants=_SMALL,
        near=("plus",),
    ),
)

_TEXT = (
    Operation(
        name="reverse",
        words="reverse the text",
        code="{0}[::-1]",
        run=lambda s, _: s[::-1],
        near=("sort", "unique"),
    ),
    Operation(
        name="sort",
        words="sort the characters",
        code='"".join(sorted({0}))',
        run=lambda s, _: "".join(sorted(s)),
        near=("reverse", "unique"),
    ),
    Operation(
        name="upper",
        words="write everything in capitals",
        code="{0}.upper()",
        run=lambda s, _: s.upper(),
        near=("reverse",),
    ),
    Operation(
        name="keep vowels",
        words="keep only the vowels (a, e, i, o, u, in either case)",
        code='"".join(c for c in {0} if c in "aeiouAEIOU")',
        run=lambda s, _: "".join(c for c in s if c in "aeiouAEIOU"),
        near=("drop vowels", "unique"),
    ),
    Operation(
        name="drop vowels",
        words="leave out the vowels (a, e, i, o, u, in either case)",
        code='"".join(c for c in {0} if c not in "aeiouAEIOU")',
        run=lambda s, _: "".join(c for c in s if c not in "aeiouAEIOU"),
        near=("keep vowels", "unique"),
    ),
    Operation(
        name="unique",
        words="let no character come twice: keep the first of equal ones",
        code='"".join(dict.fromkeys({0}))',
        run=lambda s, _: "".join(dict.fromkeys(s)),
        near=("sort", "drop vowels"),
    ),
    Operation(
        name="first",
        words="take the first {k} characters",
        code="{0}[:{k}]",
        run=lambda s, k: s[:k],
        constants=(2, 3, 4),
        near=("last", "drop first"),
    ),
    Operation(
        name="last",
        words="take the last {k} characters",
        code="{0}[-{k}:]",
        run=lambda s, k: s[-k:],
        constants=(2, 3, 4),
        near=("first", "drop first"),
    ),
    Operation(
        name="drop first",
        words="leave out the first {k} characters",
        code="{0}[{k}:]",
        run=lambda s, k: s[k:],
        constants=(1, 2, 3),
        near=("first", "last"),
    ),
    Operation(
        name="repeat",
        words="repeat the text {k} times",
        code="{0} * {k}",
        run=lambda s, k: s * k,
        constants=(2, 3),
        near=("reverse",),
    ),
    Operation(
        name="count",
        words="give how many characters there are",
        code="len({0})",
        run=lambda s, _: len(s),
        gives="value",
        near=("count vowels",),
    ),
    Operation(
        name="count vowels",
        words="give how many vowels (a, e, i, o, u, in either case) there are",
        code='sum(c in "aeiouAEIOU" for c in {0})',
        run=lambda s, _: sum(c in "aeiouAEIOU" for c in s),
        gives="value",
        near=("count",),
    ),
    Operation(
        name="plus",
        words="add {k}",
        code="{0} + {k}",
        run=lambda x, k: x + k,
        takes="value",
        gives="value",
        constants=_SMALL,
        near=("remainder",),
    ),
    Operation(
        name="remainder",
        words="give the remainder of the division by {k}",
        code="{0} % {k}",
        run=lambda x, k: x % k,
        takes="value",
        gives="value",
        constants=_SMALL,
        near=("plus",),
    ),
)

OPERATIONS: Mapping[Kind, Mapping[str, Operation]] = {
    "numbers": {operation.name: operation for operation in _NUMBERS},
    "text": {operation.name: operation for operation in _TEXT},
}
"""Kind of argument -> name -> operation."""


def run_plan(kind: Kind, steps: Sequence[Step], argument: Value) -> Value:
    """Return what the plan makes of argument.

    Raises:
        TaskError: steps do not fit together (see ``check_plan``).
    """
    check_plan(kind, steps)
    value = argument
    for name, constant in steps:
        value = OPERATIONS[kind][name].run(value, constant or 0)
    return value


def expression(kind: Kind, step: Step, argument: str | None = None) -> str:
    """Return one step as a Python expression over argument (the kind's own name when None)."""
    name, constant = step
    code = OPERATIONS[kind][name].code
    return code.replace("{k}", str(constant)).replace("{0}", argument or ARGUMENT[kind])


def program(kind: Kind, steps: Sequence[Step]) -> str:
    """Return the plan as a function on one line, a statement a step.

    A small model writes it in the order in which it reads the steps.
    """
    *before, last = [expression(kind, step) for step in steps] or [ARGUMENT[kind]]
    assigned = "".join(f"{ARGUMENT[kind]} = {code}; " for code in before)
    return f"def {ENTRY_POINT}({ARGUMENT[kind]}): {assigned}return {last}"


def check_plan(kind: Kind, steps: Sequence[Step]) -> None:
    """Raise unless steps are known operations of kind that fit together.

    Raises:
        TaskError: an unknown operation, a constant that it does not take, an input it cannot have,
            or no step at all.
    """
    if not steps:
        raise TaskError("a plan needs at least one step, got none")
    form: Form = "items"
    for name, constant in steps:
        operation = OPERATIONS[kind].get(name)
        if operation is None:
            raise TaskError(
                f"no operation {name!r} on {kind}; there are {sorted(OPERATIONS[kind])}"
            )
        if (constant is not None) != bool(operation.constants):
            raise TaskError(f"operation {name!r} with constant {constant!r}: {operation.words}")
        if operation.takes != form:
            raise TaskError(f"operation {name!r} takes {operation.takes}, got {form}")
        form = operation.gives


def fits(kind: Kind, steps: Sequence[Step]) -> bool:
    """Return whether steps make a plan."""
    try:
        check_plan(kind, steps)
    except TaskError:
        return False
    return True


def neighbours(kind: Kind, steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    """Return plans that differ from this one by a typical slip, each once, in a fixed order.

    A slip: a near operation instead of the right one, a constant that is off by one, a step left
    out, two steps in the wrong order.
    """
    steps = tuple(steps)
    found: list[tuple[Step, ...]] = []
    for place, (name, constant) in enumerate(steps):
        operation = OPERATIONS[kind][name]
        swaps: list[Step] = []
        for near in operation.near:
            constants = OPERATIONS[kind][near].constants
            swaps.append((near, (constant or constants[0]) if constants else None))
        if constant is not None:
            swaps += [(name, constant + 1), (name, constant - 1)]
        found += [(*steps[:place], swap, *steps[place + 1 :]) for swap in swaps]
        found.append((*steps[:place], *steps[place + 1 :]))
        if place:
            swapped = (steps[place], steps[place - 1])
            found.append((*steps[: place - 1], *swapped, *steps[place + 1 :]))
    return [
        plan
        for plan in dict.fromkeys(found)
        if plan != steps
        and fits(kind, plan)
        # A remainder by 0 or the last 0 items are other mistakes than a wrong constant.
        and all(constant is None or constant >= 1 for _, constant in plan)
    ]
